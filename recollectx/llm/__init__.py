"""Language models: the seam, a checked answer from any of them, and the providers for the usual services.

Importing this imports no vendor's package; a provider's constructor does.
"""

from recollectx.llm.asking import Answer, ask
from recollectx.llm.base import (
    EmbeddingProvider,
    LLMProvider,
    LLMResponse,
    StructuredProvider,
    Usage,
)
from recollectx.llm.provider import BaseProvider

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
