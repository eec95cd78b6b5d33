"""Feeding: a vector index outside the process follows the log of changes, at least once and in order.

A thread sends what waits, a batch at a time, and remembers in rx_deliveries how far it came; no write waits for it or
fails with it. Each batch sends what the claims of the next changes are now, so taking a batch twice does no harm. Of
several processes the one that holds the lease sends, so that nothing older arrives after something newer (see
recollectx.storage.places). After a fault, what the index took from this process is not sent again, and the next batch is
tried ever later, up to once in LONGEST seconds.

An index that lives in the claims' own database is written in the transaction of the claims instead.
"""

import logging
import math
import os
import threading
import time
import uuid
import weakref
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from recollectx.db.engine import Database
from recollectx.embeddings.base import Vectors
from recollectx.errors import (
    BackendError,
    DatabaseBusy,
    DimensionError,
    InvalidClaim,
    InvalidSetting,
    RecollectxError,
)
from recollectx.storage.batches import (
    Batch,
    is_waited_for,
    last,
    moved_since,
    wanted,
)
from recollectx.storage.embedding import Apply
from recollectx.storage.ownership import Ownership
from recollectx.storage.places import EMPTYING, MARGIN, Gate, Lag, Lost, Place, lease_of
from recollectx.storage.reading import Reader
from recollectx.storage.sending import Sender
from recollectx.storage.vector.base import VectorBackend

TOGETHER = 2_000
"""How many changes a write takes along for an index in its own database; more than that the thread brings up."""
LINGER, AT_CLOSING = 0.02, 5.0
DOUBT = 1.0
"""Seconds after which what was seen of an index may be doubted again."""
POLL = 5.0
"""Seconds after which a thread that has nothing to do looks whether another process left something."""
TURN = 0.2
"""Seconds after which it is looked again whether another process still sends."""
FAULTS = (BackendError, DimensionError, InvalidClaim, InvalidSetting)
log = logging.getLogger("recollectx")


