"""The order of hits: BM25 over the rows of one scope, what neighbouring turns lend, and the filters of a query.

Statistics (number of rows, document frequency, average length) are those of all rows of the index, so neither a
filter nor another scope can move a score. Rows are only appended: a replaced or dropped row is dead, which makes
its postings count for nothing, and once more than half are dead the living move together.

relevance = (own BM25 + weights.neighbours * the greater BM25 of the turns before and after) / what the question
could reach at most. Only a row with a word of the question is a hit; turns beside it lift it and never bring in
others. On dialogue questions the neighbours are worth 5 points of recall@10, the greater one .3 points more than
both added; letting turns without a word of their own in was worth .1, which is noise.
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recollectx.query import Parts, Query, Weights
from recollectx.text import query_tokens

K1, B = 0.9, 0.4
RATES = {"episodic": 0.001, "semantic": 0.0001}
"""How fast a claim of each type fades, per hour, at importance 0."""

Rows: TypeAlias = NDArray[np.intp]
Floats: TypeAlias = NDArray[np.float64]

_FIRST_CAPACITY = 64
_COLUMNS: dict[str, type[np.generic]] = {
    "claim": np.int64,
    "alive": np.bool_,
    "length": np.float64,
    "confidence": np.float64,
    "importance": np.float64,
    "created_at": np.float64,
    "valid_from": np.float64,
    "valid_to": np.float64,
    "type": np.int32,
    "category": np.int32,
    "status": np.int32,
    "session": np.int32,
    "place": np.int32,
}
# Estimates for nbytes: one posting list with its token, one dict entry with a small value.
_LIST_BYTES, _ENTRY_BYTES = 200, 150


@dataclass(frozen=True, slots=True)
class Row:
    """What ranking must know of one claim.

    claim: its primary key.  tokens: search tokens, joined by spaces.  valid_from: the effective start.
    valid_to: None means still.  Times in seconds since 1970 UTC.
    """

    claim: int
    tokens: str
    type: str
    category: str | None
    status: str
    confidence: float
    importance: float
    created_at: float
    valid_from: float
    valid_to: float | None
    session: str | None
    position: int | None
    entities: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A claim's primary key, its score in [0, 1] and what that is made of."""

    claim: int
    score: float
    parts: Parts


@dataclass(frozen=True, slots=True)
class _Relevance:
    """Per row: its own BM25, what its neighbours add, and the most the question could reach."""

    own: Floats
    lent: Floats
    most: float
    idf: dict[str, float]


