"""Deduplication as 0.2.7 spells it, on the updater's rules."""

import json

import pytest
from conftest import START, Clock, event
from deciding_models import decision, edge, reply, user

from recollectx import Action, MemoryStore
from recollectx.deduplication import (
    ClaimDeduplicator,
    EmbeddingSimilarity,
    LLMMerger,
    MergeDecision,
    claim_to_text,
)
from recollectx.embeddings import CachedEmbedder, FunctionEmbedder, HashEmbedder
from recollectx.errors import InvalidClaim, InvalidSetting
from recollectx.testing import ScriptedProvider

COFFEE = user("coffee", evidence="e1", confidence=0.6)
OAT = user("coffee with oat milk", evidence="e2", confidence=0.9)


class OldProvider:
    """An embedding provider as 0.2.7 has them: one text at a time. It counts."""

    dimension = 2

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, text: str) -> list[float]:
        self.texts.append(text)
        return [1.0, 0.2 * len(text) / 10] if "coffee" in text else [0.0, 1.0]

    def embed_batch(self, texts: list[str]) -> list[list[float]]:
        return [self.embed(text) for text in texts]


@pytest.fixture
def store(path):
    store = MemoryStore(path, clock=Clock())
    yield store
    store.close()


def test_merges_what_is_alike(store):
    llm = ScriptedProvider([reply(decision("UPDATE", 1, "coffee with oat milk"))])
    deduplicator = ClaimDeduplicator(
        storage=store, embedding_provider=OldProvider(), llm_provider=llm, similarity_threshold=0.85
    )
    first = deduplicator.process(COFFEE)
    assert (first.action, first.similar_ids, first.calls) == ("ADD", [], 0)
    result = deduplicator.process(OAT)
    assert (result.action, result.reason, result.similar_ids) == ("UPDATE", "so it seems", [first.claim.id])
    assert (result.claim.text, result.claim.evidence) == (OAT.text, ("e1", "e2"))
    assert result.calls == 1
    assert store.count() == 1


def test_a_langchain_chat_model_merges(store):
    chat = pytest.importorskip("langchain_core.language_models.fake_chat_models")
    model = chat.FakeListChatModel(
        responses=[json.dumps(reply(decision("UPDATE", 1, "coffee with oat milk")))] * 2
    )
    assert LLMMerger(model).decide(OAT, [COFFEE]).action == "UPDATE"
    deduplicator = ClaimDeduplicator(store, None, model, similarity_threshold=0.3)
    deduplicator.process(COFFEE)
    assert deduplicator.process(OAT).action == "UPDATE"


def test_what_is_less_alike_is_added_without_a_model(store):
    llm = ScriptedProvider([])
    deduplicator = ClaimDeduplicator(store, OldProvider(), llm)
    deduplicator.process(COFFEE)
    assert deduplicator.process(event("Drank tea")).action == "ADD"
    assert llm.asked == []


def test_each_wording_is_embedded_once(store):
    """w35: 0.2.7 embedded every stored claim again with each call, 100 for 50 claims."""
    provider = OldProvider()
    deduplicator = ClaimDeduplicator(store, provider, ScriptedProvider(lambda prompt: reply(decision("ADD"))))
    for number in range(20):
        deduplicator.process(user(f"coffee number {number}"))
    assert len(provider.texts) == len(set(provider.texts)) == 20


def test_stored_vectors_come_first(path):
    provider = OldProvider()
    ours = FunctionEmbedder(provider.embed, 2, "toy")
    store = MemoryStore(path, embedder=ours, clock=Clock())
    unused = OldProvider()
    deduplicator = ClaimDeduplicator(store, unused, ScriptedProvider([reply(decision("NONE", 1))]))
    deduplicator.process(OAT)
    provider.texts.clear()
    result = deduplicator.process(user("coffee with milk", evidence="e2"))
    assert (result.action, result.calls) == ("NONE", 1)
    assert set(provider.texts) == {"user likes coffee with milk"}
    assert unused.texts == []
    store.close()


