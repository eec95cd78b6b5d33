"""Any plain function from one text to its vector, as an embedder."""

from collections.abc import Callable, Sequence
from typing import Any

from recollectx.embeddings.base import BaseEmbedder
from recollectx.errors import InvalidSetting


class FunctionEmbedder(BaseEmbedder):
    """What `fn` gives for one text: a list, tuple or array of numbers.

    dimension: length of its vectors; None learns it from the first answer.
    name: which model; else "function:" and the function's qualified name. Give one to every lambda.
    The function is called with one text at a time, and from the threads that use the memory.
    """

    def __init__(
        self, fn: Callable[[str], Any], dimension: int | None = None, name: str | None = None
    ) -> None:
        if not callable(fn):
            raise InvalidSetting(f"FunctionEmbedder takes a function from one text to its vector, got {fn!r}")
        known_as = getattr(fn, "__qualname__", type(fn).__qualname__)
        # One a batch, so that vectors of different lengths are told apart from a fault of numpy's.
        super().__init__(name or f"function:{known_as}", dimension, batch=1)
        self._fn = fn

    def _embed(self, texts: Sequence[str]) -> list[Any]:
        return [self._fn(text) for text in texts]
