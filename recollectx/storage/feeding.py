"""Feeding: a vector index outside the process follows the log of changes, at least once and in order.

A thread sends what waits, a batch at a time, and remembers in rx_deliveries how far it came; no write waits for it or
fails with it. Each batch sends what the claims of the next changes are now, so taking a batch twice does no harm. Of
several processes the one that holds the lease sends, so that nothing older arrives after something newer. After a
fault the same batch is tried again, ever later, up to once in LONGEST seconds.

An index that lives in the claims' own database is written in the transaction of the claims instead.
"""

import logging
import os
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Connection, and_, bindparam, func, insert, or_, select, update

from recollectx.changes import Change, Configure
from recollectx.db.engine import Database
from recollectx.db.statements import fetch
from recollectx.db.tables import ChangeRow, ClaimRow, DeliveryRow, RevisionRow, TextRow, VectorRow
from recollectx.embeddings.base import Vectors
from recollectx.errors import (
    BackendError,
    DatabaseBusy,
    DimensionError,
    InvalidClaim,
    InvalidSetting,
    RecollectxError,
)
from recollectx.storage.embedding import Apply
from recollectx.storage.reading import MODEL, Reader
from recollectx.storage.vector.base import VectorBackend

BATCH = 500
TOGETHER = 2_000
"""How many changes a write takes along for an index in its own database; more than that the thread brings up."""
LEASE = 10.0
"""Seconds for which a process that sends keeps others from it, longer than a batch takes; after a kill the index waits as long."""
FIRST_PAUSE, LONGEST = 0.25, 60.0
LINGER = 0.02
AT_CLOSING = 5.0
OWNER = "recollectx: whose index this is"
"""The scope of one id: that of the memory that feeds the index."""
MEMORY_ID = "memory"
log = logging.getLogger("recollectx")

_MOVES = or_(
    # What is undone of no claim, as trust is, moves no vector.
    and_(ChangeRow.kind.in_(("assert", "revise", "embed", "undo", "erase")), ChangeRow.claim.is_not(None)),
    and_(ChangeRow.kind == "configure", ChangeRow.detail == MODEL),
)
_NEXT = (
    select(ChangeRow.n, ChangeRow.claim)
    .where(ChangeRow.n > bindparam("after"), _MOVES)
    .order_by(ChangeRow.n)
    .limit(bindparam("most"))
)
_WAITING = select(func.count()).select_from(ChangeRow).where(ChangeRow.n > bindparam("after"), _MOVES)
_SINCE = (
    select(ChangeRow.claim)
    .where(
        ChangeRow.scope == bindparam("scope"),
        ChangeRow.n > bindparam("after"),
        ChangeRow.claim.is_not(None),
        _MOVES,
    )
    .distinct()
)
_LAST = select(func.max(ChangeRow.n).label("n"))
_PLACE = select(
    DeliveryRow.n,
    DeliveryRow.attempts,
    DeliveryRow.next_at,
    DeliveryRow.error,
    DeliveryRow.holder,
    DeliveryRow.until,
).where(DeliveryRow.name == bindparam("name"))
NOW = (
    select(ClaimRow.pk, ClaimRow.id, ClaimRow.scope, VectorRow.vector)
    .join(RevisionRow, and_(RevisionRow.claim == ClaimRow.pk, RevisionRow.tx_to.is_(None)), isouter=True)
    .join(TextRow, TextRow.pk == RevisionRow.text, isouter=True)
    .join(VectorRow, VectorRow.text == TextRow.pk, isouter=True)
    .where(ClaimRow.pk.in_(bindparam("keys", expanding=True)))
)


_OF_SCOPE = select(ClaimRow.pk).where(
    ClaimRow.id.in_(bindparam("keys", expanding=True)), ClaimRow.scope == bindparam("scope")
)


@dataclass(frozen=True, slots=True)
class Lag:
    """How far an index is behind. changes: how many wait.  attempts: how often the next was tried in vain.
    error: why.  retry_at: when it is tried again, in seconds since 1970 UTC."""

    changes: int
    attempts: int = 0
    error: str = ""
    retry_at: float | None = None


