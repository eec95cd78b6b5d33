"""Places: how far an index outside has come, who feeds it and what went wrong, in rx_deliveries.

Bookkeeping of something outside, no belief: it makes no transaction in the history and can be lost, as an index that is fed
again from an earlier place ends the same.
"""

import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, bindparam, func, insert, select, update

from recollectx.db.engine import Database
from recollectx.db.statements import fetch
from recollectx.db.tables import DeliveryRow
from recollectx.storage.batches import waiting

LEASE = 10.0
"""Seconds for which a process that sends keeps others from it, longer than a batch takes; after a kill the index waits as long."""
FIRST_PAUSE, LONGEST = 0.25, 60.0

_PLACE = select(
    DeliveryRow.n,
    DeliveryRow.attempts,
    DeliveryRow.next_at,
    DeliveryRow.error,
    DeliveryRow.holder,
    DeliveryRow.until,
).where(DeliveryRow.name == bindparam("name"))


@dataclass(frozen=True, slots=True)
class Lag:
    """How far an index is behind. changes: how many wait.  attempts: how often the next was tried in vain.
    error: why.  retry_at: when it is tried again, in seconds since 1970 UTC."""

    changes: int
    attempts: int = 0
    error: str = ""
    retry_at: float | None = None


class Place:
    """The place of one index. name: the index among others.  holder: what tells this process from others.
    lease: seconds."""

    def __init__(self, database: Database, name: str, holder: str, *, lease: float = LEASE) -> None:
        self.lease = lease
        self.name = name
        self.holder = holder
        self._database = database

    def of(self, conn: Connection) -> int:
        """The last change that the index took, 0 before the first."""
        row = self._row(conn)
        return 0 if row is None else int(row.n)

    def lag(self) -> Lag:
        """How far the index is behind the database."""
        with self._database.read() as conn:
            row = self._row(conn)
            behind = waiting(conn, 0 if row is None else row.n)
        if row is None or not behind:
            return Lag(behind)
        retry_at = None if row.next_at is None else row.next_at / 1e6
        return Lag(behind, row.attempts, row.error or "", retry_at)

    def take(self) -> int | None:
        """Become the process that sends, for as long as the lease lasts: the place to go on from. None if another one is."""
        with self._database.write() as conn:
            row, now = self._row(conn), _now(conn)
            if row is not None and row.holder not in (None, self.holder) and (row.until or 0) > now:
                return None
            at = 0 if row is None else int(row.n)
            self.keep(conn, at, holder=self.holder, until=now + int(self.lease * 1e6))
        return at

    def renew(self, at: int) -> bool:
        """Remember how far the index came, and stay the process that sends; False if it is no more."""
        with self._database.write() as conn:
            return self._kept(conn, at, holder=self.holder, until=_now(conn) + int(self.lease * 1e6))

    def keep_at(self, at: int, *, since: int) -> bool:
        """Remember how far the index came, and let others send; False if another one does already.

        since: where this process began. What it sent may then have come after something newer of the other, so it is
        sent from there on again.
        """
        with self._database.write() as conn:
            kept = self._kept(conn, at)
            if not kept:
                self._back_to(conn, since)
            return kept

    def failed(self, at: int, error: Exception, *, since: int) -> float:
        """Remember a fault, and let others send; when to try again, in seconds since 1970 UTC.

        since: where this process began: if another one sends by now, it sends from there on again.
        """
        with self._database.write() as conn:
            row = self._row(conn)
            attempts = 1 if row is None else row.attempts + 1
            pause = min(LONGEST, FIRST_PAUSE * 2.0 ** min(attempts, 12))
            told = {"attempts": attempts, "error": str(error)[:500], "next_at": _now(conn) + int(pause * 1e6)}
            if not self._kept(conn, at, **told):
                self._back_to(conn, since)
        return time.time() + pause

    def _back_to(self, conn: Connection, at: int) -> None:
        """Have sent again, by whoever sends, what came after change `at`."""
        there = and_(DeliveryRow.name == self.name, DeliveryRow.n > at)
        conn.execute(update(DeliveryRow).where(there).values(n=at))

    def skip(self, read: int, at: int) -> None:
        """Move on from the place that was read over changes that no index cares for, unless somebody sends."""
        with self._database.write() as conn:
            free = and_(DeliveryRow.name == self.name, DeliveryRow.holder.is_(None), DeliveryRow.n == read)
            conn.execute(update(DeliveryRow).where(free).values(n=at))

    def keep(self, conn: Connection, n: int, **more: Any) -> None:
        """Write the place within a transaction, whoever sends."""
        changed = conn.execute(
            update(DeliveryRow).where(DeliveryRow.name == self.name).values(**_row_of(n, more))
        )
        if not changed.rowcount:
            conn.execute(insert(DeliveryRow).values(name=self.name, **_row_of(n, more)))

    def _kept(self, conn: Connection, n: int, **more: Any) -> bool:
        """Write the place if it is this process that sends."""
        own = and_(DeliveryRow.name == self.name, DeliveryRow.holder == self.holder)
        return bool(conn.execute(update(DeliveryRow).where(own).values(**_row_of(n, more))).rowcount)

    def _row(self, conn: Connection) -> Any:
        rows = fetch(conn, _PLACE, {"name": self.name})
        return rows[0] if rows else None


def _row_of(n: int, more: dict[str, Any]) -> dict[str, Any]:
    return {"n": n, "attempts": 0, "next_at": None, "error": None, "holder": None, "until": None, **more}


def _now(conn: Connection) -> int:
    """Microseconds since 1970 UTC by the clock that all processes share: the server's, or the machine's."""
    if conn.dialect.name == "postgresql":
        seconds = conn.execute(select(func.extract("epoch", func.clock_timestamp()))).scalar()
        return int(float(seconds or 0) * 1e6)
    return int(time.time() * 1e6)
