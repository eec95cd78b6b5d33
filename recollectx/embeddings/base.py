"""The embedding seam: texts in, unit vectors out.

An embedder is anything with a name, a dimension and `embed`. Inherit BaseEmbedder and write `_embed`: it does the
checking, batching, normalising and error wrapping once. One that also has `embed_tokens` is a TokenEmbedder.
"""

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from recollectx.errors import BackendError, DimensionError, InvalidSetting, RecollectxError

Vectors: TypeAlias = NDArray[np.float32]
Reply = TypeVar("Reply")
BATCH = 64

PROBE = "On rainy Sundays my aunt repairs old clocks in the kitchen."
SAME_MODEL = 0.999
_TINY, _HUGE = 1e-100, 1e100
"""Squares of lengths between these have lost nothing to rounding."""


class Embedder(Protocol):
    """What turns texts into vectors. `name` says which model, so that vectors of two models never mix."""

    @property
    def name(self) -> str:
        """Which model this is."""

    @property
    def dimension(self) -> int:
        """Length of its vectors."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """float32, shape (len(texts), dimension): rows of length 1, or all 0 for a text that says nothing to it.

        Raises BackendError if the model fails, DimensionError if it gives vectors of another shape.
        """


class TokenEmbedder(Embedder, Protocol):
    """An embedder that can also give a vector for every token, for matching word by word."""

    def embed_tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """One array per text, shape (its tokens, any width), rows of length 1; raises as `embed` does."""

    def token_words(self, text: str) -> list[str]:
        """For each row that `embed_tokens` gives for `text`, the word it is of or a part of; "" for what is of none."""


def same_model(stored: Vectors, vector: Vectors) -> bool:
    """Whether two vectors of PROBE come from one model: same shape and cosine .999 or more.

    Rounding, batch size and processor move the cosine by less than 1e-5; another model or version by far more.
    """
    if stored.shape != vector.shape:
        return False
    first, second = np.asarray(stored, np.float64).ravel(), np.asarray(vector, np.float64).ravel()
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    return lengths > 0 and float(first @ second) >= SAME_MODEL * lengths


def texts_of(texts: Sequence[str]) -> list[str]:
    """`texts` as a list that every model can encode: half of a surrogate pair becomes a question mark."""
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise TypeError("embedders take a list of texts; for one text write embed([text])")
    return [
        text if type(text) is str and text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
        for text in texts
    ]


class BaseEmbedder:
    """Base of embedders: write `_embed` and call this constructor.

    name: which model.  dimension: length of its vectors; None learns it from the first answer.
    batch: how many texts `_embed` is given at most.
    """

    def __init__(self, name: str, dimension: int | None = None, *, batch: int = BATCH) -> None:
        if dimension is not None and (type(dimension) is not int or dimension < 1):
            raise DimensionError(f"dimension must be a whole number from 1, got {dimension!r}")
        if type(batch) is not int or batch < 1:
            raise InvalidSetting(f"batch must be a whole number from 1, got {batch!r}")
        self.name = name
        self.batch = batch
        self._dimension = dimension

    @property
    def dimension(self) -> int:
        """Length of its vectors; asks the model once if nobody said and nothing was embedded yet."""
        if self._dimension is None:
            return int(self.embed([PROBE]).shape[1])
        return self._dimension

    def _embed(self, texts: Sequence[str]) -> Any:
        """One batch: anything numpy reads as shape (len(texts), dimension)."""
        raise TypeError(f"{type(self).__name__} must implement _embed(texts)")

    def embed(self, texts: Sequence[str]) -> Vectors:
        """float32, shape (len(texts), dimension): rows of length 1, or all 0 for a text that says nothing to it.

        Raises BackendError if the model fails, DimensionError if it gives vectors of another shape.
        """
        wanted = texts_of(texts)
        if not wanted:
            return np.zeros((0, self.dimension), np.float32)
        if len(wanted) <= self.batch:
            return self._embed_batch(wanted)
        starts = range(0, len(wanted), self.batch)
        return np.concatenate([self._embed_batch(wanted[start : start + self.batch]) for start in starts])

    def _embed_batch(self, batch: list[str]) -> Vectors:
        vectors = self._ask(lambda: np.asarray(self._embed(batch), np.float64))
        return self._unit(vectors, len(batch))

    def _ask(self, model: Callable[[], Reply]) -> Reply:
        """What `model` returns; whatever it raises becomes a BackendError."""
        try:
            return model()
        except RecollectxError:
            raise
        except Exception as error:
            raise BackendError(f"embedder {self.name} failed: {type(error).__name__}: {error}") from error

    def _unit(self, vectors: NDArray[np.float64], count: int) -> Vectors:
        """`vectors` checked and scaled to length 1."""
        width = self._dimension or (vectors.shape[1] if vectors.ndim == 2 else 0)
        if not width or vectors.shape != (count, width):
            raise DimensionError(
                f"embedder {self.name} gave shape {vectors.shape} for {count} texts, "
                f"expected ({count}, {self._dimension or 'its dimension'})"
            )
        if count == 1:
            # What a store waits for: two calls of numpy in place of seven.
            square = float(np.vdot(vectors, vectors))
            if _TINY < square < _HUGE:
                self._dimension = width
                return (vectors / sqrt(square)).astype(np.float32)
        squares = np.einsum("ij,ij->i", vectors, vectors)
        if squares.min() > _TINY and squares.max() < _HUGE:
            self._dimension = width
            scaled: Vectors = (vectors / np.sqrt(squares)[:, None]).astype(np.float32)
            return scaled
        if not np.isfinite(vectors).all():
            raise BackendError(f"embedder {self.name} gave numbers that are not finite")
        self._dimension = width
        # The largest number goes first: squares of very small or very large ones would be 0 or infinite.
        largest = np.abs(vectors).max(axis=1, keepdims=True)
        nearer = vectors / np.where(largest > 0, largest, 1)
        lengths = np.linalg.norm(nearer, axis=1, keepdims=True)
        return (nearer / np.where(lengths > 0, lengths, 1)).astype(np.float32)
