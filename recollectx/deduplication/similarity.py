"""How alike two claims are by an embedding provider, for stores that keep no vectors of their own."""

from collections import OrderedDict
from typing import Any

import numpy as np

from recollectx.claims import Claim
from recollectx.embeddings import FunctionEmbedder
from recollectx.embeddings.base import Vectors
from recollectx.errors import InvalidSetting
from recollectx.forks import Lock
from recollectx.storage.embedding import checked
from recollectx.updater import SimilarityCalculator

__all__ = ["EmbeddingSimilarity", "SimilarityCalculator", "claim_to_text"]
KEPT = 10_000


def claim_to_text(claim: Claim) -> str:
    """The claim as one line of plain words."""
    return claim.text


class EmbeddingSimilarity:
    """The cosine of two claims; each wording is embedded once, of the last KEPT.

    embedding_provider: an Embedder; or what embeds one text: an object with `embed`, as 0.2.7's, or a function.
    """

    def __init__(self, embedding_provider: Any) -> None:
        embed = getattr(embedding_provider, "embed", embedding_provider)
        if not callable(embed):
            raise InvalidSetting(f"neither an embedder nor a function of a text: {embedding_provider!r}")
        ours = hasattr(embedding_provider, "name") and not hasattr(embedding_provider, "embed_batch")
        self._embedder = checked(embedding_provider) if ours else FunctionEmbedder(embed)
        self._kept: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = Lock()

    def calculate(self, claim1: Claim, claim2: Claim) -> float:
        """In [-1, 1]; 0 if the model finds nothing in one of them. Raises BackendError if it fails."""
        return float(np.dot(self._vector(claim1.text), self._vector(claim2.text)))

    def _vector(self, text: str) -> Vectors:
        with self._lock:
            if text in self._kept:
                self._kept.move_to_end(text)
                return self._kept[text]
        vector: Vectors = self._embedder.embed([text])[0]
        with self._lock:
            self._kept[text] = vector
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return vector
