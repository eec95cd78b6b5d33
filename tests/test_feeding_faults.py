"""What goes wrong between a memory and the index it feeds: late answers, faults half-way, others who write or feed, clocks."""

import sqlite3
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from conftest import fact
from forking import assert_ends_well
from shelf import Shelf

from recollectx import Memory
from recollectx.db.engine import Database
from recollectx.db.migrate import upgrade
from recollectx.embeddings import HashEmbedder
from recollectx.errors import BackendError
from recollectx.storage.ownership import OWNER
from recollectx.storage.places import EMPTYING, Gate, Lost, Place
from recollectx.storage.vector import QdrantBackend
from recollectx.upkeep import reindexing
from recollectx.upkeep.indexes import all_gaps
from recollectx.upkeep.reindexing import reindex

D = 32
EMBEDDER = HashEmbedder(D)


class Hooked(Shelf):
    """before: called with the scope and the ids of every upsert, before it is done."""

    def __init__(self, held, before=lambda scope, ids: None):
        super().__init__(D, held)
        self.before = before

    def _upsert(self, scope, ids, vectors):
        self.before(scope, ids)
        super()._upsert(scope, ids, vectors)


class Queued(Shelf):
    """Shows what it took, in order, the third time that one looks after the last write."""

    def __init__(self, held):
        super().__init__(D, held)
        self.waiting, self.looks = [], 0

    def _upsert(self, scope, ids, vectors):
        self._take(lambda: super(Queued, self)._upsert(scope, ids, vectors))

    def _delete(self, scope, ids):
        self._take(lambda: super(Queued, self)._delete(scope, ids))

    def _take(self, write):
        self.waiting.append(write)
        self.looks = 0

    def _settle(self, timeout):
        self.looks += 1
        while self.waiting and self.looks >= 3:
            self.waiting.pop(0)()
        return not self.waiting


def opened(path, index) -> Memory:
    return Memory.open(path, vectors=index, embedder=EMBEDDER)


def assert_agreement(memory) -> None:
    """Assert that the index is marked as the memory's, and holds what the database does."""
    storage = memory.storage
    assert not storage.feed.foreign()
    assert len(storage.backend.ids(OWNER)) == 1
    assert [gaps.ids for gaps in all_gaps(storage.database, storage.feed) if gaps.ids] == []


def until(holds) -> None:
    """Wait until something holds."""
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


# -- who comes late ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ahead", [True, False])
def test_what_arrives_late_is_sent_again_by_whoever_sends_then(path, ahead):
    """ahead: the one that took over has written down how far it came; else it only sent, and waits for that to show."""
    held = {}
    under_way, go_on, shown = threading.Event(), threading.Event(), threading.Event()

    class Slow(Hooked):
        def _settle(self, timeout):
            return ahead or not under_way.is_set() or shown.wait(timeout)

    def hang(scope, ids):
        if scope != OWNER:
            under_way.set()
            go_on.wait(20)

    late, prompt = Hooked(held), Slow(held)
    with opened(path, late) as memory, opened(path, prompt) as other:
        memory.storage.feed.spot.lease = other.storage.feed.spot.lease = 1.0
        other.store(fact("of rain"))
        assert memory.settle(10)
        assert other.settle(10)
        until(lambda: not (memory.storage.feed._waits or other.storage.feed._waits))
        late.before = hang
        gone = memory.store(fact("of secrets")).claim_id
        assert under_way.wait(10)
        # Both go in one batch, once the lease of the late one is over.
        sent = prompt.upserts
        other.erase(gone)
        other.store(fact("of smoke"))
        until(lambda: prompt.upserts > sent)
        assert not ahead or other.settle(20)
        go_on.set()
        until(lambda: ("global", gone) in held)
        late.before = lambda scope, ids: None
        # Only now does the late one notice; it writes nothing until then.
        until(lambda: memory.storage.feed._sending.acquire(timeout=1))
        memory.storage.feed._sending.release()
        shown.set()
        assert other.settle(20)
        assert memory.settle(20)
        assert ("global", gone) not in held
        assert_agreement(memory)


