"""Models that an Ollama server holds."""

import os
import time
from collections.abc import Mapping
from typing import Any, ClassVar

from recollectx.extras import require
from recollectx.llm.base import LLMResponse
from recollectx.llm.provider import BaseProvider, Wishes
from recollectx.llm.providers.embedding import EmbedsTexts

FIRST_WAIT = 0.2
GROWTH = 5


class OllamaProvider(EmbedsTexts, BaseProvider):
    """A model that an Ollama server holds; needs the extra `ollama`.

    model: else OLLAMA_MODEL, else llama3.2.  base_url: else OLLAMA_HOST, else http://localhost:11434.
    timeout: seconds per attempt, long enough for a model that has to be loaded first.
    max_retries: further attempts after time-outs, broken connections, 429 and 5xx, which its client does not make.
    options: model options sent with every call, such as {"num_ctx": 8192}: Ollama cuts the beginning off a prompt
    that is longer than the context, without saying so.
    embedding_model: what `embed` and `embed_batch` use.
    """

    ALSO_CALLED: ClassVar[Mapping[str, tuple[str, ...]]] = {"think": ("thinking",)}

    def __init__(
        self,
        model: str | None = None,
        embedding_model: str = "nomic-embed-text",
        base_url: str | None = None,
        timeout: float = 120.0,
        *,
        max_retries: int = 2,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        model = model or os.environ.get("OLLAMA_MODEL") or "llama3.2"
        # Only Ollama's own cloud wants one, which its client takes from there.
        super().__init__("Ollama", model, secret=os.environ.get("OLLAMA_API_KEY"))
        self._model_options = dict(options or {})
        self._max_retries = max_retries
        self._package = require("ollama", "ollama")
        self._client = self._package.Client(host=base_url, timeout=timeout)
        self._passing = (ConnectionError, require("httpx", "ollama").TransportError)
        self._embeds_with("ollama", model=embedding_model, base_url=base_url, timeout=timeout)

    def list_models(self) -> list[str]:
        """Names of the models that the server holds.

        Raises ModelError if it cannot be asked.
        """
        try:
            return [model.model for model in self._client.list().models if model.model]
        except (self._package.ResponseError, *self._passing) as error:
            raise self.failure(f"{type(error).__name__}: {error}") from error

    def _messages(self, prompt: str, system_prompt: str | None) -> dict[str, Any]:
        system = [{"role": "system", "content": system_prompt}] if system_prompt else []
        return {"model": self.model, "messages": [*system, {"role": "user", "content": prompt}]}

    def _wishes(
        self, schema: Mapping[str, Any] | None, temperature: float | None, max_tokens: int | None
    ) -> Wishes:
        wishes: Wishes = {}
        if schema is not None:
            wishes["schema"] = [{"format": dict(schema)}, {"format": "json"}]
            # Thoughts before a reply that is held to a schema cost tokens and are thrown away.
            wishes["think"] = [{"think": False}]
        if temperature is not None:
            wishes["temperature"] = [{"options": {"temperature": temperature}}]
        if max_tokens is not None:
            wishes["num_predict"] = [{"options": {"num_predict": max_tokens}}]
        own: Wishes = {name: [{"options": {name: value}}] for name, value in self._model_options.items()}
        return wishes | own

    def _send(self, request: dict[str, Any]) -> LLMResponse:
        reply = self._patiently(request)
        usage = {"prompt_tokens": reply.prompt_eval_count or 0, "completion_tokens": reply.eval_count or 0}
        return LLMResponse(
            reply.message.content or "",
            {**usage, "total_tokens": sum(usage.values())},
            reply.model,
            {"done_reason": reply.done_reason},
            truncated=reply.done_reason == "length",
        )

    def _patiently(self, request: dict[str, Any]) -> Any:
        for attempt in range(self._max_retries):
            try:
                return self._client.chat(**request)
            except self._package.ResponseError as error:
                if error.status_code != 429 and error.status_code < 500:
                    raise
            except self._passing:
                pass
            time.sleep(FIRST_WAIT * GROWTH**attempt)
        return self._client.chat(**request)
