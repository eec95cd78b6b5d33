"""One configured engine per database: transactions that never lose an update, safe in threads and processes.

SQLite runs in WAL mode with synchronous=FULL, foreign keys, secure_delete and a busy time-out; a writer begins with
BEGIN IMMEDIATE, so what it reads cannot change before it writes. `:memory:` is one connection behind a lock.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError
from sqlalchemy.pool import StaticPool

from recollectx.db.statements import fault, send
from recollectx.errors import DatabaseBusy, InvalidSetting, StorageError

BUSY_SECONDS = 30.0
IDLE = 4
MEMORY = ":memory:"

_open: dict[str, "Database"] = {}
_open_lock = threading.Lock()


def resolve_url(target: str | os.PathLike[str] | URL) -> URL:
    """The database URL of a path, `:memory:` or URL; `~` and relative paths are made absolute."""
    if isinstance(target, URL):
        url = target
    elif isinstance(target, str) and "://" in target:
        try:
            url = make_url(target)
        except ArgumentError:
            raise InvalidSetting(
                f"{target!r} is no database URL; write sqlite:///path.db or a path"
            ) from None
    else:
        text = os.fspath(target)
        if not text:
            raise InvalidSetting("the database path is empty; give a file or :memory:")
        url = URL.create("sqlite", database=text)
    if url.get_backend_name() != "sqlite":
        raise InvalidSetting(f"{url.get_backend_name()} is not supported; use a SQLite file")
    if url.database in (None, "", MEMORY):
        return url.set(database=MEMORY)
    return url.set(database=str(Path(url.database or "").expanduser().resolve()))


class Database:
    """Reads and writes of one database. Open it with `Database.open`; close each opening once."""

    def __init__(self, url: URL, busy_seconds: float) -> None:
        self.url = url
        self.in_memory = url.database == MEMORY
        self.busy_seconds = busy_seconds
        self.engine = self._engine()
        self._writing = threading.RLock()
        self._openings = 1
        self._pid = os.getpid()
        self._now: Connection | None = None
        self._kept: Connection | None = None
        self._idle: list[Connection] = []
        self._file: tuple[int, int] | None = None

    @classmethod
    def open(cls, target: str | os.PathLike[str] | URL, *, busy_seconds: float = BUSY_SECONDS) -> "Database":
        """The database at `target`: one per file in a process, a new one for every `:memory:`."""
        url = resolve_url(target)
        if url.database == MEMORY:
            return cls(url, busy_seconds)
        key = url.render_as_string(hide_password=False)
        with _open_lock:
            known = _open.get(key)
            if known is not None and known._pid == os.getpid() and known._still_there():
                known._openings += 1
                return known
            make_folder(Path(url.database or ""))
            _open[key] = cls(url, busy_seconds)
            return _open[key]

    def _still_there(self) -> bool:
        """Whether the file that was opened is still the one at this path."""
        with suppress(OSError):
            return self._file is None or self._file == _identity(self.url)
        return False

    def close(self) -> None:
        """Undo one opening; the last one lets the file go."""
        with _open_lock:
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
        while self._idle:
            self._idle.pop().close()
        self.engine.dispose()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees one moment of the database."""
        with self._guard():
            if self._now is not None and self.in_memory:
                # Asked from within a write of the same thread: its one connection is busy with it.
                yield self._now
                return
            with self._readable() as conn:
                if self._file is None and not self.in_memory:
                    conn.exec_driver_sql("PRAGMA user_version")
                    self._file = _identity(self.url)
                    conn.rollback()
                self._check_free(conn)
                # The driver leaves this to us; asked through SQLAlchemy it takes longer than reading a claim.
                conn.connection.cursor().execute("BEGIN").close()
                try:
                    yield conn
                finally:
                    _end(conn, keep=False)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A connection inside the write lock; commits at the end, rolls back on any error."""
        with self._guard(), self._writing, self._writable() as conn:
            self._check_free(conn)
            # The driver leaves this to us; asked through SQLAlchemy it takes longer than writing a claim.
            send(conn, "BEGIN IMMEDIATE").close()
            before, self._now = self._now, conn
            try:
                yield conn
                _end(conn, keep=True)
            except BaseException:
                _end(conn, keep=False)
                raise
            finally:
                self._now = before

    @contextmanager
    def _readable(self) -> Iterator[Connection]:
        """A connection of the few that are kept for reading, as taking one takes as long as a small read."""
        try:
            conn = self._idle.pop()
        except IndexError:
            conn = self.engine.connect()
        try:
            yield conn
        except BaseException:
            conn.close()
            raise
        if self._openings and len(self._idle) < IDLE and not self.in_memory:
            self._idle.append(conn)
        else:
            conn.close()

    @contextmanager
    def _writable(self) -> Iterator[Connection]:
        """The connection that is kept for writing to a file, as taking one takes as long as a small write; within a
        write another, which finds the lock taken."""
        if self.in_memory or self._now is not None:
            with self.engine.connect() as conn:
                yield conn
            return
        if self._kept is None:
            self._kept = self.engine.connect()
        yield self._kept

    def _check_free(self, conn: Connection) -> None:
        """Raise StorageError if somebody else is in the midst of a write on this very connection."""

    @contextmanager
    def _guard(self) -> Iterator[None]:
        if self._pid != os.getpid() and self.in_memory:
            raise StorageError(
                "a database in memory stays in the process that made it; open one in this process"
            )
        if self._pid != os.getpid():
            self.engine.dispose(close=False)
            self._kept = self._now = None
            self._idle = []
            self._writing = threading.RLock()
            self._pid = os.getpid()
        try:
            if self.in_memory:
                with self._writing:
                    yield
            else:
                yield
        except OperationalError as error:
            if "locked" in str(error.orig) or "busy" in str(error.orig):
                raise DatabaseBusy(
                    f"another process held {self.url.database} for over {self.busy_seconds:g} s; try again"
                ) from error
            raise StorageError(f"{self.url.database}: {error.orig}") from error
        except DBAPIError as error:
            raise StorageError(f"{self.url.database}: {error.orig}") from error

    def _engine(self) -> Engine:
        connect: dict[str, Any] = {"timeout": self.busy_seconds, "check_same_thread": False}
        if self.in_memory:
            engine = create_engine(self.url, connect_args=connect, poolclass=StaticPool)
        else:
            engine = create_engine(self.url, connect_args=connect, pool_size=8, max_overflow=56)
        event.listen(engine, "connect", self._configure)
        return engine

    def _configure(self, dbapi: Any, _record: object) -> None:
        dbapi.isolation_level = None
        run = dbapi.execute
        run(f"PRAGMA busy_timeout={int(self.busy_seconds * 1000)}")
        if not self.in_memory:
            _use_wal(dbapi, self.busy_seconds)
        run("PRAGMA synchronous=FULL")
        run("PRAGMA foreign_keys=ON")
        run("PRAGMA secure_delete=ON")

    def truncate_log(self) -> bool:
        """Copy the write-ahead log into the file and empty it; False while a reader still needs the log."""
        if self.in_memory:
            return True
        connection = self.engine.raw_connection()
        try:
            cursor = connection.cursor()
            cursor.execute("PRAGMA busy_timeout=0")
            busy = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            cursor.execute(f"PRAGMA busy_timeout={int(self.busy_seconds * 1000)}")
            return not busy
        finally:
            connection.close()


def _end(conn: Connection, *, keep: bool) -> None:
    """End a transaction that was begun here, and the one that SQLAlchemy keeps count of if it was asked anything."""
    raw: Any = conn.connection.dbapi_connection
    if raw.in_transaction:
        try:
            if keep:
                raw.commit()
            else:
                raw.rollback()
        except sqlite3.Error as error:
            raise fault(conn, "COMMIT" if keep else "ROLLBACK", error) from error
    if conn.in_transaction():
        conn.rollback()


def _use_wal(dbapi: Any, seconds: float) -> None:
    # Switching the journal does not wait for the busy time-out, so openings at the same moment wait here.
    until = time.monotonic() + seconds
    while dbapi.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            dbapi.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


def _identity(url: URL) -> tuple[int, int]:
    found = Path(url.database or "").stat()
    return found.st_dev, found.st_ino


def make_folder(path: Path) -> None:
    """Make the folder that a database file goes into."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot make the folder of {path}: {error}") from error
    if path.is_dir():
        raise InvalidSetting(f"{path} is a folder; give the path of a file in it")
