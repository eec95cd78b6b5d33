"""An embedder with nothing to install: words hashed to places in the vector.

Texts are near each other if they share words, and only then: enough for tests and for a machine without a model.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from recollectx.embeddings.base import BaseEmbedder, Vectors
from recollectx.text import tokens

PLACES = 4


@lru_cache(maxsize=1 << 14)
def _places(word: str, dimension: int) -> tuple[tuple[int, float], ...]:
    """Where a word adds to the vector, and with which sign: several places, so that a collision costs only a part."""
    digest = hashlib.blake2b(word.encode(), digest_size=8 * PLACES).digest()
    numbers = [int.from_bytes(digest[start : start + 8], "big") for start in range(0, 8 * PLACES, 8)]
    return tuple(((number >> 1) % dimension, 1.0 if number & 1 else -1.0) for number in numbers)


class HashEmbedder(BaseEmbedder):
    """Vectors of hashed words; the same on every machine. A text without words gives all 0."""

    def __init__(self, dimension: int = 256) -> None:
        super().__init__(f"hash-{dimension}", dimension)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            for word in tokens(text):
                for place, sign in _places(word, self.dimension):
                    vectors[row, place] += sign
        return vectors
