"""The vector index seam: ids with vectors in, nearest ids out, one scope at a time.

A backend holds a copy: the vectors in the database are the truth, and an index that is lost or late is fed again.
Inherit VectorBackend and write three private steps; it does checking, embedding and the text protocol of 0.2.7 once.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from recollectx.embeddings.base import Embedder
from recollectx.errors import DimensionError

Vectors: TypeAlias = NDArray[np.float32]
GLOBAL = "global"


@dataclass(frozen=True, slots=True)
class Near:
    """One neighbour. score: cosine, higher is closer."""

    id: str
    score: float


class VectorBackend(ABC):
    """Base of vector indexes, for any number of threads.

    embedder: embeds the texts of the text methods; None if only vectors are given.  dimension: length of the vectors.
    """

    def __init__(self, dimension: int, embedder: Embedder | None = None) -> None:
        if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
            raise DimensionError(f"dimension must be a whole number from 1, got {dimension!r}")
        if embedder is not None and embedder.dimension != dimension:
            raise DimensionError(
                f"the index holds {dimension}-d vectors, embedder {embedder.name} gives {embedder.dimension}-d"
            )
        self.dimension = dimension
        self.embedder = embedder

    @abstractmethod
    def _upsert(self, scope: str, ids: Sequence[str], vectors: Vectors) -> None:
        """Add or replace; ids are distinct, vectors have length 1, shape (len(ids), dimension)."""

    @abstractmethod
    def _delete(self, scope: str, ids: Sequence[str]) -> None:
        """Remove; an unknown id is no error."""

    @abstractmethod
    def _search(self, scope: str, vector: Vectors, k: int) -> list[Near]:
        """The nearest `k` of `scope`, best first; fewer only if the scope holds fewer."""
