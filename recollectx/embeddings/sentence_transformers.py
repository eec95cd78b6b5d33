"""Any model of the sentence-transformers package, with vectors of sentences and of tokens."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollectx.embeddings.base import BaseEmbedder, Vectors, texts_of
from recollectx.extras import require
from recollectx.forks import Lock


class SentenceTransformerEmbedder(BaseEmbedder):
    """A sentence-transformers model; needs the extra `sentence-transformers`, which brings torch.

    model_name: name on the Hugging Face hub, fetched on first use, or a folder that holds the model.
    device: "cpu", "cuda", ...; None lets the package choose.
    Of a text longer than the model's own limit (256 tokens for the default) only the beginning counts.
    """

    def __init__(self, model_name: str = "all-MiniLM-L6-v2", device: str | None = None) -> None:
        super().__init__(f"sentence-transformers:{model_name}")
        package = require("sentence_transformers", "sentence-transformers")
        self._model = self._ask(lambda: package.SentenceTransformer(model_name, device=device))
        # Its tokenizer keeps the padding it was last told in itself, and refuses a second thread meanwhile.
        self._lock = Lock()

    def _encode(self, texts: Sequence[str], output_value: str) -> Any:
        with self._lock:
            return self._model.encode(
                list(texts), batch_size=self.batch, output_value=output_value, show_progress_bar=False
            )

    def _embed(self, texts: Sequence[str]) -> Any:
        return self._encode(texts, "sentence_embedding")

    def embed_tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """One array per text, shape (its tokens, dimension), rows of length 1.

        The tokens are the model's, its marks of beginning and end among them.
        """
        wanted = texts_of(texts)
        found: list[Vectors] = []
        for start in range(0, len(wanted), self.batch):
            arrays = self._ask(partial(self._tokens, wanted[start : start + self.batch]))
            found.extend(self._unit(array, len(array)) for array in arrays)
        return found

    def token_words(self, text: str) -> list[str]:
        """For each row that `embed_tokens` gives for `text`, the word it is a part of; "" for the model's marks."""
        (wanted,) = texts_of([text])
        with self._lock:
            encoded = self._ask(
                lambda: self._model.tokenizer(
                    wanted,
                    truncation=True,
                    max_length=self._model.max_seq_length,
                    return_offsets_mapping=True,
                )
            )
        words = [(found.start(), found.end(), found[0]) for found in re.finditer(r"\w+", wanted)]
        return [
            next((word for begin, end, word in words if begin <= first < last <= end), "")
            for first, last in encoded["offset_mapping"]
        ]

    def _tokens(self, batch: list[str]) -> list[NDArray[np.float64]]:
        tensors = self._encode(batch, "token_embeddings")
        return [np.asarray(tensor.cpu().float().numpy(), np.float64) for tensor in tensors]
