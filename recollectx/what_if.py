"""What if: what would move if something were said, taken back or trusted otherwise, and what rests on a claim.

Nothing is estimated: the changes are carried out in a transaction, read, and rolled back. So the numbers are those
that the same changes would give a moment later, and asking waits its turn like a write.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from recollectx.changes import Change, Link, Retire, Retract, Trust, WriteResult
from recollectx.claims import CURRENT, Claim, Status, check_text
from recollectx.edges import Edge, Relation
from recollectx.errors import InvalidQuery
from recollectx.intake import Intake
from recollectx.reach import find
from recollectx.storage.memory_store import MemoryStore
from recollectx.storage.reading import Reader
from recollectx.traces import Trace, Traces

NOISE = 1e-9
Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True)
class Move:
    """A claim before and after; old and old_status are None for a claim that would be new."""

    claim_id: str
    text: str
    old: float | None
    new: float
    old_status: Status | None
    new_status: Status

    @property
    def size(self) -> float:
        """How far what is believed moves: a claim that is not in use is believed at 0."""
        before = self.old if self.old is not None and self.old_status in CURRENT else 0.0
        after = self.new if self.new_status in CURRENT else 0.0
        return abs(after - before)


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Everything that would move, the greatest move first. results: what would come of each claim asserted."""

    moves: tuple[Move, ...]
    results: tuple[WriteResult, ...] = ()

    def of(self, claim_id: str) -> Move | None:
        """The move of one claim, None if it would stay as it is."""
        return next((move for move in self.moves if move.claim_id == claim_id), None)


@dataclass(frozen=True, slots=True)
class Impact:
    """What rests on a claim, each with what it would become without it.

    derived: through any depth.  supported, contradicted: directly.  moves: everything that would move, itself
    included.  answers: those recorded that had it to go on, newest first.
    """

    derived: tuple[Move, ...]
    supported: tuple[Move, ...]
    contradicted: tuple[Move, ...]
    moves: tuple[Move, ...]
    answers: tuple[Trace, ...]


def several(given: Any, kind: type[Kind], name: str) -> list[Kind]:
    """One value of a kind, or several of them, as a list. Raises InvalidQuery for anything else."""
    listed = [given] if isinstance(given, kind) or not isinstance(given, Iterable) else list(given)
    for each in listed:
        if not isinstance(each, kind):
            raise InvalidQuery(f"{name} takes one {kind.__name__} or several, got {each!r}")
    return listed


def what_if(
    storage: MemoryStore,
    scope: str,
    intake: Intake,
    *,
    withdraw: Sequence[str],
    retract: Sequence[str],
    assert_: Sequence[Claim],
    relate: Sequence[Edge],
    trust: Mapping[str, float],
) -> WhatIf:
    """See `Memory.what_if`. assert_: claims of `scope`."""
    if not isinstance(trust, Mapping):
        raise InvalidQuery(f"trust takes levels by source, such as {{'ana': 0.5}}, got {trust!r}")
    results: list[WriteResult] = []
    store = intake.planned(assert_, results)

    def plan(reader: Reader) -> Iterator[Change]:
        for source, level in trust.items():
            yield Trust(check_text(source, "source"), level, scope)
        yield from store(reader)
        for edge in relate:
            src, dst = find(reader, scope, edge.src, also_global=True), find(reader, scope, edge.dst)
            yield Link(Edge(src.id, dst.id, edge.relation, edge.strength, edge.derivation))
        for source in retract:
            for known in reader.identities(reader.asserted_by(source, scope)).values():
                yield Retract(known.id, source)
        for claim_id in withdraw:
            yield from _withdrawn(reader, scope, claim_id)

    return WhatIf(_moves(storage.rehearse(plan), scope), tuple(results))


def impact(storage: MemoryStore, scope: str, traces: Traces, claim_id: str) -> Impact:
    """See `Memory.impact`."""
    around: dict[str, list[Claim]] = {}

    def plan(reader: Reader) -> Iterator[Change]:
        around.update(_around(reader, find(reader, scope, claim_id).pk, scope))
        yield from _withdrawn(reader, scope, claim_id)

    moves = _moves(storage.rehearse(plan), scope)
    moved = {move.claim_id: move for move in moves}

    def effects(name: str) -> tuple[Move, ...]:
        found = (moved.get(claim.id) or _move(claim, claim) for claim in around[name])
        return tuple(sorted(found, key=lambda move: -move.size))

    answers = tuple(traces.using(claim_id))
    return Impact(effects("derived"), effects("supported"), effects("contradicted"), moves, answers)


def _withdrawn(reader: Reader, scope: str, claim_id: str) -> Iterator[Change]:
    known = find(reader, scope, claim_id)
    if reader.claims([known.pk])[known.pk].status != Status.RETIRED:
        yield Retire(known.id)


def _around(reader: Reader, root: int, scope: str) -> dict[str, list[Claim]]:
    """The claims of `scope` that derive from `root` through any depth, and those it supports or contradicts."""
    derived: set[int] = set()
    frontier = {root}
    while frontier:
        onward = {edge.dst for edge in reader.edges_out(frontier) if edge.relation == Relation.DERIVES}
        frontier = onward - derived - {root}
        derived |= frontier
    near = reader.bearing([root]) + reader.edges_out([root])
    supported = {edge.dst for edge in near if edge.relation == Relation.SUPPORTS and edge.src == root}
    contradicted = {
        end for edge in near if edge.relation == Relation.CONTRADICTS for end in (edge.src, edge.dst)
    }
    found = {"derived": derived, "supported": supported, "contradicted": contradicted - {root}}
    claims = reader.claims(set().union(*found.values()))
    return {
        name: [claims[pk] for pk in sorted(pks) if pk in claims and claims[pk].scope == scope]
        for name, pks in found.items()
    }


def _moves(pairs: Iterable[tuple[Claim | None, Claim | None]], scope: str) -> tuple[Move, ...]:
    """What really moves in `scope`, by more than the solver's own noise: claims that were only touched stay out."""
    moves = [_move(old, new) for old, new in pairs if new is not None and new.scope == scope]
    moved = [
        move
        for move in moves
        if move.old is None or move.old_status != move.new_status or abs(move.new - move.old) > NOISE
    ]
    return tuple(sorted(moved, key=lambda move: -move.size))


def _move(old: Claim | None, new: Claim) -> Move:
    before = (None, None) if old is None else (old.confidence, old.status)
    return Move(new.id, new.text, before[0], new.confidence, before[1], new.status)
