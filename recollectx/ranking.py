"""The order of hits: the words (BM25) and the meaning (vectors) of the rows of one scope, and the turns beside them.

Statistics (number of rows, document frequency, mean, spread) are those of all rows of the scope, so neither a
filter nor another scope can move a score.

By words alone: relevance = (own BM25 + weights.neighbours * the greater BM25 of the turns before and after) / what
the question could reach at most. Only a row with a word of the question is a hit; turns beside it lift it and never
bring in others.

With the question's vector: sum = weights.dense * z(cosine) + weights.keyword * z(BM25), to which the turns beside
it lend weights.neighbours * the greater of their sums. z counts standard deviations from the mean, of the cosines
over the rows that have a vector, of BM25 over all rows. An absent arm adds nothing: a row without a vector is
average in meaning, a question none of whose words is known is asked by meaning only. Hits are the rows that have a
vector or a word of the question.

On dialogue questions (recall@10, 760 of them) words alone reach .644 and with neighbours .693; both arms .655 and
with neighbours .712. Embedding each turn joined with the one before it makes that .730, with its own text first
.738. The sum of both neighbours or z over the matching rows make no difference beyond noise; reciprocal ranks
instead of z did worse than words alone (.613 against .693, .654 joined).
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from recollectx.columns import Columns, Floats, Mask, Row, Rows, Vector
from recollectx.filters import passing
from recollectx.query import Parts, Query, Weights
from recollectx.text import query_tokens

__all__ = ["Ranked", "Row", "ScopeIndex"]

K1, B = 0.9, 0.4
RATES = {"episodic": 0.001, "semantic": 0.0001}
"""How fast a claim of each type fades, per hour, at importance 0."""

_USUAL_SPREAD, _USUAL_ROWS = 0.2, 4
"""z as if this many rows more had this standard deviation (of cosines, and of BM25 as a share of the most): the
spread of two or three rows says nothing, and that of hundreds is hardly touched."""
_MIDDLE, _WIDTH = 6.0, 3.0
"""The sum that scores 1/2, and how far from it 1/4 and 3/4 are. The best sum of a question is mostly 6 to 18, an
average row's 0: so low a score keeps the weights of a claim's own numbers from lifting it over a match."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A claim's primary key, its score in [0, 1] and what that is made of."""

    claim: int
    score: float
    parts: Parts


@dataclass(frozen=True, slots=True)
class _Relevance:
    """What the question makes of every row of the index; only `rows` are hits.

    keyword: BM25.  near: the cosines and which rows have one; None when the vectors have no say.  lent: what the turns beside a row add.
    score: the whole, in [0, 1].  idf: of each word of the question.
    """

    rows: Rows
    keyword: Floats
    near: tuple[Floats, Mask] | None
    lent: Floats
    score: Floats
    idf: dict[str, float]


