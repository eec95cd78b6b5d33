import os
import re
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from behind import writing
from conftest import event, fact
from sqlalchemy.event import listen

from recollectx import Action, Memory, MemoryStore, RuleDecider
from recollectx.errors import DatabaseBusy

WRITER = """
import sys
from recollectx import EpisodicClaim, Memory
with Memory.open(sys.argv[1]) as memory:
    for number in range(int(sys.argv[3])):
        memory.store(EpisodicClaim(summary=f"process {sys.argv[2]} store {number}", confidence=.9))
"""


def together(count: int, work) -> list:
    """The results of `work(0)` to `work(count - 1)`, each in a thread, all begun at the same moment."""
    ready = threading.Barrier(count)

    def run(number: int):
        ready.wait(timeout=30)
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def test_eight_threads_on_one_memory_lose_nothing(memory):
    def work(number: int) -> list[str]:
        return [memory.store(event(f"thread {number} store {each}")).claim_id for each in range(25)]

    acknowledged = {claim_id for ids in together(8, work) for claim_id in ids}
    assert len(acknowledged) == 200
    assert {claim.id for claim in memory.retrieve()} == acknowledged
    assert {hit.claim.id for hit in memory.recall("thread store", k=300)} == acknowledged


def test_the_same_claim_from_eight_threads_is_one_claim(memory):
    results = together(8, lambda number: memory.store(fact("sweet", "ana", evidence=f"cup {number}")))
    assert len({result.claim_id for result in results}) == 1
    assert sorted(result.action for result in results) == [Action.ADD] + [Action.UPDATE] * 7
    (claim,) = memory.retrieve()
    assert (claim.support_count, len(claim.evidence)) == (8, 8)
    assert claim.confidence == pytest.approx(0.8, abs=1e-12)


def test_eight_sources_at_once_count_as_eight_in_any_order(memory):
    together(8, lambda number: memory.store(fact("sweet", f"source {number}", confidence=0.6)))
    with Memory.open(":memory:") as fresh:
        fresh.store_many([fact("sweet", f"source {number}", confidence=0.6) for number in range(8)])
        assert memory.retrieve()[0].confidence == pytest.approx(fresh.retrieve()[0].confidence, abs=1e-9)


def test_edges_added_at_once_are_all_there_and_the_number_is_right(memory):
    target = memory.store(fact("target", "t", confidence=0.5)).claim_id
    sources = [result.claim_id for result in memory.store_many([fact(f"s {n}", f"by {n}") for n in range(8)])]
    together(8, lambda number: memory.add_support(sources[number], target))
    assert sorted(memory.explain(target)["supported_by"]) == sorted(sources)
    raised = memory.get(target).confidence
    for src in sources:
        memory.unrelate(src, target, "supports")
    assert memory.get(target).confidence == pytest.approx(0.5, abs=1e-9)
    assert raised > 0.5


def test_turns_told_at_once_get_places_of_their_own(memory):
    together(8, lambda n: memory.remember([{"speaker": "Ana", "text": f"turn {n}", "session": "s"}]))
    assert sorted(turn.position for turn in memory.retrieve(session="s")) == list(range(8))


def test_a_database_in_memory_is_shared_by_threads():
    with Memory.open(":memory:") as memory:
        together(8, lambda number: [memory.store(event(f"t {number} {each}")) for each in range(5)])
        assert memory.count() == len(memory.recall("t", k=100)) == 40


def test_opening_and_closing_from_many_threads(path):
    def work(number: int) -> str:
        with Memory.open(path) as memory:
            return memory.store(event(f"thread {number}")).claim_id

    acknowledged = set(together(8, work))
    with Memory.open(path) as memory:
        assert {claim.id for claim in memory.retrieve()} == acknowledged


def test_four_processes_that_make_one_database_together_lose_nothing(unmade):
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(unmade), str(number), "50"])
        for number in range(4)
    ]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0, 0, 0]
    with Memory.open(unmade) as memory:
        texts = {claim.text for claim in memory.retrieve()}
        assert len(memory.recall("process store", k=300)) == 200
    assert texts == {f"process {p} store {n}" for p in range(4) for n in range(50)}


