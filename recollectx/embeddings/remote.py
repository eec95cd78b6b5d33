"""Embedding models behind an HTTP interface: OpenAI (or whatever speaks as it does) and Ollama.

Both go through the vendor's own client. A key is read once, here, and kept by that client alone.
"""

import os
import time
from collections.abc import Sequence
from typing import Any

from recollectx.embeddings.base import BaseEmbedder
from recollectx.errors import BackendError, InvalidSetting
from recollectx.extras import require

# OpenAI refuses a text of more than 8,192 tokens and a call of more than 300,000; a token is at least one byte.
MAX_BYTES = 8_192
MAX_CALL_BYTES = 300_000
WAITS = (0.2, 1.0)


def _sendable(text: str) -> str:
    """Not empty, which both services refuse."""
    return text or " "


def _cut(text: str, limit: int) -> str:
    """The beginning of `text` that fits into `limit` bytes, no character split."""
    return text.encode()[:limit].decode(errors="ignore")


class OpenAIEmbedder(BaseEmbedder):
    """Embeddings of OpenAI, or of a server that speaks like it; needs the extra `openai`.

    api_key: else OPENAI_API_KEY from the environment; may be missing if `base_url` is given (local servers want none).
    base_url: else OPENAI_BASE_URL, else OpenAI.  dimension: asks for vectors of this length, which only newer models
    can; None takes what comes.  timeout: seconds per attempt; failures that pass are tried twice more.
    Of a text longer than 8,192 bytes only the beginning counts.
    """

    def __init__(
        self,
        api_key: str | None = None,
        model: str = "text-embedding-3-small",
        base_url: str | None = None,
        dimension: int | None = None,
        *,
        timeout: float = 60.0,
    ) -> None:
        super().__init__(f"openai:{model}", dimension, batch=256)
        key = api_key or os.environ.get("OPENAI_API_KEY") or ("unused" if base_url else None)
        if key is None:
            raise InvalidSetting("no API key: give api_key= or set OPENAI_API_KEY")
        package = require("openai", "openai")
        self._client = package.OpenAI(api_key=key, base_url=base_url, timeout=timeout)
        self._wanted: dict[str, Any] = {"model": model, "encoding_format": "float"}
        if dimension is not None:
            self._wanted["dimensions"] = dimension

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        cut = [_sendable(_cut(text, MAX_BYTES)) for text in texts]
        if sum(len(text.encode()) for text in cut) > MAX_CALL_BYTES:
            half = len(cut) // 2
            return self._embed(cut[:half]) + self._embed(cut[half:])
        reply = self._client.embeddings.create(input=cut, **self._wanted)
        rows = {row.index: row.embedding for row in reply.data}
        if sorted(rows) != list(range(len(cut))):
            raise BackendError(f"embedder {self.name} gave {len(reply.data)} vectors for {len(cut)} texts")
        return [rows[index] for index in range(len(cut))]


class OllamaEmbedder(BaseEmbedder):
    """Embeddings of a model that an Ollama server holds; needs the extra `ollama`.

    base_url: else OLLAMA_HOST, else http://localhost:11434.  timeout: seconds per attempt, long enough for a model
    that has to be loaded first; failures that pass are tried twice more, which its client does not do.
    Of a text longer than the model's own limit only the beginning counts.
    """

    def __init__(
        self,
        model: str = "nomic-embed-text",
        base_url: str | None = None,
        dimension: int | None = None,
        *,
        timeout: float = 120.0,
    ) -> None:
        super().__init__(f"ollama:{model}", dimension)
        self._package = require("ollama", "ollama")
        self._client = self._package.Client(host=base_url, timeout=timeout)
        self._model = model

    def _embed(self, texts: Sequence[str]) -> Any:
        sent = [_sendable(text) for text in texts]
        for wait in WAITS:
            try:
                return self._call(sent)
            except self._package.ResponseError as error:
                if error.status_code != 429 and error.status_code < 500:
                    raise
                time.sleep(wait)
        return self._call(sent)

    def _call(self, texts: list[str]) -> Any:
        embeddings = self._client.embed(model=self._model, input=texts, truncate=True).embeddings
        if len(embeddings) != len(texts):
            raise BackendError(f"embedder {self.name} gave {len(embeddings)} vectors for {len(texts)} texts")
        return embeddings
