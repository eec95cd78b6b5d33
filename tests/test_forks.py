"""A process that forks while its other threads are busy: neither it nor the child waits for ever or loses a write."""

import os

import pytest
from conftest import fact
from forking import assert_ends_well

from recollectx import Memory
from recollectx.embeddings import HashEmbedder
from recollectx.ranking import ScopeIndex

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")

LOCKS = """
import os, sys, threading
from recollectx.forks import Lock
theirs, own, free = Lock(), Lock(), Lock()
taken, done = threading.Event(), threading.Event()
def keep():
    with theirs:
        taken.set()
        done.wait()
thread = threading.Thread(target=keep)
thread.start()
taken.wait()
with own:
    child = os.fork()
    if not child:
        assert (theirs.torn, own.torn, free.torn) == (True, False, False)
        with theirs, free:
            pass
with own:
    pass
if not child:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert not theirs.torn
done.set()
thread.join()
"""

BUSY = """
import os, signal, sys, threading
from recollectx import Memory, SemanticClaim
from recollectx.embeddings import HashEmbedder
memory = Memory.open(sys.argv[1], embedder=HashEmbedder(8), busy_seconds=20)
said = lambda text: memory.store(SemanticClaim.from_text(text))
said("the ferry leaves at nine")
stop = threading.Event()
def work(n):
    while not stop.is_set():
        memory.recall("ferry") if n else said("ferries")
threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
for each in threads:
    each.start()
for n in range(8):
    child = os.fork()
    if not child:
        signal.alarm(15)
        assert memory.recall("when does the ferry leave?").hits
        said(f"child {n}")
        assert memory.recall(f"child {n}").hits
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, n
stop.set()
for each in threads:
    each.join()
assert {f"child {n}" for n in range(8)} <= {claim.text for claim in memory.retrieve()}
"""

SIGNALLED = """
import os, signal, sys
from recollectx import Memory, SemanticClaim
memory = Memory.open(sys.argv[1], busy_seconds=2)
kept = memory.store(SemanticClaim.from_text("the ferry leaves at nine")).claim_id
within, heard = False, 0
def handler(*_):
    global within, heard
    if within:
        return
    within, heard = True, heard + 1
    if sys.argv[2] == "read":
        assert memory.get(kept) is not None
    else:
        child = os.fork()
        if not child:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    within = False
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, .001, .0013)
while heard < int(sys.argv[3]):
    memory.get(kept)
signal.setitimer(signal.ITIMER_REAL, 0)
"""

ASKED = """
import signal, sys
from recollectx import Memory, SemanticClaim
from recollectx.embeddings import HashEmbedder
opened = lambda: Memory.open(sys.argv[1], embedder=HashEmbedder(16))
memory = opened()
def tell(n):
    memory.store(SemanticClaim(subject=f"ferry {n}", predicate="carries", object=f"{n} bicycles and {n % 5} dancings"))
for n in range(100):
    tell(n)
within, heard = False, 0
def handler(*_):
    global within, heard
    if not within:
        within, heard = True, heard + 1
        memory.recall(f"which ferry carries {heard} bicycles?")
        within = False
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, .002, .004)
while heard < 300:
    n += 1
    tell(n)
    memory.recall("bicycles and dancing")
signal.setitimer(signal.ITIMER_REAL, 0)
asked = lambda of: [(hit.claim.id, hit.score) for n in (3, 77, 101) for hit in of.recall(f"ferry with {n}").hits]
found = asked(memory)
memory.storage.retriever.clear()
assert found == asked(memory)
"""

INTERRUPTED = """
import random, signal, sys, threading
from recollectx import Memory, SemanticClaim
memory = Memory.open(sys.argv[1], busy_seconds=5)
said = SemanticClaim.from_text("the ferry leaves at nine")
kept = memory.store(said).claim_id
work = {"recall": lambda: memory.recall("ferry").hits[0].claim.id, "store": lambda: memory.store(said).claim_id}[sys.argv[2]]
armed = False
def handler(*_):
    global armed
    if armed:
        armed = False
        raise KeyboardInterrupt
signal.signal(signal.SIGALRM, handler)
chance = random.Random(1)
for _ in range(500):
    try:
        armed = True
        signal.setitimer(signal.ITIMER_REAL, chance.uniform(.0003, .003))
        while True:
            work()
    except KeyboardInterrupt:
        pass
    found = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(20)
    assert found == [kept]
"""

WITHIN = """
import os, sys, threading, time
from recollectx import Memory, SemanticClaim
memory = Memory.open(sys.argv[1], busy_seconds=1)
inside = threading.Event()
def keep():
    with getattr(memory.storage.database, sys.argv[2])() as conn:
        conn.exec_driver_sql("SELECT count(*) FROM rx_tx").fetchall()
        inside.set()
        time.sleep(.3)
thread = threading.Thread(target=keep)
thread.start()
inside.wait()
(told, tell), (heard, hear) = os.pipe(), os.pipe()
child = os.fork()
if not child:
    memory.store(SemanticClaim.from_text("early"))
    os.write(tell, b"1")
    os.read(heard, 1)
    memory.store(SemanticClaim.from_text("late"))
    os._exit(0)
thread.join()
os.close(tell)
assert os.read(told, 1)
memory.close()
with Memory.open(sys.argv[1]) as again:
    assert [claim.text for claim in again.list()] == ["early"]
os.write(hear, b"1")
assert os.waitpid(child, 0)[1] == 0
with Memory.open(sys.argv[1]) as again:
    assert {claim.text for claim in again.list()} == {"early", "late"}
"""


def test_a_lock_of_a_thread_that_is_left_behind_is_free_in_the_child():
    assert_ends_well(LOCKS)


def test_children_of_a_busy_parent_recall_and_store(path):
    assert_ends_well(BUSY, str(path))


@pytest.mark.parametrize("step", ["read", "write"])
def test_a_child_forked_within_a_transaction_of_another_thread_writes_and_loses_nothing(path, step):
    assert_ends_well(WITHIN, str(path), step)


@pytest.mark.parametrize(("does", "times"), [("read", 1_500), ("fork", 300)])
def test_a_signal_handler_may_come_to_a_step_from_within_the_beginning_of_one(path, does, times):
    assert_ends_well(SIGNALLED, str(path), does, str(times))


def test_what_a_signal_handler_asks_within_a_question_leaves_its_index_right(path):
    assert_ends_well(ASKED, str(path))


@pytest.mark.parametrize("work", ["recall", "store"])
@pytest.mark.parametrize("place", ["memory", "file"])
def test_an_interrupt_loses_nothing_and_leaves_nothing_taken(path, place, work):
    assert_ends_well(INTERRUPTED, ":memory:" if place == "memory" else str(path), work)


@pytest.mark.parametrize("known", [0, 20])
def test_an_index_that_was_left_half_way_is_built_anew(path, monkeypatch, known):
    def asked(memory):
        return [(hit.claim.text, hit.score) for hit in memory.recall("who likes ferries").hits]

    with Memory.open(path, embedder=HashEmbedder(8)) as memory:
        memory.store_many([fact(f"of ferry {n}") for n in range(known)])
        if known:
            assert asked(memory)
        memory.store_many([fact(f"of rain and ferries {n}") for n in range(20)])
        words = type(ScopeIndex()._words)
        add = words.add

        def interrupted(*given):
            add(*given)
            raise KeyboardInterrupt

        with monkeypatch.context() as within, pytest.raises(KeyboardInterrupt):
            within.setattr(words, "add", interrupted)
            asked(memory)
        found = asked(memory)
        memory.storage.retriever.clear()
        assert found == asked(memory) != []
