"""Locks and transactions in processes that fork.

A child has only the thread that forked it. A lock that another thread of the parent held at that moment would stay
held in the child for ever, so there it is a new one. What a library keeps for such a thread cannot be renewed: SQLite
takes a transaction that was under way to be this process's own, and lets nobody write. So a fork waits until no other
thread is in a step that must be whole.
"""

import os
import threading
from collections.abc import Callable
from weakref import WeakSet

QUIET = 5.0
"""Seconds that a fork waits at most: a step may wait for something that the forking thread has."""


class Lock:
    """A lock, to be used in a `with`, that no thread which a fork left behind keeps.

    Entering and leaving are those of the lock within, and no code of ours: an interrupt would come between them and
    the block. One that has it may take it again.
    torn: such a thread held it, so that what it guards may be half-way; whoever sees to that sets it back.
    """

    def __init__(self) -> None:
        self.torn = False
        self._inner = threading.RLock()
        _locks.add(self)

    @property
    def __enter__(self) -> Callable[[], bool]:
        return self._inner.__enter__

    @property
    def __exit__(self) -> Callable[..., None]:  # noqa: PLE0302 - the method of the lock within takes them
        return self._inner.__exit__

    def forked(self) -> None:
        """Be free in a child, unless the thread that forked holds it, which lets it go there as well."""
        if self._inner.acquire(blocking=False):
            self._inner.release()
        else:
            self._inner, self.torn = threading.RLock(), True


class Steps:
    """What a fork waits for. `with` it, nested or not: no other thread forks within a step, and while one does no step
    is begun."""

    def __init__(self) -> None:
        # Re-entrant: a signal handler, or a generator that is collected, may come to a step from within one of these.
        self._whole = threading.RLock()
        self._changed = threading.Condition(self._whole)
        self._under_way: dict[int, int] = {}
        self._forking = 0

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._whole:
            # A thread that is within a step already must come to its end.
            while self._forking and me not in self._under_way:
                self._changed.wait()
            self._under_way[me] = self._under_way.get(me, 0) + 1

    def __exit__(self, *_: object) -> None:
        me = threading.get_ident()
        with self._whole:
            self._under_way[me] -= 1
            if not self._under_way[me]:
                del self._under_way[me]
                if self._forking:
                    self._changed.notify_all()

    def wait(self) -> None:
        """Begin nothing more, and wait for what other threads have under way."""
        own = {threading.get_ident()}
        with self._changed:
            self._forking += 1
            self._changed.wait_for(lambda: self._under_way.keys() <= own, QUIET)

    def go_on(self) -> None:
        """After the fork, in the parent."""
        with self._changed:
            self._forking -= 1
            self._changed.notify_all()

    def forked(self) -> None:
        """After the fork, in the child: only its own thread is in a step."""
        me = threading.get_ident()
        self._whole, self._forking = threading.RLock(), 0
        self._changed = threading.Condition(self._whole)
        self._under_way = {me: self._under_way[me]} if me in self._under_way else {}


_locks: WeakSet[Lock] = WeakSet()
WHOLE = Steps()
"""The steps of this process."""


def _in_child() -> None:
    WHOLE.forked()
    for lock in list(_locks):
        lock.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=WHOLE.wait, after_in_parent=WHOLE.go_on, after_in_child=_in_child)
