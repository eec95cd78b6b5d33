"""Extractors: what turns a turn of conversation into claims."""

from recollectx.extractors.base import ClaimExtractor, Extraction, Extractor, Finding, Turn
from recollectx.extractors.llm import Extracted, LLMExtractor
from recollectx.extractors.phrases import PhraseExtractor

__all__ = [
    "ClaimExtractor",
    "Extracted",
    "Extraction",
    "Extractor",
    "Finding",
    "LLMExtractor",
    "PhraseExtractor",
    "Turn",
]
