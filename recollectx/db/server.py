"""What every database server has in common: openings, the write lock, and transactions that never lose an update.

recollectx.db.sqlite and recollectx.db.postgres say how a transaction begins and ends on theirs, and what its errors
mean.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, ClassVar

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoneFree

from recollectx.db.statements import fault
from recollectx.db.urls import MEMORY, resolve_url
from recollectx.errors import DatabaseBusy, RecollectxError, StorageError
from recollectx.forks import Lock

BUSY_SECONDS = 30.0
IDLE = 4
_STEP: AbstractContextManager[Any] = nullcontext()


_kinds: dict[str, type["Database"]] = {}
_open: dict[str, "Database"] = {}
_opening = Lock()


class Database:
    """Reads and writes of one database. Open it with `Database.open`; close each opening once."""

    backend: ClassVar[str]
    in_memory: bool = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _kinds.setdefault(cls.backend, cls)

    @staticmethod
    def open(target: str | os.PathLike[str] | URL, *, busy_seconds: float = BUSY_SECONDS) -> "Database":
        """The database at `target`: one per place in a process, a new one for every `:memory:`."""
        url = resolve_url(target)
        kind = _kinds[url.get_backend_name()]
        if url.database == MEMORY:
            return kind(url, busy_seconds)
        key = url.render_as_string(hide_password=False)
        with _opening:
            known = _open.get(key)
            if known is not None and known._pid == os.getpid() and known._still_there():
                known._openings += 1
                return known
            _open[key] = opened = kind(url, busy_seconds)
            return opened

    def __init__(self, url: URL, busy_seconds: float) -> None:
        self.url = url
        self.busy_seconds = busy_seconds
        self.engine = self._engine()
        self._writing = threading.RLock()
        self._openings = 1
        self._pid = os.getpid()
        self._guard = _Guard(self)
        self._step = self._whole()
        self._now: Connection | None = None
        self._kept: Connection | None = None
        self._idle: list[Connection] = []

    # What a server writes.

    @property
    def place(self) -> str:
        """Where the database is, as people are told; never a password."""
        raise TypeError(f"{type(self).__name__} must implement place")

    def _engine(self) -> Engine:
        raise TypeError(f"{type(self).__name__} must implement _engine()")

    def _begin(self, conn: Connection, *, writing: bool) -> None:
        """Begin a transaction that sees one moment, or one inside the write lock."""
        raise TypeError(f"{type(self).__name__} must implement _begin(conn, writing=...)")

    def _in_transaction(self, raw: Any) -> bool:
        raise TypeError(f"{type(self).__name__} must implement _in_transaction(raw)")

    def _told(self, error: DBAPIError) -> RecollectxError:
        """The error as ours."""
        raise TypeError(f"{type(self).__name__} must implement _told(error)")

    def truncate_log(self) -> bool:
        """Drop what the server still keeps of deleted rows; False while somebody still needs it."""
        raise TypeError(f"{type(self).__name__} must implement truncate_log()")

    def _still_there(self) -> bool:
        """Whether what was opened is still what the URL means."""
        return True

    def _whole(self) -> AbstractContextManager[Any]:
        """Around every use, for what the driver could not make good in a process that is forked off within it.

        The same each time, and it may be nested."""
        return _STEP

    # Shared steps

    def close(self) -> None:
        """Undo one opening; the last one lets the database go."""
        with _opening:
            self._openings -= 1
            if self._openings:
                return
            key = self.url.render_as_string(hide_password=False)
            if _open.get(key) is self:
                del _open[key]
        if self._writing.acquire(blocking=False):
            # A write of another thread, or one that this is called from, ends first; its connection goes with it.
            if self._kept is not None and self._now is None:
                self._kept.close()
                self._kept = None
            self._writing.release()
        self._let_idle_go()
        self.engine.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees one moment of the database."""
        with self._guard, self._step:
            if self.in_memory:
                with self._alone() as conn:
                    yield conn
                return
            conn = self._begun(writing=False)
            try:
                yield conn
                self._end(conn, keep=False)
            except BaseException:
                try:
                    self._end(conn, keep=False)
                finally:
                    conn.close()
                raise
            self._put_back(conn)

    @contextmanager
    def _alone(self) -> Iterator[Connection]:
        """The one connection to what is in memory, which reads and writes share; the lock is held."""
        if self._now is not None:
            # Asked from within another use by the same thread, which it is busy with.
            yield self._now
            return
        try:
            self._now = self._begun(writing=False)
            yield self._now
        finally:
            conn, self._now = self._now, None
            if conn is not None:
                self._end(conn, keep=False)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A connection inside the write lock; commits at the end, rolls back on any error."""
        with self._guard, self._step, self._writing:
            conn = self._begun(writing=True)
            before, self._now = self._now, conn
            try:
                yield conn
                self._end(conn, keep=True)
            except BaseException:
                self._end(conn, keep=False)
                raise
            finally:
                self._now = before
                if conn is not self._kept:
                    conn.close()

    def _begun(self, *, writing: bool) -> Connection:
        """A connection in a transaction that has begun."""
        conn = self._taken(writing=writing)
        try:
            self._begin(conn, writing=writing)
        except BaseException:
            if conn is not self._kept:
                conn.close()
            raise
        return conn

    def _taken(self, *, writing: bool) -> Connection:
        """One of the few connections kept for reading, or the one for writing, as taking one takes as long as a small
        read or write; within a write another, which finds the lock taken. In memory there is only one: were it given
        back to the pool, which drops what it was interrupted in, all would be lost."""
        if not writing and self._idle:
            with suppress(IndexError):  # another thread was faster
                return self._idle.pop()
        if not self.in_memory and (not writing or self._now is not None):
            return self.engine.connect()
        if self._kept is None:
            self._kept = self.engine.connect()
        return self._kept

    def _put_back(self, conn: Connection) -> None:
        if len(self._idle) < IDLE and self._openings and not conn.invalidated:
            self._idle.append(conn)
        else:
            conn.close()

    def _let_idle_go(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _end(self, conn: Connection, *, keep: bool) -> None:
        """End a transaction that was begun here, and the one that SQLAlchemy keeps count of if it was asked anything."""
        raw: Any = conn.connection.dbapi_connection
        if self._in_transaction(raw):
            try:
                if keep:
                    raw.commit()
                else:
                    raw.rollback()
            except conn.dialect.loaded_dbapi.Error as error:
                raise fault(conn, "COMMIT" if keep else "ROLLBACK", error) from error
        if conn.in_transaction():
            conn.rollback()

    def _forked(self) -> None:
        """Begin anew in a process that was forked off: the connections are the parent's."""
        if self.in_memory:
            raise StorageError(
                "a database in memory stays in the process that made it; open one in this process"
            )
        self.engine.dispose(close=False)
        self._kept = self._now = None
        self._idle = []
        self._writing = threading.RLock()
        self._pid = os.getpid()


class _Guard:
    """Around every use of a database, and there around its step: what the driver raises is told as ours.

    It holds nothing that an interrupt could leave taken.
    """

    __slots__ = ("_database",)

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> None:
        database = self._database
        if database._pid != os.getpid():
            database._forked()

    def __exit__(self, kind: Any, error: BaseException | None, *_: object) -> None:
        if error is None:
            return
        database = self._database
        if isinstance(error, DBAPIError):
            raise database._told(error) from error
        if isinstance(error, NoneFree):
            raise DatabaseBusy(
                f"all connections to {database.place} are in use; try again: {error}"
            ) from error
