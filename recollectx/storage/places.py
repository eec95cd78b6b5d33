"""Places: how far an index outside has come, who feeds it and what went wrong, in rx_deliveries.

Bookkeeping of something outside, no belief: it makes no transaction in the history and can be lost, as an index that is fed
again from an earlier place ends the same.

One rule keeps several processes from spoiling an index. Whoever sends writes the place only while it is the one that sends and
the place is still where it left it. Who finds that another one sends by now may have sent something older after
something newer, and lowers the place to before where it began, and in any case by one; a lowered place is never written
over: who sends goes back to it.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, bindparam, func, insert, select, update

from recollectx.db.engine import Database
from recollectx.db.statements import fetch
from recollectx.db.tables import DeliveryRow
from recollectx.errors import StorageError
from recollectx.storage.batches import waiting

LEASE = 10.0
"""Seconds for which a process that sends keeps others from it, at least; after a kill the index waits as long. More where a
request may take longer: see lease_of."""
MARGIN = 1.5
NO_LEASE = 600.0
"""A lease that has more seconds left than this, and than one taken now, was taken before the clock was set back."""
FIRST_PAUSE, LONGEST = 0.25, 60.0
EMPTYING = -(2**40)
"""The place of an index, as all below, that is to be emptied before anything is sent; until that is done its owner may empty
it, whatever it holds, as a fault may have left vectors in it without the mark that tells whose they are. Places that were
lowered from 0 lie between, and say nothing of that."""
_WELL: dict[str, Any] = {"attempts": 0, "next_at": None, "error": None}

_PLACE = select(
    DeliveryRow.n,
    DeliveryRow.attempts,
    DeliveryRow.next_at,
    DeliveryRow.error,
    DeliveryRow.holder,
    DeliveryRow.until,
).where(DeliveryRow.name == bindparam("name"))


Begin = Callable[[], AbstractContextManager[Connection]]


class Lost(Exception):
    """Another process sends by now."""


@dataclass(frozen=True, slots=True)
class Lag:
    """How far an index is behind. changes: how many wait.  attempts: how often the next was tried in vain.
    error: why.  retry_at: when it is tried again, in seconds since 1970 UTC."""

    changes: int
    attempts: int = 0
    error: str = ""
    retry_at: float | None = None


def lease_of(answers_within: float) -> float:
    """The lease for an index whose requests take up to so many seconds.

    Longer than those, counted from the last renewal: a request of a process that was killed is carried out, or given up,
    before another one sends. The client's time-out is not cut to the lease instead, as a service that is only slow would
    then never take a batch.
    """
    return max(LEASE, MARGIN * answers_within)


class Gate:
    """The database for whoever feeds in a thread: once shut, it is not touched any more, as it may be closed or moved."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.renew()

    def renew(self) -> None:
        """Begin anew in a process that was forked off."""
        self._reading, self._writing = threading.Lock(), threading.Lock()
        self._shut = False

    def shut(self, timeout: float) -> None:
        """Let nobody in; waits for who is on the way in, up to `timeout` seconds."""
        self._shut = True
        for entering in (self._reading, self._writing):
            if entering.acquire(timeout=timeout):
                entering.release()

    def read(self) -> AbstractContextManager[Connection]:
        """Like Database.read; StorageError once it is shut."""
        return self._entered(self._database.read, self._reading)

    def write(self) -> AbstractContextManager[Connection]:
        """Like Database.write; StorageError once it is shut."""
        return self._entered(self._database.write, self._writing)

    @contextmanager
    def _entered(self, begin: Begin, entering: threading.Lock) -> Iterator[Connection]:
        with ExitStack() as held:
            with entering:
                if self._shut:
                    raise StorageError("the memory was closed while its index was fed")
                conn = held.enter_context(begin())
            yield conn


