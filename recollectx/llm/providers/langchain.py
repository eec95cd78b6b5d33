"""Any LangChain chat model as a provider."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from recollectx.errors import InvalidSetting
from recollectx.extras import require
from recollectx.llm.asking import text_of
from recollectx.llm.base import LLMResponse, Usage
from recollectx.llm.provider import BaseProvider, Wishes

CUT_OFF = {"length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded"}


class LangChainProvider(BaseProvider):
    """A LangChain chat model; needs the extra `langchain`.

    Temperature, token limit, time-out and retries are the chat model's own and set there; what is passed here as
    temperature or max_tokens is not sent on. Options by name are, as keywords of `invoke`.
    """

    ALSO_CALLED: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "schema": ("tools", "tool_choice", "response_format", "output_config", "json_schema", "functions"),
    }

    def __init__(self, llm: Any) -> None:
        self._core = require("langchain_core.messages", "langchain")
        if not callable(getattr(llm, "invoke", None)):
            raise InvalidSetting(f"LangChainProvider takes a LangChain chat model, got {llm!r}")
        named = (getattr(llm, name, None) for name in ("model_name", "model", "_llm_type"))
        model = next((name for name in named if isinstance(name, str)), type(llm).__name__)
        secrets = (
            value for value in getattr(llm, "__dict__", {}).values() if hasattr(value, "get_secret_value")
        )
        secret = next(secrets, None)
        super().__init__("LangChain", model, secret=secret.get_secret_value() if secret else None)
        self._llm = llm

    def _messages(self, prompt: str, system_prompt: str | None) -> dict[str, Any]:
        system = [self._core.SystemMessage(system_prompt)] if system_prompt else []
        return {"messages": [*system, self._core.HumanMessage(prompt)]}

    def _wishes(
        self, schema: Mapping[str, Any] | None, temperature: float | None, max_tokens: int | None
    ) -> Wishes:
        if schema is None:
            return {}
        # A model that gets the schema as a tool needs a name and a purpose for it.
        named = {"title": "reply", "description": "The reply.", **schema}
        return {"schema": [{"schema": named}]}

    def _send(self, request: dict[str, Any]) -> LLMResponse:
        messages, schema = request.pop("messages"), request.pop("schema", None)
        if schema is None:
            return self._read(self._llm.invoke(messages, **request), None)
        bound = self._llm.with_structured_output(schema, include_raw=True)
        try:
            reply = bound.invoke(messages, **request)
        except Exception as error:
            if not getattr(error, "completion", None):
                raise
            return self._read_cut_off(error.completion)  # type: ignore[attr-defined]
        return self._read(reply["raw"], reply["parsed"])

    def _read_cut_off(self, completion: Any) -> LLMResponse:
        """The reply as it stands in OpenAI's error about one that the token limit cut off."""
        text = completion.choices[0].message.content
        return LLMResponse(
            text or "", Usage.of_one(completion.usage).as_dict(), completion.model, truncated=True
        )

    def _read(self, message: Any, parsed: Any) -> LLMResponse:
        about = getattr(message, "response_metadata", None) or {}
        finish = about.get("finish_reason") or about.get("stop_reason") or about.get("done_reason")
        usage = getattr(message, "usage_metadata", None)
        refusal = (getattr(message, "additional_kwargs", None) or {}).get("refusal")
        return LLMResponse(
            text_of(message.content) if parsed is None else json.dumps(parsed, default=str),
            Usage.of_one(usage).as_dict() if usage else None,
            about.get("model_name") or about.get("model"),
            {"finish_reason": finish},
            truncated=finish in CUT_OFF,
            refusal=refusal
            or (text_of(message.content) or "no reason given" if finish == "refusal" else None),
        )

    def _refused_in(self, error: Exception, forms: Mapping[str, Mapping[str, Any]]) -> str | None:
        if isinstance(error, NotImplementedError) and "schema" in forms:
            return "schema"
        return super()._refused_in(error, forms)
