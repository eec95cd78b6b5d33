"""Feeding: a vector index outside the process follows the log of changes, at least once and in order.

A thread sends what waits, a batch at a time, and remembers in rx_deliveries how far it came; no write waits for it or
fails with it. Each batch sends what the claims of the next changes are now, so taking a batch twice does no harm. Of
several processes the one that holds the lease sends, so that nothing older arrives after something newer. After a
fault the same batch is tried again, ever later, up to once in LONGEST seconds.

An index that lives in the claims' own database is written in the transaction of the claims instead.
"""

import logging
import math
import os
import threading
import time
import uuid
from collections.abc import Collection, Iterator

import numpy as np
from sqlalchemy import Connection

from recollectx.changes import Change, Configure
from recollectx.claims import MAX_NAME
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
from recollectx.storage.batches import Batch, after, is_waited_for, last, moved_since, waiting, wanted
from recollectx.storage.embedding import Apply
from recollectx.storage.places import LEASE, Lag, Place
from recollectx.storage.reading import Reader
from recollectx.storage.vector.base import VectorBackend

TOGETHER = 2_000
"""How many changes a write takes along for an index in its own database; more than that the thread brings up."""
LINGER, AT_CLOSING = 0.02, 5.0
SHOWING = 60.0
"""Seconds for which an index may not show what it took, before that is taken for granted."""
POLL = 5.0
"""Seconds after which a thread that has nothing to do looks whether another process left something."""
OWNER = "recollectx: whose index this is".ljust(MAX_NAME + 1, ".")
"""The scope of one id, that of the memory that feeds the index; longer than a scope of claims can be."""
MEMORY_ID = "memory"
FAULTS = (BackendError, DimensionError, InvalidClaim, InvalidSetting)
log = logging.getLogger("recollectx")


