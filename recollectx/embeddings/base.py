"""The embedding seam: texts in, unit vectors out.

An embedder is anything with a name, a dimension and `embed`. Inherit BaseEmbedder and write `_embed`: it does the
checking, batching, normalising and error wrapping once.
"""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from recollectx.errors import BackendError, DimensionError, RecollectxError

Vectors: TypeAlias = NDArray[np.float32]
BATCH = 64


@runtime_checkable
class Embedder(Protocol):
    """What turns texts into vectors. `name` says which model, so that vectors of two models never mix."""

    @property
    def name(self) -> str:
        """Which model this is."""

    @property
    def dimension(self) -> int:
        """Length of its vectors."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """float32, shape (len(texts), dimension), rows of length 1. Raises BackendError if the model fails."""


class BaseEmbedder:
    """Base of embedders: write `_embed`, and set `name` and `dimension`.

    name: which model.  dimension: length of its vectors.  batch: how many texts `_embed` is given at most.
    """

    def __init__(self, name: str, dimension: int, *, batch: int = BATCH) -> None:
        if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
            raise DimensionError(f"dimension must be a whole number from 1, got {dimension!r}")
        self.name = name
        self.dimension = dimension
        self.batch = batch

    def _embed(self, texts: Sequence[str]) -> Any:
        """One batch: anything numpy reads as shape (len(texts), dimension)."""
        raise TypeError(f"{type(self).__name__} must implement _embed(texts)")

    def embed(self, texts: Sequence[str]) -> Vectors:
        """float32, shape (len(texts), dimension), rows of length 1. Raises BackendError if the model fails."""
        if isinstance(texts, str):
            raise TypeError("embed takes a list of texts; write embed([text])")
        found = np.zeros((len(texts), self.dimension), np.float32)
        for start in range(0, len(texts), self.batch):
            batch = list(texts[start : start + self.batch])
            found[start : start + len(batch)] = self._checked(batch)
        return found

    def _checked(self, batch: list[str]) -> Vectors:
        try:
            vectors = np.asarray(self._embed(batch), np.float32)
        except RecollectxError:
            raise
        except Exception as error:  # noqa: BLE001  (a third party's model may raise anything)
            raise BackendError(f"embedder {self.name} failed: {type(error).__name__}: {error}") from error
        if vectors.shape != (len(batch), self.dimension):
            raise DimensionError(
                f"embedder {self.name} gave shape {vectors.shape} for {len(batch)} texts, "
                f"expected ({len(batch)}, {self.dimension})"
            )
        if not np.isfinite(vectors).all():
            raise BackendError(f"embedder {self.name} gave numbers that are not finite")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Vectors = vectors / np.where(lengths > 0, lengths, 1)
        return unit
