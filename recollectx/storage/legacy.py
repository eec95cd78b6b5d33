"""Moving 0.2.7's memory in: a file that holds its tables, and nothing of ours yet, is brought over when it is opened.

One transaction, so it happens once or not at all, whoever opens at the same time; its own tables stay as they are.
A claim begins with the number its source gave it: the oldest recorded one. Each recorded move is a transaction at its
own time, then the edges arrive and everything is solved by 0.2.7's fixed steps, which the file keeps. What could not
come, and how many numbers are different from what 0.2.7 had stored, is one line of log.
"""

import json
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, func, select

from recollectx.changes import Assert, Configure
from recollectx.claims import assertion_of, check_text
from recollectx.db import legacy
from recollectx.db.engine import Database
from recollectx.db.tables import ClaimRow, SettingRow, Tx
from recollectx.edges import MAX_RELATION, SIMILAR
from recollectx.errors import InvalidClaim
from recollectx.instants import to_micros
from recollectx.propagation import PropagationConfig
from recollectx.storage.legacy_claims import claim_of
from recollectx.storage.legacy_writing import Journal, Linker
from recollectx.storage.reading import RULE
from recollectx.storage.writing import Writer

SETTING = "moved from 0.2.7"
SAME = 1e-6
_NAMED = 5
_UNRECORDED = "changed without a record, in 0.2.7"
_SETTING = select(SettingRow.value).where(SettingRow.name == SETTING, SettingRow.tx_to.is_(None))
_log = logging.getLogger("recollectx")


@dataclass(slots=True)
class Report:
    """What came of a move. lost: claims that could not come, by id.  strays: recorded moves of claims that are gone.

    gone: how many edges did not come, by reason.
    """

    claims: int = 0
    edges: int = 0
    events: int = 0
    mended: int = 0
    differing: int = 0
    strays: int = 0
    lost: list[str] = field(default_factory=list)
    gone: Counter[str] = field(default_factory=Counter)

    @property
    def smooth(self) -> bool:
        """Whether everything came as it was."""
        return not (self.differing or self.mended or self.strays or self.lost or self.gone)

    def line(self, file: object) -> str:
        """The report as one line of log."""
        parts = [
            f"moved in what 0.2.7 kept in {file}: claims {self.claims:,}, edges {self.edges:,}, "
            f"changes of confidence {self.events:,}; its own tables are as they were"
        ]
        if self.differing:
            parts.append(f"confidences that now read differently, as the edges give them: {self.differing:,}")
        if self.mended:
            parts.append(f"claims mended (their metadata says how): {self.mended:,}")
        if self.lost:
            named = ", ".join(self.lost[:_NAMED]) + (", ..." if len(self.lost) > _NAMED else "")
            parts.append(f"claims left out for want of words or of an id: {len(self.lost):,} ({named})")
        if self.strays:
            parts.append(f"changes of confidence left out, their claims being gone: {self.strays:,}")
        if self.gone:
            reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(self.gone.items()))
            parts.append(f"edges left out: {reasons}")
        return "; ".join(parts)


def move_in(database: Database, clock: Callable[[], float]) -> None:
    """Bring 0.2.7's rows over if `database` holds some and nothing of ours; say so in the log."""
    with database.read() as conn:
        if not _to_do(database, conn):
            return
    with database.write() as conn:
        if conn.execute(_SETTING).first() is not None:
            return
        with legacy.any_bytes(conn):
            report = _Move(conn, clock()).run()
    level = logging.INFO if report.smooth else logging.WARNING
    _log.log(level, "%s", report.line(database.place))


def _to_do(database: Database, conn: Connection) -> bool:
    last = legacy.highest(conn)
    if not last.get("claims"):
        return False
    moved = conn.execute(_SETTING).scalar()
    file = database.place
    if moved is not None:
        known = json.loads(moved)
        more = [name for name in last if last[name] > known.get(name, 0)]
        if more:
            _log.warning(
                "0.2.7 has written to %s since it was moved in (%s); those rows are not part of this memory",
                file,
                ", ".join(more),
            )
        return False
    if conn.execute(select(func.max(Tx.seq))).scalar():
        _log.warning(
            "%s holds claims of 0.2.7 beside this memory's own; they were not moved in, as this memory was there first",
            file,
        )
        return False
    return True


