"""AsyncMemory: the same answers, bounded, and free of what was cancelled."""

import asyncio
import inspect
import threading

import pytest
from conftest import fact

from recollectx import AsyncMemory, Memory
from recollectx.aio import AsyncGraph, AsyncHistory, AsyncTraces
from recollectx.db import server
from recollectx.embeddings import HashEmbedder
from recollectx.errors import InvalidSetting, NotFound, StorageError
from recollectx.history import History
from recollectx.storage.live_graph import LiveGraph
from recollectx.traces import Traces

OTHERWISE = {"open", "from_config", "in_scope", "close", "iter_claims"}


def public(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind, callable) if not name.startswith("_")}


@pytest.mark.parametrize(
    ("kind", "face"),
    [(Memory, AsyncMemory), (History, AsyncHistory), (Traces, AsyncTraces), (LiveGraph, AsyncGraph)],
)
def test_nothing_is_missing_and_signatures_are_the_same(kind, face):
    assert public(kind) - OTHERWISE <= public(face)
    for name in public(kind) - OTHERWISE:
        awaited = getattr(face, name)
        assert inspect.iscoroutinefunction(awaited)
        assert list(inspect.signature(awaited).parameters) == list(
            inspect.signature(getattr(kind, name)).parameters
        )


def test_a_conversation_with_it(path):
    async def told():
        async with await AsyncMemory.open(path, embedder=None) as memory:
            first = (await memory.store(fact("of smoke", "Ana"))).claim_id
            await asyncio.gather(*(memory.store(fact(f"of herb {n}", "Bo")) for n in range(20)))
            found = await memory.recall("smoke")
            trace = await memory.traces.record(found, "smoky")
            history = await memory.history.of(first)
            other = memory.in_scope("next door")
            await other.store(fact("of nothing"))
            with pytest.raises(NotFound):
                await other.forget(first)
            return (
                found.claims[0].id == first,
                len(history.versions),
                trace,
                await memory.count(),
                await other.count(),
            )

    right, versions, trace, count, elsewhere = asyncio.run(told())
    assert (right, versions, bool(trace), count, elsewhere) == (True, 1, True, 21, 1)


def test_no_more_calls_are_under_way_than_there_are_workers(path):
    under_way, most, lock = 0, 0, threading.Lock()
    pause = threading.Event()

    def policy(claim, memory):
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        pause.wait(0.01)
        with lock:
            under_way -= 1
        return True

    async def told():
        with Memory.open(path, embedder=None) as memory:
            face = AsyncMemory(memory, workers=3)
            calls = (face._turns.run(policy, None, None) for _ in range(30))
            await asyncio.gather(*calls)
            await face.aclose()

    asyncio.run(told())
    assert most == 3


def test_what_is_cancelled_before_its_turn_is_never_begun(path):
    begun, go = threading.Event(), threading.Event()

    def busy():
        begun.set()
        go.wait(10)

    async def told():
        async with await AsyncMemory.open(path, embedder=None, workers=1) as memory:
            first = asyncio.create_task(memory._turns.run(busy))
            await asyncio.to_thread(begun.wait, 10)
            waiting = asyncio.create_task(memory.store(fact("of haste")))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            # Nobody awaits it any more, but its thread is taken until it ends.
            late = asyncio.create_task(memory.count())
            await asyncio.sleep(0.05)
            assert not late.done()
            go.set()
            return await late

    assert asyncio.run(told()) == 0


def test_a_long_store_that_is_cancelled_stops_after_its_batch(path):
    stored = threading.Event()

    async def told():
        async with await AsyncMemory.open(path, embedder=None) as memory:
            loop, cancelled = asyncio.get_running_loop(), threading.Event()

            def progress(_):
                loop.call_soon_threadsafe(long.cancel)
                stored.set()
                cancelled.wait(10)

            claims = [fact(f"of herb {n}") for n in range(1_000)]
            long = asyncio.create_task(memory.store_many(claims, batch=10, progress=progress))
            with pytest.raises(asyncio.CancelledError):
                await long
            cancelled.set()
            return memory

    memory = asyncio.run(told())
    assert stored.is_set()
    with pytest.raises(StorageError, match="closed"):
        memory.memory.count()
    with Memory.open(path, embedder=None) as again:
        assert 10 <= again.count() <= 20


