"""Standing: which claims are in force, as it follows from the graph.

An asserted claim stands while a source stands behind it, or while something it derives from does; a derived one only
on its derivations. Circular derivations hold nothing up. A superseded claim stays so while some claim that took its
place, directly or by taking the place of one that fell, is itself backed; else it comes back as what it was, valid as
long as was stated. A claim that rests on what it would supersede supersedes nothing: of the ways to read such a knot the one
that keeps the premise is taken, so that the result depends on the graph alone.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import bindparam, select

from recollectx.claims import CURRENT, Basis, Status
from recollectx.db.tables import ClaimRow, EdgeRow, RevisionRow
from recollectx.edges import Relation
from recollectx.solving import held
from recollectx.storage.reading import Reader

FOLLOWS = CURRENT | {Status.UNSUPPORTED, Status.SUPERSEDED}
"""The statuses that follow from the graph; those that were decided (forgotten, expired) stay as they are."""
BACKED = CURRENT | {Status.SUPERSEDED, Status.EXPIRED}

_ROWS = (
    select(
        ClaimRow.pk,
        ClaimRow.created_at,
        RevisionRow.status,
        RevisionRow.basis,
        RevisionRow.valid_from,
        RevisionRow.valid_to,
        RevisionRow.stated_to,
    )
    .join(RevisionRow, RevisionRow.claim == ClaimRow.pk)
    .where(ClaimRow.pk.in_(bindparam("keys", expanding=True)), RevisionRow.tx_to.is_(None))
)
_SUPERSEDERS = select(EdgeRow.src, EdgeRow.dst, EdgeRow.at).where(
    EdgeRow.dst.in_(bindparam("keys", expanding=True)),
    EdgeRow.relation == Relation.SUPERSEDES,
    EdgeRow.tx_to.is_(None),
)


@dataclass(frozen=True, slots=True)
class Standing:
    """What a claim's status and end of validity (microseconds) must be."""

    status: Status
    valid_to: int | None


def restand(
    reader: Reader, changed: Iterable[int], *, now: int, freed: Collection[int] = ()
) -> dict[int, Standing]:
    """What must change after `changed` claims lost or gained ground, through any depth.

    now: microseconds since 1970 UTC.  freed: claims that lost an edge from what superseded them; one that was stored
    as superseded without any stays so.
    """
    region = _region(reader, changed)
    if not region:
        return {}
    board = _load(reader, region, now, freed)
    superseded = board.superseded()
    backed = board.backed(superseded)
    changes = {}
    for pk, row in board.rows.items():
        if row.status not in FOLLOWS or pk in board.fixed:
            continue
        status = board.status(pk, backed, superseded)
        if status is None:
            status = Status(row.status) if row.status in CURRENT else reader.was(pk)
        wanted = Standing(status, board.ends(pk, backed, superseded))
        if wanted != Standing(Status(row.status), row.valid_to):
            changes[pk] = wanted
    return changes


def _since(row: Any) -> int:
    return int(row.created_at if row.valid_from is None else row.valid_from)


@dataclass
class _Board:
    """The claims that may change, and what they rest on and give way to.

    rows: by claim.  derivations: alternative sets of premises.  grounded: stand by themselves.  usable: premises
    from outside that do.  over: by claim what superseded it and when.  outside: superseders that cannot change and
    are backed.  fixed: superseded without an edge that says by what.
    """

    rows: Mapping[int, Any]
    now: int
    derivations: dict[int, list[frozenset[int]]] = field(default_factory=lambda: defaultdict(list))
    grounded: set[int] = field(default_factory=set)
    usable: set[int] = field(default_factory=set)
    over: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    outside: set[int] = field(default_factory=set)
    fixed: set[int] = field(default_factory=set)

    def backed(self, superseded: set[int]) -> set[int]:
        """What stands, or would if nothing had taken its place, given what cannot be a premise."""
        derivations = {
            pk: [premises for premises in self.derivations[pk] if not premises & superseded]
            for pk, row in self.rows.items()
            if pk not in self.grounded and row.status in FOLLOWS
        }
        return self.grounded | self.outside | held(derivations, self.grounded | self.usable)

    def superseded(self) -> set[int]:
        """The least set that follows from itself, taking turns between too few and too many."""
        few = set(self.fixed)
        while True:
            many = self._given_way(self.backed(few))
            more = self._given_way(self.backed(many))
            if more == few:
                return few
            few = more

    def _given_way(self, backed: set[int]) -> set[int]:
        ends = {pk: self._end(pk, backed) for pk, row in self.rows.items() if row.status in FOLLOWS}
        return self.fixed | {pk for pk, end in ends.items() if end is not None and end <= self.now}

    def _end(self, pk: int, backed: set[int]) -> int | None:
        """When something that is backed took its place; what fell is looked through."""
        found, seen, waiting = [], {pk}, [pk]
        while waiting:
            for src, at in self.over.get(waiting.pop(), ()):
                if src in backed:
                    found.append(at)
                elif src not in seen:
                    seen.add(src)
                    waiting.append(src)
        return max(min(found), _since(self.rows[pk])) if found else None

    def ends(self, pk: int, backed: set[int], superseded: set[int]) -> int | None:
        stated: int | None = self.rows[pk].stated_to
        end = self._end(pk, backed)
        if end is None or (end <= self.now and pk not in superseded):
            return stated
        return end if stated is None else min(end, stated)

    def status(self, pk: int, backed: set[int], superseded: set[int]) -> Status | None:
        """Why it is out of use, None if it is in use."""
        row = self.rows[pk]
        if pk not in backed:
            rests = row.basis == Basis.DERIVED or self.derivations[pk] or row.status == Status.UNSUPPORTED
            return Status.UNSUPPORTED if rests else Status.RETIRED
        if pk in superseded:
            return Status.SUPERSEDED
        return None


