"""From what a caller has (path, URL, Engine or Session) to the database it means.

A file or a PostgreSQL database is opened anew with our own configuration, whatever engine the caller reached it by. A
database in memory can only be reached through the connection it lives in, so there the caller's connection is
borrowed as it is.
"""

import os
import sqlite3
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import UnboundExecutionError
from sqlalchemy.orm import Session, scoped_session
from sqlalchemy.pool import PoolProxiedConnection, StaticPool

from recollectx.db.engine import BUSY_SECONDS, MEMORY, Database, SQLite
from recollectx.db.urls import PSYCOPG, shown
from recollectx.errors import InvalidSetting, StorageError

LOCK_SECONDS = 2.0
_UNCOMMITTED = "the Session has uncommitted writes on {}; commit or roll it back before it opens a memory"
_WRITTEN = text("SELECT pg_current_xact_id_if_assigned() IS NOT NULL")


class Borrowed(SQLite):
    """The in-memory database of a caller's engine, over the caller's own connection, which it never closes."""

    def __init__(self, lent: PoolProxiedConnection, busy_seconds: float) -> None:
        # Kept, not returned, and not reset by our own pool either: that rolls back what others have pending on it.
        self._lent = lent
        super().__init__(URL.create("sqlite", database=MEMORY), busy_seconds)

    def _engine(self) -> Engine:
        return create_engine(
            self.url, creator=self._connection, poolclass=StaticPool, pool_reset_on_return=None
        )

    def _not_ended(self, conn: Connection) -> None:
        """Nothing: it may be the caller's."""

    def _check_free(self, conn: Connection) -> None:
        if _pending(conn):
            raise StorageError(
                "the Session that shares this database has uncommitted writes; commit or roll it back first"
            )

    def _connection(self) -> Any:
        return self._lent.dbapi_connection

    def close(self) -> None:
        """Nothing: the connection is the caller's."""


_borrowed: WeakKeyDictionary[Engine, Borrowed] = WeakKeyDictionary()


def database_of(
    target: str | os.PathLike[str] | URL | Engine | Session | scoped_session[Any],
    *,
    busy_seconds: float = BUSY_SECONDS,
) -> Database:
    """The database that `target` means; close it once.

    Of an Engine or Session only the place is taken: it is opened with our own engine, and for a database in
    memory its connection is shared. Raises StorageError for a Session with uncommitted writes, InvalidSetting for
    what is neither SQLite nor PostgreSQL.
    """
    if isinstance(target, scoped_session):
        target = target()
    if isinstance(target, Session):
        return _of_session(target, busy_seconds)
    if isinstance(target, Engine):
        if _is_postgres(target):
            return Database.open(_url_of(target), busy_seconds=busy_seconds)
        with target.connect() as conn:
            file = _file_of(conn)
        return _at(file, target, busy_seconds)
    if not isinstance(target, str | os.PathLike | URL):
        raise InvalidSetting(f"{target!r} is no database; give a path, a URL, an Engine or a Session")
    return Database.open(target, busy_seconds=busy_seconds)


def _of_session(session: Session, busy_seconds: float) -> Database:
    try:
        engine = session.get_bind().engine
    except UnboundExecutionError:
        raise InvalidSetting("the Session is bound to no engine; make it with SessionLocal(path)") from None
    postgres = _is_postgres(engine)
    if session.new or session.dirty or session.deleted:
        raise StorageError("the Session has unsaved objects; commit or roll it back before it opens a memory")
    if not session.in_transaction():
        return database_of(engine, busy_seconds=busy_seconds)
    conn = session.connection()
    if postgres:
        # A transaction has a number of its own once it has written.
        if conn.execute(_WRITTEN).scalar():
            raise StorageError(_UNCOMMITTED.format(shown(engine.url)))
        return Database.open(_url_of(engine), busy_seconds=busy_seconds)
    file = _file_of(conn)
    if _pending(conn) and (not file or _locked(file)):
        raise StorageError(_UNCOMMITTED.format(file or MEMORY))
    return _at(file, engine, busy_seconds)


def _is_postgres(engine: Engine) -> bool:
    """Whether an engine is on PostgreSQL and not on SQLite; InvalidSetting for any other."""
    if engine.dialect.name not in ("sqlite", "postgresql"):
        raise InvalidSetting(f"{engine.dialect.name} is not supported; use a SQLite file or PostgreSQL")
    return engine.dialect.name == "postgresql"


def _url_of(engine: Engine) -> URL:
    return engine.url.set(drivername=PSYCOPG)


def _file_of(conn: Connection) -> str:
    """The file behind a connection; empty for a database in memory."""
    rows = conn.exec_driver_sql("PRAGMA database_list").all()
    return str(next((row[2] for row in rows if row[1] == "main"), "") or "")


def _at(file: str, engine: Engine, busy_seconds: float) -> Database:
    if file:
        return Database.open(file, busy_seconds=busy_seconds)
    if engine not in _borrowed:
        _borrowed[engine] = Borrowed(engine.raw_connection(), busy_seconds)
    return _borrowed[engine]


def _pending(conn: Connection) -> bool:
    raw = conn.connection.dbapi_connection
    return bool(raw is not None and raw.in_transaction)


def _locked(file: str) -> bool:
    """Whether somebody holds the write lock of `file` for longer than a moment."""
    probe = sqlite3.connect(file, timeout=LOCK_SECONDS, isolation_level=None)
    try:
        probe.execute("BEGIN IMMEDIATE")
        probe.execute("ROLLBACK")
    except sqlite3.OperationalError:
        return True
    finally:
        probe.close()
    return False
