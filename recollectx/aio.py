"""AsyncMemory: a Memory for asyncio. The same code, run in a bounded number of threads and awaited.

A call that is cancelled while it waits for its turn is never begun. One that is under way ends in its thread, wholly or
not at all, and the one who awaited it is free at once; `store_many` stops after the batch it is at.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from recollectx.changes import WriteResult
from recollectx.claims import Claim
from recollectx.errors import InvalidSetting, StorageError
from recollectx.forks import Lock
from recollectx.history import History
from recollectx.memory import Memory
from recollectx.storage.live_graph import LiveGraph
from recollectx.traces import Traces

WORKERS = 8

P = ParamSpec("P")
T = TypeVar("T")
Part = TypeVar("Part")


class Turns:
    """Runs functions in at most `workers` threads, for callers in any event loop; whoever comes later waits without one."""

    def __init__(self, workers: int) -> None:
        if type(workers) is not int or workers < 1:
            raise InvalidSetting(f"workers must be a whole number from 1, got {workers!r}")
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="recollectx")
        self._ending: Future[None] | None = None
        self._once = Lock()

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the function returns or raises; StorageError if its turn comes after the end."""
        # Cancelling takes away a turn that is still to come; a thread is taken until the function ends.
        return await asyncio.wrap_future(self.turn(function, *args, **kwargs))

    def turn(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """The same for whoever must know what came of it, be the waiting cancelled."""
        context = contextvars.copy_context()
        try:
            return self._threads.submit(self._begun, context, partial(function, *args, **kwargs))
        except RuntimeError as error:
            raise _closed() from error

    def _begun(self, context: contextvars.Context, call: Callable[[], T]) -> T:
        if self._ending is not None:
            raise _closed()
        return context.run(call)

    def end(self, last: Callable[[], None]) -> Future[None]:
        """Begin nothing more, wait for what is under way and do `last`, once, whether anybody waits for it or not."""
        with self._once:
            if self._ending is None:
                begun = threading.Event()
                closing = ThreadPoolExecutor(1, thread_name_prefix="recollectx closing")
                self._ending = closing.submit(self._end, begun, last)
                closing.shutdown(wait=False)
                begun.wait()  # from then on it cannot be cancelled
            return self._ending

    def _end(self, begun: threading.Event, last: Callable[[], None]) -> None:
        begun.set()
        self._threads.shutdown()
        last()


def _closed() -> StorageError:
    return StorageError("this memory is closed; open it again")


class Face:
    """A part of a memory whose methods are awaited."""

    def __init__(self, part: Any, turns: Turns) -> None:
        self._part = part
        self._turns = turns


def _awaited(
    method: Callable[Concatenate[Part, P], T],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The method of a part, to be awaited."""

    @wraps(method)
    async def call(self: Face, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._turns.run(method, self._part, *args, **kwargs)

    return call


class AsyncHistory(Face):
    """`memory.history`, awaited; `iter_claims` is read from the Memory itself."""

    get = _awaited(History.get)
    snapshot = _awaited(History.snapshot)
    timeline = _awaited(History.timeline)
    of = _awaited(History.of)
    diff = _awaited(History.diff)


class AsyncTraces(Face):
    """`memory.traces`, awaited."""

    record = _awaited(Traces.record)
    list = _awaited(Traces.list)
    using = _awaited(Traces.using)
    explain = _awaited(Traces.explain)


class AsyncGraph(Face):
    """`memory.graph`, awaited."""

    add = _awaited(LiveGraph.add)
    all_edges = _awaited(LiveGraph.all_edges)
    incoming_edges = _awaited(LiveGraph.incoming_edges)
    outgoing_edges = _awaited(LiveGraph.outgoing_edges)
    contradictions = _awaited(LiveGraph.contradictions)
    supports = _awaited(LiveGraph.supports)
    derives = _awaited(LiveGraph.derives)
    traverse_recursive = _awaited(LiveGraph.traverse_recursive)
    similar = _awaited(LiveGraph.similar)


class AsyncMemory(Face):
    """A Memory whose methods are awaited, in any event loop.

    memory: what it stands for; close either, not both.  workers: how many calls are under way at most; more wait.
    Use it in an `async with`, or await `aclose`.
    """

    def __init__(self, memory: Memory, *, workers: int = WORKERS, turns: Turns | None = None) -> None:
        super().__init__(memory, Turns(workers) if turns is None else turns)
        self.memory = memory
        self.history = AsyncHistory(memory.history, self._turns)
        self.traces = AsyncTraces(memory.traces, self._turns)
        self.graph = AsyncGraph(memory.graph, self._turns)

    @classmethod
    async def open(cls, *args: Any, workers: int = WORKERS, **kwargs: Any) -> "AsyncMemory":
        """What `Memory.open` opens; cancelled, it is closed again."""
        return await cls._opened(Turns(workers), partial(Memory.open, *args, **kwargs))

    @classmethod
    async def from_config(cls, *args: Any, workers: int = WORKERS, **kwargs: Any) -> "AsyncMemory":
        """What `Memory.from_config` opens; cancelled, it is closed again."""
        return await cls._opened(Turns(workers), partial(Memory.from_config, *args, **kwargs))

    @classmethod
    async def _opened(cls, turns: Turns, opens: Callable[[], Memory]) -> "AsyncMemory":
        opening = turns.turn(opens)
        try:
            return cls(await asyncio.wrap_future(opening), turns=turns)
        except asyncio.CancelledError:
            turns.end(partial(_let_go, opening))
            raise

    def in_scope(self, scope: str) -> "AsyncMemory":
        """The same store, threads and ways for another scope; close one of them."""
        return AsyncMemory(self.memory.in_scope(scope), turns=self._turns)

    async def aclose(self) -> None:
        """Wait for what is under way, and let the database go. Calls that wait for their turn get StorageError; a second
        call of this does nothing but wait for the first."""
        await asyncio.wrap_future(self._turns.end(self.memory.close))

    async def __aenter__(self) -> "AsyncMemory":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def store_many(
        self,
        claims: Iterable[Claim],
        *,
        batch: int | None = None,
        progress: Callable[[int], None] = lambda done: None,
    ) -> list[WriteResult]:
        """`Memory.store_many`; cancelled, it stops after the batch it is at. progress: is called in the thread."""
        stop = threading.Event()

        def told(done: int) -> None:
            if stop.is_set():
                raise StorageError("stopped: whoever awaited it was cancelled")
            progress(done)

        try:
            return await self._turns.run(self.memory.store_many, claims, batch=batch, progress=told)
        except asyncio.CancelledError:
            stop.set()
            raise

    store = _awaited(Memory.store)
    remember = _awaited(Memory.remember)
    update = _awaited(Memory.update)
    forget = _awaited(Memory.forget)
    correct = _awaited(Memory.correct)
    supersede = _awaited(Memory.supersede)
    restore = _awaited(Memory.restore)
    derive = _awaited(Memory.derive)
    undo = _awaited(Memory.undo)
    last_tx = _awaited(Memory.last_tx)
    erase = _awaited(Memory.erase)
    retract = _awaited(Memory.retract)
    trust = _awaited(Memory.trust)
    add_support = _awaited(Memory.add_support)
    add_contradiction = _awaited(Memory.add_contradiction)
    relate = _awaited(Memory.relate)
    unrelate = _awaited(Memory.unrelate)
    recall = _awaited(Memory.recall)
    retrieve = _awaited(Memory.retrieve)
    list = _awaited(Memory.list)
    get = _awaited(Memory.get)
    count = _awaited(Memory.count)
    explain = _awaited(Memory.explain)
    explain_deep = _awaited(Memory.explain_deep)
    explain_confidence_history = _awaited(Memory.explain_confidence_history)
    what_if = _awaited(Memory.what_if)
    impact = _awaited(Memory.impact)
    disputes = _awaited(Memory.disputes)
    resolve = _awaited(Memory.resolve)
    confirm = _awaited(Memory.confirm)
    calibration = _awaited(Memory.calibration)
    settle = _awaited(Memory.settle)


def _let_go(opening: Future[Memory]) -> None:
    """Close what was opened for somebody who is gone."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