class Feed:
    """Feeds one index from one database. name: the index among others, in rx_deliveries.

    spot: how far it came, and who sends.  far: how many changes that matter to no index are passed over before the place is written
    down again.  at_closing: for how many seconds closing waits for what is under way.
    """

    far = 5_000
    at_closing = AT_CLOSING

    def __init__(self, database: Database, backend: VectorBackend, apply: Apply) -> None:
        self.backend = backend
        self.name = backend.address
        self._gate = Gate(database)
        self.spot = Place(self._gate, self.name, "", lease=lease_of(backend.answers_within))
        self._owned = Ownership(self._gate, backend, apply)
        self._sender = Sender(self._gate, backend, self.spot, self._owned)
        self._seen = (0, 0)
        self._waits = True
        self._doubtful, self._looked_at = backend.placement == "remote", -math.inf
        self._begin_process()
        _feeds.add(self)

    def _begin_process(self) -> None:
        """What no process shares with the one that it was forked off from, whose threads may hold the locks."""
        self._gate.renew()
        self.spot.holder = uuid.uuid4().hex
        self._sending = threading.RLock()
        self._wake = threading.Event()
        self._closing = self._sender.closing = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._retry_at = -math.inf
        self._stopped = False

    # Where it stands

    def place(self, conn: Connection) -> int:
        """The last change that the index took, 0 before the first, less while it is emptied."""
        return self.spot.of(conn)

    def since(self, reader: Reader, scope: str, n: int) -> list[int]:
        """The claims of a scope whose vector may have changed after change `n`."""
        return moved_since(reader, scope, n)

    def lag(self, goal: int | None = None) -> Lag:
        """How far the index is behind the database, or behind change `goal`."""
        return self.spot.lag(goal)

    def goal(self) -> int:
        """The last change of now, for `settle`; it is sent without waiting out the pause after a fault."""
        self._retry_at = -math.inf
        with self._gate.read() as conn:
            return last(conn)

    # Beside the claims

    def together(self, conn: Connection) -> None:
        """Bring an index in the same database up to the last change, within the transaction of `conn`.

        If more than TOGETHER changes wait, or the index fails, none is taken along, and the thread brings it up.
        """
        trial = conn.begin_nested()
        try:
            done = self._sender.take_along(conn, most=TOGETHER)
        except FAULTS as error:
            trial.rollback()
            log.warning("the vector index is behind: %s", error)
            done = False
        else:
            trial.commit()
        if not done:
            self.wake()

    # In the thread

    def wake(self) -> None:
        """Have what waits sent soon; returns at once."""
        self._waits = True
        self._wake.set()
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name=f"feed {self.name}", daemon=True)
                self._thread.start()

    def begin(self) -> None:
        """Have sent what an earlier process left, the first time that this one asks."""
        if self._thread is None:
            self.wake()

    def doubt(self) -> None:
        """Have it seen soon that the index still holds what it was given: its answer makes one wonder."""
        if time.monotonic() - self._looked_at > DOUBT:
            self._doubtful = True
            self.wake()

    def settle(self, timeout: float, goal: int | None = None) -> bool:
        """Wait until the index has and shows what is written now; False if it does not within `timeout` seconds.

        goal: the change up to which it has to, as `goal` gave it.
        """
        until = time.monotonic() + timeout
        goal = self.goal() if goal is None else goal
        if self.backend.placement == "remote" and time.monotonic() - self._looked_at > DOUBT:
            self._doubtful = True
        self.wake()
        while self._doubtful or self.lag(goal).changes:
            if time.monotonic() >= until:
                return False
            time.sleep(min(LINGER, max(0.0, until - time.monotonic())))
        return self.backend.settle(max(0.0, until - time.monotonic()))

    def close(self) -> None:
        """Send what waits if the index takes it at once, and stop.

        What is under way in an index that is slow goes on in its thread, which touches the database no more; whoever takes
        over after its lease sends it again.
        """
        thread = self._thread
        if thread is not None and thread.is_alive():
            self._closing.set()
            self._wake.set()
            thread.join(self.at_closing)
        self._stopped = True
        self._gate.shut(self.at_closing)

    def _run(self) -> None:
        while not self._stopped:
            self._wake.wait(self._pause())
            self._closing.wait(LINGER)  # so that what is written in a row goes together
            self._wake.clear()
            # Looked at only now: whoever closes after that wakes it again.
            closing = self._closing.is_set()
            if closing or time.monotonic() >= self._retry_at:
                try:
                    self.catch_up()
                except RecollectxError as error:
                    self._retry_at = time.monotonic() + 1.0
                    if not self._stopped:
                        log.warning("the vector index is behind: %s", error)
            if closing:
                return

    def _pause(self) -> float | None:
        return max(0.0, self._retry_at - time.monotonic()) if self._waits else POLL

    def catch_up(self) -> bool:
        """Send what waits; False if another process does, or the index failed."""
        with self._sending:
            if not self._anything() and not self._doubtful:
                self._waits = False
                return True
            if not self.spot.take():
                self._retry_at = time.monotonic() + TURN
                return False
            try:
                if self.backend.placement == "database":
                    self._sender.bring_up()
                    self.spot.release()
                else:
                    self._sender.see_whose()
                    self.spot.release(self._sender.send_all())
            except Lost:
                return False
            except FAULTS as error:
                self._failed(error)
                return False
            self._retry_at, self._doubtful, self._looked_at = -math.inf, False, time.monotonic()
            return True

    def _failed(self, error: Exception) -> None:
        if not self._stopped:
            log.warning("the vector index %s is behind: %s", self.name, error)
            self._retry_at = time.monotonic() + self.spot.failed(error)

    def _anything(self) -> bool:
        with self._gate.read() as conn:
            place = self.place(conn)
            known, seen = self._seen
            # Another process may have moved the place back.
            at = seen if place == known else place
            if place <= EMPTYING or is_waited_for(conn, at):
                return True
            # What moves no vector need not be looked at again.
            self._seen = place, max(at, last(conn))
        if self._seen[1] - place > self.far:
            self.spot.skip(place, self._seen[1])
        return False

    # By hand

    def foreign(self) -> bool:
        """Whether what the index holds is not this memory's: another feeds it, or nobody ever fed it."""
        if self.backend.placement != "remote":
            return False
        other = self._owned.is_of_another()
        if other is not None:
            return other
        with self._gate.read() as conn:
            emptied = self.place(conn) <= EMPTYING
        return not emptied and bool(self.backend.scopes())

    def start_over(self) -> None:
        """Empty the index, whoever fed it, and have it fed from the first change on.

        Raises DatabaseBusy while another process feeds it. If the index fails in between, it is emptied when it is fed.
        """
        with self._sending:
            if self.backend.placement == "database":
                with self._gate.write() as conn, self.backend.joined(conn):
                    self.backend.clear()
                    self.spot.keep(conn, 0)
            else:
                with self._alone():
                    self.spot.empty()
                    # Before anything is deleted: what is left after a fault is then this memory's.
                    self._owned.put()
                    self._sender.empty()
            self._seen = (0, 0)
            self._waits = True

    def wanted(self, reader: Reader, scope: str, ids: Collection[str]) -> dict[str, Vectors]:
        """What the index must hold of these ids in a scope; nothing of those that are left out."""
        return wanted(reader, scope, ids, self.backend.dimension)

    def mend(self, scope: str, ids: Collection[str]) -> None:
        """Make the index hold of these ids in a scope what the database holds of them now, and nothing else.

        Raises DatabaseBusy while another process feeds it.
        """
        with self._sending:
            if self.backend.placement == "database":
                with self._gate.write() as conn, self.backend.joined(conn):
                    self._sender.send(self._mending(conn, scope, ids))
            elif self.backend.placement == "remote":
                with self._alone():
                    self._sender.see_whose()
                    self._mend(scope, ids)
            else:
                self._mend(scope, ids)

    def _mend(self, scope: str, ids: Collection[str]) -> None:
        with self._gate.read() as conn:
            batch = self._mending(conn, scope, ids)
        self._sender.send(batch)

    def _mending(self, conn: Connection, scope: str, ids: Collection[str]) -> Batch:
        there = self.wanted(Reader(conn), scope, ids)
        batch = Batch(0)
        if there:
            batch.there[scope] = there
        if gone := [id for id in ids if id not in there]:
            batch.gone[scope] = gone
        return batch

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Be the process that sends, once no other does."""
        until = time.monotonic() + MARGIN * self.spot.lease
        while not self.spot.take():
            if time.monotonic() >= until:
                raise self._busy()
            time.sleep(LINGER)
        try:
            yield
            self.spot.release()
        except Lost:
            raise self._busy() from None
        except FAULTS as error:
            self._failed(error)
            self.wake()
            raise

    def _busy(self) -> DatabaseBusy:
        return DatabaseBusy(f"another process is feeding {self.name}; try again when it is done")


_feeds: "weakref.WeakSet[Feed]" = weakref.WeakSet()


def _forked() -> None:
    for feed in list(_feeds):
        closed = feed._stopped or feed._closing.is_set()
        feed._begin_process()
        if closed:
            feed._stopped = True
            feed._gate.shut(0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