class _Move:
    """One move inside the write lock. now: seconds since 1970 UTC."""

    def __init__(self, conn: Connection, now: float) -> None:
        self.conn, self.now = conn, now
        self.tables = legacy.present(conn)
        self.report = Report()
        self.pks: dict[str, int] = {}
        self.stored: dict[int, float] = {}
        self.current: dict[int, float] = {}
        self.asserted: dict[int, float] = {}

    def run(self) -> Report:
        self._claims()
        journal = Journal(self.conn, self.current, to_micros(self.now))
        if "confidence_history" in self.tables:
            self._history(journal)
        for pk, number in self.stored.items():
            if abs(self.current[pk] - number) > SAME:
                journal.move(pk, number, to_micros(self.now), kind="manual", reason=_UNRECORDED)
        journal.flush()
        self._edges()
        rows = self.conn.execute(select(ClaimRow.pk, ClaimRow.confidence))
        self.report.differing = sum(abs(self.stored[pk] - number) > SAME for pk, number in rows)
        return self.report

    def _claims(self) -> None:
        with_history = "confidence_history" in self.tables
        asserted = legacy.first_numbers(self.conn) if with_history else {}
        writer = Writer(self.conn, clock=self._beginning, cause="kept by 0.2.7")
        writer.make(Configure(RULE, PropagationConfig().settings()))
        for batch in legacy.rows(self.conn, "claims"):
            for row in batch:
                found = claim_of(row, asserted.get(row.id), self.now)
                if found is None:
                    self.report.lost.append(str(row.id))
                    continue
                writer.make(Assert(found.claim, assertion_of(found.claim)))
                self.report.claims += 1
                self.report.mended += found.mended
                pk = self.report.claims
                self.pks[row.id] = pk
                self.asserted[pk] = self.current[pk] = found.claim.confidence
                usable = isinstance(row.confidence, int | float) and 0 <= row.confidence <= 1
                self.stored[pk] = float(row.confidence) if usable else found.claim.confidence
            writer.flush()
        writer.finish()

    def _beginning(self) -> float:
        """Before the first recorded move, and not in the future."""
        if "confidence_history" not in self.tables:
            return self.now
        first = next((batch[0].timestamp for batch in legacy.history(self.conn)), self.now)
        return min(_instant(first, self.now), self.now)

    def _history(self, journal: Journal) -> None:
        for batch in legacy.history(self.conn):
            for row in batch:
                pk = self.pks.get(row.claim_id)
                if pk is None:
                    self.report.strays += 1
                    continue
                at = to_micros(_instant(row.timestamp, self.now))
                if abs(self.current[pk] - row.old_confidence) > SAME:
                    journal.move(pk, row.old_confidence, at, kind="manual", reason=_UNRECORDED)
                journal.move(
                    pk,
                    row.new_confidence,
                    at,
                    kind=str(row.change_type),
                    reason=str(row.reason),
                    by=self.pks.get(row.caused_by_id),
                )
                self.report.events += 1
            journal.flush()

    def _edges(self) -> None:
        writer = Linker(self.conn, clock=lambda: self.now, cause="moved in from 0.2.7")
        writer.make(Configure(SETTING, legacy.highest(self.conn)))
        if "belief_edges" in self.tables:
            for batch in legacy.rows(self.conn, "belief_edges"):
                for row in batch:
                    reason = self._link(writer, row)
                    if reason:
                        self.report.gone[reason] += 1
                    else:
                        self.report.edges += 1
                writer.flush()
        writer.reconsider(pk for pk, number in self.asserted.items() if number != self.current[pk])
        writer.finish()

    def _link(self, writer: Linker, row: Any) -> str:
        """Why the edge could not come; empty if it did."""
        if row.relation == SIMILAR:
            return "similar (asked for now, not kept)"
        src, dst = self.pks.get(row.src_id), self.pks.get(row.dst_id)
        if src is None or dst is None:
            return "of claims that are gone"
        if src == dst:
            return "from a claim to itself"
        try:
            check_text(row.relation, "relation", MAX_RELATION)
        except InvalidClaim:
            return "without a usable relation"
        if not writer.link(src, dst, row.relation):
            return "kept twice (a contradiction counts from both ends)"
        return ""


def _instant(value: Any, now: float) -> float:
    """Seconds since 1970 UTC, not in the future; `now` for what is no time."""
    usable = isinstance(value, int | float) and 0 <= value <= now
    return float(value) if usable else now
