"""OpenAI's chat models, and every server that speaks its protocol."""

import os
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from recollectx.errors import InvalidSetting
from recollectx.extras import require
from recollectx.llm.base import LLMResponse, Usage
from recollectx.llm.provider import BaseProvider, Wishes
from recollectx.llm.providers.embedding import EmbedsTexts
from recollectx.llm.schemas import is_closed


class OpenAIProvider(EmbedsTexts, BaseProvider):
    """Chat models of OpenAI, or of a server that speaks like it; needs the extra `openai`.

    api_key: else OPENAI_API_KEY from the environment; may be missing if a base URL is given (local servers want none).
    model: else OPENAI_MODEL, else gpt-5.4-mini.  base_url: else OPENAI_BASE_URL, else OpenAI.
    timeout: seconds per attempt.  max_retries: further attempts after time-outs, broken connections, 408, 409, 429 and
    5xx, made by OpenAI's client.  options: parameters sent with every call, such as {"reasoning_effort": "low"}.
    embedding_model: what `embed` and `embed_batch` use.
    """

    SERVICE: ClassVar[str] = "OpenAI"
    ALSO_CALLED: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "schema": ("json_schema", "json_object", "structured_outputs", "structured outputs"),
    }

    def __init__(  # noqa: PLR0917 - 0.2.7's parameters in its order
        self,
        api_key: str | None = None,
        model: str | None = None,
        embedding_model: str = "text-embedding-3-small",
        base_url: str | None = None,
        organization: str | None = None,
        timeout: float = 60.0,
        *,
        max_retries: int = 2,
        options: Mapping[str, Any] | None = None,
        default_headers: Mapping[str, str] | None = None,
    ) -> None:
        url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        key = api_key or os.environ.get("OPENAI_API_KEY") or ("unused" if url else None)
        if key is None:
            raise InvalidSetting("no API key: give api_key= or set OPENAI_API_KEY")
        model = model or os.environ.get("OPENAI_MODEL") or "gpt-5.4-mini"
        super().__init__(self.SERVICE, model, options=options, secret=key)
        self._client = require("openai", "openai").OpenAI(
            api_key=key,
            base_url=url,
            organization=organization,
            timeout=timeout,
            max_retries=max_retries,
            default_headers=default_headers,
        )
        self._embeds_with("openai", model=embedding_model, api_key=key, base_url=url, timeout=timeout)

    def _messages(self, prompt: str, system_prompt: str | None) -> dict[str, Any]:
        system = [{"role": "system", "content": system_prompt}] if system_prompt else []
        return {"model": self.model, "messages": [*system, {"role": "user", "content": prompt}]}

    def _wishes(
        self, schema: Mapping[str, Any] | None, temperature: float | None, max_tokens: int | None
    ) -> Wishes:
        wishes: Wishes = {}
        if schema is not None:
            wishes["schema"] = [
                {"response_format": {"type": "json_schema", "json_schema": _named(schema)}},
                {"response_format": {"type": "json_object"}},
            ]
        if temperature is not None:
            wishes["temperature"] = [{"temperature": temperature}]
        if max_tokens is not None:
            wishes["max_tokens"] = [{"max_completion_tokens": max_tokens}, {"max_tokens": max_tokens}]
        return wishes

    def _send(self, request: dict[str, Any]) -> LLMResponse:
        reply = self._client.chat.completions.create(**request)
        choices = getattr(reply, "choices", None)
        if not choices:
            # OpenRouter answers 200 with an error in it when the model's own service fails.
            raise self.failure(f"the reply holds no choice: {getattr(reply, 'error', None) or reply!r}")
        choice = choices[0]
        message = choice.message
        blocked = "filtered by the service" if choice.finish_reason == "content_filter" else None
        return LLMResponse(
            message.content if isinstance(message.content, str) else "",
            Usage.of_one(reply.usage).as_dict() if getattr(reply, "usage", None) else None,
            reply.model,
            {"finish_reason": choice.finish_reason},
            truncated=choice.finish_reason == "length",
            refusal=getattr(message, "refusal", None) or blocked,
        )


def _named(schema: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` as OpenAI wants it: with a name, and strict if it may be."""
    name = re.sub(r"\W+", "_", str(schema.get("title", "reply")), flags=re.ASCII)[:64] or "reply"
    return {"name": name, "schema": schema, "strict": is_closed(schema)}