def test_nobody_takes_over_while_a_request_may_still_be_carried_out(path):
    for timeout in (5, 40):
        index = QdrantBackend("http://127.0.0.1:1", "claims", dimension=D, timeout=timeout)
        with opened(path, index) as memory:
            assert memory.storage.feed.spot.lease > timeout


def test_a_lease_from_before_the_clock_was_set_back_keeps_nobody_out(path):
    with opened(path, Shelf(D, {})) as memory:
        memory.store(fact("of rain"))
        assert memory.settle(10)
    ahead = int((time.time() + 3600) * 1e6)
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("UPDATE rx_deliveries SET holder = 'gone', until = ?", (ahead,))
        raw.commit()
    with opened(path, Shelf(D, {})) as memory:
        memory.store(fact("of smoke"))
        assert memory.settle(5)


# -- faults ------------------------------------------------------------------------------------------------


def test_what_the_index_took_is_not_sent_again_after_a_fault(path):
    """Every second request fails, and a backlog takes several."""
    requests = []

    def fail(scope, ids):
        requests.append(len(ids))
        if scope != OWNER and len(requests) % 2:
            raise OSError("too many requests")

    with Memory.open(path, embedder=EMBEDDER) as memory:
        memory.store_many([fact(f"of dish {number}") for number in range(1_700)], batch=1_700)
    index = Hooked({}, fail)
    with opened(path, index) as memory:
        assert memory.settle(30)
        assert index.upserts == 1_700 + len(index.ids(OWNER))
        assert_agreement(memory)


def test_an_index_that_fails_is_tried_ever_later(path):
    with Memory.open(path, embedder=EMBEDDER) as memory:
        memory.store(fact("of rain"))
    index = Shelf(D, {})
    with opened(path, index) as memory:
        index.away = True
        feed = memory.storage.feed
        assert [feed.catch_up() or feed.lag().attempts for _ in range(3)] == [1, 2, 3]
        index.away = False
        assert memory.settle(10)
        assert memory.storage.feed.lag().attempts == 0


class Stuck(Shelf):
    """Deletes nothing but the mark while it is stuck; the mark goes first."""

    stuck = False

    def _scopes(self):
        return sorted(super()._scopes(), key=lambda scope: scope != OWNER)

    def _delete(self, scope, ids):
        if self.stuck and scope != OWNER:
            raise OSError("gone away")
        super()._delete(scope, ids)


def test_an_emptying_that_a_fault_interrupts_is_finished_by_the_owner(path):
    index = Stuck(D, {})
    with opened(path, index) as memory:
        memory.store_many([fact(f"of dish {number}") for number in range(5)])
        assert memory.settle(10)
        index.stuck = True
        with pytest.raises(BackendError):
            reindex(memory.storage, patience=0.1)
        assert index.ids(OWNER) == []
        assert len(index.ids("global")) == 5
        index.stuck = False
        assert memory.settle(10)
        assert_agreement(memory)
        assert reindex(memory.storage).vectors == 5


def test_an_emptying_is_finished_by_the_next_who_opens_the_memory_and_by_no_other(path, tmp_path):
    index = Stuck(D, {})
    with opened(path, index) as memory:
        memory.store(fact("of rain"))
        assert memory.settle(10)
        index.stuck = True
        with pytest.raises(BackendError):
            memory.storage.feed.start_over()
    index.stuck = False
    with opened(tmp_path / "other.db", index) as other:
        other.store(fact("of smoke"))
        assert not other.settle(0.3)
        assert "no memory is known to have fed" in other.storage.feed.lag().error
    with opened(path, index) as memory:
        assert memory.settle(10)
        assert_agreement(memory)


def test_an_index_that_shows_its_deletions_late_keeps_the_mark(path):
    held = {}
    with opened(path, Queued(held)) as memory:
        memory.store(fact("of rain"))
        assert memory.settle(20)
        assert reindex(memory.storage, showing=0).vectors == 1
        assert_agreement(memory)


# -- others ------------------------------------------------------------------------------------------------


