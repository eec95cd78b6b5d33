"""0.2.7's providers embedded texts too, one at a time or several: the same methods over our embedders."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from recollectx.embeddings import Embedder, OllamaEmbedder, OpenAIEmbedder, SentenceTransformerEmbedder
from recollectx.errors import InvalidSetting
from recollectx.forks import Lock
from recollectx.llm.base import EmbeddingProvider

EMBEDDERS: Mapping[str, type[Embedder]] = {
    "openai": OpenAIEmbedder,
    "ollama": OllamaEmbedder,
    "sentence-transformers": SentenceTransformerEmbedder,
}


class EmbedsTexts:
    """`embed`, `embed_batch` and `dimension`, by an embedder that is made when it is first needed."""

    def _embeds_with(self, kind: str, **settings: Any) -> None:
        self._kind, self._settings = kind, settings
        self._made: Embedder | None = None

    @property
    def embedder(self) -> Embedder:
        """The embedder behind, for `Memory.open(embedder=...)`."""
        if self._made is None:
            self._made = EMBEDDERS[self._kind](**self._settings)
        return self._made

    @property
    def dimension(self) -> int:
        """Length of its vectors; may ask the model once."""
        return self.embedder.dimension

    def embed(self, text: str) -> list[float]:
        """The vector of `text`, of length 1."""
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector per text."""
        return [[float(number) for number in row] for row in self.embedder.embed(texts)]


class LocalEmbedder(EmbedsTexts):
    """A sentence-transformers model under 0.2.7's name; needs the extra `sentence-transformers`.

    Its vectors have length 1 whatever `normalize_embeddings` says.
    """

    def __init__(
        self,
        model_name: str = "all-MiniLM-L6-v2",
        device: str | None = None,
        cache_folder: str | None = None,
        normalize_embeddings: bool = True,
    ) -> None:
        if cache_folder is not None:
            raise InvalidSetting(
                "cache_folder is gone: set SENTENCE_TRANSFORMERS_HOME, or give a folder as model_name"
            )
        self._embeds_with("sentence-transformers", model_name=model_name, device=device)


class CachedEmbedder:
    """`provider` with the vectors of the last `max_size` texts kept; for any number of threads if `provider` is."""

    def __init__(self, provider: EmbeddingProvider, max_size: int = 10_000) -> None:
        self.provider = provider
        self.max_size = max_size
        self._lock = Lock()
        self._kept: OrderedDict[str, list[float]] = OrderedDict()

    @property
    def dimension(self) -> int:
        """Length of its vectors."""
        return self.provider.dimension

    def embed(self, text: str) -> list[float]:
        """As the provider's own, asking it only for texts that are not kept."""
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """As the provider's own, asking it once for each distinct text that is not kept."""
        with self._lock:
            found = {text: self._kept[text] for text in dict.fromkeys(texts) if text in self._kept}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        found |= dict(zip(missing, self.provider.embed_batch(missing) if missing else [], strict=True))
        with self._lock:
            for text, vector in found.items():
                self._kept[text] = vector
                self._kept.move_to_end(text)
            while len(self._kept) > self.max_size:
                self._kept.popitem(last=False)
        return [list(found[text]) for text in texts]
