"""Reading a database as it is, before anything of ours is made in it: is there a memory, and what state is it in.

A SQLite file is read past the engine that recollectx writes with, which makes and switches things. A server's database
is asked as always.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import Connection, create_engine, inspect
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from recollectx.db import legacy
from recollectx.db.engine import MEMORY, Database, resolve_url
from recollectx.db.migrate import OURS, version
from recollectx.db.urls import shown
from recollectx.errors import NotFound


@contextmanager
def looked_at(url: URL) -> Iterator[Connection]:
    """One moment of the database at `url`, which must be there."""
    path = file_of(url)
    with _on_server(url) if path is None else _past_the_engine(path) as conn:
        yield conn


def file_of(url: URL) -> Path | None:
    """The file that a URL names, None for a server's database and for one in memory."""
    kept = url.get_backend_name() == "sqlite" and url.database != MEMORY
    return Path(str(url.database)) if kept else None


def holds_memory(conn: Connection) -> bool:
    """Whether a database holds a memory: whole, half-way there, damaged, or of 0.2.7, which is moved in when opened."""
    if version(conn) is not None or legacy.present(conn):
        return True
    return bool(OURS & set(inspect(conn).get_table_names()))


def has_memory(target: str | os.PathLike[str] | URL) -> bool:
    """Whether there is a memory at a path or URL, which is left as it is.

    What cannot be read counts as one, so that whoever opens it is told why.
    """
    url = resolve_url(target)
    path = file_of(url)
    if url.database == MEMORY or (path is not None and not path.exists()):
        return False
    try:
        with looked_at(url) as conn:
            return holds_memory(conn)
    except DBAPIError:
        return True


def require_memory(target: str | os.PathLike[str] | URL) -> None:
    """Raise NotFound unless there is a memory at a path or URL."""
    if not has_memory(target):
        raise NotFound(f"there is no memory at {shown(resolve_url(target))}; `recollectx init` makes one")


@contextmanager
def _past_the_engine(path: Path) -> Iterator[Connection]:
    address = f"{path.resolve().as_uri()}?mode=ro"

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(address, uri=True, isolation_level=None)

    engine = create_engine("sqlite://", creator=connect, poolclass=StaticPool)
    try:
        with engine.connect() as conn:
            conn.exec_driver_sql("BEGIN")
            yield conn
    finally:
        engine.dispose()


@contextmanager
def _on_server(url: URL) -> Iterator[Connection]:
    with closing(Database.open(url)) as database, database.read() as conn:
        yield conn
