"""An index outside the process: fed from the log of changes, never waited for, never believed over the database."""

import random
import threading
import time

import numpy as np
import pytest
from conftest import START, Clock
from qdrant_server import QdrantServer

from recollectx import Memory, SemanticClaim
from recollectx.embeddings import HashEmbedder
from recollectx.errors import InvalidClaim, InvalidSetting
from recollectx.storage import places
from recollectx.storage.embedding import Embedding
from recollectx.storage.ownership import OWNER
from recollectx.storage.vector import QdrantBackend

WIDTH = 32
WORDS = [
    f"{first}{second}"
    for first in ("ba", "ko", "li", "mu", "ne", "ri", "so", "tu")
    for second in "dfgklmnprst"
]
COLLECTION = "claims"


@pytest.fixture
def service():
    with QdrantServer() as running:
        yield running


def opened(path, service, **more) -> Memory:
    index = QdrantBackend(service.url, COLLECTION, dimension=WIDTH, timeout=5)
    return Memory.open(path, vectors=index, embedder=HashEmbedder(WIDTH), **more)


def said(chance: random.Random, length: int = 6, **more) -> SemanticClaim:
    return SemanticClaim.from_text(" ".join(chance.choices(WORDS, k=length)), **more)


def held(memory: Memory) -> dict[str, set[str]]:
    """Which claims the database has a vector of, by scope."""
    found: dict[str, set[str]] = {}
    rows = """SELECT c.scope, c.id FROM rx_claims c JOIN rx_revisions r ON r.claim = c.pk AND r.tx_to IS NULL
        JOIN rx_vectors v ON v.text = r.text"""
    with memory.storage.reader() as reader:
        for scope, id in reader.conn.exec_driver_sql(rows):
            found.setdefault(scope, set()).add(id)
    return found


def agreement(memory: Memory, service: QdrantServer, width: int = WIDTH) -> None:
    """Assert that the index holds exactly the vectors of the database."""
    index = QdrantBackend(service.url, COLLECTION, dimension=width)
    own = held(memory)
    assert {scope: set(index.ids(scope)) for scope in index.scopes() if scope != OWNER} == own
    model = HashEmbedder(width)
    for scope, ids in own.items():
        texts = {id: memory.storage.get(id, retired=True).text for id in ids}
        for id, vector in index.vectors_of(scope, ids).items():
            assert float(vector @ model.embed([texts[id]])[0]) > 0.999


def hits(memory: Memory, text: str, **filters) -> list[tuple[str, float]]:
    return [(hit.claim.text, round(hit.score, 4)) for hit in memory.recall(text, **filters)]


def test_what_is_written_arrives_and_is_found_as_by_an_exact_index(path, service, tmp_path, clock):
    chance = random.Random(3)
    claims = [said(chance) for _ in range(150)]
    with (
        opened(path, service, clock=clock) as memory,
        Memory.open(tmp_path / "exact.db", embedder=HashEmbedder(WIDTH), clock=Clock()) as exact,
    ):
        for each in (memory, exact):
            each.store_many(claims)
            each.forget(claims[3].id)
            each.update(claims[5].id, object="badko lired")
        questions = [" ".join(chance.choices(WORDS, k=3)) for _ in range(20)]
        early = [hits(memory, text) for text in questions]
        assert memory.settle(10)
        assert (
            early == [hits(memory, text) for text in questions] == [hits(exact, text) for text in questions]
        )
        assert memory.storage.feed.lag().changes == 0
        agreement(memory, service)


def test_a_server_that_is_away_costs_no_write_and_no_hit(path, service):
    chance = random.Random(4)
    with opened(path, service) as memory:
        memory.store_many([said(chance) for _ in range(20)])
        assert memory.settle(10)
        service.stop()
        late = [said(chance) for _ in range(20)]
        began = time.monotonic()
        assert all(result.claim_id for result in memory.store_many(late))
        assert time.monotonic() - began < places.LEASE
        assert memory.recall(late[7].text).hits[0].parts.cosine == pytest.approx(1, abs=1e-3)
        assert not memory.settle(0.3)
        lag = memory.storage.feed.lag()
        assert (lag.changes, lag.attempts > 0, lag.error != "") == (20, True, True)
        service.start()
        assert memory.settle(20)
        agreement(memory, service)


