"""What indexes kept by a service have in common: how a request is cut to size, and who embeds their texts."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from recollectx.embeddings.base import Embedder
from recollectx.embeddings.function import FunctionEmbedder
from recollectx.llm.providers.embedding import EmbedsTexts

NUMBER = 24
"""Bytes that one number of a vector takes in JSON at most: a sign, 17 digits, a point, an exponent and a comma."""


def slices(sizes: Iterable[int], *, count: int, size: int) -> Iterator[slice]:
    """Consecutive slices of at most `count` items, whose sizes sum up to `size` at most unless one alone is larger."""
    start, end, held = 0, 0, 0
    for end, each in enumerate(sizes):
        if end > start and (end - start == count or held + each > size):
            yield slice(start, end)
            start, held = end, 0
        held += each
    if held or end > start:
        yield slice(start, end + 1)


def bytes_of(text: str) -> int:
    """How long `text` can get in a request: as JSON with escapes, or as a part of a URL."""
    return len(text) if text.isalnum() and text.isascii() else 6 * len(text)


def embedder_of(fn: Callable[[str], Any] | Embedder | None, dimension: int) -> Embedder | None:
    """0.2.7's `embedding_fn` as an embedder; an embedder is taken as it is."""
    if fn is None or callable(getattr(fn, "embed", None)):
        return fn  # type: ignore[return-value]
    return FunctionEmbedder(fn, dimension)  # type: ignore[arg-type]


def fn_of(provider: Any) -> Any:
    """What embeds for one of 0.2.7's embedding providers: the embedder behind it if it is ours, else its `embed`."""
    return provider.embedder if isinstance(provider, EmbedsTexts) else provider.embed
