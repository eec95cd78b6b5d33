"""Engines and sessions by path or URL, under 0.2.7's names: for reading with SQLAlchemy, and to hand to MemoryStore.

Each path has one engine in a process until `reset_engine`; `:memory:` is one connection that create_tables,
SessionLocal and every MemoryStore over such a session share. The sessions are the caller's own: MemoryStore takes
only the place of the database from them and never writes through one.
"""

import logging
import os
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Engine, create_engine
from sqlalchemy.engine import URL
from sqlalchemy.orm import Session, sessionmaker
from sqlalchemy.pool import StaticPool

from recollectx.db.engine import BUSY_SECONDS, MEMORY, make_folder, resolve_url
from recollectx.db.migrate import upgrade
from recollectx.db.tables import Base
from recollectx.db.targets import database_of
from recollectx.forks import Lock

__all__ = [
    "Base",
    "SessionLocal",
    "create_tables",
    "default_path",
    "get_db",
    "get_engine",
    "get_session_local",
    "reset_engine",
]

DEFAULT_PATH = "~/.recollectx/memory.db"
LEGACY_PATH = "~/.recollect/memory.db"

_engines: dict[str, Engine] = {}
_told: set[str] = set()
_lock = Lock()
_log = logging.getLogger("recollectx")


def default_path() -> str:
    """Where a memory lives if nobody says: RECOLLECTX_DB, else ~/.recollectx/memory.db.

    Warns, once in a process, while that file does not exist but 0.2.7's default file does.
    """
    named = os.environ.get("RECOLLECTX_DB")
    if named:
        return named
    ours, theirs = Path(DEFAULT_PATH).expanduser(), Path(LEGACY_PATH).expanduser()
    if str(theirs) not in _told and not ours.exists() and theirs.exists():
        _told.add(str(theirs))
        _log.warning(
            "%s does not exist yet, but 0.2.7 left a memory in %s; to use that one, name it: recollectx --db %s list",
            ours,
            theirs,
            theirs,
        )
    return str(ours)


def get_engine(db_path: str | os.PathLike[str] | None = None) -> Engine:
    """The engine of a path or `:memory:`; None is the default path. The same path gives the same engine."""
    url = resolve_url(default_path() if db_path is None else db_path)
    key = url.render_as_string(hide_password=False)
    with _lock:
        if key not in _engines:
            _engines[key] = _engine(url)
        return _engines[key]


def _engine(url: URL) -> Engine:
    # No configuration beyond the time-out: reads of a session then see what MemoryStore wrote a moment ago.
    if url.get_backend_name() != "sqlite":
        return create_engine(url)
    if url.database == MEMORY:
        return create_engine(url, connect_args={"check_same_thread": False}, poolclass=StaticPool)
    make_folder(Path(url.database or ""))
    return create_engine(url, connect_args={"timeout": BUSY_SECONDS})


def get_session_local(db_path: str | os.PathLike[str] | None = None) -> sessionmaker[Session]:
    """What makes sessions on a path or `:memory:`."""
    return sessionmaker(bind=get_engine(db_path))


def SessionLocal(db_path: str | os.PathLike[str] | None = None) -> Session:  # noqa: N802 (0.2.7's name)
    """A session on a path or `:memory:`, for `MemoryStore(session)` and for reading recollectx.db.models."""
    return get_session_local(db_path)()


def get_db(db_path: str | os.PathLike[str] | None = None) -> Iterator[Session]:
    """Yields one session and closes it: a dependency for web frameworks."""
    with SessionLocal(db_path) as session:
        yield session


def create_tables(db_path: str | os.PathLike[str] | None = None) -> None:
    """Make the database at a path or `:memory:`, or bring it to the tables of this release."""
    database = database_of(get_engine(db_path))
    try:
        upgrade(database)
    finally:
        database.close()


def reset_engine() -> None:
    """Let every engine of `get_engine` go, and with it the shared `:memory:`."""
    with _lock:
        engines = list(_engines.values())
        _engines.clear()
    for engine in engines:
        engine.dispose()
