"""PgVectorBackend: vectors in a table of PostgreSQL, by its extension pgvector.

The table may stand in the claims' own database: within `joined(conn)` what is written belongs to the transaction of
`conn`, and is there or not there with the claims. Scopes of up to EXACT vectors are compared vector by vector. In a
larger one an HNSW index names the nearest, going on for as long as the scope filter leaves too few; where it gives up
before there are `k`, every vector of the scope is compared.

A table that is dropped while the index is open reads as empty. A search fails, as what is nearest is not known, and so does a
write until the index was cleared: to go on feeding in the middle would leave out what came before.
"""

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.exc import DBAPIError

from recollectx.db.statements import at_once
from recollectx.db.urls import PSYCOPG, address_of, place_of, resolve_url
from recollectx.embeddings.base import Embedder
from recollectx.errors import BackendError, DimensionError, InvalidSetting
from recollectx.extras import require
from recollectx.storage.vector.base import Near, Placement, VectorBackend
from recollectx.storage.vector.checking import Vectors
from recollectx.storage.vector.pgvector_sql import INDEXED_HALF, statements
from recollectx.storage.vector.services import embedder_of

TABLE = "rx_pgvectors"
EXACT = 5_000
"""Comparing so many takes about as long as the index takes to find the nearest."""
EF_LEAST, EF_MOST = 100, 1_000
"""How widely the index is searched: twice `k`, within these. The most that pgvector allows is 1,000."""
_TYPED = "recollectx.pgvector"
_WHICH = "SELECT oid, pg_postmaster_start_time()::text FROM pg_database WHERE datname = current_database()"
"""What no two databases have in common, and everybody may ask."""
_NOT_THERE = frozenset({"58P01", "0A000", "42501", "42704"})  # no such extension, or not for this user


