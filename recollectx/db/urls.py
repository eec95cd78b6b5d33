"""What paths and URLs mean, and how they are shown."""

import os
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from recollectx.errors import InvalidSetting

MEMORY = ":memory:"
HOME = {"127.0.0.1": "localhost", "::1": "localhost", "[::1]": "localhost"}
"""Other names of this machine."""
POSTGRES_PORT = 5432
PSYCOPG = "postgresql+psycopg"
_POSTGRES = frozenset({"postgres", "postgresql", PSYCOPG})


def resolve_url(target: str | os.PathLike[str] | URL) -> URL:
    """The database URL of a path, `:memory:` or URL; `~` and relative paths are made absolute.

    postgresql://, postgres:// and postgresql+psycopg:// are one: PostgreSQL by psycopg 3.
    """
    url = _url_of(target)
    if url.drivername in _POSTGRES:
        if not url.database:
            raise InvalidSetting("the URL names no database; write postgresql://user@host/database")
        return url.set(drivername=PSYCOPG)
    if url.get_backend_name() != "sqlite":
        raise InvalidSetting(f"{url.drivername} is not supported; use a SQLite file or postgresql://")
    if url.host or url.username or url.password or url.port:
        raise InvalidSetting("SQLite has files, and no servers or users; write sqlite:///path.db or a path")
    if url.database in (None, "", MEMORY):
        return url.set(database=MEMORY)
    return url.set(database=str(absolute(url.database or "")))


def absolute(path: str | os.PathLike[str]) -> Path:
    """A path from the root on, `~` and links followed; InvalidSetting for what can be none."""
    try:
        return Path(path).expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidSetting(f"{os.fspath(path)!r} is no path: {error}") from error


def _url_of(target: str | os.PathLike[str] | URL) -> URL:
    if isinstance(target, URL):
        return target
    text = os.fsdecode(target)
    if not text:
        raise InvalidSetting("the database path is empty; give a file or :memory:")
    if not isinstance(target, str) or "://" not in text:
        return URL.create("sqlite", database=text)
    # Whatever else is in it may be a password.
    kind = text.partition("://")[0]
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise InvalidSetting(
            f"what follows {kind}:// is no database URL; write sqlite:///path.db, "
            "postgresql://user:password@host/database or a path"
        ) from None
    if url.password is not None and _has_second_at(text):
        raise InvalidSetting(f"what follows {kind}:// has more than one @; write one in a password as %40")
    return url


def _has_second_at(text: str) -> bool:
    """Whether a password may go on where it was taken to end; an @ in the value of an option is none."""
    place, _, options = text.partition("@")[2].partition("?")
    return "@" in place or any("@" in each.partition("=")[0] for each in options.split("&"))


def shown(target: str | os.PathLike[str] | URL) -> str:
    """A path or URL as people are told: without user and password, wherever in it they are."""
    url = _url_of(target)
    if url.get_backend_name() == "sqlite":
        return os.fspath(target) if not isinstance(target, URL) else str(url.database or MEMORY)
    return place_of(url)


def place_of(url: URL) -> str:
    """Where the database of a server is."""
    port = f":{url.port}" if url.port else ""
    return f"postgresql://{_host_of(url)}{port}/{url.database or ''}"


def address_of(url: URL) -> str:
    """Where the database of a server is, by the same text however it was written."""
    host = _host_of(url)
    # A folder with a socket in it is spelt as it is.
    host = host if host.startswith("/") else HOME.get(host.lower(), host.lower())
    port = url.port or url.query.get("port") or POSTGRES_PORT
    return f"postgresql://{host}:{port}/{url.database or ''}"


def _host_of(url: URL) -> str:
    host = url.host or url.query.get("host") or "localhost"
    return host if isinstance(host, str) else ",".join(host)
