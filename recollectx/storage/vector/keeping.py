"""The file that an index in memory is rebuilt from: scope, id and vector, every call one transaction of SQLite.

Several openers may write to one file; `changed` tells each that another one has. A commit survives the end of the
process at once, a power cut once the log is copied. After a delete it is copied and emptied, so no bytes stay behind.
"""

import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from recollectx.errors import BackendError, DatabaseTooNew, DimensionError
from recollectx.storage.vector.checking import Vectors

BUSY_SECONDS = 30.0
FORMAT = 1
TABLE = """
CREATE TABLE vectors (
    key INTEGER PRIMARY KEY, scope TEXT NOT NULL, id TEXT NOT NULL, vector BLOB NOT NULL, UNIQUE (scope, id)
)
"""
PUT = """
INSERT INTO vectors (key, scope, id, vector) VALUES (?, ?, ?, ?)
ON CONFLICT (scope, id) DO UPDATE SET vector = excluded.vector
"""


@dataclass
class Kept:
    """The vectors of one scope, in the order of their keys."""

    keys: list[int] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    blobs: list[bytes] = field(default_factory=list)

    def matrix(self, dimension: int) -> Vectors:
        """Shape (len(ids), dimension), or DimensionError if the file holds others."""
        for blob in self.blobs:
            if len(blob) != 4 * dimension:
                raise DimensionError(
                    f"the file holds {len(blob) // 4}-d vectors, it was opened for {dimension}-d ones; "
                    "give another path, or delete the file and feed the index again"
                )
        return np.frombuffer(b"".join(self.blobs), "<f4").reshape(-1, dimension)


class VectorFile:
    """Vectors on disk.

    path: made if missing.  first: called once in the life of the file, inside the transaction that makes it: scope,
    ids and vectors to begin with.
    """

    def __init__(self, path: Path, first: Callable[[], tuple[str, Sequence[str], Vectors]]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        self.close = weakref.finalize(self, self._connection.close)
        self._version: int | None = None
        self._dropped = False
        try:
            # Switching the log does not wait for others; whoever is in the way is opening the file, and switches it.
            with suppress(sqlite3.OperationalError):
                self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.execute("PRAGMA secure_delete=ON")
            with self.transaction():
                self._begin_life(path, first)
        except sqlite3.Error as error:
            self.close()
            raise BackendError(f"cannot open {path}: {error}") from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, with other writers waiting; after an error the file counts as changed."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            self._version = None
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        if self._dropped:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._dropped = False

    def changed(self) -> bool:
        """Whether the file holds what neither `read` has given nor this object has written."""
        return self._version != self._pragma("data_version")

    def read(self) -> dict[str, Kept]:
        """Everything, by scope."""
        version = self._pragma("data_version")
        scopes: dict[str, Kept] = {}
        for key, scope, id, blob in self._connection.execute(
            "SELECT key, scope, id, vector FROM vectors ORDER BY key"
        ):
            kept = scopes.setdefault(scope, Kept())
            kept.keys.append(key)
            kept.ids.append(id)
            kept.blobs.append(blob)
        self._version = version
        return scopes

    def put(self, scope: str, keys: Iterable[int], ids: Sequence[str], vectors: Vectors) -> None:
        """Add or replace, inside a transaction."""
        blobs = (row.astype("<f4").tobytes() for row in vectors)
        rows = ((key, scope, id, blob) for key, id, blob in zip(keys, ids, blobs, strict=True))
        self._connection.executemany(PUT, rows)

    def drop(self, keys: Iterable[int]) -> None:
        """Remove, inside a transaction."""
        self._dropped = True
        self._connection.executemany("DELETE FROM vectors WHERE key = ?", ((key,) for key in keys))

    def _begin_life(self, path: Path, first: Callable[[], tuple[str, Sequence[str], Vectors]]) -> None:
        found = self._pragma("user_version")
        if found > FORMAT:
            raise DatabaseTooNew(f"{path} has format {found}, this recollectx knows {FORMAT}; upgrade it")
        if not found:
            self._connection.execute(TABLE)
            scope, ids, vectors = first()
            self.put(scope, range(1, len(ids) + 1), ids, vectors)
            self._connection.execute(f"PRAGMA user_version={FORMAT}")

    def _pragma(self, name: str) -> int:
        value: int = self._connection.execute(f"PRAGMA {name}").fetchone()[0]
        return value