class Place:
    """The place of one index, and how far this process has come.

    name: the index among others.  holder: what tells this process from others.  lease: seconds.
    at: where the place was left.  sent: what the index took from this process, at least `at`; it goes on from there after
    a fault unless another one sent meanwhile.  since: from where on something is sent again if it came late.
    """

    def __init__(self, gate: Gate, name: str, holder: str, *, lease: float = LEASE) -> None:
        self.lease = lease
        self.name = name
        self.holder = holder
        self.at = self.sent = self.since = 0
        self._gate = gate
        self._renew_at = -math.inf

    def of(self, conn: Connection) -> int:
        """The last change that the index took and shows, 0 or less before the first."""
        row = self._row(conn)
        return 0 if row is None else int(row.n)

    def lag(self, goal: int | None = None) -> Lag:
        """How far the index is behind the database, or behind change `goal`."""
        with self._gate.read() as conn:
            row = self._row(conn)
            behind = waiting(conn, 0 if row is None else row.n, goal)
        if row is not None and row.n <= EMPTYING:
            behind = max(1, behind)
        if row is None or not behind:
            return Lag(behind)
        retry_at = None if row.next_at is None else row.next_at / 1e6
        return Lag(behind, row.attempts, row.error or "", retry_at)

    # Whoever sends

    def take(self) -> bool:
        """Become the process that sends, for as long as the lease lasts; False if another one is."""
        with self._gate.write() as conn:
            row, now = self._row(conn), _now(conn)
            until, latest = (now + int(seconds * 1e6) for seconds in (self.lease, max(self.lease, NO_LEASE)))
            if row is None:
                conn.execute(insert(DeliveryRow).values(name=self.name, n=0, attempts=0))
            elif row.holder != self.holder and row.until is not None and now < row.until <= latest:
                return False
            if row is None or row.holder != self.holder:
                self._go_on_from(0 if row is None else int(row.n))
                self.since = self.at
            elif row.n != self.at:
                self._go_on_from(int(row.n))
            self._update(conn, holder=self.holder, until=until)
        self._renew_at = time.monotonic() + self.lease / 3
        return True

    def stay(self) -> None:
        """Stay the process that sends; to be called before every request. Raises Lost."""
        if time.monotonic() >= self._renew_at:
            self._write(renew=True)

    def move(self, to: int) -> None:
        """Let the index count as fed up to change `to`, and stay the process that sends. Raises Lost.

        Where the place was lowered meanwhile it stays, and what was sent after it counts as not sent.
        """
        self._write(renew=True, n=to, **(_WELL if to > self.at else {}))

    def empty(self) -> None:
        """Let the index count as one that is to be emptied. Raises Lost."""
        # What came late would take away what was sent after it.
        self.since = min(self.since, EMPTYING)
        self._write(renew=True, n=EMPTYING)

    def release(self, to: int | None = None) -> None:
        """Let others send, after all went well. Raises Lost. to: where the place is moved to, as by `move`."""
        moved: dict[str, Any] = {} if to is None else {"n": to}
        self._write(until=None, **moved, **_WELL)
        self.since = self.at

    def failed(self, error: Exception) -> float:
        """Remember a fault, and let others send; in how many seconds to try again."""
        with self._gate.read() as conn:
            row = self._row(conn)
            now = _now(conn)
        attempts = 1 if row is None else row.attempts + 1
        pause = float(min(LONGEST, FIRST_PAUSE * 2.0 ** min(attempts, 12)))
        told: dict[str, Any] = {
            "attempts": attempts,
            "error": str(error)[:500],
            "next_at": now + int(pause * 1e6),
        }
        try:
            self._write(until=None, **told)
        except Lost:
            return 0.0
        return pause

    def _write(self, *, renew: bool = False, **values: Any) -> None:
        with self._gate.write() as conn:
            row = self._row(conn)
            lost = row is None or row.holder != self.holder
            if renew:
                values["until"] = _now(conn) + int(self.lease * 1e6)
            if row is not None and lost:
                self._update(conn, n=min(row.n, self.since) - 1)
            elif row is not None:
                if "n" in values:
                    values["n"] = self._moved(int(row.n), values["n"])
                self._update(conn, **values)
        if lost:
            raise Lost
        if renew:
            self._renew_at = time.monotonic() + self.lease / 3

    def _moved(self, now: int, to: int) -> int:
        """Where the place is after it was to be moved to `to`. now: where it is."""
        if to <= EMPTYING:
            self._go_on_from(min(now, to))
        elif now != self.at:
            self._go_on_from(now)
        else:
            self.at, self.sent = to, max(to, self.sent)
        return self.at

    def _go_on_from(self, n: int) -> None:
        self.at = self.sent = n
        self.since = min(self.since, n)

    # Anybody

    def skip(self, read: int, at: int) -> None:
        """Move on from the place that was read over changes that no index cares for, unless somebody sends."""
        with self._gate.write() as conn:
            free = and_(DeliveryRow.name == self.name, DeliveryRow.until.is_(None), DeliveryRow.n == read)
            conn.execute(update(DeliveryRow).where(free).values(n=at))

    def keep(self, conn: Connection, n: int) -> None:
        """Write the place within the transaction that brings an index beside the claims to it, whoever sends."""
        if not self._update(conn, n=n, **_WELL):
            conn.execute(insert(DeliveryRow).values(name=self.name, n=n, **_WELL))

    def _update(self, conn: Connection, **values: Any) -> int:
        return conn.execute(
            update(DeliveryRow).where(DeliveryRow.name == self.name).values(**values)
        ).rowcount

    def _row(self, conn: Connection) -> Any:
        rows = fetch(conn, _PLACE, {"name": self.name})
        return rows[0] if rows else None


def _now(conn: Connection) -> int:
    """Microseconds since 1970 UTC by the clock that all processes share: the server's, or the machine's."""
    if conn.dialect.name == "postgresql":
        seconds = conn.execute(select(func.extract("epoch", func.clock_timestamp()))).scalar()
        return int(float(seconds or 0) * 1e6)
    return int(time.time() * 1e6)
