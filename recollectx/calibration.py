"""Calibration: how past confidences compare with what came of them.

An outcome is a confirmation (`Memory.confirm`), or a correction: the claim lost a dispute and is still out of use, or
another claim corrects it. What was superseded was true once, what was forgotten or retracted may have been true, so
none of these is an outcome, and neither is what was undone. Each claim counts once, by its latest outcome, with the
confidence it had just before.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import fmean

from sqlalchemy import and_, bindparam, or_, select
from sqlalchemy.orm import aliased

from recollectx.changes import Action, Change, Confirm, WriteResult
from recollectx.claims import CURRENT
from recollectx.db.tables import ChangeRow, EdgeRow, RevisionRow, StrengthRow
from recollectx.edges import Relation
from recollectx.errors import InvalidClaim
from recollectx.reach import find
from recollectx.storage.memory_store import MemoryStore
from recollectx.storage.reading import Reader
from recollectx.storage.transactions import taken_back

FEWEST = 20
BINS = 5

_BEFORE = (
    select(StrengthRow.value)
    .where(StrengthRow.claim == ChangeRow.claim, StrengthRow.tx_from < ChangeRow.seq)
    .order_by(StrengthRow.tx_from.desc())
    .limit(1)
    .correlate(ChangeRow)
    .scalar_subquery()
)
_now = aliased(RevisionRow)
_OUT_OF_USE = (
    select(_now.pk)
    .where(_now.claim == ChangeRow.claim, _now.tx_to.is_(None), _now.status.not_in(sorted(CURRENT)))
    .correlate(ChangeRow)
    .exists()
)
_STILL_CORRECTED = (
    select(EdgeRow.pk)
    .where(
        EdgeRow.dst == ChangeRow.claim,
        EdgeRow.src == ChangeRow.other,
        EdgeRow.relation == Relation.CORRECTS,
        EdgeRow.tx_to.is_(None),
    )
    .correlate(ChangeRow)
    .exists()
)
_OUTCOMES = (
    select(ChangeRow.seq, ChangeRow.claim, ChangeRow.kind, _BEFORE.label("before"))
    .where(
        ChangeRow.scope == bindparam("scope"),
        or_(
            ChangeRow.kind == "confirm",
            and_(ChangeRow.kind == "resolve", _OUT_OF_USE),
            and_(ChangeRow.kind == "link", ChangeRow.detail == Relation.CORRECTS, _STILL_CORRECTED),
        ),
    )
    .order_by(ChangeRow.n)
)


@dataclass(frozen=True, slots=True)
class Bin:
    """The outcomes of confidences from `low` up to `high`; confidence, right: their mean, and the share confirmed.

    Both are None in an empty bin.
    """

    low: float
    high: float
    count: int
    confidence: float | None
    right: float | None


@dataclass(frozen=True, slots=True)
class Calibration:
    """Past confidences against outcomes. brier: mean of (confidence - outcome) squared, None without outcomes.

    0 is perfect, and .25 what a coin gets that is always said to be even.
    enough: there are at least FEWEST outcomes; below that the numbers say little.
    """

    confirmed: int
    corrected: int
    brier: float | None
    bins: tuple[Bin, ...]

    @property
    def outcomes(self) -> int:
        """How many claims had an outcome."""
        return self.confirmed + self.corrected

    @property
    def enough(self) -> bool:
        """Whether there are enough outcomes to tell anything."""
        return self.outcomes >= FEWEST


def calibration(reader: Reader, scope: str) -> Calibration:
    """How well the confidences of a scope were calibrated."""
    latest: dict[int, tuple[float, bool]] = {}
    undone = taken_back(reader.conn)
    for row in reader.conn.execute(_OUTCOMES, {"scope": scope}):
        # Nothing was believed before the transaction that brought a claim, and nothing is kept of an erased one.
        if row.before is not None and row.seq not in undone:
            latest[row.claim] = (row.before, row.kind == "confirm")
    return judged(latest.values())


def judged(outcomes: Iterable[tuple[float, bool]]) -> Calibration:
    """The calibration of (confidence, whether it was right) pairs."""
    pairs = list(outcomes)
    brier = fmean((confidence - right) ** 2 for confidence, right in pairs) if pairs else None
    confirmed = sum(right for _, right in pairs)
    bins = []
    for number in range(BINS):
        inside = [pair for pair in pairs if min(int(pair[0] * BINS), BINS - 1) == number]
        mean = fmean(confidence for confidence, _ in inside) if inside else None
        share = fmean(right for _, right in inside) if inside else None
        bins.append(Bin(number / BINS, (number + 1) / BINS, len(inside), mean, share))
    return Calibration(confirmed, len(pairs) - confirmed, brier, tuple(bins))


def confirm(storage: MemoryStore, scope: str, claim_id: str) -> WriteResult:
    """Record that a claim turned out to be true; see `Memory.confirm`."""
    made: list[Change] = []

    def plan(reader: Reader) -> Iterator[Change]:
        known = find(reader, scope, claim_id)
        status = reader.claims([known.pk])[known.pk].status
        if status not in CURRENT:
            raise InvalidClaim(f"claim {claim_id} is {status}; only a claim in use can be confirmed")
        made.append(Confirm(known.id))
        yield from made

    done = storage.apply(plan, cause="confirm")
    (change,) = made
    assert isinstance(change, Confirm)
    return WriteResult(Action.UPDATE, change.claim_id, tuple(made), "confirmed", done.seq)
