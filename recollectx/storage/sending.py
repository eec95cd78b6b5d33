"""Sending: what an index outside is given, in order, and when its place moves on.

To a service go batches, and its place moves on with every batch that it took and shows: questions begin to trust the index
there. An index beside the claims takes each batch in the transaction that moves its place.

A service is emptied under a place of its own, EMPTYING, which only the mark in the index and its being seen there end: a
fault in between leaves an index that its owner empties again.
"""

import logging
import threading
import time

import numpy as np
from sqlalchemy import Connection

from recollectx.errors import BackendError
from recollectx.storage.batches import Batch, after, beginning, last, waiting
from recollectx.storage.ownership import OWNER, Ownership
from recollectx.storage.places import EMPTYING, Gate, Place
from recollectx.storage.vector.base import VectorBackend

SHOWING = 60.0
"""Seconds for which an index may not show what it took, before that is taken for granted."""
LOOKS = 1.0
"""Seconds for which it is looked at for that before the lease and the closing are."""
log = logging.getLogger("recollectx")


class Sender:
    """Sends to one index; for the process that holds its place. closing: whether the memory is being closed."""

    def __init__(self, gate: Gate, backend: VectorBackend, spot: Place, owned: Ownership) -> None:
        self._gate = gate
        self._backend = backend
        self._name = backend.address
        self._spot = spot
        self._owned = owned
        self.closing = threading.Event()

    # To a service

    def see_whose(self) -> None:
        """See that the index is this memory's; one that is new, or lost everything, is fed from the beginning."""
        if not self._owned.is_marked() and self._spot.at > EMPTYING:
            self._owned.check_nobodys()
            self._spot.empty()

    def send_all(self) -> int | None:
        """Send batch after batch up to the change that is the last one now: whoever writes all the time keeps no other
        process from its turn. The place that was come to; None if it is written down, or is not shown.

        The place is where questions begin to trust the index: it moves on to what can be read there.
        """
        with self._gate.read() as conn:
            goal = last(conn)
        look_at = time.monotonic() + LOOKS
        while self._spot.at < goal:
            with self._gate.read() as conn:
                batch = after(conn, self._spot.sent, self._backend.dimension)
            if self._spot.sent <= EMPTYING or batch.anew:
                self.empty()
                continue
            self.send(batch)
            self._spot.sent = batch.last
            # A service that shows late, and takes batch after batch meanwhile, never shows the last of them.
            wait = batch.last >= goal or time.monotonic() >= look_at
            if self._is_shown() if wait else self._backend.settle(0):
                if batch.last >= goal:
                    return batch.last
                self._spot.move(batch.last)
                look_at = time.monotonic() + LOOKS
            elif wait:
                break
        return None

    def empty(self) -> None:
        """Empty the index, mark it and see that in it; from then on it is fed from the beginning."""
        self._spot.empty()
        self._backend.clear()
        self._owned.put()
        if not self._is_shown():
            raise BackendError(f"the index {self._name} was emptied and does not show it yet")
        with self._gate.read() as conn:
            start = beginning(conn)
        self._spot.move(start)

    def _is_shown(self) -> bool:
        """Wait until the index shows what was sent, as long as that may take; False if the memory is closed meanwhile."""
        until = time.monotonic() + SHOWING
        while not self._backend.settle(min(LOOKS, self._spot.lease / 4)):
            self._spot.stay()
            if self.closing.is_set():
                return False
            if time.monotonic() >= until:
                log.warning("the vector index %s does not show yet what it took", self._name)
                break
        return True

    def send(self, batch: Batch) -> None:
        """Make the index hold what a batch says, and nothing else of its claims."""
        if batch.anew:
            self._backend.clear()
            self._owned.put_beside()
        for scope, ids in batch.gone.items():
            self._stay()
            self._backend.delete_ids(scope, ids)
        for scope, there in batch.there.items():
            self._stay()
            self._backend.upsert_vectors(scope, list(there), np.stack(list(there.values())))

    def _stay(self) -> None:
        if self._backend.placement == "remote":
            self._spot.stay()

    # Beside the claims

    def take_along(self, conn: Connection, *, most: int | None = None) -> bool:
        """Send the next batch within the transaction of `conn`; whether nothing is left.

        most: send all of them, if no more than so many changes wait; else none.
        """
        with self._backend.joined(conn):
            at, done = self._still_held(self._spot.of(conn)), False
            going = most is None or waiting(conn, at) <= most
            while going:
                batch = after(conn, at, self._backend.dimension)
                self.send(batch)
                at, done = batch.last, batch.empty
                going = not done and most is not None
            self._spot.keep(conn, at)
            return done

    def _still_held(self, at: int) -> int:
        """The place of an index beside the claims; 0 in one that lost what it held."""
        if not self._backend.ids(OWNER):
            if at:
                log.warning("the vector index %s lost what it held, and is fed again", self._name)
            self._backend.clear()
            self._owned.put_beside()
            return 0
        return at

    def bring_up(self) -> None:
        """Send all that waits, each batch in a transaction of its own."""
        done = False
        while not done:
            with self._gate.write() as conn:
                done = self.take_along(conn)
