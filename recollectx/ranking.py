"""The order of hits: what fits the question and passes the filters, best first, with what each score is made of."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from recollectx.columns import Columns, Floats, Row, Rows, Vector
from recollectx.filters import passing
from recollectx.late_interaction import FIRST, UNIT
from recollectx.query import Parts, Query, Weights
from recollectx.relevance import Meaning, Relevance, idf_of, relevance, scored, shares

__all__ = ["Cosines", "Ranked", "Row", "ScopeIndex"]

RATES = {"episodic": 0.001, "semantic": 0.0001}
"""How fast a claim of each type fades, per hour, at importance 0."""
EVEN = 0.5


@dataclass(frozen=True, slots=True)
class Cosines:
    """Cosines with a question by claim, from an index elsewhere; the claims that are left out have none.

    mean, spread: of all of the scope, if those left out have a cosine too that nobody looked up."""

    by_claim: Mapping[int, float]
    mean: float | None = None
    spread: float | None = None


Closer: TypeAlias = Callable[[list[int], Callable[[str], float]], dict[int, float]]
"""MaxSim by claim, of the claims among those given that have token vectors; the second argument gives the IDF of a token."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A claim's primary key, its score in [0, 1] and what that is made of."""

    claim: int
    score: float
    parts: Parts


class ScopeIndex(Columns):
    """The rows of one scope, searchable. Not for use by two threads at once."""

    def search(
        self,
        query: Query,
        now: float,
        vector: Vector | None = None,
        *,
        cosines: Cosines | None = None,
        closer: Closer | None = None,
    ) -> list[Ranked]:
        """The rows that pass every filter, best first, at most query.offset + query.k of them.

        Without text: all that pass, newest first, each of score 1 (times what the weights take off).
        now: seconds since 1970 UTC, for validity and recency.
        vector: the question's, shape (dimension,); without it, or where no row has a vector, words alone decide.
        cosines: from an index elsewhere, in place of the vector.
        closer: gives MaxSim for some of the first claims, which is then counted in; it is asked once, and only where
        vectors have a say. With it a filter can move a score, because others come first.
        Ties go to the more confident, then the newer, then the larger primary key.
        Raises ValueError for a vector that is zero, not finite or of another dimension than the rows'.
        """
        if query.text is None:
            found = None
            rows = np.flatnonzero(self.column["alive"][: self.used])
        else:
            near = None if not query.weights.dense else self._near(vector, cosines)
            found = relevance(self, query.text, query.weights, near)
            rows = found.rows
        rows = passing(self, rows, query, now)
        if not rows.size:
            return []
        fading = self._fading(rows, query.weights.recency_bias, now)
        moment = now if query.valid_at is None else query.valid_at
        if found is not None and found.since is not None:
            moment = min(moment, found.since)
        ended = found is not None and self.column["until"][rows] <= moment
        kept = np.where(ended, 1 - query.weights.ended, np.ones(rows.size))
        trusted = self._trusted(rows, query.weights if found is not None else None)
        taken = self._weighted(rows, query.weights) * fading * kept * trusted
        scores = taken if found is None else taken * found.score[rows]
        near_by: dict[int, float] = {}
        if closer is not None and query.weights.tokens and found is not None and found.near is not None:
            first = self._best(rows, scores, min(rows.size, FIRST), by_confidence=True)
            near_by = self._closer(closer, rows[first], found, query.weights.tokens)
            scores = taken * found.score[rows]
        limit = rows.size if query.k is None else min(rows.size, query.offset + query.k)
        best = self._best(rows, scores, limit, by_confidence=found is not None)
        parts = self._parts(
            rows[best],
            found,
            {"ended": kept[best], "doubted": trusted[best]},
            fading[best] if query.weights.recency_bias else None,
        )
        claims = self.column["claim"][rows[best]].tolist()
        if near_by:
            parts = [
                replace(part, tokens=near_by.get(claim)) for claim, part in zip(claims, parts, strict=True)
            ]
        return [Ranked(*hit) for hit in zip(claims, scores[best].tolist(), parts, strict=True)]

    def _closer(self, closer: Closer, rows: Rows, found: Relevance, weight: float) -> dict[int, float]:
        """MaxSim of the claims in `rows`, counted into what was found."""
        near_by = closer(self.column["claim"][rows].tolist(), partial(idf_of, self))
        if near_by:
            compared = self.rows_of(near_by)
            values = np.array(list(near_by.values()))
            found.whole[compared] += weight / UNIT * (values - values.mean())
            found.score[compared] = scored(found.whole[compared])
        return near_by

    def by_words(self, text: str, weights: Weights, most: int) -> list[int]:
        """The claims that fit a question best by words alone, at most `most`, in no order."""
        found = relevance(self, text, weights, None)
        rows = found.rows
        if rows.size > most:
            rows = rows[np.argpartition(found.score[rows], -most)[-most:]]
        claims: list[int] = self.column["claim"][rows].tolist()
        return claims

    def allowed(self, query: Query, now: float) -> Rows:
        """The claims that pass every filter of the query."""
        rows = passing(self, np.flatnonzero(self.column["alive"][: self.used]), query, now)
        claims: Rows = self.column["claim"][rows]
        return claims

    def _near(self, vector: Vector | None, cosines: Cosines | None) -> Meaning | None:
        """The cosine of every row and which rows have one; None if none has."""
        # The last digits of a product depend on where in the matrix a row stands; equal vectors must tie.
        if cosines is not None:
            rows = self.rows_of(cosines.by_claim)
            known = [claim for claim in cosines.by_claim if claim in self._row_of]
            cosine, embedded = np.zeros(self.used), np.zeros(self.used, bool)
            cosine[rows] = [cosines.by_claim[claim] for claim in known]
            embedded[rows] = True
            if embedded.any():
                return Meaning(cosine.round(6), embedded, cosines.mean, cosines.spread)
            return None
        embedded = self.column["embedded"][: self.used]
        if vector is None or not embedded.any():
            return None
        return Meaning(self.cosines(vector).astype(np.float64).round(6), embedded)

    def _fading(self, rows: Rows, bias: float, now: float) -> Floats:
        """decay ** bias with decay = exp(-rate * hours * (1 - importance)); exactly 1 at bias 0."""
        if bias == 0:
            return np.ones(rows.size)
        rates = np.array([RATES.get(name or "", 0.0) for name in self.labels["type"]])
        hours = np.maximum(now - self.column["created_at"][rows], 0) / 3600
        unimportance = 1 - self.column["importance"][rows]
        faded: Floats = np.exp(-bias * rates[self.column["type"][rows]] * hours * unimportance)
        return faded

    def _trusted(self, rows: Rows, weights: Weights | None) -> Floats:
        """What is left of a score for doubt, in [0, 1]; exactly 1 from even odds on, and where nothing is said of it."""
        if weights is None or not weights.doubted or weights.confidence:
            return np.ones(rows.size)
        belief = self.column["belief"][rows]
        doubted = np.where(belief > 0, np.maximum(1 - belief / EVEN, 0), 0)
        left: Floats = 1 - weights.doubted * doubted
        return left

    def _weighted(self, rows: Rows, weights: Weights) -> Floats:
        """What is left of a score for the claim's own numbers, in (0, 1]; exactly 1 when both weights are 0."""
        if not weights.confidence and not weights.importance:
            return np.ones(rows.size)
        kept = 1 + weights.confidence * self.column["confidence"][rows]
        kept += weights.importance * self.column["importance"][rows]
        left: Floats = kept / (1 + weights.confidence + weights.importance)
        return left

    def _best(self, rows: Rows, scores: Floats, limit: int, *, by_confidence: bool) -> Rows:
        """Where in `rows` the first `limit` are, in order."""
        names = ["confidence", "created_at", "claim"] if by_confidence else ["created_at", "claim"]
        if limit < rows.size:
            # Rows level with the last one that fits stay, so that ties are settled by the later keys.
            every = itertools.chain([scores], (self.column[name][rows] for name in names))
            leading = next((key for key in every if key.min() < key.max()), scores)
            chosen = np.flatnonzero(leading >= np.partition(leading, -limit)[-limit])
        else:
            chosen = np.arange(rows.size)
        keys = [scores[chosen], *(self.column[name][rows[chosen]] for name in names)]
        return chosen[np.lexsort(keys[::-1])[::-1][:limit]]

    def _parts(
        self, rows: Rows, found: Relevance | None, left: Mapping[str, Floats], fading: Floats | None
    ) -> list[Parts]:
        columns: dict[str, list[Any]] = {"confidence": self.column["confidence"][rows].tolist()}
        for name, shares_left in left.items():
            columns[name] = [None if share == 1 else share for share in shares_left.tolist()]
        if fading is not None:
            columns["recency"] = fading.tolist()
        if found is not None:
            if found.near is not None:
                near = zip(*(column[rows].tolist() for column in found.near[:2]), strict=True)
                columns["cosine"] = [value if embedded else None for value, embedded in near]
            if found.idf:
                columns["keyword"] = found.keyword[rows].tolist()
                columns["share"] = shares(found, rows).tolist()
            gains = {
                "neighbours": found.lent,
                "session": found.session,
                "speaker": found.speaker,
                "date": found.date,
            }
            for name, part in gains.items():
                if part is not None:
                    columns[name] = [value or None for value in part[rows].tolist()]
        return [
            Parts(**dict(zip(columns, each, strict=True))) for each in zip(*columns.values(), strict=True)
        ]
