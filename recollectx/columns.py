"""The rows of one scope, as numpy columns and postings of words, entities and sources: what ranking reads.

Rows are only appended: a replaced or dropped row is dead, which makes its postings count for nothing, and once
more than half are dead the living move together. The vectors are one more column, a matrix made when the first
of them arrives; a row without one holds zeros there and False in "embedded".
"""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recollectx.postings import Postings, numbering
from recollectx.sketch import Sketch
from recollectx.text import tokens
from recollectx.turns import Turns

Rows: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Vector: TypeAlias = NDArray[np.float32]

_FIRST_CAPACITY = 64
_COLUMNS: dict[str, type[np.generic]] = {
    "claim": np.int64,
    "alive": np.bool_,
    "length": np.float64,
    "confidence": np.float64,
    "belief": np.float64,
    "importance": np.float64,
    "created_at": np.float64,
    "valid_from": np.float64,
    "valid_to": np.float64,
    "until": np.float64,
    "type": np.int32,
    "category": np.int32,
    "status": np.int32,
    "session": np.int32,
    "turn": np.int32,
    "embedded": np.bool_,
}
_ENTRY_BYTES = 150
"""An estimate for nbytes: one dict entry with a small value."""
_MICROS = 1e6
SKETCH_FROM = 150_000


class Row(NamedTuple):
    """What ranking must know of one claim, as the database has it.

    claim: its primary key.  tokens: search tokens, joined by spaces.  Times in microseconds since 1970 UTC; valid_from
    None begins at created_at, valid_to None means still.  entities, metadata: JSON, None when empty.
    sources: of its assertions.  until: when the last of what was read from it ceased to hold; None: nothing was
    read from it, or something holds still.  belief: its confidence, or less: the greatest of
    what was read from it; None: nothing was.
    """

    claim: int
    tokens: str
    type: str
    category: str | None
    status: str
    confidence: float
    importance: float
    created_at: int
    valid_from: int | None
    valid_to: int | None
    session: str | None
    position: int | None
    entities: str | None = None
    metadata: str | None = None
    subject: str | None = None
    sources: Sequence[str] = ()
    until: int | None = None
    belief: float | None = None