def test_faults_by_chance_and_restarts_end_in_agreement(path):
    chance = random.Random(5)
    with QdrantServer(failing=0.3, seed=11) as service, opened(path, service) as memory:
        there, gone = [], []
        for turn in range(120):
            what = chance.random()
            if what < 0.6 or len(there) < 5:
                there.append(memory.store(said(chance)).claim_id)
            elif what < 0.75:
                memory.update(chance.choice(there), object=said(chance).text)
            elif what < 0.85:
                gone.append(there.pop(chance.randrange(len(there))))
                memory.erase(gone[-1])
            else:
                memory.forget(chance.choice(there))
            memory.recall(said(chance, 3).text)
            if turn % 40 == 20:
                service.stop()
            if turn % 40 == 30:
                service.start()
        service.failing = 0
        assert memory.settle(30)
        agreement(memory, service)
        index = QdrantBackend(service.url, COLLECTION, dimension=WIDTH)
        assert not set(gone) & set(index.ids("global"))
        assert set(there) == set(index.ids("global"))


def test_what_one_process_left_the_next_one_sends(path, service):
    chance = random.Random(6)
    with opened(path, service) as memory:
        service.stop()
        memory.store_many([said(chance) for _ in range(30)])
    service.start()
    with opened(path, service) as memory:
        memory.recall("badko")
        assert memory.settle(10)
        agreement(memory, service)


def test_an_erasure_is_pending_until_the_index_has_dropped_the_claim(path, service):
    chance = random.Random(7)
    with opened(path, service) as memory:
        claim = memory.store(said(chance)).claim_id
        assert memory.settle(10)
        service.stop()
        assert memory.erase(claim).pending
        service.start()
        assert memory.settle(10)
        assert QdrantBackend(service.url, COLLECTION, dimension=WIDTH).ids("global") == []


def test_an_index_that_lies_is_not_believed(path, service):
    chance = random.Random(8)
    with opened(path, service) as memory, opened(path, service, scope="next door") as other:
        kept, forgotten, erased = (memory.store(said(chance)).claim_id for _ in range(3))
        foreign = other.store(said(chance)).claim_id
        memory.forget(forgotten)
        memory.erase(erased)
        assert memory.settle(10)
        question = memory.get(kept).text
        vector = HashEmbedder(WIDTH).embed([question])
        ghosts = [forgotten, erased, foreign, "never was"]
        QdrantBackend(service.url, COLLECTION, dimension=WIDTH).upsert_vectors(
            "global", ghosts, np.repeat(vector, len(ghosts), axis=0)
        )
        assert [hit.claim.id for hit in memory.recall(question)] == [kept]
        assert [hit.claim.id for hit in other.recall(question)] == [foreign]


def test_the_past_is_answered_from_the_database_alone(path, service, clock):
    chance = random.Random(9)
    with opened(path, service, clock=clock) as memory:
        claims = [memory.store(said(chance)).claim_id for _ in range(10)]
        assert memory.settle(10)
        then, before = clock.now, hits(memory, "badko lired")
        memory.erase(memory.store(said(chance)).claim_id)
        memory.update(claims[0], object="badko lired")
        assert memory.settle(10)
        asked = len(service.asked)
        assert hits(memory, "badko lired", as_of=then) == before
        assert len(service.asked) == asked


