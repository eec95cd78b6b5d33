"""Language models: the seam, a checked answer from any of them, and the providers for the usual services.

Importing this imports no vendor's package; a provider's constructor does.
"""

from typing import Any

from recollectx.llm.asking import Answer
from recollectx.llm.asking import ask as _ask
from recollectx.llm.base import (
    MAX_TOKENS,
    EmbeddingProvider,
    LLMProvider,
    LLMResponse,
    StructuredProvider,
    Usage,
)
from recollectx.llm.provider import BaseProvider
from recollectx.llm.providers import provider_from


def ask(
    llm: Any,
    prompt: str,
    schema: Any,
    *,
    system_prompt: str | None = None,
    temperature: float | None = None,
    max_tokens: int | None = MAX_TOKENS,
) -> Answer:
    """The answer of any model to `prompt` as a JSON value by `schema`, as recollectx.llm.asking says.

    llm: what `provider_from` takes: a provider, a LangChain chat model, a function of a prompt, or a name.
    """
    return _ask(
        provider_from(llm),
        prompt,
        schema,
        system_prompt=system_prompt,
        temperature=temperature,
        max_tokens=max_tokens,
    )


__all__ = [
    "Answer",
    "BaseProvider",
    "EmbeddingProvider",
    "LLMProvider",
    "LLMResponse",
    "StructuredProvider",
    "Usage",
    "ask",
]