def test_a_lock_held_too_long_is_an_error_that_loses_nothing(path):
    store = MemoryStore(path, busy_seconds=0.2)
    memory = Memory(store)
    kept = memory.store(fact("sweet")).claim_id
    with writing(path):
        with pytest.raises(DatabaseBusy, match=re.escape(store.database.place)):
            memory.store(fact("bitter"))
        with pytest.raises(TimeoutError):
            memory.forget(kept)
        assert [claim.id for claim in memory.retrieve()] == [kept]
    assert memory.store(fact("bitter")).action == Action.ADD
    assert memory.count() == 2
    store.close()


def test_a_shorter_lock_is_waited_for(memory, path):
    with writing(path) as holder:
        release = threading.Timer(0.2, holder.connection.dbapi_connection.rollback)
        release.start()
        assert memory.store(fact("sweet")).action == Action.ADD
        release.join()


def test_readers_see_whole_transactions_while_others_write(memory):
    stop = threading.Event()

    def write() -> None:
        for number in range(30):
            memory.store_many([event(f"pair {number} left"), event(f"pair {number} right")])
        stop.set()

    def read(_: int) -> list[int]:
        counts = []
        while not stop.is_set():
            counts.append(memory.count())
            counts.append(len(memory.recall("pair", k=1000)))
        return counts

    with ThreadPoolExecutor(3) as pool:
        reading = [pool.submit(read, number) for number in range(2)]
        pool.submit(write).result()
        counts = [each.result() for each in reading]
    assert all(count % 2 == 0 for each in counts for count in each)
    assert memory.count() == 60


def test_a_writer_that_fails_among_others_takes_nothing_with_it(memory):
    taken = memory.store(event("the taken id")).claim_id

    def work(number: int) -> bool:
        batch = [event(f"batch {number} {each}") for each in range(3)]
        if number % 2:
            batch.append(event("another text", id=taken))
        try:
            memory.store_many(batch)
        except ValueError:
            return False
        return True

    assert together(8, work) == [number % 2 == 0 for number in range(8)]
    assert memory.count() == 1 + 4 * 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_writes_beside_its_parent(path):
    program = """
import os, sys
from recollectx import EpisodicClaim, Memory
memory = Memory.open(sys.argv[1])
memory.store(EpisodicClaim(summary="before", confidence=.9))
child = os.fork()
name = "parent" if child else "child"
for number in range(20):
    memory.store(EpisodicClaim(summary=f"{name} {number}", confidence=.9))
if child:
    assert os.waitpid(child, 0)[1] == 0
    print(memory.count(), len(memory.recall("child parent before", k=100)))
os._exit(0) if not child else memory.close()
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout.split(), done.stderr) == (["41", "41"], "")


def test_a_file_that_was_deleted_and_made_anew_is_another_database(file):
    first = Memory.open(file)
    first.store(event("before"))
    for each in file.parent.glob(f"{file.name}*"):
        each.unlink()
    with Memory.open(file) as memory:
        assert memory.count() == 0
        memory.store(event("after"))
        assert file.exists()
    first.close()
    with Memory.open(file) as memory:
        assert [claim.text for claim in memory.retrieve()] == ["after"]


def test_a_decider_may_ask_the_memory_it_decides_for():
    with Memory.open(":memory:") as memory:

        def asking(claim, candidates, trust):
            asking.found = len(memory.recall("rain"))
            return RuleDecider()(claim, candidates, trust)

        asker = Memory(memory.storage, decider=asking)
        memory.store(event("it may rain"))
        asker.store(event("it did rain"))
        assert asking.found == 1


def test_connections_kept_for_reading_are_few_see_what_is_new_and_go_at_the_end(file):
    memory = Memory.open(file)
    engine, closed = memory.storage.database.engine, []
    listen(engine, "close", lambda connection, _: closed.append(connection))
    claim_id = memory.store(event("it may rain")).claim_id
    met = threading.Barrier(8)

    def work(number: int) -> str:
        with memory.storage.reader() as reader:
            met.wait(timeout=30)
            return reader.resolve(claim_id).id

    assert together(8, work) == [claim_id] * 8
    with pytest.raises(ZeroDivisionError), memory.storage.reader():
        _ = 1 / 0
    assert engine.pool.checkedout() < 8
    with sqlite3.connect(file, isolation_level=None) as other:
        other.execute("UPDATE rx_claims SET confidence = .25")
    assert [memory.get(claim_id).confidence for _ in range(8)] == [0.25] * 8
    opened, closed[:] = engine.pool.checkedout() + engine.pool.checkedin(), []
    memory.close()
    assert len(closed) == opened