class Feed:
    """Feeds one index from one database. name: the index among others, in rx_deliveries.

    spot: how far it came, and who sends.  far: how many changes that matter to no index are passed over before the place is written
    down again.
    """

    far = 5_000

    def __init__(self, database: Database, backend: VectorBackend, apply: Apply) -> None:
        self.backend = backend
        self.name = backend.address
        self._database = database
        self._apply = apply
        self.spot = Place(database, self.name, uuid.uuid4().hex)
        self._at = self._shown = self._from = 0
        self._seen = (0, 0)
        self._sending = threading.RLock()
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        self._retry_at = 0.0
        self._starting = threading.Lock()
        self._waits = True
        self._doubtful, self._looked_at = backend.placement == "remote", -math.inf
        self._stopped = False

    # Where it stands

    def place(self, conn: Connection) -> int:
        """The last change that the index took, 0 before the first."""
        return self.spot.of(conn)

    def since(self, reader: Reader, scope: str, n: int) -> list[int]:
        """The claims of a scope whose vector may have changed after change `n`."""
        return moved_since(reader, scope, n)

    def lag(self) -> Lag:
        """How far the index is behind the database."""
        return self.spot.lag()

    # In the transaction of the claims

    def together(self, conn: Connection) -> None:
        """Bring an index in the same database up to the last change, within the transaction of `conn`.

        If more than TOGETHER changes wait, or the index fails, none is taken along, and the thread brings it up.
        """
        trial = conn.begin_nested()
        try:
            with self.backend.joined(conn):
                at = self._marked(self.place(conn))
                if waiting(conn, at) > TOGETHER:
                    self.spot.keep(conn, at)
                    trial.commit()
                    self.wake()
                    return
                while not (batch := after(conn, at, self.backend.dimension)).empty:
                    self._send(batch)
                    at = batch.last
                self.spot.keep(conn, batch.last)
        except FAULTS as error:
            trial.rollback()
            log.warning("the vector index is behind: %s", error)
            self.wake()
        else:
            trial.commit()

    # In the thread

    def wake(self) -> None:
        """Have what waits sent soon; returns at once."""
        if self._pid != os.getpid():
            self._thread, self._pid = None, os.getpid()
            self._sending, self._wake, self._closing = threading.RLock(), threading.Event(), threading.Event()
            self._starting, self.spot.holder = threading.Lock(), uuid.uuid4().hex
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

    def settle(self, timeout: float) -> bool:
        """Wait until the index has and shows what is written now; False if it does not within `timeout` seconds."""
        until = time.monotonic() + timeout
        self._retry_at = 0.0
        if self.backend.placement == "remote" and time.monotonic() - self._looked_at > 1:
            self._doubtful = True
        self.wake()
        while self._doubtful or self.lag().changes:
            if time.monotonic() >= until:
                return False
            time.sleep(min(LINGER, max(0.0, until - time.monotonic())))
        return self.backend.settle(max(0.0, until - time.monotonic()))

    def close(self) -> None:
        """Send what waits if the index takes it at once, and stop.

        What is under way in an index that is slow goes on in its thread; whoever takes over after its lease sends it again.
        """
        thread = self._thread
        if thread is None or not thread.is_alive() or self._pid != os.getpid():
            return
        self._closing.set()
        self._wake.set()
        thread.join(AT_CLOSING)
        self._stopped = True

    def _run(self) -> None:
        while not self._stopped:
            self._wake.wait(self._pause())
            self._closing.wait(LINGER)  # so that what is written in a row goes together
            self._wake.clear()
            # Looked at only now: whoever closes after that wakes it again.
            closing = self._closing.is_set()
            if closing or time.time() >= self._retry_at:
                try:
                    self.catch_up()
                except RecollectxError as error:
                    self._retry_at = time.time() + 1.0
                    log.warning("the vector index is behind: %s", error)
            if closing:
                return

    def _pause(self) -> float | None:
        return max(0.0, self._retry_at - time.time()) if self._waits else POLL

    def catch_up(self) -> bool:
        """Send what waits; False if another process does, or the index failed."""
        with self._sending:
            if not self._anything() and not self._doubtful:
                self._waits = False
                return True
            if not self._take_lease():
                self._retry_at = time.time() + 0.2
                return False
            try:
                if self.backend.placement == "database":
                    return self._caught_up_inside()
                self._own()
                done = self._all_sent()
            except FAULTS as error:
                log.warning("the vector index %s is behind: %s", self.name, error)
                self._retry_at = self.spot.failed(self._shown, error, since=self._from)
                return False
            self._retry_at, self._doubtful, self._looked_at = 0.0, False, time.monotonic()
            return self.spot.keep_at(self._shown, since=self._from) and done

    def _all_sent(self) -> bool:
        """Send batch after batch until nothing waits and all of it shows; False if it was not this process's turn to the
        end.

        The place is where questions begin to trust the index: it moves on to what can be read there.
        """
        renew_at = time.monotonic() + self.spot.lease / 3
        while not self._stopped:
            with self._database.read() as conn:
                batch = after(conn, self._at, self.backend.dimension)
            if batch.empty:
                self._at = batch.last
                return self._all_shown()
            self._send(batch)
            self._at = batch.last
            if time.monotonic() > renew_at:
                if self.backend.settle(0):
                    self._shown = self._at
                if not self.spot.renew(self._shown):
                    return False
                renew_at = time.monotonic() + self.spot.lease / 3
        return False

    def _all_shown(self) -> bool:
        """Wait until the index shows what was sent, as long as that may take; False if the lease was lost."""
        until = time.monotonic() + SHOWING
        while not (shown := self.backend.settle(self.spot.lease / 4)) and time.monotonic() < until:
            if self._closing.is_set() or not self.spot.renew(self._shown):
                return False
        if not shown:
            log.warning("the vector index %s does not show yet what it took", self.name)
        self._shown = self._at
        return True

    def _caught_up_inside(self) -> bool:
        while True:
            with self._database.write() as conn, self.backend.joined(conn):
                batch = after(conn, self._marked(self.place(conn)), self.backend.dimension)
                self._send(batch)
                self.spot.keep(conn, batch.last)
            if batch.empty:
                self._waits = False
                return True

    def _anything(self) -> bool:
        with self._database.read() as conn:
            place = self.place(conn)
            known, seen = self._seen
            # Another process may have moved the place back.
            at = seen if place == known else place
            if is_waited_for(conn, at):
                return True
            # What moves no vector need not be looked at again.
            self._seen = place, max(at, last(conn))
        if self._seen[1] - place > self.far:
            self.spot.skip(place, self._seen[1])
        return False

    def _take_lease(self) -> bool:
        at = self.spot.take()
        if at is not None:
            self._at = self._shown = self._from = at
        return at is not None

    def _send(self, batch: Batch) -> None:
        if batch.anew:
            self.backend.clear()
            if self.backend.placement == "database":
                self._marked(0)
            else:
                self.backend.settle(LEASE)
                self._own()
        for scope, ids in batch.gone.items():
            self.backend.delete_ids(scope, ids)
        for scope, there in batch.there.items():
            self.backend.upsert_vectors(scope, list(there), np.stack(list(there.values())))

    def _own(self) -> None:
        """See that the index is this memory's, or nobody's yet; one that lost everything is fed from the beginning."""
        if self.backend.placement == "database":
            return
        own, known = self._memory_id(), self.backend.ids(OWNER)
        if any(each != own for each in known):
            raise InvalidSetting(
                f"the index {self.name} is fed by another memory; give this one an index of its own, "
                "or run `recollectx reindex --take-over` to empty it and take it over"
            )
        if not known:
            if self.backend.count():
                raise InvalidSetting(
                    f"the index {self.name} holds vectors that no memory is known to have fed it; give an empty one, "
                    "or run `recollectx reindex --take-over` to empty it and take it over"
                )
            self._at = self._shown = self._from = 0
            self.spot.renew(0)
            self.backend.upsert_vectors(OWNER, [own], self._mark())

    def _marked(self, at: int) -> int:
        """The place of an index beside the claims; 0 in one that lost what it held."""
        if not self.backend.ids(OWNER):
            if at:
                log.warning("the vector index %s lost what it held, and is fed again", self.name)
            self.backend.clear()
            self.backend.upsert_vectors(OWNER, [self.name], self._mark())
            return 0
        return at

    def _mark(self) -> Vectors:
        mark = np.zeros((1, self.backend.dimension), np.float32)
        mark[0, 0] = 1
        return mark

    def _memory_id(self) -> str:
        """What tells this memory from others."""
        with self._database.read() as conn:
            known = Reader(conn).setting(MEMORY_ID)
        if known is None:

            def plan(reader: Reader) -> Iterator[Change]:
                if reader.setting(MEMORY_ID) is None:
                    yield Configure(MEMORY_ID, {"id": uuid.uuid4().hex})

            self._apply(plan, cause="index")
            with self._database.read() as conn:
                known = Reader(conn).setting(MEMORY_ID)
        return str((known or {})["id"])

    def foreign(self) -> bool:
        """Whether what the index holds is not this memory's: another feeds it, or nobody ever fed it."""
        if self.backend.placement != "remote":
            return False
        with self._database.read() as conn:
            own = (Reader(conn).setting(MEMORY_ID) or {}).get("id")
        marks = self.backend.ids(OWNER)
        return any(mark != own for mark in marks) if marks else bool(self.backend.scopes())

    def start_over(self) -> None:
        """Empty the index, whoever fed it, and have it fed from the first change on.

        Raises DatabaseBusy while another process feeds it.
        """
        with self._sending:
            if self.backend.placement == "database":
                with self._database.write() as conn, self.backend.joined(conn):
                    self.backend.clear()
                    self.spot.keep(conn, 0)
            else:
                self._wait_for_lease()
                self.backend.clear()
                self.backend.settle(LEASE)
                self.spot.keep_at(0, since=0)
            self._seen, self._at, self._shown = (0, 0), 0, 0
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
                with self._database.write() as conn, self.backend.joined(conn):
                    self._send(self._mending(conn, scope, ids))
                return
            if self.backend.placement == "remote":
                self._wait_for_lease()
                self._own()
            with self._database.read() as conn:
                batch = self._mending(conn, scope, ids)
            self._send(batch)
            if self.backend.placement == "remote":
                self.spot.keep_at(self._shown, since=self._from)

    def _mending(self, conn: Connection, scope: str, ids: Collection[str]) -> Batch:
        there = self.wanted(Reader(conn), scope, ids)
        batch = Batch(0)
        if there:
            batch.there[scope] = there
        if gone := [id for id in ids if id not in there]:
            batch.gone[scope] = gone
        return batch

    def _wait_for_lease(self) -> None:
        """Be the process that sends, once no other does."""
        until = time.monotonic() + self.spot.lease
        while not self._take_lease():
            if time.monotonic() >= until:
                raise DatabaseBusy(f"another process is feeding {self.name}; try again when it is done")
            time.sleep(0.1)
