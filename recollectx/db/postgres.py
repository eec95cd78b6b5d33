"""PostgreSQL by psycopg 3.

A writer holds one transaction-level advisory lock per database. Sequence numbers do not commit in the order in which
they are handed out, and every index and every past relies on the transactions that are seen being all up to the
last; with the lock there is one writer at a time, and the lock is let go only once others see the commit. Writers
read what is committed when they ask; readers see one moment, and can write nothing.
"""

import re
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DataError, DBAPIError, OperationalError

from recollectx.db import legacy
from recollectx.db.server import Database
from recollectx.db.statements import send
from recollectx.db.urls import place_of
from recollectx.errors import DatabaseBusy, InvalidClaim, InvalidSetting, RecollectxError, StorageError
from recollectx.extras import require

CONNECT_SECONDS = 10
LOCK = 7_061_423_907_134_553_186
"""Any number will do, as long as every recollectx takes the same and no host's lock is likely to."""

_BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_BEGIN_WRITE = f"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT pg_advisory_xact_lock({LOCK})"
_BUSY = frozenset({"55P03", "40P01", "40001"})  # lock_timeout, deadlock, serialization failure
_GONE = frozenset({"57P01", "57P02", "57P03", "57P05", "25P03"})  # the server ended the session
_TOO_LONG = "54000"
_IDLE = 0
_OURS = """
SELECT relname FROM pg_class
WHERE relkind = 'r' AND starts_with(relname, 'rx_') AND pg_table_is_visible(oid) ORDER BY relname
"""
# What VACUUM says of each table, from PostgreSQL 15 on and before.
_LEFT = (
    re.compile(r"(\d+) (?:are )?dead but not yet removable"),
    re.compile(r"tuples missed: (\d+)"),
    re.compile(r"(\d+) dead row versions cannot be removed"),
)
_OLDEST = """
SELECT pid, backend_xmin::text FROM pg_stat_activity
WHERE datname = current_database() AND backend_xmin IS NOT NULL AND pid <> pg_backend_pid()
ORDER BY age(backend_xmin) DESC LIMIT 1
"""


