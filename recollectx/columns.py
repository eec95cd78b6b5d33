"""The rows of one scope, as numpy columns and lists of rows per word and entity: what ranking reads.

Rows are only appended: a replaced or dropped row is dead, which makes its postings count for nothing, and once
more than half are dead the living move together. The vectors are one more column, a matrix made when the first
of them arrives; a row without one holds zeros there and False in "embedded".
"""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recollectx.turns import Turns

Rows: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Vector: TypeAlias = NDArray[np.float32]

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
    "turn": np.int32,
    "embedded": np.bool_,
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


class Columns:
    """The rows of one scope. Not for use by two threads at once.

    column: one array per name, row by row; only the first `used` rows mean something.
    labels: for each column of names, the number that stands for each.
    metadata: of the rows that have any.  turns: what the numbers in "turn" stand for.
    """

    def __init__(self) -> None:
        self.labels: dict[str, dict[str | None, int]] = {
            name: {} for name in ("type", "category", "status", "session")
        }
        self._clear()

    def _clear(self) -> None:
        self.column: dict[str, NDArray[Any]] = {
            name: np.zeros(_FIRST_CAPACITY, dtype) for name, dtype in _COLUMNS.items()
        }
        self.used = 0
        self.total_length = 0
        self.metadata: dict[int, Mapping[str, Any]] = {}
        self._row_of: dict[int, int] = {}
        self._postings: dict[str, array[int]] = {}
        self._entities: dict[str, array[int]] = {}
        self.turns = Turns()
        self._numbers = 0

    def __len__(self) -> int:
        return len(self._row_of)

    @property
    def nbytes(self) -> int:
        """About how much memory the rows take, in bytes."""
        columns = sum(column.nbytes for column in self.column.values())
        lists = _LIST_BYTES * (len(self._postings) + len(self._entities))
        entries = _ENTRY_BYTES * (len(self._row_of) + len(self.turns) + 2 * len(self.metadata))
        return columns + lists + entries + 4 * (self._numbers + 2 * len(self.turns))

    def put(self, row: Row, vector: Vector | None = None) -> None:
        """Adds the row, in place of an earlier one of the same claim and of its vector.

        vector: shape (dimension,), of any length but 0; kept at length 1.
        Raises ValueError, and changes nothing, for a vector that is zero, not finite or of another dimension than
        those before it.
        """
        direction = None if vector is None else self.direction(vector)
        self.drop(row.claim)
        at = self.used
        if at == len(self.column["claim"]):
            for name, column in self.column.items():
                self.column[name] = np.concatenate([column, np.zeros_like(column)])
        counts = Counter(row.tokens.split())
        length = counts.total()
        for token, count in counts.items():
            self._list(self._postings, token).extend((at, count))
        for entity in {entity.casefold() for entity in row.entities}:
            self._list(self._entities, entity).append(at)
        if row.metadata:
            self.metadata[at] = row.metadata
        self._numbers += 2 * len(counts) + len(row.entities)
        self._write(at, row, length)
        self._row_of[row.claim] = at
        self.total_length += length
        self.used += 1
        if direction is not None:
            self._embed(at, direction)

    def set_vector(self, claim: int, vector: Vector) -> None:
        """Gives the claim's row its vector, in place of an earlier one; nothing happens if there is no row.

        Raises ValueError as put does.
        """
        direction = self.direction(vector)
        at = self._row_of.get(claim)
        if at is not None:
            self._embed(at, direction)

    def rows_of(self, claims: Iterable[int]) -> Rows:
        """The row numbers of claims; those without a row are left out."""
        found = (self._row_of.get(claim) for claim in claims)
        return np.fromiter((row for row in found if row is not None), np.int64)

    def direction(self, vector: Vector) -> Vector:
        """The vector at length 1, checked against the dimension of those kept."""
        given = np.asarray(vector, np.float64)
        matrix = self.column.get("vector")
        if given.ndim != 1 or (matrix is not None and given.size != matrix.shape[1]):
            shape = "(dimension,)" if matrix is None else f"{matrix.shape[1:]} like the others of its scope"
            raise ValueError(f"a vector must have shape {shape}, got {given.shape}")
        length = float(np.linalg.norm(given))
        if not 0 < length < math.inf:
            raise ValueError(f"a vector must be finite and not zero, got one of length {length}")
        return (given / length).astype(np.float32)

    def _embed(self, at: int, direction: Vector) -> None:
        if "vector" not in self.column:
            self.column["vector"] = np.zeros((len(self.column["claim"]), direction.size), np.float32)
        self.column["vector"][at] = direction
        self.column["embedded"][at] = True

    @staticmethod
    def _list(lists: dict[str, "array[int]"], name: str) -> "array[int]":
        found = lists.get(name)
        if found is None:
            found = lists[name] = array("i")
        return found

    def _write(self, at: int, row: Row, length: int) -> None:
        columns = self.column
        for name in ("claim", "confidence", "importance", "created_at", "valid_from"):
            columns[name][at] = getattr(row, name)
        for name, labels in self.labels.items():
            columns[name][at] = labels.setdefault(getattr(row, name), len(labels))
        columns["valid_to"][at] = math.inf if row.valid_to is None else row.valid_to
        columns["turn"][at] = self.turns.number(row.session, row.position)
        columns["length"][at] = length
        columns["alive"][at] = True

    def drop(self, claim: int) -> None:
        """Takes the claim's row out; nothing happens if there is none."""
        at = self._row_of.pop(claim, None)
        if at is None:
            return
        self.column["alive"][at] = self.column["embedded"][at] = False
        self.total_length -= int(self.column["length"][at])
        self.metadata.pop(at, None)
        if self.used > _FIRST_CAPACITY and 2 * len(self) < self.used:
            self._compact()

    def _compact(self) -> None:
        """Moves the living rows together and forgets the dead ones."""
        old = self.column
        living = np.flatnonzero(old["alive"][: self.used])
        moved = np.full(self.used, -1, np.int32)
        moved[living] = np.arange(living.size)
        metadata, turns = self.metadata, self.turns.names()
        postings, entities = self._postings, self._entities
        self._clear()
        for name, column in old.items():
            capacity = max(_FIRST_CAPACITY, living.size)
            self.column[name] = np.zeros((capacity, *column.shape[1:]), column.dtype)
            self.column[name][: living.size] = column[living]
        self.used = living.size
        self._row_of = {claim: at for at, claim in enumerate(old["claim"][living].tolist())}
        self.total_length = int(old["length"][living].sum())
        self._postings, self._entities = _moved(postings, 2, moved), _moved(entities, 1, moved)
        self._numbers = sum(map(len, self._postings.values())) + sum(map(len, self._entities.values()))
        self.metadata = {int(moved[at]): value for at, value in metadata.items()}
        for at, turn in enumerate(old["turn"][living].tolist()):
            self.column["turn"][at] = self.turns.number(*turns[turn]) if turn >= 0 else -1

    def posting(self, word: str) -> tuple[Rows, Rows]:
        """The living rows that hold the word, and how often each does."""
        pairs = np.array(self._postings.get(word, ()), np.intp).reshape(-1, 2)
        if len(self) < self.used:
            pairs = pairs[self.column["alive"][pairs[:, 0]]]
        rows, counts = np.ascontiguousarray(pairs.T)  # six times faster to index by than strided columns
        return rows, counts

    def about(self, entity: str) -> Rows:
        """The rows with the entity, dead ones too."""
        return np.array(self._entities.get(entity.casefold(), ()), np.intp)


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
