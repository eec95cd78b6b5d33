"""Extractors: what turns a turn of conversation into claims."""

from recollectx.extractors.base import Extractor, Finding, Turn
from recollectx.extractors.phrases import PhraseExtractor

__all__ = ["Extractor", "Finding", "PhraseExtractor", "Turn"]
