"""Disputes: the review queue of a scope, and how one is closed.

In the queue are the pairs of claims in use that contradict each other while neither clearly wins (recollectx.doubt).
Closing one puts the loser out of use, reversibly; then it weighs nothing on the winner either.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import bindparam, select
from sqlalchemy.orm import aliased

from recollectx.changes import Action, Change, Resolve, WriteResult
from recollectx.claims import CURRENT, GLOBAL, Claim, check_text
from recollectx.db.tables import ClaimRow, EdgeRow, RevisionRow, Tx
from recollectx.doubt import disputed, gap
from recollectx.edges import Relation
from recollectx.errors import InvalidClaim, InvalidQuery
from recollectx.filters import holds
from recollectx.instants import from_micros
from recollectx.query import Query
from recollectx.reach import find
from recollectx.storage.memory_store import MemoryStore
from recollectx.storage.reading import Reader

LONGEST_REASON = 1_000

_Src, _Dst = aliased(ClaimRow), aliased(ClaimRow)
_SrcNow, _DstNow = aliased(RevisionRow), aliased(RevisionRow)
_PAIRS = (
    select(EdgeRow.src, EdgeRow.dst, Tx.at)
    .join(_Dst, _Dst.pk == EdgeRow.dst)
    .join(_Src, _Src.pk == EdgeRow.src)
    .join(_SrcNow, _SrcNow.claim == EdgeRow.src)
    .join(_DstNow, _DstNow.claim == EdgeRow.dst)
    .join(Tx, Tx.seq == EdgeRow.tx_from)
    .where(
        EdgeRow.tx_to.is_(None),
        EdgeRow.relation == Relation.CONTRADICTS,
        _SrcNow.tx_to.is_(None),
        _DstNow.tx_to.is_(None),
        _SrcNow.status.in_(sorted(CURRENT)),
        _DstNow.status.in_(sorted(CURRENT)),
        _Dst.scope == bindparam("scope"),
        _Src.scope.in_((bindparam("scope"), GLOBAL)),
    )
    .order_by(EdgeRow.pk)
)


_ANYTHING = Query()


@dataclass(frozen=True, slots=True)
class OpenDispute:
    """Two claims that contradict each other, the more confident first; gap: between them, in log-odds.

    since: when the contradiction was recorded, seconds since 1970 UTC.
    """

    claim: Claim
    rival: Claim
    since: float
    gap: float


def queue(reader: Reader, scope: str, now: float) -> list[OpenDispute]:
    """The open disputes of a scope, the most even first, then the oldest. now: seconds since 1970 UTC."""
    rows = reader.conn.execute(_PAIRS, {"scope": scope}).all()
    claims = reader.claims(pk for row in rows for pk in (row.src, row.dst))
    found: dict[frozenset[int], OpenDispute] = {}
    for row in rows:
        one, other = sorted((claims[row.dst], claims[row.src]), key=lambda each: -each.confidence)
        current = holds(one, _ANYTHING, now) and holds(other, _ANYTHING, now)
        if current and disputed(one.confidence, other.confidence):
            apart = gap(one.confidence, other.confidence)
            found.setdefault(
                frozenset((row.src, row.dst)), OpenDispute(one, other, from_micros(row.at), apart)
            )
    return sorted(found.values(), key=lambda each: (each.gap, each.since))


def resolve(storage: MemoryStore, scope: str, keep: str, drop: str | None, reason: str) -> WriteResult:
    """Close a dispute; see `Memory.resolve`."""
    if reason:
        check_text(reason, "reason", LONGEST_REASON)
    made: list[Change] = []
    kept: list[str] = []

    def plan(reader: Reader) -> Iterator[Change]:
        winner = find(reader, scope, keep, also_global=True)
        claims = reader.claims([winner.pk])
        if drop is None:
            loser = _only_rival(queue(reader, scope, storage.clock()), winner.id)
        else:
            known = find(reader, scope, drop)
            loser = known.id
            if known.pk == winner.pk or not _contradict(reader, winner.pk, known.pk):
                raise InvalidClaim(f"claim {drop} does not contradict {keep}; there is nothing to resolve")
        if claims[winner.pk].status not in CURRENT:
            raise InvalidClaim(f"claim {keep} is {claims[winner.pk].status}; it cannot be kept")
        made.append(Resolve(winner.id, loser))
        kept.append(winner.id)
        yield from made

    done = storage.apply(plan, cause=f"resolve: {reason}" if reason else "resolve")
    return WriteResult(Action.UPDATE, kept[0], tuple(made), reason or "dispute resolved", done.seq)


def _only_rival(open_disputes: list[OpenDispute], winner: str) -> str:
    pairs = [(each.claim.id, each.rival.id) for each in open_disputes]
    rivals = [other for pair in pairs if winner in pair for other in pair if other != winner]
    if not rivals:
        raise InvalidClaim(f"claim {winner} is in no open dispute; name the claim to drop")
    if len(rivals) > 1:
        raise InvalidQuery(f"claim {winner} is disputed by several; name one to drop: {', '.join(rivals)}")
    return rivals[0]


def _contradict(reader: Reader, one: int, other: int) -> bool:
    """Whether both are in use and contradict each other."""
    claims = reader.claims([one, other])
    both = {claim.status in CURRENT for claim in claims.values()} == {True}
    return both and any(
        edge.relation == Relation.CONTRADICTS and {edge.src, edge.dst} == {one, other}
        for edge in reader.bearing([one, other])
    )