def test_low_agreement_is_a_dispute(store):
    """The model would replace one by the other, the vectors agree, but somebody else stands behind the known one."""
    llm = ScriptedProvider([reply(decision("DELETE", 1))])
    deduplicator = ClaimDeduplicator(store, OldProvider(), llm)
    first = deduplicator.process(user("coffee", source="ana"))
    result = deduplicator.process(user("coffee without milk", source="ben"))
    assert (result.action, result.deleted_ids) == ("ADD", [])
    assert "both stay, in dispute" in result.reason
    assert {edge.relation for edge in store.get_edges(dst_id=first.claim.id)} == {"contradicts"}


def test_a_failing_embedder_leaves_words(store):
    def broken(text: str) -> list[float]:
        raise ConnectionError("no route")

    llm = ScriptedProvider([reply(decision("ADD"))])
    deduplicator = ClaimDeduplicator(store, broken, llm, similarity_threshold=0.5)
    deduplicator.process(user("coffee with milk"))
    assert deduplicator.process(OAT).action == "ADD"
    assert len(llm.asked) == 1


@pytest.mark.parametrize(
    "provider", [OldProvider(), HashEmbedder(), CachedEmbedder(HashEmbedder()), OldProvider().embed]
)
def test_similarity_of_any_embedder(provider):
    similarity = EmbeddingSimilarity(provider)
    assert similarity.calculate(OAT, OAT) == pytest.approx(1.0)
    assert similarity.calculate(OAT, user("tea", "avoids")) < similarity.calculate(OAT, COFFEE) <= 1.0
    assert claim_to_text(OAT) == "user likes coffee with oat milk"


def test_similarity_of_nothing():
    with pytest.raises(InvalidSetting):
        EmbeddingSimilarity("all-MiniLM-L6-v2")


def test_merger_decides_among_claims_in_hand():
    merger = LLMMerger(ScriptedProvider([reply(decision("UPDATE", 2, "coffee with oat milk"))]))
    chosen = merger.decide(OAT, [user("jazz"), COFFEE])
    assert chosen == MergeDecision("UPDATE", COFFEE.id, "coffee with oat milk", "so it seems")
    kept = merger.apply_decision(chosen, OAT, [user("jazz"), COFFEE])
    assert (kept.id, kept.text) == (COFFEE.id, OAT.text)
    assert (kept.evidence, kept.confidence, kept.support_count) == (("e1", "e2"), 0.9, 2)


@pytest.mark.parametrize(
    "bad",
    [
        "no idea",
        reply(decision("UPDATE", 3, "coffee")),
        reply(decision("UPDATE", 1, "oat milk")),
        reply(decision("UPDATE", 1)),
        reply(decision("NONE", "1")),
        reply(decision("DELETE")),
        reply(decision("MERGE", 1)),
        reply(decision("NONE", 1, relationships=[edge("supports", 5)])),
        TimeoutError("60 s"),
    ],
)
def test_merger_adds_when_the_reply_is_bad(bad):
    merger = LLMMerger(ScriptedProvider(lambda prompt: bad))
    chosen = merger.decide(OAT, [COFFEE])
    assert (chosen.action, chosen.target_id) == (Action.ADD, None)
    assert "decided by rule" in chosen.reason
    assert merger.apply_decision(chosen, OAT, [COFFEE]) is OAT


def test_merger_needs_no_model_for_nothing_or_for_the_same():
    merger = LLMMerger(ScriptedProvider([]))
    assert merger.decide(OAT, []).action == "ADD"
    assert merger.decide(user("Coffee"), [COFFEE]).target_id == COFFEE.id


def test_merger_applies_what_it_is_given():
    merger = LLMMerger(print)
    assert merger.apply_decision(MergeDecision("NONE", COFFEE.id, None, ""), OAT, [COFFEE]) is None
    assert merger.apply_decision(MergeDecision("DELETE", COFFEE.id, None, ""), OAT, [COFFEE]) is OAT
    episode = event("Went out", created_at=START)
    kept = merger.apply_decision(MergeDecision("UPDATE", episode.id, "Went out late", ""), OAT, [episode])
    assert (kept.id, kept.text) == (episode.id, "Went out late")
    with pytest.raises(InvalidClaim):
        merger.apply_decision(MergeDecision("UPDATE", "made up", None, ""), OAT, [COFFEE])