def test_who_waits_for_the_index_waits_for_what_was_written_by_then(path):
    """Every request finds that something new was written before it is answered."""
    held, numbers = {}, iter(range(100_000))
    steady = threading.Event()
    steady.set()
    with Memory.open(path, embedder=EMBEDDER) as writer:

        def write(scope, ids):
            if scope != OWNER and steady.is_set():
                writer.store(fact(f"of dish {next(numbers)}"))

        with opened(path, Hooked(held, write)) as memory, opened(path, Shelf(D, held)) as other:
            first = memory.store(fact("of rain")).claim_id
            assert memory.settle(20)
            assert ("global", first) in held
            other.storage.feed.start_over()
            reindex(memory.storage, patience=20)
            steady.clear()
            assert memory.settle(20)
            assert_agreement(memory)


def test_two_who_feed_the_index_anew_at_once_do_not_disturb_each_other(path):
    with opened(path, Shelf(D, {})) as memory:
        memory.store(fact("of rain"))
        assert memory.settle(10)
        storage = memory.storage

        def mark(_):
            for _ in range(40):
                reindexing._mark(storage.database, storage.feed)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(mark, range(4)))


def test_after_closing_the_database_is_left_alone(path):
    under_way, go_on = threading.Event(), threading.Event()

    def hang(scope, ids):
        if scope != OWNER:
            under_way.set()
            go_on.wait(30)

    memory = opened(path, Hooked({}, hang))
    memory.storage.feed.at_closing = 0.1
    memory.store(fact("of rain"))
    assert under_way.wait(10)
    thread = memory.storage.feed._thread
    memory.close()
    path.rename(path.with_name("moved.db"))
    go_on.set()
    thread.join(20)
    assert not thread.is_alive()
    assert sorted(each.name for each in path.parent.glob("*.db*")) == ["moved.db"]


FORKS = """
import os, sys, threading
sys.path.insert(0, sys.argv[2])
from test_feeding_faults import EMBEDDER, Hooked, opened
from conftest import fact
under_way, go_on = threading.Event(), threading.Event()
index = Hooked({}, lambda scope, ids: scope == "global" and (under_way.set(), go_on.wait(30)))
memory = opened(sys.argv[1], index)
memory.storage.feed.spot.lease = 0.5
memory.store(fact("of rain"))
assert under_way.wait(10)
child = os.fork()
if not child:
    index.before = lambda scope, ids: None
    memory.storage.feed.start_over()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
go_on.set()
memory.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_child_that_was_forked_off_while_the_parent_sends_can_feed(path):
    assert_ends_well(FORKS, str(path), str(__file__).rpartition("/")[0])


CLOSED = """
import os, sys
sys.path.insert(0, sys.argv[2])
from test_feeding_faults import EMBEDDER, Hooked, opened
from conftest import fact
held = {}
memory = opened(sys.argv[1], Hooked(held, lambda scope, ids: None))
memory.store(fact("of rain"))
memory.close()
child = os.fork()
if not child:
    held.clear()
    try:
        memory.storage.feed.start_over()
    except Exception as error:
        os._exit(0 if "was closed" in str(error) and not held else 1)
    os._exit(2)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_what_was_closed_before_a_fork_stays_closed_in_the_child(path):
    assert_ends_well(CLOSED, str(path), str(__file__).rpartition("/")[0])


# -- what is asked of it -----------------------------------------------------------------------------------


def test_an_index_that_lost_everything_is_noticed_while_nobody_writes(path):
    held = {}
    with opened(path, Shelf(D, held)) as memory:
        memory.storage.retriever.near_at_hand = 10
        memory.store_many([fact(f"of dish {number}") for number in range(30)])
        assert memory.settle(10)
        held.clear()

        def asked():
            assert len(memory.recall("dish").hits) == 10
            return len(held) == 31

        until(asked)
        assert memory.settle(10)
        assert_agreement(memory)


def test_a_place_that_is_lowered_from_the_beginning_asks_for_no_emptying(path):
    with closing(Database.open(path)) as database:
        upgrade(database)
        late, quick = (Place(Gate(database), "an index", holder, lease=0) for holder in ("late", "quick"))
        assert late.take()
        assert quick.take()
        with pytest.raises(Lost):
            late.move(5)
        with database.read() as conn:
            assert EMPTYING < quick.of(conn) < 0
        quick.move(7)  # where it left the place, it is not: it goes back
        assert EMPTYING < quick.at < 0
