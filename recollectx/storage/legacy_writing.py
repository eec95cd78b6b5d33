"""Writing what 0.2.7 left: its recorded moves, each a transaction at its own time, and its edges, many at once."""

from collections.abc import Callable, Iterable
from typing import Any

from sqlalchemy import Connection, bindparam, func, select, update

from recollectx.claims import GLOBAL
from recollectx.db.causes import MOVED_IN, RECORDED
from recollectx.db.statements import insert_rows
from recollectx.db.tables import ChangeRow, ClaimRow, EdgeRow, StrengthRow, Tx
from recollectx.edges import Relation
from recollectx.storage.writing import Writer
from recollectx.weighing import clip

_RENUMBER = (
    update(ClaimRow)
    .where(ClaimRow.pk == bindparam("key"))
    .values(confidence=bindparam("read"), strength=bindparam("weighs"))
)


class Linker(Writer):
    """Writes edges between claims that are known to be there, without asking for each."""

    def __init__(self, conn: Connection, *, clock: Callable[[], float], cause: str) -> None:
        super().__init__(conn, clock=clock, cause=cause)
        self._met: set[tuple[int, int, str]] = set()

    def reconsider(self, pks: Iterable[int]) -> None:
        """Solve these claims too: their number is not the one they were asserted with."""
        n = self.log(MOVED_IN, None, None)
        for pk in pks:
            self._shake(pk, n)

    def link(self, src: int, dst: int, relation: str) -> bool:
        """False for an edge that is there already, or a contradiction that is there from its other end."""
        ends = {(src, dst, relation)}
        if relation == Relation.CONTRADICTS:
            ends.add((dst, src, relation))
        if ends & self._met:
            return False
        self._met |= ends
        self.begin(
            EdgeRow,
            dst=dst,
            relation=relation,
            src=src,
            strength=1.0,
            derivation=None,
            at=None,
        )
        self._joined(relation, src, dst, self.log("link", GLOBAL, dst, src, relation))
        self.count += 1
        return True


class Journal:
    """Moves of confidences, one transaction each, after those already in the database.

    current: the confidence of each claim, kept up to date.  now: microseconds, the latest a move can be.
    """

    def __init__(self, conn: Connection, current: dict[int, float], now: int) -> None:
        self._conn, self._current, self._now = conn, current, now
        self._seq, self._at = conn.execute(select(Tx.seq, Tx.at).order_by(Tx.seq.desc()).limit(1)).one()
        self._n = conn.execute(select(func.max(ChangeRow.n))).scalar() or 0
        self._rows: dict[type, list[dict[str, Any]]] = {Tx: [], ChangeRow: [], StrengthRow: []}
        self._moved: set[int] = set()

    def move(self, pk: int, number: float, at: int, *, kind: str, reason: str, by: int | None = None) -> None:
        """Let the confidence of a claim be `number` from `at` on, or from the move before, if that was later."""
        self._seq, self._n = self._seq + 1, self._n + 1
        self._at = max(self._at, min(at, self._now))
        self._current[pk] = number
        self._moved.add(pk)
        self._rows[Tx].append({"seq": self._seq, "at": self._at, "cause": reason})
        self._rows[ChangeRow].append(
            {
                "n": self._n,
                "seq": self._seq,
                "scope": GLOBAL,
                "kind": RECORDED,
                "claim": pk,
                "other": by,
                "detail": kind,
            }
        )
        self._rows[StrengthRow].append(
            {
                "claim": pk,
                "tx_from": self._seq,
                "value": number,
                "strength": clip(number),
                "change": self._n,
            }
        )

    def flush(self) -> None:
        """Write what has gathered."""
        for mapped, rows in self._rows.items():
            if rows:
                insert_rows(self._conn, mapped.__table__, rows)  # type: ignore[attr-defined]
                self._rows[mapped] = []
        if self._moved:
            numbers = ((pk, self._current[pk]) for pk in sorted(self._moved))
            self._conn.execute(
                _RENUMBER, [{"key": pk, "read": value, "weighs": clip(value)} for pk, value in numbers]
            )
            self._moved.clear()
