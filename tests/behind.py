"""Behind the back of the code: what a database holds, whatever recollectx says of it, and others who use it."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, inspect
from sqlalchemy.pool import NullPool

from recollectx.db.postgres import LOCK

_WRITES = {"sqlite": "BEGIN IMMEDIATE", "postgresql": f"BEGIN; SELECT pg_advisory_xact_lock({LOCK})"}
_READS = {"sqlite": "BEGIN", "postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ"}


@contextmanager
def connected(target: Path | str) -> Iterator[Any]:
    """A connection that begins no transaction by itself."""
    url = target if isinstance(target, str) else f"sqlite:///{target}"
    engine = create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    if engine.dialect.name == "sqlite":
        engine = create_engine(url, connect_args={"check_same_thread": False}, isolation_level="AUTOCOMMIT")
    with engine.connect() as conn:
        yield conn
    engine.dispose()


def rows(target: Path | str, *statements: str) -> list[Any]:
    """The rows of the last of some statements."""
    with connected(target) as conn:
        for each in statements:
            found = conn.exec_driver_sql(each)
        return [tuple(row) for row in found] if found.returns_rows else []


def content(target: Path | str) -> bytes:
    """All that a database holds: the bytes of a file and its log, or every row of every table."""
    if isinstance(target, Path):
        beside = [target.with_name(target.name + end) for end in ("", "-wal", "-journal")]
        return b"".join(each.read_bytes() for each in beside if each.exists())
    with connected(target) as conn:
        held = [
            str(row[0])
            for table in inspect(conn).get_table_names()
            for row in conn.exec_driver_sql(f"SELECT t::text FROM {table} t")
        ]
    return "\n".join(held).encode()


@contextmanager
def writing(target: Path | str) -> Iterator[Any]:
    """Another process that holds the write lock."""
    with _within(target, _WRITES) as conn:
        yield conn


@contextmanager
def reading(target: Path | str) -> Iterator[Any]:
    """Another process that goes on seeing the database as it is now."""
    with _within(target, _READS) as conn:
        conn.exec_driver_sql("SELECT count(*) FROM rx_tx").close()
        yield conn


@contextmanager
def _within(target: Path | str, begin: dict[str, str]) -> Iterator[Any]:
    with connected(target) as conn:
        raw = conn.connection.dbapi_connection
        with closing(raw.cursor()) as cursor:
            cursor.execute(begin[conn.dialect.name])
        try:
            yield conn
        finally:
            raw.rollback()