class ScopeIndex(Columns):
    """The rows of one scope, searchable. Not for use by two threads at once."""

    def search(
        self,
        query: Query,
        now: float,
        vector: Vector | None = None,
        *,
        cosines: Mapping[int, float] | None = None,
    ) -> list[Ranked]:
        """The rows that pass every filter, best first, at most query.offset + query.k of them.

        Without text: all that pass, newest first, each of score 1 (times what the weights take off).
        now: seconds since 1970 UTC, for validity and recency.
        vector: the question's, shape (dimension,); without it, or where no row has a vector, words alone decide.
        cosines: by claim, from an index elsewhere, in place of the vector; the claims it leaves out have none.
        Ties go to the more confident, then the newer, then the larger primary key.
        Raises ValueError for a vector that is zero, not finite or of another dimension than the rows'.
        """
        if query.text is None:
            relevance = None
            rows = np.flatnonzero(self.column["alive"][: self.used])
        else:
            near = None if not query.weights.dense else self._near(vector, cosines)
            relevance = self._relevance(query.text, query.weights, near)
            rows = relevance.rows
        rows = passing(self, rows, query, now)
        if not rows.size:
            return []
        fading = self._fading(rows, query.weights.recency_bias, now)
        scores = self._weighted(rows, query.weights) * fading
        if relevance is not None:
            scores *= relevance.score[rows]
        limit = rows.size if query.k is None else min(rows.size, query.offset + query.k)
        best = self._best(rows, scores, limit, by_confidence=relevance is not None)
        parts = self._parts(rows[best], relevance, fading[best] if query.weights.recency_bias else None)
        claims = self.column["claim"][rows[best]].tolist()
        return [Ranked(*hit) for hit in zip(claims, scores[best].tolist(), parts, strict=True)]

    def passing(self, query: Query, now: float) -> set[int]:
        """The claims that pass every filter of the query."""
        rows = passing(self, np.flatnonzero(self.column["alive"][: self.used]), query, now)
        return set(self.column["claim"][rows].tolist())

    def _relevance(self, text: str, weights: Weights, near: tuple[Floats, Mask] | None) -> _Relevance:
        keyword, idf = self._keyword(query_tokens(text) if weights.keyword else [])
        most = sum(idf.values())
        cosine = None
        if near is None:
            own, rows = keyword, np.flatnonzero(keyword)
        else:
            cosine, embedded = near
            own = weights.dense * _standing(cosine, embedded)
            if idf:
                own += weights.keyword * _standing(keyword / most, self.column["alive"][: self.used])
            rows = np.flatnonzero(embedded | (keyword > 0))
        lent = np.zeros_like(own)
        beside = self.turns.greatest_beside(self.column["turn"][rows], own[rows])
        lent[rows] = weights.neighbours * beside
        if cosine is None:
            score = (own + lent) / ((1 + weights.neighbours) * most or 1.0)
        else:
            above = own + lent - _MIDDLE
            score = 0.5 + 0.5 * above / (_WIDTH + np.abs(above))
        return _Relevance(rows, keyword, near, lent, score, idf)

    def _keyword(self, words: list[str]) -> tuple[Floats, dict[str, float]]:
        """BM25 of every row, and the IDF of each word."""
        count, length = len(self), self.column["length"][: self.used]
        average = max(self.total_length, 1) / max(count, 1)
        norm = K1 * (1 - B + B / average * length)
        keyword = np.zeros(self.used)
        idf: dict[str, float] = {}
        for word in words:
            rows, counts = self.posting(word)
            idf[word] = math.log(1 + (count - rows.size + 0.5) / (rows.size + 0.5))
            keyword[rows] += idf[word] * counts / (counts + norm[rows])
        return keyword, idf

    def _near(self, vector: Vector | None, cosines: Mapping[int, float] | None) -> tuple[Floats, Mask] | None:
        """The cosine of every row and which rows have one; None if none has."""
        if cosines is not None:
            rows = self.rows_of(cosines)
            known = [claim for claim in cosines if claim in self._row_of]
            cosine, embedded = np.zeros(self.used), np.zeros(self.used, bool)
            cosine[rows] = [cosines[claim] for claim in known]
            embedded[rows] = True
        elif vector is None or not self.column["embedded"][: self.used].any():
            return None
        else:
            embedded = self.column["embedded"][: self.used]
            cosine = (self.column["vector"][: self.used] @ self.direction(vector)).astype(np.float64)
        # The last digits of a product depend on where in the matrix a row stands; equal vectors must tie.
        return (cosine.round(6), embedded) if embedded.any() else None

    def _fading(self, rows: Rows, bias: float, now: float) -> Floats:
        """decay ** bias with decay = exp(-rate * hours * (1 - importance)); exactly 1 at bias 0."""
        if bias == 0:
            return np.ones(rows.size)
        rates = np.array([RATES.get(name or "", 0.0) for name in self.labels["type"]])
        hours = np.maximum(now - self.column["created_at"][rows], 0) / 3600
        unimportance = 1 - self.column["importance"][rows]
        faded: Floats = np.exp(-bias * rates[self.column["type"][rows]] * hours * unimportance)
        return faded

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

    def _parts(self, rows: Rows, relevance: _Relevance | None, fading: Floats | None) -> list[Parts]:
        confidence = self.column["confidence"][rows].tolist()
        nothing = [None] * rows.size
        recency = nothing if fading is None else fading.tolist()
        if relevance is None:
            return [Parts(recency=r, confidence=c) for r, c in zip(recency, confidence, strict=True)]
        cosine = keyword = share = nothing
        if relevance.near is not None:
            found = zip(*(column[rows].tolist() for column in relevance.near), strict=True)
            cosine = [value if embedded else None for value, embedded in found]
        if relevance.idf:
            keyword, share = relevance.keyword[rows].tolist(), self._share(rows, relevance.idf).tolist()
        lent = [value or None for value in relevance.lent[rows].tolist()]
        return [Parts(*each) for each in zip(cosine, keyword, share, lent, recency, confidence, strict=True)]

    def _share(self, rows: Rows, idf: dict[str, float]) -> Floats:
        """For each of `rows`, how much of the question's IDF its words make up, in [0, 1]."""
        matched = np.zeros(rows.size)
        for word, weight in idf.items():
            posting = self.posting(word)[0]
            if posting.size:
                at = np.minimum(np.searchsorted(posting, rows), posting.size - 1)
                matched[posting[at] == rows] += weight
        share: Floats = matched / sum(idf.values())
        return share


def _standing(values: Floats, among: Mask) -> Floats:
    """z: how many standard deviations each value lies from the mean of those `among`; 0 for the others."""
    whole = bool(among.all())
    counted = values if whole else values[among]
    added = _USUAL_ROWS * _USUAL_SPREAD**2
    spread = math.sqrt((counted.size * counted.var() + added) / (counted.size + _USUAL_ROWS))
    standing: Floats = (values - counted.mean()) / spread
    if not whole:
        standing[~among] = 0.0
    return standing
