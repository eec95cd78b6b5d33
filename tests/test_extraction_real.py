"""Extraction with a real model that is far too small for it: it invents, and the memory holds only what was said."""

import pytest

from recollectx import Memory
from recollectx.extractors import LLMExtractor, PhraseExtractor
from recollectx.llm.providers import OpenAIProvider
from tests.small_model import serve_small_model

pytestmark = pytest.mark.real_model

TALK = [
    ("user", "I live in Ghent and I keep bees."),
    ("assistant", "You could move to Bruges."),
    ("user", "I'm allergic to hazelnuts."),
]


def test_every_turn_is_kept_and_every_claim_has_its_words_in_one():
    pytest.importorskip("openai")
    llm = OpenAIProvider(base_url=f"{serve_small_model()}/v1", model="small")
    extractor = LLMExtractor(llm, fallback=PhraseExtractor(), max_claims_per_text=2, max_tokens=150)
    with Memory.open(":memory:", embedder=None, extractor=extractor) as memory:
        told = memory.remember([{"role": role, "content": text} for role, text in TALK])
        turns = [claim.summary.removeprefix("assistant: ") for claim in memory.retrieve(type="episodic")]
        assert {text for _, text in TALK} <= set(turns)
        facts = memory.retrieve(type="semantic")
        assert facts
        assert all(any(claim.evidence[0] in text for role, text in TALK if role == "user") for claim in facts)
        assert not any("ocarina" in claim.text for claim in facts)
        assert told.usage == llm.usage
        assert told.usage.completion_tokens > 0
