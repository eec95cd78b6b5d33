"""Asking an index outside the process for what is near, checked against the database and completed from it.

The index is asked before any lock or snapshot is taken, as its answer may take long. What it returns counts only for
claims that the database holds now; the vectors of what it was not yet fed, or may hold wrongly, come from the database.
Of a scope with more than ASKED claims the index names the nearest; the vectors of the claims that fit by words, and of
those that a filter leaves when too few of the nearest pass it, are read from the database, and mean and spread of the
rest are those of a sample.
"""

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import bindparam, select

from recollectx.db.engine import Database
from recollectx.db.tables import RevisionRow, VectorRow
from recollectx.embeddings.base import Vectors
from recollectx.errors import BackendError
from recollectx.query import Query
from recollectx.ranking import Cosines, ScopeIndex
from recollectx.relevance import spread_of
from recollectx.storage.batches import unpacked
from recollectx.storage.feeding import Feed
from recollectx.storage.reading import Reader
from recollectx.storage.vector.checking import unit_rows

ASKED = 1_000
BY_WORDS = 300
SAMPLE = 1_000
READ = 20_000
"""How many vectors are read from the database for one question at most, where the index gives too few."""
log = logging.getLogger("recollectx")

_VECTORS = (
    select(RevisionRow.claim, VectorRow.vector)
    .join(VectorRow, VectorRow.text == RevisionRow.text)
    .where(RevisionRow.claim.in_(bindparam("keys", expanding=True)), RevisionRow.tx_to.is_(None))
)


@dataclass(frozen=True, slots=True)
class Nearest:
    """What the index answered.

    scores: by id; None if it failed.  whole: it has no others in the scope.  since: the change up to which it was fed
    before it was asked."""

    scores: dict[str, float] | None
    whole: bool
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

    def ask(self, scope: str, vector: Vectors, most: int = ASKED) -> Nearest:
        """The nearest of a scope, as the index has them."""
        self._feed.begin()
        with self._database.read() as conn:
            since = self._feed.place(conn)
            if self._backend.placement == "database":
                with self._backend.joined(conn):
                    return self._asked(scope, vector, most, since)
        return self._asked(scope, vector, most, since)

    def _asked(self, scope: str, vector: Vectors, most: int, since: int) -> Nearest:
        most = min(most, self._backend.most or most)
        try:
            found = self._backend.search_vector(scope, vector, most)
        except BackendError as error:
            log.warning("what is near is looked up in the database: %s", error)
            return Nearest(None, False, since)
        return Nearest({each.id: each.score for each in found}, len(found) < most, since)

    def cosines(
        self,
        nearest: Nearest,
        known: Known,
        reader: Reader,
        scope: str,
        *,
        vector: Vectors,
        query: Query,
        now: float,
    ) -> Cosines:
        """The cosines that count for a question, of the claims as `reader` sees them."""
        unsure = set(self._feed.since(reader, scope, nearest.since))
        scores = {
            pk: score
            for id, score in (nearest.scores or {}).items()
            if (pk := known.keys.get(id)) is not None and pk not in unsure
        }
        rest = set(known.keys.values())
        if nearest.whole and len(unsure) <= READ:
            return Cosines(scores | _exact(reader, unsure & rest, vector))
        if len(rest) <= ASKED:
            return Cosines(scores | _exact(reader, rest - scores.keys(), vector))
        missing = set(known.index.by_words(query.text or "", query.weights, BY_WORDS)) | unsure
        allowed = known.index.passing(query, now)
        wanted = query.offset + (query.k or ASKED)
        if len(allowed & scores.keys()) < min(wanted, len(allowed)):
            missing |= allowed
        scores |= _exact(reader, _first(missing - scores.keys(), READ), vector)
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


def _first(pks: Collection[int], most: int) -> Collection[int]:
    """All of them, or the newest where there are too many."""
    return pks if len(pks) <= most else sorted(pks)[-most:]