def test_a_closed_one_says_so(path):
    async def told():
        memory = await AsyncMemory.open(path, embedder=None)
        await memory.aclose()
        with pytest.raises(StorageError, match="closed"):
            await memory.count()

    asyncio.run(told())


def test_closing_waits_for_what_is_under_way_and_begins_nothing_more(path):
    stored, go = threading.Event(), threading.Event()

    def progress(_):
        stored.set()
        go.wait(10)

    async def told():
        memory = await AsyncMemory.open(path, embedder=None, workers=1)
        claims = [fact(f"of herb {n}") for n in range(40)]
        long = asyncio.create_task(memory.store_many(claims, batch=10, progress=progress))
        await asyncio.to_thread(stored.wait, 10)
        waiting = asyncio.create_task(memory.store(fact("of haste")))
        await asyncio.sleep(0)
        closing = asyncio.create_task(memory.aclose())
        await asyncio.sleep(0.05)
        assert not closing.done()
        with pytest.raises(StorageError, match="closed"):
            await memory.count()
        go.set()
        await closing
        with pytest.raises(StorageError, match="closed"):
            await waiting
        return await long

    assert len(asyncio.run(told())) == 40
    with Memory.open(path, embedder=None) as again:
        assert again.count() == 40


def test_closing_twice_or_in_vain_at_first_closes_once(path):
    begun, go = threading.Event(), threading.Event()

    def busy():
        begun.set()
        go.wait(10)

    async def told():
        memory = await AsyncMemory.open(path, embedder=None)
        call = asyncio.create_task(memory._turns.run(busy))
        await asyncio.to_thread(begun.wait, 10)
        first = asyncio.create_task(memory.aclose())
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        go.set()
        await asyncio.gather(memory.aclose(), memory.aclose(), call)
        await memory.aclose()
        with pytest.raises(StorageError, match="closed"):
            memory.memory.count()

    asyncio.run(told())


def test_the_next_loop_has_the_threads_of_one_that_ended_before_its_call(path):
    begun, go = threading.Event(), threading.Event()
    memory = AsyncMemory(Memory.open(path, embedder=None), workers=1)

    def busy():
        begun.set()
        go.wait(10)

    async def leaves():
        call = asyncio.create_task(memory._turns.run(busy))
        await asyncio.to_thread(begun.wait, 10)
        call.cancel()

    async def comes():
        go.set()
        found = await asyncio.wait_for(memory.count(), 10)
        await memory.aclose()
        return found

    asyncio.run(leaves())
    assert asyncio.run(comes()) == 0


class Slow(HashEmbedder):
    """Embeds when it is told to."""

    def __init__(self):
        super().__init__(8)
        self.asked, self.go = threading.Event(), threading.Event()

    @property
    def dimension(self):
        self.asked.set()
        self.go.wait(10)
        return 8

    @dimension.setter
    def dimension(self, value):
        pass


@pytest.mark.parametrize("opened_before", [False, True], ids=["half-way", "just opened"])
def test_an_opening_that_is_cancelled_is_closed_again(path, tmp_path, opened_before):
    pytest.importorskip("qdrant_client")
    slow, folder = Slow(), f"qdrant://{tmp_path}/folder"

    async def told():
        opening = asyncio.create_task(AsyncMemory.open(path, vectors=folder, embedder=slow))
        await asyncio.to_thread(slow.asked.wait, 10)
        if not opened_before:
            opening.cancel()
        slow.go.set()
        if opened_before:
            while not (opening._fut_waiter is not None and opening._fut_waiter.done()):
                await asyncio.sleep(0)
            opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening

    asyncio.run(told())
    for thread in threading.enumerate():
        if thread.name.startswith("recollectx"):
            thread.join(10)
    with Memory.open(path, vectors=folder, embedder=HashEmbedder(8)) as again:
        assert again.count() == 0
    assert [each for each in server._open if str(path) in each] == []


@pytest.mark.parametrize("workers", [0, -1, 1.5, True])
def test_workers_must_be_a_number(path, workers):
    with Memory.open(path, embedder=None) as memory, pytest.raises(InvalidSetting, match="workers"):
        AsyncMemory(memory, workers=workers)
