"""An embedder with nothing to install: words hashed to places in the vector.

Texts are near each other if they share words, and only then: enough for tests and for a machine without a model.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from recollectx.embeddings.base import BaseEmbedder, Vectors, texts_of
from recollectx.text import tokens, words_of

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
        return self._summed([tokens(text) for text in texts])

    def _summed(self, bags: Sequence[Sequence[str]]) -> Vectors:
        vectors = np.zeros((len(bags), self.dimension), np.float32)
        for row, bag in enumerate(bags):
            for word in bag:
                for place, sign in _places(word, self.dimension):
                    vectors[row, place] += sign
        return vectors

    def embed_tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """One array per text, a row of length 1 for every word."""
        bags = [tokens(text) for text in texts_of(texts)]
        return [
            self._unit(self._summed([[word] for word in bag]).astype(np.float64), len(bag)) for bag in bags
        ]

    def token_words(self, text: str) -> list[str]:
        """The word of each row that `embed_tokens` gives for `text`."""
        return words_of(text)