class ScopeIndex:
    """The rows of one scope, searchable. Not for use by two threads at once."""

    def __init__(self) -> None:
        self._clear(_FIRST_CAPACITY)

    def _clear(self, capacity: int) -> None:
        self._columns: dict[str, NDArray[Any]] = {
            name: np.zeros(capacity, dtype) for name, dtype in _COLUMNS.items()
        }
        self._used = 0
        self._row_of: dict[int, int] = {}
        self._total_length = 0
        self._postings: dict[str, array[int]] = {}
        self._entities: dict[str, array[int]] = {}
        self._metadata: dict[int, Mapping[str, Any]] = {}
        self._labels: dict[str, dict[str | None, int]] = {
            name: {} for name in ("type", "category", "status", "session")
        }
        self._places: dict[tuple[str, int], int] = {}
        self._before, self._after = array("i"), array("i")  # the places beside each place, -1 for none
        self._numbers = 0

    def __len__(self) -> int:
        return len(self._row_of)

    @property
    def nbytes(self) -> int:
        """About how much memory the index holds, in bytes."""
        columns = sum(column.nbytes for column in self._columns.values())
        lists = _LIST_BYTES * (len(self._postings) + len(self._entities))
        entries = _ENTRY_BYTES * (len(self._row_of) + len(self._places) + 2 * len(self._metadata))
        return columns + lists + entries + 4 * (self._numbers + 2 * len(self._places))

    def put(self, row: Row) -> None:
        """Adds the row, in place of an earlier one of the same claim."""
        self.drop(row.claim)
        at = self._used
        if at == len(self._columns["claim"]):
            for name, column in self._columns.items():
                self._columns[name] = np.concatenate([column, np.zeros_like(column)])
        counts = Counter(row.tokens.split())
        length = counts.total()
        for token, count in counts.items():
            self._list(self._postings, token).extend((at, count))
        for entity in {entity.casefold() for entity in row.entities}:
            self._list(self._entities, entity).append(at)
        if row.metadata:
            self._metadata[at] = row.metadata
        self._numbers += 2 * len(counts) + len(row.entities)
        self._write(at, row, length)
        self._row_of[row.claim] = at
        self._total_length += length
        self._used += 1

    @staticmethod
    def _list(lists: dict[str, "array[int]"], name: str) -> "array[int]":
        found = lists.get(name)
        if found is None:
            found = lists[name] = array("i")
        return found

    def _write(self, at: int, row: Row, length: int) -> None:
        columns = self._columns
        for name in ("claim", "confidence", "importance", "created_at", "valid_from"):
            columns[name][at] = getattr(row, name)
        for name, labels in self._labels.items():
            columns[name][at] = labels.setdefault(getattr(row, name), len(labels))
        columns["valid_to"][at] = math.inf if row.valid_to is None else row.valid_to
        columns["place"][at] = self._place(row.session, row.position)
        columns["length"][at] = length
        columns["alive"][at] = True

    def _place(self, session: str | None, position: int | None) -> int:
        """The number of a turn, -1 for none; new turns are tied to the turns before and after them."""
        if session is None or position is None:
            return -1
        known = self._places.get((session, position))
        if known is not None:
            return known
        new = self._places[session, position] = len(self._places)
        before = self._places.get((session, position - 1), -1)
        after = self._places.get((session, position + 1), -1)
        self._before.append(before)
        self._after.append(after)
        if before >= 0:
            self._after[before] = new
        if after >= 0:
            self._before[after] = new
        return new

    def drop(self, claim: int) -> None:
        """Takes the claim's row out; nothing happens if there is none."""
        at = self._row_of.pop(claim, None)
        if at is None:
            return
        self._columns["alive"][at] = False
        self._total_length -= int(self._columns["length"][at])
        self._metadata.pop(at, None)
        if self._used > _FIRST_CAPACITY and 2 * len(self) < self._used:
            self._compact()

    def _compact(self) -> None:
        """Moves the living rows together and forgets the dead ones."""
        old = self._columns
        living = np.flatnonzero(old["alive"][: self._used])
        moved = np.full(self._used, -1, np.int32)
        moved[living] = np.arange(living.size)
        metadata, places = self._metadata, list(self._places)
        postings, entities, labels = self._postings, self._entities, self._labels
        self._clear(max(_FIRST_CAPACITY, living.size))
        for name, column in self._columns.items():
            column[: living.size] = old[name][living]
        self._used, self._labels = living.size, labels
        self._row_of = {claim: at for at, claim in enumerate(old["claim"][living].tolist())}
        self._total_length = int(old["length"][living].sum())
        self._postings, self._entities = _moved(postings, 2, moved), _moved(entities, 1, moved)
        self._numbers = sum(map(len, self._postings.values())) + sum(map(len, self._entities.values()))
        self._metadata = {int(moved[at]): value for at, value in metadata.items()}
        for at, place in enumerate(old["place"][living].tolist()):
            self._columns["place"][at] = self._place(*places[place]) if place >= 0 else -1

    def search(self, query: Query, now: float) -> list[Ranked]:
        """The rows that pass every filter, best first, at most query.offset + query.k of them.

        Without text: all that pass, newest first, each of score 1 (times what the weights take off).
        now: seconds since 1970 UTC, for validity and recency.
        Ties go to the more confident, then the newer, then the larger primary key.
        """
        if query.text is None:
            relevance = None
            rows = np.flatnonzero(self._columns["alive"][: self._used])
        else:
            relevance = self._relevance(query_tokens(query.text), query.weights.neighbours)
            rows = np.flatnonzero(relevance.own)
        rows = self._passing(rows, query, now)
        if not rows.size:
            return []
        fading = self._fading(rows, query.weights.recency_bias, now)
        scores = self._weighted(rows, query.weights) * fading
        if relevance is not None:
            scores *= (relevance.own[rows] + relevance.lent[rows]) / relevance.most
        limit = rows.size if query.k is None else min(rows.size, query.offset + query.k)
        best = self._best(rows, scores, limit, by_confidence=relevance is not None)
        parts = self._parts(rows[best], relevance, fading[best] if query.weights.recency_bias else None)
        claims = self._columns["claim"][rows[best]].tolist()
        return [Ranked(*hit) for hit in zip(claims, scores[best].tolist(), parts, strict=True)]

    def _posting(self, word: str) -> tuple[Rows, Rows]:
        """The living rows that hold the word, and how often each does."""
        pairs = np.array(self._postings.get(word, ()), np.intp).reshape(-1, 2)
        if len(self) < self._used:
            pairs = pairs[self._columns["alive"][pairs[:, 0]]]
        rows, counts = np.ascontiguousarray(pairs.T)  # six times faster to index by than strided columns
        return rows, counts

    def _relevance(self, words: list[str], weight: float) -> _Relevance:
        count, length = len(self), self._columns["length"][: self._used]
        average = max(self._total_length, 1) / max(count, 1)
        norm = K1 * (1 - B + B / average * length)
        own = np.zeros(self._used)
        idf: dict[str, float] = {}
        for word in words:
            rows, counts = self._posting(word)
            idf[word] = math.log(1 + (count - rows.size + 0.5) / (rows.size + 0.5))
            own[rows] += idf[word] * counts / (counts + norm[rows])
        lent = weight * self._lent(own) if weight else np.zeros_like(own)
        return _Relevance(own, lent, (1 + weight) * sum(idf.values()), idf)

    def _lent(self, own: Floats) -> Floats:
        """For every row with a score of its own, the greater score of the turns beside it."""
        lent = np.zeros_like(own)
        places = self._columns["place"][: self._used]
        rows = np.flatnonzero((own > 0) & (places >= 0))
        if rows.size:
            at_place = np.zeros(len(self._places) + 1)  # the last one stands for no turn, -1
            np.maximum.at(at_place, places[rows], own[rows])
            before, after = (
                np.array(beside, np.intp)[places[rows]] for beside in (self._before, self._after)
            )
            lent[rows] = np.maximum(at_place[before], at_place[after])
        return lent

    def _passing(self, rows: Rows, query: Query, now: float) -> Rows:
        """Those of `rows` that pass every filter of the query."""
        column = self._columns
        wanted = {
            "type": None if query.type is None else (query.type,),
            "category": None if query.category is None else (query.category,),
            "status": query.statuses,
            "session": None if query.session is None else (query.session,),
        }
        for name, values in wanted.items():
            if values is not None:
                rows = rows[self._labelled(name, values)[column[name][rows]]]
        for entity in query.entities:
            rows = rows[np.isin(rows, np.array(self._entities.get(entity.casefold(), ()), np.intp))]
        if query.min_confidence > 0:
            rows = rows[column["confidence"][rows] >= query.min_confidence]
        if query.since is not None:
            rows = rows[column["created_at"][rows] >= query.since]
        if query.until is not None:
            rows = rows[column["created_at"][rows] <= query.until]
        if query.valid_at is not None:
            rows = rows[column["valid_from"][rows] <= query.valid_at]
            rows = rows[column["valid_to"][rows] > query.valid_at]
        elif query.status is None:
            rows = rows[column["valid_to"][rows] > now]
        if query.metadata:
            rows = rows[[self._has(at, query.metadata) for at in rows.tolist()]]
        return rows

    def _labelled(self, name: str, values: Iterable[str]) -> NDArray[np.bool_]:
        """For every label of the column, whether it is one of `values`."""
        allowed = np.zeros(len(self._labels[name]), np.bool_)
        allowed[[self._labels[name][value] for value in values if value in self._labels[name]]] = True
        return allowed

    def _has(self, at: int, wanted: Mapping[str, Any]) -> bool:
        found = self._metadata.get(at, {})
        return all(key in found and found[key] == value for key, value in wanted.items())

    def _fading(self, rows: Rows, bias: float, now: float) -> Floats:
        """decay ** bias with decay = exp(-rate * hours * (1 - importance)); exactly 1 at bias 0."""
        if bias == 0:
            return np.ones(rows.size)
        rates = np.array([RATES.get(name or "", 0.0) for name in self._labels["type"]])
        hours = np.maximum(now - self._columns["created_at"][rows], 0) / 3600
        unimportance = 1 - self._columns["importance"][rows]
        faded: Floats = np.exp(-bias * rates[self._columns["type"][rows]] * hours * unimportance)
        return faded

    def _weighted(self, rows: Rows, weights: Weights) -> Floats:
        """What is left of a score for the claim's own numbers, in (0, 1]; exactly 1 when both weights are 0."""
        kept = 1 + weights.confidence * self._columns["confidence"][rows]
        kept += weights.importance * self._columns["importance"][rows]
        left: Floats = kept / (1 + weights.confidence + weights.importance)
        return left

    def _best(self, rows: Rows, scores: Floats, limit: int, *, by_confidence: bool) -> Rows:
        """Where in `rows` the first `limit` are, in order."""
        keys = [self._columns["claim"][rows], self._columns["created_at"][rows]]
        keys += [self._columns["confidence"][rows], scores] if by_confidence else [scores]
        chosen: Rows = np.arange(rows.size)
        if limit < rows.size:
            # Rows level with the last one that fits stay, so that ties are settled by the later keys.
            leading = next((key for key in reversed(keys) if key.min() < key.max()), scores)
            chosen = np.flatnonzero(leading >= np.partition(leading, -limit)[-limit])
        order = np.lexsort([key[chosen] for key in keys])[::-1]
        return chosen[order[:limit]]

    def _parts(self, rows: Rows, relevance: _Relevance | None, fading: Floats | None) -> list[Parts]:
        confidence = self._columns["confidence"][rows].tolist()
        recency = [None] * rows.size if fading is None else fading.tolist()
        if relevance is None:
            return [Parts(recency=r, confidence=c) for r, c in zip(recency, confidence, strict=True)]
        matched = np.zeros(rows.size)
        for word, idf in relevance.idf.items():
            posting = self._posting(word)[0]
            if posting.size:
                at = np.minimum(np.searchsorted(posting, rows), posting.size - 1)
                matched[posting[at] == rows] += idf
        shares = matched / sum(relevance.idf.values())
        columns = (relevance.own[rows].tolist(), shares.tolist(), relevance.lent[rows].tolist())
        return [
            Parts(keyword, share, lent or None, *rest)
            for keyword, share, lent, *rest in zip(*columns, recency, confidence, strict=True)
        ]


def _moved(lists: dict[str, "array[int]"], width: int, moved: NDArray[np.int32]) -> dict[str, "array[int]"]:
    """The lists of rows (first of each `width` numbers) after a move; rows moved to -1 and empty lists are gone."""
    result: dict[str, array[int]] = {}
    for name, numbers in lists.items():
        table = np.array(numbers, np.int32).reshape(-1, width)
        table[:, 0] = moved[table[:, 0]]
        table = table[table[:, 0] >= 0]
        if table.size:
            result[name] = array("i", table.tobytes())
    return result
