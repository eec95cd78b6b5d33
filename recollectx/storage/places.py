"""Places: how far an index outside has come, who feeds it and what went wrong, in rx_deliveries.

Bookkeeping of something outside, no belief: it makes no transaction in the history and can be lost, as an index that is fed
again from an earlier place ends the same.
"""

import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, bindparam, insert, select, update

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
    """The place of one index. name: the index among others.  holder: what tells this process from others."""

    def __init__(self, database: Database, name: str, holder: str) -> None:
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

    def take(self, at: int) -> int | None:
        """Become the process that sends, for the next LEASE seconds; None if another one is. at: how far it came while it
        was. The place to go on from."""
        now = int(time.time() * 1e6)
        with self._database.write() as conn:
            row = self._row(conn)
            if row is not None and row.holder not in (None, self.holder) and (row.until or 0) > now:
                return None
            if row is None or row.holder != self.holder:
                at = 0 if row is None else row.n
            self.keep(conn, at, holder=self.holder, until=now + int(LEASE * 1e6))
        return at

    def keep_at(self, at: int) -> None:
        """Remember how far the index came, and let others send."""
        with self._database.write() as conn:
            self.keep(conn, at)

    def let_go(self) -> None:
        """Let others send, if it was this process that did."""
        with self._database.write() as conn:
            held = and_(DeliveryRow.name == self.name, DeliveryRow.holder == self.holder)
            conn.execute(update(DeliveryRow).where(held).values(holder=None, until=None))

    def skip(self, at: int) -> None:
        """Move on over changes that no index cares for, unless somebody sends."""
        with self._database.write() as conn:
            free = and_(DeliveryRow.name == self.name, DeliveryRow.holder.is_(None), DeliveryRow.n < at)
            conn.execute(update(DeliveryRow).where(free).values(n=at))

    def failed(self, at: int, error: Exception) -> float:
        """Remember a fault, and let others send; when to try again, in seconds since 1970 UTC."""
        with self._database.write() as conn:
            row = self._row(conn)
            attempts = 1 if row is None else row.attempts + 1
            retry_at = time.time() + min(LONGEST, FIRST_PAUSE * 2.0 ** min(attempts, 12))
            told = {"attempts": attempts, "error": str(error)[:500], "next_at": int(retry_at * 1e6)}
            self.keep(conn, at, **told)
        return retry_at

    def keep(self, conn: Connection, n: int, **more: Any) -> None:
        """Write the place within a transaction."""
        row = {"n": n, "attempts": 0, "next_at": None, "error": None, "holder": None, "until": None, **more}
        changed = conn.execute(update(DeliveryRow).where(DeliveryRow.name == self.name).values(**row))
        if not changed.rowcount:
            conn.execute(insert(DeliveryRow).values(name=self.name, **row))

    def _row(self, conn: Connection) -> Any:
        rows = fetch(conn, _PLACE, {"name": self.name})
        return rows[0] if rows else None
