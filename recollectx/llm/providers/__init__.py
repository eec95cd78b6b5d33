"""Providers for the usual services, and how one is named.

Importing this imports none of the optional packages; a provider's constructor does.
"""

from collections.abc import Callable
from typing import Any, cast

from recollectx.errors import InvalidSetting
from recollectx.llm.base import LLMProvider
from recollectx.llm.providers.anthropic import AnthropicProvider
from recollectx.llm.providers.embedding import CachedEmbedder, LocalEmbedder
from recollectx.llm.providers.function import FunctionProvider
from recollectx.llm.providers.langchain import LangChainProvider
from recollectx.llm.providers.ollama import OllamaProvider
from recollectx.llm.providers.openai import OpenAIProvider
from recollectx.llm.providers.openrouter import OpenRouterProvider

NAMED: dict[str, Callable[[str | None], LLMProvider]] = {
    "openai": lambda model: OpenAIProvider(model=model),
    "anthropic": lambda model: AnthropicProvider(model=model),
    "openrouter": lambda model: OpenRouterProvider(model=model),
    "ollama": lambda model: OllamaProvider(model=model),
}


def provider_from(value: Any) -> LLMProvider:
    """The provider that `value` means.

    A provider is taken as it is, a LangChain chat model and a plain function are wrapped. "openai", "anthropic",
    "openrouter" and "ollama" may name a model: "ollama:llama3.2"; what they need else comes from the environment.
    Raises MissingExtra if its package is not installed, InvalidSetting if `value` means nothing.
    """
    if isinstance(value, str):
        kind, _, model = value.partition(":")
        if kind not in NAMED:
            raise InvalidSetting(
                f"unknown provider {value!r}; known are {', '.join(NAMED)}, each also with :MODEL"
            )
        return NAMED[kind](model or None)
    if isinstance(value, type):
        raise InvalidSetting(f"give a provider, not its class: {value.__name__}()")
    if callable(getattr(value, "with_structured_output", None)):
        return LangChainProvider(value)
    if callable(getattr(value, "generate", None)):
        return cast(LLMProvider, value)
    if callable(value):
        return FunctionProvider(value)
    raise InvalidSetting(f"neither a provider, a chat model, a function nor a name: {value!r}")


__all__ = [
    "AnthropicProvider",
    "CachedEmbedder",
    "FunctionProvider",
    "LangChainProvider",
    "LocalEmbedder",
    "OllamaProvider",
    "OpenAIProvider",
    "OpenRouterProvider",
    "provider_from",
]