def test_another_memorys_index_is_neither_fed_nor_spoilt(path, tmp_path, service):
    chance = random.Random(10)
    with opened(path, service) as memory, opened(tmp_path / "other.db", service) as other:
        memory.store_many([said(chance) for _ in range(5)])
        assert memory.settle(10)
        mine = said(chance)
        other.store(mine)
        assert not other.settle(0.5)
        assert "fed by another memory" in other.storage.feed.lag().error
        assert other.recall(mine.text).hits[0].parts.cosine == pytest.approx(1, abs=1e-3)
        agreement(memory, service)
        other.storage.feed.start_over()
        assert other.settle(10)
        agreement(other, service)


def test_another_model_empties_the_index_and_fills_it_again(path, service):
    chance = random.Random(12)

    class Turned(HashEmbedder):
        def _embed(self, texts):
            return super()._embed([text[::-1] for text in texts])

    with opened(path, service) as memory:
        memory.store_many([said(chance) for _ in range(8)])
        assert memory.settle(10)
        model = Turned(WIDTH)
        anew = Embedding(memory.storage.database, model, memory.storage.apply)
        anew.start_over()
        assert memory.settle(10)
        index = QdrantBackend(service.url, COLLECTION, dimension=WIDTH)
        assert index.ids("global") == []
        anew.embed_waiting()
        assert memory.settle(10)
        ids = index.ids("global")
        assert len(ids) == 8
        for id, vector in index.vectors_of("global", ids).items():
            assert float(vector @ model.embed([memory.get(id).text])[0]) > 0.999


def test_vectors_of_another_length_are_refused_by_name(path, service):
    with Memory.open(path, embedder=HashEmbedder(64)) as memory:
        memory.store(SemanticClaim.from_text("the kettle is blue"))
    with opened(path, service) as memory:
        assert not memory.storage.feed.catch_up()
        assert "64-d" in memory.storage.feed.lag().error


