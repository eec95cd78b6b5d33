"""ExactIndex: one matrix per scope, every vector compared; nothing is missed and nothing deleted comes back."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from recollectx.embeddings.base import Embedder
from recollectx.storage.vector.base import Near, VectorBackend
from recollectx.storage.vector.checking import Vectors

# More than a matrix product can differ between two equal rows, far less than any difference that matters.
ROUNDING = 1e-5


class ExactIndex(VectorBackend):
    """The index in memory, exact and repeatable: equal scores come in the order their ids arrived."""

    def __init__(self, dimension: int, embedder: Embedder | None = None) -> None:
        super().__init__(dimension, embedder)
        self._rows: dict[str, _Rows] = {}

    def _upsert(self, scope: str, ids: Sequence[str], vectors: Vectors) -> None:
        rows = self._rows.setdefault(scope, _Rows(self.dimension))
        keys = self._keys[scope]
        rows.put(ids, [keys[id] for id in ids], vectors)

    def _delete(self, scope: str, ids: Sequence[str]) -> None:
        rows = self._rows.get(scope)
        if rows is None:
            return
        for id in ids:
            rows.drop(id)
        if not rows.ids:
            del self._rows[scope]

    def _search(self, scope: str, vector: Vectors, k: int) -> list[Near]:
        rows = self._rows.get(scope)
        return rows.nearest(vector, k) if rows else []

    def _vectors_of(self, scope: str, ids: Sequence[str]) -> dict[str, Vectors]:
        rows = self._rows.get(scope)
        return {id: rows.matrix[rows.place[id]].copy() for id in ids if id in rows.place} if rows else {}


class _Rows:
    """The vectors of one scope without gaps: a deleted row is filled with the last one."""

    def __init__(self, dimension: int) -> None:
        self.ids: list[str] = []
        self.place: dict[str, int] = {}
        self.keys: NDArray[np.int64] = np.zeros(0, np.int64)
        self.matrix: Vectors = np.zeros((0, dimension), np.float32)

    def put(self, ids: Sequence[str], keys: Sequence[int], vectors: Vectors) -> None:
        new = [id for id in ids if id not in self.place]
        self._make_room(len(self.ids) + len(new))
        for id in new:
            self.place[id] = len(self.ids)
            self.ids.append(id)
        places = [self.place[id] for id in ids]
        self.keys[places] = keys
        self.matrix[places] = vectors

    def drop(self, id: str) -> None:
        hole = self.place.pop(id, None)
        if hole is None:
            return
        last = len(self.ids) - 1
        moved = self.ids.pop()
        if hole != last:
            self.ids[hole] = moved
            self.place[moved] = hole
            self.keys[hole] = self.keys[last]
            self.matrix[hole] = self.matrix[last]
        self.matrix[last] = 0

    def nearest(self, vector: Vectors, k: int) -> list[Near]:
        matrix = self.matrix[: len(self.ids)]
        scores = matrix @ vector
        k = min(k, len(scores))
        cut = np.partition(scores, -k)[-k] - ROUNDING
        near = np.flatnonzero(scores >= cut)
        # The product's last bits depend on where a row lies; summing row by row gives equal rows equal scores.
        exact = np.einsum("ij,j->i", matrix[near], vector)
        order = np.lexsort((self.keys[near], -exact))[:k]
        return [Near(self.ids[near[i]], float(exact[i])) for i in order]

    def _make_room(self, size: int) -> None:
        if size <= len(self.keys):
            return
        size = max(size, 2 * len(self.keys))
        keys, matrix = self.keys, self.matrix
        self.keys = np.zeros(size, np.int64)
        self.matrix = np.zeros((size, matrix.shape[1]), np.float32)
        self.keys[: len(keys)], self.matrix[: len(matrix)] = keys, matrix
