"""From what a memory is opened with to its store, decider and extractor."""

import os
from collections.abc import Mapping
from typing import Any

from recollectx.db.database import default_path
from recollectx.deciding import Decider, RuleDecider
from recollectx.embeddings import EmbedderLike, embedder_from
from recollectx.embeddings.base import Embedder
from recollectx.errors import InvalidQuery, InvalidSetting
from recollectx.extractors.base import Extractor
from recollectx.extractors.llm import LLMExtractor
from recollectx.extractors.phrases import PhraseExtractor
from recollectx.llm.base import LLMProvider
from recollectx.llm.providers import provider_from
from recollectx.settings import Settings
from recollectx.storage.memory_store import MemoryStore
from recollectx.updater import MemoryUpdater

AUTO, PHRASES = "auto", "phrases"
MEGABYTE = 2**20


def chosen_embedder(embedder: EmbedderLike, vectors: object) -> Embedder | None:
    """The embedder to open with. "auto" is RECOLLECTX_EMBEDDER, else the embedded model if it is installed, unless
    `vectors` is an index that embeds by itself."""
    if embedder == AUTO and isinstance(embedder, str):
        brings_its_own = vectors is not None and not isinstance(vectors, str)
        return None if brings_its_own else embedder_from(default_embedder())
    return embedder_from(None if isinstance(embedder, str) and embedder == "none" else embedder)


def default_embedder() -> str | None:
    """What "auto" means here: RECOLLECTX_EMBEDDER, where "none" is no embedder, else the embedded model."""
    named = os.environ.get("RECOLLECTX_EMBEDDER") or AUTO
    return None if named == "none" else named


def chosen_extractor(extractor: Extractor | str | None, model: LLMProvider | None) -> Extractor | None:
    """The extractor to open with. "auto" is the model, with the phrase set for what it fails on, else the phrase set."""
    if extractor == AUTO and isinstance(extractor, str):
        return PhraseExtractor() if model is None else LLMExtractor(model, fallback=PhraseExtractor())
    if isinstance(extractor, str):
        if extractor != PHRASES:
            raise InvalidQuery(
                f"extractor {extractor!r} is unknown; give 'auto', 'phrases', an Extractor or None"
            )
        return PhraseExtractor()
    return extractor


def deciding_model(updater: Any, llm: LLMProvider | None, decider: Decider | None) -> LLMProvider | None:
    """The model that is to decide, None for none."""
    if updater is None:
        return None if decider is not None else llm
    if decider is not None:
        raise InvalidSetting("a model as updater decides, and so does a decider: give one")
    if isinstance(updater, RuleDecider):
        raise InvalidSetting(
            "Memory.open makes the updater from a model: updater=llm; one that is made already goes with its "
            "store: Memory(store, updater=MemoryUpdater(store, llm))"
        )
    return provider_from(updater)


def open_store(target: Any, **given: Any) -> MemoryStore:
    """A store on `target`; None takes RECOLLECTX_DB from the environment, else ~/.recollectx/memory.db."""
    return MemoryStore(default_path() if target is None else target, **given)


def decider_of(store: MemoryStore, model: LLMProvider | None) -> Decider | None:
    """The decider that asks `model`."""
    return None if model is None else MemoryUpdater(store, model)


def opened_with(settings: Settings) -> Mapping[str, Any]:
    """The arguments of Memory.open that stand for `settings`."""
    return {
        "path_or_url": settings["url"],
        "scope": settings["scope"],
        "vectors": settings["vectors"],
        "vectors_api_key": settings["vectors_api_key"],
        "embedder": settings["embedder"],
        "llm": settings["llm"],
        "token_vectors": settings["token_vectors"],
        "busy_seconds": settings["busy_seconds"],
        "cache_bytes": settings["cache_mb"] * MEGABYTE,
    }