class Postgres(Database):
    """A PostgreSQL database."""

    backend = "postgresql"

    def __init__(self, url: URL, busy_seconds: float) -> None:
        require("psycopg", "postgres")
        super().__init__(url, busy_seconds)
        self._parents: list[Connection] = []
        self._in_the_way: tuple[Any, ...] | None = None

    @property
    def place(self) -> str:
        """Host and database."""
        return place_of(self.url)

    def _engine(self) -> Engine:
        # The numbers of connections: enough for the threads of one process, and far from a server's hundred.
        engine = create_engine(
            self.url,
            paramstyle="format",
            use_native_hstore=False,
            connect_args={
                "connect_timeout": _seconds(self.url),
                "application_name": str(self.url.query.get("application_name", "recollectx")),
            },
            pool_size=5,
            max_overflow=27,
            pool_timeout=self.busy_seconds,
            pool_reset_on_return=None,
        )
        # Before SQLAlchemy asks for anything: of a database without UTF-8 the answers would be bytes.
        event.listen(engine, "connect", self._configure, insert=True)
        return engine

    def _configure(self, raw: Any, _record: object) -> None:
        encoding = raw.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise InvalidSetting(
                f"{self.place} keeps text as {encoding}; make the database with ENCODING 'UTF8'"
            )
        raw.autocommit = True  # transactions begin by what _begin sends
        # Compiling a plan takes longer than any of our statements.
        raw.execute(f"SET lock_timeout = {max(1, int(self.busy_seconds * 1000))}; SET jit = off")

    def _begin(self, conn: Connection, *, writing: bool) -> None:
        send(conn, _BEGIN_WRITE if writing else _BEGIN_READ).close()

    def _begun(self, *, writing: bool) -> Connection:
        """A connection in a transaction that has begun; one that died since its last use is replaced."""
        conn = self._taken(writing=writing)
        try:
            self._begin(conn, writing=writing)
        except BaseException as error:
            self._end(conn, keep=False)
            if conn is not self._kept:
                conn.close()
            if not isinstance(error, DBAPIError) or not _is_lost(error):
                raise
            # Nothing was sent but the beginning. The others are as old.
            self._let_idle_go()
            self.engine.dispose()
            return super()._begun(writing=writing)
        return conn

    def _in_transaction(self, raw: Any) -> bool:
        return bool(raw.pgconn.transaction_status != _IDLE)

    def _end(self, conn: Connection, *, keep: bool) -> None:
        if conn.invalidated or conn.connection.dbapi_connection.closed:  # type: ignore[union-attr]
            self._drop(conn)
            return
        try:
            super()._end(conn, keep=keep)
        except DBAPIError as error:
            if not _is_lost(error):
                raise
            self._drop(conn)
            if keep:
                raise StorageError(
                    f"the connection to {self.place} was lost while a write was committed; "
                    "look whether it is there before it is written again"
                ) from error

    def _drop(self, conn: Connection) -> None:
        """Let a dead connection go."""
        if not conn.invalidated:
            conn.invalidate()
        if conn.in_transaction():
            conn.rollback()
        if conn is self._kept:
            conn.close()
            self._kept = None

    def _forked(self) -> None:
        # Kept for as long as this process lives: to let it go would speak to the server on the parent's line.
        self._parents += [*self._idle, *([] if self._kept is None else [self._kept])]
        super()._forked()

    def _told(self, error: DBAPIError) -> RecollectxError:
        text = str(error.orig).strip().partition("\n")[0]
        state = _state(error)
        if state in _BUSY:
            return DatabaseBusy(
                f"another process held {self.place} for over {self.busy_seconds:g} s; try again"
            )
        if state == _TOO_LONG:
            return InvalidClaim(
                f"a name (an id, scope, source or derivation) has more bytes than {self.place} can index; "
                f"shorten it to 650 characters, which always fit: {text}"
            )
        if isinstance(error, DataError):
            return InvalidClaim(f"{self.place} cannot hold a value: {text}")
        if _is_lost(error):
            return StorageError(f"no connection to {self.place}: {text}")
        return StorageError(f"{self.place}: {text}")

    def truncate_log(self) -> bool:
        """Remove deleted rows for good, by VACUUM; False while another transaction may still see them.

        Rows that nobody can see any more are gone from every query; their bytes are written over as pages fill up.
        """
        with self._guard, self._step, self.engine.connect() as conn:
            oldest = send(conn, _OLDEST).fetchone()
            if oldest is not None and oldest == self._in_the_way:
                return False
            done = self._vacuum(conn)
            self._in_the_way = None if done else oldest
            return done

    def _vacuum(self, conn: Connection) -> bool:
        raw: Any = conn.connection.dbapi_connection
        told: list[str] = []
        listen = lambda notice: told.append(notice.message_primary or "")  # noqa: E731
        tables = [*(name for (name,) in send(conn, _OURS)), *sorted(legacy.present(conn))]
        conn.rollback()
        raw.add_notice_handler(listen)
        try:
            send(conn, f"VACUUM (VERBOSE, INDEX_CLEANUP ON) {', '.join(tables)}").close()
        except DBAPIError as error:
            if _state(error) in _BUSY:
                return False
            raise
        finally:
            raw.remove_notice_handler(listen)
        # Of a table that belongs to somebody else it only warns.
        seen = [table for table in tables if any(f'.{table}"' in text for text in told)]
        left = [int(number) for text in told for each in _LEFT for number in each.findall(text)]
        return len(seen) == len(tables) and bool(left) and not any(left)


def _seconds(url: URL) -> int:
    """How long to wait for a connection."""
    given = str(url.query.get("connect_timeout", CONNECT_SECONDS))
    if not (given.isascii() and given.isdecimal() and len(given) < 10):  # the driver takes 32 bits
        raise InvalidSetting(f"connect_timeout of {place_of(url)} must be a whole number of seconds")
    return int(given)


def _state(error: DBAPIError) -> str | None:
    return getattr(error.orig, "sqlstate", None)


def _is_lost(error: DBAPIError) -> bool:
    """Whether there is no connection any more, or none came about."""
    state = _state(error)
    if state is None:
        return isinstance(error, OperationalError)
    return state in _GONE or state.startswith("08")
