"""Deduplication: finding near-duplicates by likeness and joining them on a model's word, held by fixed rules."""

from recollectx.deduplication.deduplicator import ClaimDeduplicator, DeduplicationResult
from recollectx.deduplication.merger import LLMMerger, MergeDecision
from recollectx.deduplication.similarity import (
    EmbeddingSimilarity,
    SimilarityCalculator,
    claim_to_text,
)

__all__ = [
    "ClaimDeduplicator",
    "DeduplicationResult",
    "EmbeddingSimilarity",
    "LLMMerger",
    "MergeDecision",
    "SimilarityCalculator",
    "claim_to_text",
]