def _load(reader: Reader, region: set[int], now: int, freed: Collection[int]) -> _Board:
    board = _Board({row.pk: row for row in reader.rows_in(_ROWS, region)}, now)
    jointly: dict[tuple[int, str], set[int]] = defaultdict(set)
    for edge in reader.edges_in(board.rows):
        if edge.relation == Relation.DERIVES and edge.derivation is None:
            board.derivations[edge.dst].append(frozenset((edge.src,)))
        elif edge.relation == Relation.DERIVES and edge.derivation is not None:
            jointly[edge.dst, edge.derivation].add(edge.src)
    for (dst, _), premises in jointly.items():
        board.derivations[dst].append(frozenset(premises))
    voiced = set(reader.voices(board.rows))
    board.grounded = {
        pk
        for pk, row in board.rows.items()
        if row.basis == Basis.ASSERTED and pk in voiced and row.status in FOLLOWS
    }
    board.outside = {pk for pk, row in board.rows.items() if row.status == Status.EXPIRED}
    premises = {pk for options in board.derivations.values() for option in options for pk in option}
    further = {row.pk: row for row in reader.rows_in(_ROWS, premises - set(board.rows))}
    board.usable = {pk for pk, row in further.items() if row.status in CURRENT}
    _look_up(reader, board)
    board.fixed = {
        pk
        for pk, row in board.rows.items()
        if row.status == Status.SUPERSEDED and not board.over.get(pk) and pk not in freed
    }
    return board


def _look_up(reader: Reader, board: _Board) -> None:
    """Fill `over` upwards: past the region as long as what superseded fell."""
    known = dict(board.rows)
    ring = set(known)
    while ring:
        edges = list(reader.rows_in(_SUPERSEDERS, ring))
        sources = {row.pk: row for row in reader.rows_in(_ROWS, {edge.src for edge in edges} - set(known))}
        known |= sources
        for edge in edges:
            if edge.src in known:
                board.over[edge.dst].append(
                    (edge.src, _since(known[edge.src]) if edge.at is None else edge.at)
                )
        board.outside |= {pk for pk, row in sources.items() if row.status in BACKED}
        ring = {pk for pk, row in sources.items() if row.status not in BACKED}


def _region(reader: Reader, changed: Iterable[int]) -> set[int]:
    """`changed`, what stands only on derivations from one of them, and what one of them superseded.

    Below a superseded claim that is backed nothing changes: it took the place of those whoever took its own.
    """
    region: set[int] = set()
    through = set(changed)
    onto = set(through)
    while onto:
        region |= onto
        out = reader.edges_out(onto)
        below = {e.dst for e in out if e.relation == Relation.SUPERSEDES and e.src in through} - region
        further = {e.dst for e in out if e.relation == Relation.DERIVES} - through
        voiced = set(reader.voices(further))
        rows = {row.pk: row for row in reader.rows_in(_ROWS, below | further)}
        resting = {pk for pk in further & set(rows) if rows[pk].basis == Basis.DERIVED or pk not in voiced}
        through |= resting | {pk for pk in below & set(rows) if rows[pk].status not in BACKED}
        onto = resting | (below & set(rows))
    return region