def test_two_openers_take_turns_and_nothing_is_lost(path, service):
    chance = random.Random(13)
    with opened(path, service) as one, opened(path, service) as two:
        work = [[said(chance) for _ in range(40)] for _ in (one, two)]
        threads = [
            threading.Thread(target=lambda m=m, claims=claims: [m.store(claim) for claim in claims])
            for m, claims in zip((one, two), work, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert one.settle(20)
        assert two.settle(20)
        agreement(one, service)


def test_a_large_scope_is_answered_nearly_as_by_an_exact_index_and_a_filter_starves_nobody(
    path, service, tmp_path
):
    chance = random.Random(14)
    claims = [
        said(chance, category="goals" if n % 100 == 0 else None, created_at=START + n) for n in range(2_500)
    ]
    with (
        opened(path, service) as memory,
        Memory.open(tmp_path / "exact.db", embedder=HashEmbedder(WIDTH)) as exact,
    ):
        for each in (memory, exact):
            each.store_many(claims)
        assert memory.settle(30)
        same = found = 0
        for _ in range(30):
            question = " ".join(chance.choices(WORDS, k=4))
            expected = {hit.claim.id for hit in exact.recall(question)}
            same += len(expected & {hit.claim.id for hit in memory.recall(question)})
            found += len(expected)
            few = memory.recall(question, category="goals", k=20)
            assert len(few.hits) == 20
            assert {hit.parts.cosine is None for hit in few} == {False}
        assert same / found >= 0.95


def test_a_setting_that_cannot_be_is_told_when_it_is_asked(path):
    with pytest.raises(InvalidSetting, match="needs an embedder"):
        Memory.open(path, vectors="qdrant://127.0.0.1:1/claims", embedder=None)


def test_an_index_that_was_emptied_is_noticed_and_filled_again(path, service):
    chance = random.Random(15)
    with opened(path, service) as memory:
        memory.store_many([said(chance) for _ in range(20)])
        assert memory.settle(10)
        before = hits(memory, "badko lired")
        service.engine.delete_collection(COLLECTION)
        assert hits(memory, "badko lired") == before
        memory.store(said(chance))
        assert memory.settle(20)
        agreement(memory, service)
        service.engine.delete_collection(COLLECTION)
    with opened(path, service) as memory:
        memory.recall("badko")
        assert memory.settle(20)
        agreement(memory, service)


def test_a_place_that_another_process_moved_back_is_gone_on_from(path, service):
    chance = random.Random(16)
    with opened(path, service) as memory, opened(path, service) as other:
        memory.store_many([said(chance) for _ in range(20)])
        assert memory.settle(10)
        memory.trust("somebody", 0.5)
        assert memory.settle(10)
        other.storage.feed.start_over()
        assert memory.settle(20)
        agreement(memory, service)


def test_what_is_passed_over_is_only_what_was_seen(path, service):
    chance = random.Random(17)
    with opened(path, service) as memory, opened(path, service) as other:
        memory.store_many([said(chance) for _ in range(20)])
        assert memory.settle(10)
        memory.storage.feed.far = 3
        for level in (0.1, 0.2, 0.3, 0.4, 0.5):
            memory.trust("somebody", level)
            memory.storage.feed.catch_up()
        other.storage.feed.start_over()
        memory.storage.feed.catch_up()
        assert memory.settle(20)
        agreement(memory, service)


def test_what_arrives_after_the_lease_is_sent_again_as_it_is_by_then(path, service):
    chance, under_way, go_on = random.Random(18), threading.Event(), threading.Event()

    class Slow(QdrantBackend):
        def _upsert(self, scope, ids, vectors):
            if scope == "global" and not under_way.is_set():
                under_way.set()
                go_on.wait(20)
            super()._upsert(scope, ids, vectors)

    slow = Slow(service.url, COLLECTION, dimension=WIDTH)
    with (
        Memory.open(path, vectors=slow, embedder=HashEmbedder(WIDTH)) as memory,
        opened(path, service) as other,
    ):
        memory.storage.feed.spot.lease = 0.5
        gone = memory.store(said(chance)).claim_id
        assert under_way.wait(10)
        other.erase(gone)
        assert other.settle(20)
        go_on.set()
        until = time.monotonic() + 20
        while time.monotonic() < until and memory.storage.feed._sending.acquire(timeout=5) is False:
            pass
        memory.storage.feed._sending.release()
        assert other.settle(20)
        assert memory.settle(20)
        assert gone not in slow.ids("global")


def test_no_scope_of_claims_can_be_taken_for_the_mark(path, service):
    with opened(path, service) as memory:
        for name in (OWNER[:-1], OWNER.rstrip(".")):
            memory.in_scope(name).store(said(random.Random(19)))
        assert memory.settle(10)
        with pytest.raises(InvalidClaim):
            memory.in_scope(OWNER)
    with opened(path, service) as memory:
        memory.store(said(random.Random(20)))
        assert memory.settle(10)


def test_an_index_that_somebody_else_filled_is_not_taken_for_ones_own(path, service):
    index = QdrantBackend(service.url, COLLECTION, dimension=WIDTH)
    index.upsert_vectors("elsewhere", ["x"], HashEmbedder(WIDTH).embed(["something"]))
    with opened(path, service) as memory:
        memory.store(said(random.Random(21)))
        assert not memory.settle(0.5)
        assert "no memory is known to have fed" in memory.storage.feed.lag().error
    assert index.ids("elsewhere") == ["x"]


def test_a_small_scope_asks_nobody_and_a_large_one_goes_on_when_the_index_is_away(path, service):
    chance = random.Random(22)
    with opened(path, service) as memory:
        memory.storage.retriever.near_at_hand = 30
        memory.store_many([said(chance) for _ in range(30)])
        assert memory.settle(10)
        asked = sum("/query" in request.path for request in service.asked)
        memory.recall("badko")
        assert sum("/query" in request.path for request in service.asked) == asked
        memory.store_many([said(chance) for _ in range(40)])
        assert memory.settle(10)
        there = [hits(memory, "badko lired") for _ in range(3)][-1]
        assert sum("/query" in request.path for request in service.asked) > asked
        service.stop()
        assert hits(memory, "badko lired") == there
        service.start()
