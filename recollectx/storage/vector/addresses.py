"""Where a service is, by one spelling: scheme, host, port and what its paths begin with."""

from urllib.parse import urlsplit

from recollectx.db.urls import HOME
from recollectx.errors import InvalidSetting
from recollectx.masking import masked


def server_url(text: str, *, scheme: str, port: int) -> str:
    """`text` with small letters, its port written out and no slash at the end.

    text: http://host:port/prefix, or host:port.  scheme, port: those that it leaves out.
    Raises InvalidSetting for a user, a key or an option in it, which no client of ours would send.
    """
    told = masked(text)
    if any(mark in text for mark in "@?#"):
        raise InvalidSetting(f"{told!r} must be host, port and path alone; a key is given as api_key")
    try:
        url = urlsplit(text if "://" in text else f"{scheme}://{text}")
        host, number = url.hostname, url.port or port
    except ValueError:
        raise InvalidSetting(f"{told!r} is no address of a server; write http://host:{port}") from None
    if not host:
        raise InvalidSetting(f"{told!r} names no host; write http://host:{port}")
    return f"{url.scheme}://{f'[{host}]' if ':' in host else host}:{number}{url.path.rstrip('/')}"


def one_name(url: str) -> str:
    """A `server_url` with one name for this machine, for telling servers apart."""
    host = urlsplit(url).hostname or ""
    return url.replace(f"[{host}]" if ":" in host else host, HOME[host], 1) if host in HOME else url