class Feed:
    """Feeds one index from one database. name: the index among others, in rx_deliveries."""

    def __init__(self, database: Database, backend: VectorBackend, apply: Apply) -> None:
        self.backend = backend
        self.name = backend.address
        self._database = database
        self._apply = apply
        self._holder = uuid.uuid4().hex
        self._at = 0
        self._seen = 0
        self._sending = threading.RLock()
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        self._retry_at = 0.0
        self._owned = False
        self._waits = True
        self._stopped = False

    # Where it stands

    def place(self, conn: Connection) -> int:
        """The last change that the index took, 0 before the first."""
        rows = fetch(conn, _PLACE, {"name": self.name})
        return rows[0].n if rows else 0

    def since(self, reader: Reader, scope: str, n: int) -> list[int]:
        """The claims of a scope whose vector may have changed after change `n`."""
        return [row.claim for row in reader.rows(_SINCE, scope=scope, after=n)]

    def lag(self) -> Lag:
        """How far the index is behind the database."""
        with self._database.read() as conn:
            rows = fetch(conn, _PLACE, {"name": self.name})
            waiting = fetch(conn, _WAITING, {"after": rows[0].n if rows else 0})[0][0]
        if not rows or not waiting:
            return Lag(waiting)
        row = rows[0]
        return Lag(waiting, row.attempts, row.error or "", None if row.next_at is None else row.next_at / 1e6)

    # In the transaction of the claims

    def together(self, conn: Connection) -> None:
        """Bring an index in the same database up to the last change, within the transaction of `conn`.

        If more than TOGETHER changes wait, or the index fails, none is taken along, and the thread brings it up.
        """
        at = self.place(conn)
        if fetch(conn, _WAITING, {"after": at})[0][0] > TOGETHER:
            self.wake()
            return
        trial = conn.begin_nested()
        try:
            with self.backend.joined(conn):
                while not (batch := self._batch(conn, at)).empty:
                    self._send(batch)
                    at = batch.last
                self._keep(conn, batch.last)
        except BackendError as error:
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
            self._holder, self._owned = uuid.uuid4().hex, False
        self._waits = True
        self._wake.set()
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
        self.wake()
        while self.lag().changes:
            if time.monotonic() >= until:
                return False
            time.sleep(min(LINGER, max(0.0, until - time.monotonic())))
        return self.backend.settle(max(0.0, until - time.monotonic()))

    def close(self) -> None:
        """Send what waits if the index takes it at once, and stop."""
        thread = self._thread
        if thread is None or not thread.is_alive() or self._pid != os.getpid():
            return
        self._closing.set()
        self._wake.set()
        thread.join(AT_CLOSING)
        self._stopped = True
        with suppress(RecollectxError), self._database.write() as conn:
            held = and_(DeliveryRow.name == self.name, DeliveryRow.holder == self._holder)
            conn.execute(update(DeliveryRow).where(held).values(holder=None, until=None))

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
        return max(0.0, self._retry_at - time.time()) if self._waits else None

    def catch_up(self) -> bool:
        """Send what waits; False if another process does, or the index failed."""
        with self._sending:
            if not self._anything():
                self._waits = False
                return True
            if self.backend.placement == "database":
                return self._caught_up_inside()
            if not self._take_lease():
                self._retry_at = time.time() + 0.2
                return False
            try:
                self._own()
                done = self._all_sent()
            except (BackendError, DimensionError, InvalidClaim, InvalidSetting) as error:
                self._failed(error)
                return False
            if done:
                self._retry_at = 0.0
                self._keep_place()
            return done

    def _all_sent(self) -> bool:
        """Send batch after batch until nothing waits; False if another process took the lease meanwhile."""
        renew_at = time.monotonic() + LEASE / 3
        while not self._stopped:
            with self._database.read() as conn:
                batch = self._batch(conn, self._at)
            if batch.empty:
                self._at = batch.last
                return True
            self._send(batch)
            self._at = batch.last
            if time.monotonic() > renew_at:
                if not self._take_lease():
                    return False
                renew_at = time.monotonic() + LEASE / 3
        return False

    def _caught_up_inside(self) -> bool:
        while True:
            with self._database.write() as conn, self.backend.joined(conn):
                batch = self._batch(conn, self.place(conn))
                self._send(batch)
                self._keep(conn, batch.last)
            if batch.empty:
                self._waits = False
                return True

    def _anything(self) -> bool:
        with self._database.read() as conn:
            at = max(self.place(conn), self._seen)
            if fetch(conn, _NEXT, {"after": at, "most": 1}):
                return True
            # What moves no vector need not be looked at again.
            self._seen = max(at, _last(conn))
            return False

    def _batch(self, conn: Connection, at: int) -> "_Batch":
        """What comes after change `at`."""
        rows = fetch(conn, _NEXT, {"after": at, "most": BATCH})
        if not rows:
            return _Batch(max(at, _last(conn)), empty=True)
        models = [place for place, row in enumerate(rows) if row.claim is None]
        if models and models[0] == 0:
            # Another model from here on: what the index holds means nothing any more.
            return _Batch(rows[0].n, anew=True)
        rows = rows[: models[0]] if models else rows
        return self.as_now(Reader(conn), [row.claim for row in rows], last=rows[-1].n)

    def as_now(self, reader: Reader, pks: Iterable[int], *, last: int = 0) -> "_Batch":
        """What an index must hold of these claims."""
        batch = _Batch(last)
        for row in reader.rows_in(NOW, pks):
            vector = None if row.vector is None else unpacked(row.vector)
            if vector is None or not vector.any():
                batch.gone[row.scope].append(row.id)
                continue
            if len(vector) != self.backend.dimension:
                raise InvalidSetting(
                    f"the memory holds {len(vector)}-d vectors, the index takes {self.backend.dimension}-d ones; "
                    "give the index its dimension"
                )
            batch.there[row.scope][row.id] = vector
        return batch

    def _send(self, batch: "_Batch") -> None:
        if batch.anew:
            self.backend.clear()
            self._owned = False
            self._own()
        for scope, ids in batch.gone.items():
            self.backend.delete_ids(scope, ids)
        for scope, there in batch.there.items():
            self.backend.upsert_vectors(scope, list(there), np.stack(list(there.values())))

    def _own(self) -> None:
        """See that the index is this memory's, or nobody's yet."""
        if self._owned or self.backend.placement == "database":
            return
        own, known = self._memory_id(), self.backend.ids(OWNER)
        if any(each != own for each in known):
            raise InvalidSetting(
                f"the index {self.name} is fed by another memory; give this one an index of its own, "
                "or run `recollectx reindex --take-over` to empty it and take it over"
            )
        if not known:
            mark = np.zeros((1, self.backend.dimension), np.float32)
            mark[0, 0] = 1
            self.backend.upsert_vectors(OWNER, [own], mark)
        self._owned = True

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
                    self._keep(conn, 0)
            else:
                self._wait_for_lease()
                self.backend.clear()
                self._at = 0
                self._keep_place()
            self._owned, self._seen, self._at = False, 0, 0
            self._waits = True

    def wanted(self, reader: Reader, scope: str, ids: Collection[str]) -> dict[str, Vectors]:
        """What the index must hold of these ids in a scope; nothing of those that are left out."""
        pks = [row.pk for row in reader.rows_in(_OF_SCOPE, ids, scope=scope)]
        return dict(self.as_now(reader, pks).there[scope])

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
                self._keep_place()

    def _mending(self, conn: Connection, scope: str, ids: Collection[str]) -> "_Batch":
        there = self.wanted(Reader(conn), scope, ids)
        batch = _Batch(0)
        if there:
            batch.there[scope] = there
        if gone := [id for id in ids if id not in there]:
            batch.gone[scope] = gone
        return batch

    def _wait_for_lease(self) -> None:
        """Be the process that sends, once no other does."""
        until = time.monotonic() + LEASE
        while not self._take_lease():
            if time.monotonic() >= until:
                raise DatabaseBusy(f"another process is feeding {self.name}; try again when it is done")
            time.sleep(0.1)

    # What is remembered

    def _take_lease(self) -> bool:
        """Whether this is the process that sends, for the next LEASE seconds."""
        now = int(time.time() * 1e6)
        with self._database.write() as conn:
            rows = fetch(conn, _PLACE, {"name": self.name})
            if rows and rows[0].holder not in (None, self._holder) and (rows[0].until or 0) > now:
                return False
            if not rows or rows[0].holder != self._holder:
                self._at = rows[0].n if rows else 0
            self._keep(conn, self._at, holder=self._holder, until=now + int(LEASE * 1e6))
        return True

    def _keep_place(self) -> None:
        """Remember how far the index came, and let the lease go."""
        with self._database.write() as conn:
            self._keep(conn, self._at)

    def _failed(self, error: Exception) -> None:
        log.warning("the vector index %s is behind: %s", self.name, error)
        with self._database.write() as conn:
            rows = fetch(conn, _PLACE, {"name": self.name})
            attempts = rows[0].attempts + 1 if rows else 1
            self._retry_at = time.time() + min(LONGEST, FIRST_PAUSE * 2.0 ** min(attempts, 12))
            told = {"attempts": attempts, "error": str(error)[:500], "next_at": int(self._retry_at * 1e6)}
            self._keep(conn, self._at, **told)

    def _keep(self, conn: Connection, n: int, **more: Any) -> None:
        row = {"n": n, "attempts": 0, "next_at": None, "error": None, "holder": None, "until": None, **more}
        changed = conn.execute(update(DeliveryRow).where(DeliveryRow.name == self.name).values(**row))
        if not changed.rowcount:
            conn.execute(insert(DeliveryRow).values(name=self.name, **row))


@dataclass(slots=True)
class _Batch:
    """What to send: by scope the ids that have no vector any more, and the vectors by id.

    last: the change that it leads up to.  anew: the index is to be emptied.  empty: nothing waits."""

    last: int
    anew: bool = False
    empty: bool = False
    gone: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    there: defaultdict[str, dict[str, Vectors]] = field(default_factory=lambda: defaultdict(dict))


def unpacked(vector: bytes) -> Vectors:
    """A vector as it is kept in rx_vectors."""
    return np.frombuffer(vector, "<f2").astype(np.float32)


def _last(conn: Connection) -> int:
    return int(fetch(conn, _LAST, {})[0].n or 0)
