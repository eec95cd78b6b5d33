"""Delivery: feeding an index that embeds texts on its own side, from the log of changes.

At least once and in order: what was delivered is remembered as a place in the log, moved on only after the index
took it, and kept in the database with each batch. After a fault or a kill the same changes come again, and
taking one twice does no harm.
"""

import logging
from collections.abc import Collection, Mapping, Sequence, Sized
from typing import Any

from sqlalchemy import bindparam, func, select

from recollectx.changes import Configure
from recollectx.db.engine import Database
from recollectx.db.tables import ChangeRow, ClaimRow
from recollectx.errors import BackendError
from recollectx.forks import Lock
from recollectx.storage.embedding import Apply
from recollectx.storage.reading import Reader
from recollectx.storage.vector.base import VectorBackend
from recollectx.storage.vector.text import TextBackend

DELIVERED = "delivered"
BATCH = 200
ASKED = 200
log = logging.getLogger("recollectx")

_LAST = select(func.max(ChangeRow.n))
_WAITING = (
    select(ChangeRow.n, ChangeRow.claim, ClaimRow.id)
    .join(ClaimRow, ClaimRow.pk == ChangeRow.claim)
    .where(ChangeRow.n > bindparam("after"), ChangeRow.kind.in_(("assert", "revise", "erase", "undo")))
    .order_by(ChangeRow.n)
    .limit(BATCH)
)


class Delivery:
    """Feeds one text index from one database."""

    def __init__(self, database: Database, backend: TextBackend, apply: Apply) -> None:
        self._database = database
        self._backend = backend
        self._apply = apply
        self._lock = Lock()
        index = backend.backend
        kept_as = getattr(index, "collection_name", None) or getattr(index, "index_name", None) or ""
        self._name = f"{DELIVERED}:{type(index).__qualname__}:{kept_as}"
        with database.read() as conn:
            stored = Reader(conn).setting(self._name)
        sized = isinstance(index, Sized) and not isinstance(index, VectorBackend)
        empty = sized and not len(index)  # type: ignore[arg-type]
        self._at = int(stored["n"]) if stored and not empty else 0

    def catch_up(self) -> bool:
        """Deliver what waits; False if the index failed and something still does."""
        with self._lock:
            try:
                while rows := self._waiting():
                    self._deliver(rows)
                    self._at = rows[-1].n
                    self._apply([Configure(self._name, {"n": self._at})], cause=DELIVERED)
            except BackendError as error:
                log.warning("the text index is behind: %s", error)
                return False
            return True

    def _waiting(self) -> Sequence[Any]:
        with self._database.read() as conn:
            return conn.execute(_WAITING, {"after": self._at}).all()

    def _deliver(self, rows: Sequence[Any]) -> None:
        with self._database.read() as conn:
            claims = Reader(conn).claims(row.claim for row in rows)
        self._backend.delete_ids(dict.fromkeys(row.id for row in rows if row.claim not in claims))
        self._backend.upsert_texts(
            [claim.id for claim in claims.values()], [claim.text for claim in claims.values()]
        )

    def near(self, text: str, keys: Mapping[str, int], allowed: Collection[int]) -> dict[int, float] | None:
        """Ranks of the nearest claims among `allowed`, as scores in (0, 1]; None if the index fails.

        keys: which claims the ids mean.
        """
        self.catch_up()
        if not allowed or not text.strip():
            return None
        try:
            found = self._backend.search_text(text, ASKED, keep=lambda id: keys.get(id) in allowed)
        except BackendError as error:
            log.warning("recall goes by words alone: %s", error)
            return None
        return {keys[each.id]: each.score for each in found}
