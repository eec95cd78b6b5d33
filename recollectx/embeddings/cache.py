"""An embedder that remembers: a text it saw lately is not embedded again."""

import sys
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from recollectx.embeddings.base import Embedder, TokenEmbedder, Vectors, texts_of
from recollectx.errors import InvalidSetting
from recollectx.forks import Lock

_ENTRY_BYTES = 200


class CachedEmbedder:
    """`embedder` with the vectors of the texts used last kept in memory; same name, dimension and errors.

    max_bytes: vectors, texts and their bookkeeping together; the text unused for longest goes first.
    For any number of threads if `embedder` is. Two threads that miss one text at the same time both embed it.
    """

    def __init__(self, embedder: Embedder, max_bytes: int = 64 << 20) -> None:
        if max_bytes < 0:
            raise InvalidSetting(f"max_bytes must be 0 or more, got {max_bytes!r}")
        self.embedder = embedder
        self.max_bytes = max_bytes
        self._lock = Lock()
        self._kept: OrderedDict[str, Vectors] = OrderedDict()
        self._bytes = 0

    @property
    def name(self) -> str:
        """Which model this is."""
        return self.embedder.name

    @property
    def dimension(self) -> int:
        """Length of its vectors."""
        return self.embedder.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """As the embedder's own, asking it once for each distinct text that is not kept."""
        wanted = texts_of(texts)
        if not wanted:
            return self.embedder.embed([])
        distinct = dict.fromkeys(wanted)
        found = self._recalled(distinct)
        missing = [text for text in distinct if text not in found]
        if missing:
            fresh = dict(zip(missing, self.embedder.embed(missing), strict=True))
            self._keep(fresh)
            found |= fresh
        return np.stack([found[text] for text in wanted])

    def _recalled(self, texts: dict[str, None]) -> dict[str, Vectors]:
        with self._lock:
            found = {text: self._kept[text] for text in texts if text in self._kept}
            for text in found:
                self._kept.move_to_end(text)
        return found

    def _keep(self, fresh: dict[str, Vectors]) -> None:
        with self._lock:
            for text, vector in fresh.items():
                if text in self._kept:
                    continue
                self._kept[text] = vector.copy()  # a row of the batch would keep the whole batch in memory
                self._bytes += _size(text, vector)
            while self._bytes > self.max_bytes:
                self._bytes -= _size(*self._kept.popitem(last=False))


def _size(text: str, vector: Vectors) -> int:
    return sys.getsizeof(text) + vector.nbytes + _ENTRY_BYTES


def token_embedder(embedder: Embedder) -> TokenEmbedder | None:
    """What gives token vectors in `embedder`, also behind a cache; None if it has none."""
    inner = embedder.embedder if isinstance(embedder, CachedEmbedder) else embedder
    return inner if callable(getattr(inner, "embed_tokens", None)) else None  # type: ignore[return-value]
