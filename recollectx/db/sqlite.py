"""SQLite: one file, or `:memory:`.

WAL mode with synchronous=FULL, foreign keys, secure_delete and a busy time-out; a writer begins with BEGIN IMMEDIATE,
so what it reads cannot change before it writes. `:memory:` is one connection behind a lock.
"""

import sqlite3
import time
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, ExceptionContext
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.pool import StaticPool

from recollectx.db.server import Database
from recollectx.db.statements import fault
from recollectx.db.urls import MEMORY
from recollectx.errors import DatabaseBusy, InvalidSetting, RecollectxError, StorageError
from recollectx.forks import WHOLE

OURS = "recollectx: nobody else has this connection"


class SQLite(Database):
    """A SQLite database."""

    backend = "sqlite"

    def __init__(self, url: URL, busy_seconds: float) -> None:
        self.in_memory = url.database == MEMORY
        self._file: tuple[int, int] | None = None
        if not self.in_memory:
            make_folder(Path(url.database or ""))
        super().__init__(url, busy_seconds)
        event.listen(self.engine, "handle_error", _stay_connected)

    @property
    def place(self) -> str:
        """The path of the file, or `:memory:`."""
        return str(self.url.database)

    def _still_there(self) -> bool:
        """Whether the file that was opened is still the one at this path."""
        with suppress(OSError):
            return self._file is None or self._file == _identity(self.url)
        return False

    def _begin(self, conn: Connection, *, writing: bool) -> None:
        raw: Any = conn.connection.dbapi_connection
        if raw.in_transaction and conn is self._kept and self._now is None:
            self._not_ended(conn)
        if writing:
            self._check_free(conn)
            try:
                # The driver leaves this to us; asked through SQLAlchemy it takes longer than writing a claim.
                raw.execute("BEGIN IMMEDIATE")
            except sqlite3.Error as error:
                raise fault(conn, "BEGIN IMMEDIATE", error) from error
            return
        if self._file is None and not self.in_memory:
            conn.exec_driver_sql("PRAGMA user_version")
            self._file = _identity(self.url)
            conn.rollback()
        self._check_free(conn)
        raw.execute("BEGIN").close()

    def _whole(self) -> AbstractContextManager[Any]:
        return self._writing if self.in_memory else WHOLE

    def _forked(self) -> None:
        # SQLite knows of its locks by process: what is open from before the fork counts as locked, and is not.
        if not self.in_memory:
            self._let_idle_go()
            if self._kept is not None and self._now is None:
                self._kept.close()
            self.engine.dispose()
        super()._forked()

    def _in_transaction(self, raw: Any) -> bool:
        return bool(raw.in_transaction)

    def _not_ended(self, conn: Connection) -> None:
        """End a transaction that an interrupt kept from coming to its end: whoever began it is gone."""
        self._end(conn, keep=False)

    def _check_free(self, conn: Connection) -> None:
        """Raise StorageError if somebody else is in the midst of a write on this very connection."""

    def _told(self, error: DBAPIError) -> RecollectxError:
        text = str(error.orig)
        if isinstance(error, OperationalError) and ("locked" in text or "busy" in text):
            return DatabaseBusy(
                f"another process held {self.place} for over {self.busy_seconds:g} s; try again"
            )
        return StorageError(f"{self.place}: {text}")

    def _engine(self) -> Engine:
        connect: dict[str, Any] = {"timeout": self.busy_seconds, "check_same_thread": False}
        if self.in_memory:
            engine = create_engine(self.url, connect_args=connect, poolclass=StaticPool)
        else:
            engine = create_engine(self.url, connect_args=connect, pool_size=8, max_overflow=56)
        event.listen(engine, "connect", self._configure)
        return engine

    def _configure(self, dbapi: Any, record: Any) -> None:
        dbapi.isolation_level = None
        record.info[OURS] = not self.in_memory
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
        with self._guard, self._step, closing(self.engine.raw_connection()) as connection:
            cursor = connection.cursor()
            cursor.execute("PRAGMA busy_timeout=0")
            busy = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            cursor.execute(f"PRAGMA busy_timeout={int(self.busy_seconds * 1000)}")
            return not busy


def _stay_connected(context: ExceptionContext) -> None:
    """An interrupt ends what was asked, not the connection, which in memory is all there is."""
    if not isinstance(context.original_exception, Exception):
        context.is_disconnect = False


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
