"""Anthropic's models."""

import os
from collections.abc import Mapping
from typing import Any, ClassVar

from recollectx.errors import InvalidSetting
from recollectx.extras import require
from recollectx.llm.asking import text_of
from recollectx.llm.base import MAX_TOKENS, LLMResponse, Usage
from recollectx.llm.provider import BaseProvider, Wishes


class AnthropicProvider(BaseProvider):
    """Models of Anthropic, or of a server that speaks like it; needs the extra `anthropic`.

    api_key: else ANTHROPIC_API_KEY from the environment; may be missing if a base URL is given.
    model: else ANTHROPIC_MODEL, else claude-haiku-4-5.  base_url: else ANTHROPIC_BASE_URL, else Anthropic.
    timeout: seconds per attempt.  max_retries: further attempts, made by Anthropic's client.
    options: parameters sent with every call.  Thinking, where a model does it, counts towards max_tokens.
    """

    ALSO_CALLED: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "schema": ("json_schema", "output_format", "structured outputs"),
    }

    def __init__(
        self,
        api_key: str | None = None,
        model: str | None = None,
        base_url: str | None = None,
        timeout: float = 60.0,
        max_retries: int = 2,
        *,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        url = base_url or os.environ.get("ANTHROPIC_BASE_URL") or None
        key = api_key or os.environ.get("ANTHROPIC_API_KEY") or ("unused" if url else None)
        if key is None:
            raise InvalidSetting("no API key: give api_key= or set ANTHROPIC_API_KEY")
        model = model or os.environ.get("ANTHROPIC_MODEL") or "claude-haiku-4-5"
        super().__init__("Anthropic", model, options=options, secret=key)
        self._package = require("anthropic", "anthropic")
        self._client = self._package.Anthropic(
            api_key=key, base_url=url, timeout=timeout, max_retries=max_retries
        )

    def _messages(self, prompt: str, system_prompt: str | None) -> dict[str, Any]:
        system = {"system": system_prompt} if system_prompt else {}
        # The one service that insists on a limit.
        limit = {"max_tokens": MAX_TOKENS}
        return {"model": self.model, "messages": [{"role": "user", "content": prompt}], **system, **limit}

    def _wishes(
        self, schema: Mapping[str, Any] | None, temperature: float | None, max_tokens: int | None
    ) -> Wishes:
        wishes: Wishes = {}
        if schema is not None:
            wishes["schema"] = self._schema_forms(schema)
        if temperature is not None:
            # No parameter of the client any more, yet older models take it.
            wishes["temperature"] = [{"extra_body": {"temperature": temperature}}]
        if max_tokens is not None:
            wishes["max_tokens"] = [{"max_tokens": max_tokens}]
        return wishes

    def _schema_forms(self, schema: Mapping[str, Any]) -> list[dict[str, Any]]:
        try:
            fit = self._package.transform_schema(dict(schema))
        except (ValueError, AssertionError, TypeError, AttributeError):
            return []  # more than the service can hold a model to; the prompt tells it then
        return [{"output_config": {"format": {"type": "json_schema", "schema": fit}}}]

    def _send(self, request: dict[str, Any]) -> LLMResponse:
        reply = self._client.messages.create(**request)
        blocks = getattr(reply, "content", None)
        if not isinstance(blocks, list):
            raise self.failure(f"the reply holds no content: {reply!r}")
        return LLMResponse(
            text_of(blocks),
            Usage.of_one(reply.usage).as_dict() if getattr(reply, "usage", None) else None,
            reply.model,
            {"stop_reason": reply.stop_reason},
            truncated=reply.stop_reason in ("max_tokens", "model_context_window_exceeded"),
            refusal=(text_of(blocks) or "no reason given") if reply.stop_reason == "refusal" else None,
        )
