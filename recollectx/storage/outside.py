"""Asking an index outside the process for what is near in a large scope.

A scope of up to NEAR_AT_HAND claims is compared vector by vector in the process, as without an index. In a larger one the
index names ASKED claims, and the database gives the vectors: of those, of what fits by words, of what the index was not
fed yet, and of what a filter leaves when too few of the nearest pass it. So an index that is late or wrong can miss a claim,
and no score is of its making. Mean and spread of the rest are those of a sample. It is asked before any lock or snapshot
is taken, as its answer may take long.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import bindparam, select

from recollectx.db.engine import Database
from recollectx.db.tables import RevisionRow, VectorRow
from recollectx.embeddings.base import Vectors
from recollectx.query import Query
from recollectx.ranking import Cosines, ScopeIndex
from recollectx.relevance import spread_of
from recollectx.storage.batches import unpacked
from recollectx.storage.feeding import FAULTS, Feed
from recollectx.storage.reading import Reader
from recollectx.storage.vector.checking import unit_rows

NEAR_AT_HAND = 1_000
"""Up to so many claims a scope, comparing all takes less time than asking somebody else."""
ASKED = 1_000
BY_WORDS = 300
SAMPLE = 1_000
READ = 20_000
"""How many vectors are read from the database for one question at most, where the index gives too few: first of what it names
and what fits by words, then the newest of what it was not fed yet, then the newest of what a filter leaves."""
log = logging.getLogger("recollectx")

_VECTORS = (
    select(RevisionRow.claim, VectorRow.vector)
    .join(VectorRow, VectorRow.text == RevisionRow.text)
    .where(RevisionRow.claim.in_(bindparam("keys", expanding=True)), RevisionRow.tx_to.is_(None))
)


@dataclass(frozen=True, slots=True)
class Nearest:
    """What the index answered: ids, none if it failed.  since: the change up to which it was fed before it was asked."""

    ids: tuple[str, ...]
    since: int


@dataclass(slots=True)
class Known:
    """What is kept in memory of a scope whose vectors are outside. keys: the claims by id.  sample: some vectors."""

    index: ScopeIndex
    keys: dict[str, int]
    sample: Vectors | None = None
    sampled: int = 0


class Outside:
    """Reads one index that is fed from the log of changes."""

    def __init__(self, database: Database, feed: Feed) -> None:
        self._database = database
        self._feed = feed
        self._backend = feed.backend

    def begin(self) -> None:
        """Have the index fed with what an earlier process left."""
        self._feed.begin()

    def ask(self, scope: str, vector: Vectors) -> Nearest:
        """The nearest of a scope, as the index has them."""
        with self._database.read() as conn:
            since = self._feed.place(conn)
            if self._backend.placement == "database":
                with self._backend.joined(conn):
                    return self._asked(scope, vector, since)
        return self._asked(scope, vector, since)

    def _asked(self, scope: str, vector: Vectors, since: int) -> Nearest:
        try:
            found = self._backend.search_vector(scope, vector, min(ASKED, self._backend.most or ASKED))
        except FAULTS as error:
            log.warning("what is near is looked up in the database alone: %s", error)
            found = []
        if not found:
            # Only large scopes are asked for: it may have lost everything while nobody writes.
            self._feed.doubt()
        return Nearest(tuple(each.id for each in found), since)

    def cosines(
        self,
        nearest: Nearest | None,
        known: Known,
        reader: Reader,
        scope: str,
        *,
        vector: Vectors,
        query: Query,
        now: float,
        most: int = READ,
    ) -> Cosines:
        """The cosines of the claims that may count for a question, as `reader` sees them.

        nearest: None where the index was not asked.  most: how many vectors are read, but for those that the index
        names and those that fit by words, which are never left out.
        """
        index, keys = known.index, known.keys
        named = {keys[id] for id in (nearest.ids if nearest else ()) if id in keys}
        since = self._feed.place(reader.conn) if nearest is None else nearest.since
        chosen = named.union(index.by_words(query.text or "", query.weights, BY_WORDS))
        _add_newest(chosen, self._feed.since(reader, scope, since), most)
        allowed = index.allowed(query, now)
        wanted = query.offset + (query.k or ASKED)
        if np.isin(np.fromiter(named, np.int64, len(named)), allowed).sum() < min(wanted, allowed.size):
            _add_newest(chosen, allowed.tolist(), most)
        scores = _exact(reader, chosen, vector)
        sample = self._sample(known, reader)
        if not len(sample):
            return Cosines(scores)
        told = sample @ (vector / np.linalg.norm(vector))
        return Cosines(scores, float(told.mean()), spread_of(told.astype(np.float64)))

    def _sample(self, known: Known, reader: Reader) -> Vectors:
        """Vectors that stand for those of the scope: kept until it has grown by half."""
        if known.sample is None or len(known.index) > 1.5 * known.sampled:
            every = sorted(known.keys.values())
            pks = every[:: max(1, len(every) // SAMPLE)]
            rows = list(reader.rows_in(_VECTORS, pks))
            known.sample = _directions(rows) if rows else np.zeros((0, self._backend.dimension), np.float32)
            known.sampled = len(known.index)
        return known.sample


def _exact(reader: Reader, pks: Iterable[int], vector: Vectors) -> dict[int, float]:
    """The cosines of these claims by their vectors in the database."""
    rows = list(reader.rows_in(_VECTORS, sorted(pks)))
    if not rows:
        return {}
    directions = _directions(rows)
    found = directions @ (vector / np.linalg.norm(vector))
    # A wording in which the model finds nothing has no direction to compare.
    return {
        row.claim: score
        for row, score, direction in zip(rows, found.tolist(), directions, strict=True)
        if direction.any()
    }


def _directions(rows: Sequence[Any]) -> Vectors:
    return unit_rows([unpacked(row.vector) for row in rows], (len(rows), len(rows[0].vector) // 2))


def _add_newest(chosen: set[int], more: Iterable[int], most: int) -> None:
    """Add to `chosen` what it lacks of these claims, the newest first, until it has `most`."""
    lacking = sorted(set(more) - chosen, reverse=True)
    chosen.update(lacking[: max(0, most - len(chosen))])