class PgVectorBackend(VectorBackend):
    """Vectors in one table, which is made on first use.

    database: a postgresql:// URL, or an Engine on one.  embedding_fn: one text to its vector, or an embedder.
    Making the extension may need a superuser: `CREATE EXTENSION vector`. Raises MissingExtra without the packages;
    DimensionError if the table holds vectors of another length. Zero vectors are not kept: they have no direction.
    """

    placement: Placement = "database"
    zeros = False
    answers_within = 0.0  # what is sent ends with its transaction
    _failed: ClassVar[int] = 0
    """How often a call has failed: what connections know of the extension's types counts only for as long as none did."""

    def __init__(
        self,
        database: str | Engine,
        dimension: int,
        embedding_fn: Callable[[str], Any] | Embedder | None = None,
        *,
        table: str = TABLE,
    ) -> None:
        require("psycopg", "postgres")
        self._driver: Any = require("pgvector.psycopg", "postgres")
        # Not an array: the driver goes on with what it first knew of those, whatever is registered later.
        self._vector: Any = require("pgvector", "postgres").Vector
        super().__init__(dimension, embedder_of(embedding_fn, dimension))
        if not table.isidentifier() or not table.isascii() or table != table.lower():
            raise InvalidSetting(
                f"table {table!r} is no plain name; use small letters, digits and underscores"
            )
        url = database.url if isinstance(database, Engine) else resolve_url(database)
        if url.get_backend_name() != "postgresql":
            raise InvalidSetting("pgvector is a part of PostgreSQL; keep the memory at a postgresql:// URL")
        self._engine = create_engine(url.set(drivername=PSYCOPG), pool_pre_ping=True)
        self._secret = url.password
        self._place, self._address = place_of(url), address_of(url)
        self._table = table
        self._sql = statements(table, dimension)
        self._local = threading.local()
        self._made = self._known = False

    @property
    def address(self) -> str:
        """Database and table."""
        return f"pgvector:{self._address}#{self._table}"

    @contextmanager
    def joined(self, conn: Connection) -> Iterator[None]:
        """Within it, this thread's calls go through `conn`, a connection to the claims' own database."""
        before = self._conn
        self._local.conn = conn
        try:
            yield
        finally:
            self._local.conn = before

    def beside(self, conn: Connection) -> bool:
        """Whether `conn` is a connection to the database that this index lives in."""
        if conn.dialect.name != "postgresql":
            return False
        if address_of(conn.engine.url) == self._address:
            return True
        with self._step():
            own = self._cursor(typed=False).execute(_WHICH).fetchone()
        return tuple(own) == tuple(conn.exec_driver_sql(_WHICH).one())

    @property
    def _conn(self) -> Connection | None:
        return getattr(self._local, "conn", None)

    @contextmanager
    def _session(self, *, writing: bool) -> Iterator[None]:
        try:
            if self._conn is not None:
                yield
                return
            with self._engine.begin() as conn, self.joined(conn):
                yield
        except BaseException:
            # The table may be gone, or the extension, whose types have other numbers once it is there again.
            self._made = False
            PgVectorBackend._failed += 1
            raise

    def _forked(self) -> None:
        self._engine.dispose(close=False)

    def _close(self) -> None:
        self._engine.dispose()

    # The steps

    def _upsert(self, scope: str, ids: Sequence[str], vectors: Vectors) -> None:
        if not self._ready():
            if self._known:
                raise self._gone()
            self._make()
        # In one order, so that two who write the same ids do not wait for each other.
        rows = sorted(zip(ids, vectors, strict=True), key=lambda row: row[0])
        given = [{"scope": scope, "id": id, "vector": self._vector(vector)} for id, vector in rows]
        cursor = self._cursor()
        with at_once(self._joined()):
            cursor.executemany(self._sql["upsert"], given)

    def _delete(self, scope: str, ids: Sequence[str]) -> None:
        self._run("delete", scope=scope, ids=sorted(ids))

    def _search(self, scope: str, vector: Vectors, k: int) -> list[Near]:
        if self._known and not self._ready():
            raise self._gone()
        rows: list[Any] = []
        asked = self._vector(vector)
        if self.dimension <= INDEXED_HALF and self._run("is large", scope=scope, most=EXACT):
            self._run("widen", ef=str(min(EF_MOST, max(EF_LEAST, 2 * k))))
            rows = self._run("nearest by index", scope=scope, vector=asked, k=k)
        if len(rows) < k:
            rows = self._run("nearest", scope=scope, vector=asked, k=k)
        found = [Near(id, 1.0 - float(far)) for id, far in rows]
        return sorted(found, key=lambda near: (-near.score, near.id))

    def _vectors_of(self, scope: str, ids: Sequence[str]) -> dict[str, Vectors]:
        found = self._run("vectors", scope=scope, ids=list(ids))
        return {id: np.array(vector.to_numpy(), np.float32) for id, vector in found}

    def _scopes(self) -> Collection[str]:
        return [scope for (scope,) in self._run("scopes")]

    def _ids(self, scope: str) -> Collection[str]:
        return [id for (id,) in self._run("ids", scope=scope)]

    def _count(self, scope: str | None) -> int:
        found = self._run("count all") if scope is None else self._run("count", scope=scope)
        return int(found[0][0]) if found else 0

    def _clear(self, scope: str | None) -> None:
        if scope is not None:
            self._run("clear", scope=scope)
            return
        length = self._length()
        if length is None:
            self._made = self._known = False
        elif length == self.dimension:
            self._run("clear all")
        else:
            self._cursor(typed=False).execute(self._sql["reshape"])

    # What they are made of

    def _gone(self) -> BackendError:
        return BackendError(
            f"the table {self._table} in {self._place} is gone, and what it held with it; run `recollectx reindex`"
        )

    def _run(self, name: str, **values: Any) -> list[Any]:
        """The rows of a statement; none while there is no table."""
        if not self._ready():
            return []
        cursor = self._cursor().execute(self._sql[name], values)
        return list(cursor.fetchall()) if cursor.description else []

    def _joined(self) -> Connection:
        conn = self._conn
        if conn is None:
            raise BackendError("no connection is joined")
        return conn

    def _cursor(self, *, typed: bool = True) -> Any:
        """A cursor of the driver. typed: it knows the types of the extension."""
        conn = self._joined()
        if typed and conn.info.get(_TYPED) != self._failed:
            self._driver.register_vector(conn.connection.dbapi_connection)
            conn.info[_TYPED] = self._failed
        return conn.connection.cursor(binary=typed)

    def _ready(self) -> bool:
        """Whether there is a table; DimensionError if it is for vectors of another length."""
        if self._made:
            return True
        length = self._length()
        if length is None:
            return False
        if length != self.dimension:
            raise DimensionError(
                f"{self.address} holds {length}-d vectors, this index takes {self.dimension}-d ones; "
                "run `recollectx reindex`, or name another table"
            )
        self._made = self._known = True
        return True

    def _length(self) -> int | None:
        """The length of the vectors that the table is for; None without a table."""
        row = self._cursor(typed=False).execute(self._sql["length"]).fetchone()
        return None if row is None else int(row[0])

    def _make(self) -> None:
        """Make the table in a transaction of its own: one that is rolled back later takes no table with it."""
        try:
            with self._engine.begin() as conn:
                conn.exec_driver_sql(self._sql["make"])
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) not in _NOT_THERE:
                told = str(error.orig).strip().partition("\n")[0]
                raise BackendError(
                    f"the table {self._table} in {self._place} cannot be made: {told}; drop what is there by that name, "
                    "or name another table"
                ) from error
            raise BackendError(
                f"{self._place} has no pgvector for this user: {error.orig}; install it on the server and have a "
                "superuser run CREATE EXTENSION vector in that database"
            ) from error
        self._made = self._known = True
