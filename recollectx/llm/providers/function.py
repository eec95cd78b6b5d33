"""Any plain function from a prompt to text, as a provider."""

from collections.abc import Callable, Mapping
from typing import Any

from recollectx.errors import InvalidSetting
from recollectx.llm.asking import call_by_signature, response_of
from recollectx.llm.base import LLMResponse
from recollectx.llm.provider import BaseProvider, Wishes


class FunctionProvider(BaseProvider):
    """What `fn` says to a prompt: a string, a dict, LLMResponse, or anything with `.content`.

    Of system_prompt, temperature and max_tokens it is given those that its signature takes; a system prompt that it
    does not take goes before the prompt, a schema always goes into it.  name: for messages; else the function's.
    """

    def __init__(self, fn: Callable[..., Any], name: str | None = None) -> None:
        if not callable(fn):
            raise InvalidSetting(f"FunctionProvider takes a function of a prompt, got {fn!r}")
        known_as: str = getattr(fn, "__qualname__", type(fn).__qualname__)
        super().__init__("function", name or known_as)
        self._fn = fn

    def _messages(self, prompt: str, system_prompt: str | None) -> dict[str, Any]:
        return {"prompt": prompt, "system_prompt": system_prompt}

    def _wishes(
        self, schema: Mapping[str, Any] | None, temperature: float | None, max_tokens: int | None
    ) -> Wishes:
        given = {"temperature": temperature, "max_tokens": max_tokens}
        return {name: [{name: value}] for name, value in given.items() if value is not None}

    def _send(self, request: dict[str, Any]) -> LLMResponse:
        return response_of(call_by_signature(self._fn, **request))