class Columns:
    """The rows of one scope. Not for use by two threads at once.

    column: one array per name, row by row; only the first `used` rows mean something.
    labels: for each column of names, the number that stands for each.
    metadata: of the rows that have any, as JSON.  turns: what the numbers in "turn" stand for.
    named: the sources whose name has a word, by that word. Whose name a source is counts as said: what Ana says of her
    home is about Ana.
    sketch_from: from so many rows on cosines are found by a Sketch. An exact scan of 100,000 rows of 384 numbers takes
    12 ms of one core, and grows with them.
    """

    def __init__(self, *, sketch_from: int = SKETCH_FROM) -> None:
        self._sketch_from = sketch_from
        self.labels: dict[str, defaultdict[str | None, int]] = {
            name: numbering({}) for name in ("type", "category", "status", "session")
        }
        self._clear(_FIRST_CAPACITY)

    def _clear(self, capacity: int) -> None:
        self.column: dict[str, NDArray[Any]] = {
            name: np.zeros(capacity, dtype) for name, dtype in _COLUMNS.items()
        }
        self.used = 0
        self.total_length = 0
        self.metadata: dict[int, str] = {}
        self.turns = Turns()
        self.named: dict[str, set[str]] = {}
        self._names: dict[str, list[str]] = {}
        self._row_of: dict[int, int] = {}
        self._words, self._entities = Postings(), Postings()
        self._sources, self._subjects = Postings(), Postings()
        self._sketch: Sketch | None = None

    def __len__(self) -> int:
        return len(self._row_of)

    def __contains__(self, claim: int) -> bool:
        return claim in self._row_of

    @property
    def nbytes(self) -> int:
        """About how much memory the rows take, in bytes."""
        columns = sum(column.nbytes for column in self.column.values())
        columns += 0 if self._sketch is None else self._sketch.nbytes
        lists = sum(each.nbytes for each in (self._words, self._entities, self._sources, self._subjects))
        return (
            columns
            + lists
            + _ENTRY_BYTES * (len(self._row_of) + 2 * len(self.turns) + 2 * len(self.metadata))
        )

    def reserve(self, rows: int) -> None:
        """Make room for as many rows in all, so that adding them moves nothing."""
        if rows > len(self.column["claim"]):
            for name, column in self.column.items():
                wider = np.zeros((rows, *column.shape[1:]), column.dtype)
                wider[: self.used] = column[: self.used]
                self.column[name] = wider

    def put(self, row: Row, vector: Vector | None = None) -> None:
        """Adds one row as `extend` does."""
        if vector is None:
            self.extend([row])
        else:
            self.extend([row], [0], np.asarray(vector)[None])

    def extend(self, rows: Sequence[Row], embedded: Sequence[int] = (), vectors: Any = None) -> None:
        """Adds rows of different claims, in place of earlier ones of the same claims and of their vectors.

        embedded: the places in `rows` of those that have a vector.  vectors: theirs, shape (len(embedded), dimension),
        of any length but 0; kept at length 1.
        Raises ValueError, and changes nothing, for a vector that is zero, not finite or of another dimension than
        those before it.
        """
        if rows:
            self.fill(Row._make(zip(*rows, strict=True)), embedded, vectors)

    def fill(self, fields: Any, embedded: Sequence[int] = (), vectors: Any = None) -> None:
        """Adds rows as `extend` does, given field by field: a Row that holds a sequence in each place."""
        directed = self._lengths(vectors) if len(embedded) else None
        for claim in self._row_of.keys() & set(fields.claim):
            self.drop(claim)
        first, end = self.used, self.used + len(fields.claim)
        if end > len(self.column["claim"]):
            self.reserve(max(end, 2 * len(self.column["claim"])))
        self._write(slice(first, end), fields)
        named = any(self._names.values())
        said = map(self._said, fields.tokens, fields.sources) if named else map(str.split, fields.tokens)
        lengths = self._words.add(first, said)
        self.column["length"][first:end] = lengths
        self.total_length += int(lengths.sum())
        self._row_of.update(zip(fields.claim, range(first, end), strict=True))
        self.used = end
        if directed is not None:
            self._embed(first + np.array(embedded, np.int64), *directed)

    def _write(self, at: slice, fields: Any) -> None:
        """Fill the columns from fields that hold a value for each row."""
        columns = self.column
        for name in ("claim", "confidence", "importance"):
            columns[name][at] = getattr(fields, name)
        columns["belief"][at] = np.fmin(columns["confidence"][at], np.array(fields.belief, np.float64))
        columns["created_at"][at] = created = np.array(fields.created_at) / _MICROS
        given = np.array(fields.valid_from, np.float64)  # None becomes nan
        columns["valid_from"][at] = np.where(np.isnan(given), created, given / _MICROS)
        for name in ("valid_to", "until"):
            ends = np.array(getattr(fields, name), np.float64)
            columns[name][at] = np.where(np.isnan(ends), math.inf, ends) / _MICROS
        for name, labels in self.labels.items():
            columns[name][at] = list(map(labels.__getitem__, getattr(fields, name)))
        columns["turn"][at] = (
            self.turns.numbers(fields.session, fields.position) if any(fields.session) else -1
        )
        columns["alive"][at] = True
        self.metadata.update(
            (row, text) for row, text in enumerate(fields.metadata, at.start) if text is not None
        )
        if any(fields.entities):
            self._entities.add(at.start, map(_folded, fields.entities))
        if any(fields.subject):
            self._subjects.add(at.start, ([name.casefold()] if name else [] for name in fields.subject))
        if any(fields.sources):
            for source in {source for sources in fields.sources for source in sources} - self._names.keys():
                self._know(source)
            self._sources.add(at.start, fields.sources)

    def _know(self, source: str) -> None:
        """Find a source by the words of its name; an address, a number or a common noun is no name."""
        plain = source.replace(" ", "").replace(".", "")
        self._names[source] = tokens(source) if plain.isalpha() and not source[0].islower() else []
        for word in self._names[source]:
            self.named.setdefault(word, set()).add(source)

    def name_of(self, source: str) -> list[str]:
        """The words of a source's name; none if it is no name."""
        return self._names.get(source, [])

    def _said(self, words: str, sources: Sequence[str]) -> list[str]:
        """The words of a row, and of the names of who said it that are not among them."""
        said = words.split()
        for source in sources:
            said += [name for name in self._names[source] if name not in said]
        return said

    def rows_of(self, claims: Iterable[int]) -> Rows:
        """The row numbers of claims; those without a row are left out."""
        found = (self._row_of.get(claim) for claim in claims)
        return np.fromiter((row for row in found if row is not None), np.int64)

    def direction(self, vector: Vector) -> Vector:
        """The vector at length 1, checked against the dimension of those kept."""
        given, lengths = self._lengths(np.asarray(vector)[None])
        directed: Vector = given[0] * (1 / lengths[0]).astype(np.float32)
        return directed

    def _lengths(self, vectors: Any) -> tuple[NDArray[np.float32], NDArray[Any]]:
        """Vectors that fit those kept, and how long each is."""
        given, matrix = np.asarray(vectors, np.float32), self.column.get("vector")
        if given.ndim != 2 or (matrix is not None and given.shape[1] != matrix.shape[1]):
            shape = "(dimension,)" if matrix is None else f"{matrix.shape[1:]} like the others of its scope"
            raise ValueError(f"a vector must have shape {shape}, got {given.shape[1:]}")
        with np.errstate(over="ignore"):
            lengths = np.sqrt(np.einsum("ij,ij->i", given, given))
        if not ((lengths > 1e-15) & (lengths < math.inf)).all():
            # Squares of very small or very large numbers need more room.
            lengths = np.sqrt(np.einsum("ij,ij->i", given, given, dtype=np.float64))
        for length in lengths[~((lengths > 0) & (lengths < math.inf))].tolist():
            raise ValueError(f"a vector must be finite and not zero, got one of length {length}")
        return given, lengths

    def _embed(self, rows: Rows, given: NDArray[np.float32], lengths: NDArray[Any]) -> None:
        if "vector" not in self.column:
            self.column["vector"] = np.zeros((len(self.column["claim"]), given.shape[1]), np.float32)
        matrix, scale = self.column["vector"], (1 / lengths).astype(np.float32)[:, None]
        if rows[-1] - rows[0] + 1 == rows.size:
            # Made where they are kept: copies of so many numbers take as long as the product.
            np.multiply(given, scale, out=matrix[rows[0] : rows[-1] + 1])
        else:
            matrix[rows] = given * scale
        self.column["embedded"][rows] = True
        if self._sketch is not None:
            self._sketch.put(rows, matrix[rows])

    def cosines(self, vector: Vector) -> Vector:
        """Of every row with a vector; 0 for a row that has none. Raises ValueError as `put` does."""
        matrix, direction = self.column["vector"][: self.used], self.direction(vector)
        if self._sketch is None and self.used >= self._sketch_from:
            self._sketch = Sketch(matrix)
        if self._sketch is not None:
            return self._sketch.cosines(matrix, direction)
        found: Vector = matrix @ direction
        return found

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
        old, turns, metadata = self.column, self.turns.names(), self.metadata
        lists = self._words, self._entities, self._sources, self._subjects
        living = np.flatnonzero(old["alive"][: self.used])
        moved = np.full(self.used, -1, np.int64)
        moved[living] = np.arange(living.size)
        self._clear(max(_FIRST_CAPACITY, living.size))
        for name, column in old.items():
            self.column[name] = np.zeros((max(_FIRST_CAPACITY, living.size), *column.shape[1:]), column.dtype)
            self.column[name][: living.size] = column[living]
        self.used = living.size
        self._row_of = {claim: at for at, claim in enumerate(old["claim"][living].tolist())}
        self.total_length = int(old["length"][living].sum())
        self._words, self._entities, self._sources, self._subjects = lists
        for each in lists:
            each.move(moved)
        for source in self._sources.names():
            self._know(source)
        self.metadata = {int(moved[at]): value for at, value in metadata.items()}
        placed = [turns[turn] if turn >= 0 else (None, None) for turn in old["turn"][living].tolist()]
        self.column["turn"][: self.used] = self.turns.numbers(*zip(*placed, strict=True)) if placed else ()

    def posting(self, word: str) -> tuple[Rows, Rows]:
        """The living rows that hold the word, in order, and how often each does."""
        rows, counts = self._words.of(word)
        if len(self) == self.used:
            return rows, counts
        alive = self.column["alive"][rows]
        return rows[alive], counts[alive]

    def about(self, entity: str) -> Rows:
        """The rows with the entity, dead ones too."""
        return self._entities.of(entity.casefold())[0]

    def said_by(self, source: str) -> Rows:
        """The living rows with an assertion of this source."""
        return self._living(self._sources.of(source)[0])

    def said_of(self, subject: str) -> Rows:
        """The living rows that are a fact about it."""
        return self._living(self._subjects.of(subject.casefold())[0])

    def _living(self, rows: Rows) -> Rows:
        living: Rows = rows[self.column["alive"][rows]]
        return living


def _folded(names: str | None) -> list[str]:
    return [name.casefold() for name in json.loads(names)] if names else []
