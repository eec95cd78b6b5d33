"""ClaimDeduplicator: MemoryUpdater for near-duplicates only, as 0.2.7 spells it."""

from dataclasses import dataclass, field
from typing import Any

from recollectx.changes import Action
from recollectx.claims import Claim
from recollectx.deduplication.similarity import EmbeddingSimilarity
from recollectx.storage.memory_store import MemoryStore
from recollectx.updater import MemoryUpdater


@dataclass(frozen=True, slots=True)
class DeduplicationResult:
    """What came of one claim; see UpdateResult."""

    action: Action
    claim: Claim | None
    reason: str
    similar_ids: list[str] = field(default_factory=list)
    deleted_ids: list[str] = field(default_factory=list)
    calls: int = 0
    tokens: int = 0
    tx: int = field(default=0, compare=False)


class ClaimDeduplicator:
    """Stores claims, joined with what they nearly repeat.

    embedding_provider: None, or what says how alike claims are where `storage` keeps no vectors; those it keeps are
    used as they are.  similarity_threshold: the least cosine at which the model is asked about a known claim.
    """

    def __init__(
        self,
        storage: MemoryStore,
        embedding_provider: Any,
        llm_provider: Any,
        similarity_threshold: float = 0.8,
    ) -> None:
        similarity = None if embedding_provider is None else EmbeddingSimilarity(embedding_provider)
        self.updater = MemoryUpdater(
            storage, llm_provider, similarity_threshold=similarity_threshold, similarity=similarity
        )

    def process(self, new_claim: Claim) -> DeduplicationResult:
        """Store one claim, or join it to what it nearly repeats. Raises InvalidClaim for one that cannot be stored."""
        done = self.updater.process(new_claim)
        return DeduplicationResult(
            done.action,
            done.claim,
            done.reason,
            done.similar_ids,
            done.deleted_ids,
            done.calls,
            done.tokens,
            done.tx,
        )
