"""Comparing: what differs between what was believed at two moments, and what made the difference.

Claims and edges are compared as the snapshots of the two moments show them, so a claim or an edge can come and go
without a transaction of its own: with time, or an edge with the claim at one of its ends.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import Connection

from recollectx.claims import CURRENT, GLOBAL, Claim
from recollectx.edges import Edge
from recollectx.filters import holds
from recollectx.query import ALL_SCOPES, Query
from recollectx.storage.chronicle import Cause, EdgeSpan, edge_spans, touched, turned
from recollectx.storage.past import seq_at
from recollectx.storage.reading import Reader, as_stored


@dataclass(frozen=True, slots=True)
class ClaimChange:
    """A claim at two moments: None where it was not yet there.

    fields: what differs, each with the value before and after; confidence and status are fields.
    causes: the transactions that did it, oldest first; none where it only ran out, or began to hold, with time.
    """

    before: Claim | None
    after: Claim | None
    fields: Mapping[str, tuple[Any, Any]]
    causes: tuple[Cause, ...]

    @property
    def claim(self) -> Claim:
        """The claim as it was last."""
        found = self.after or self.before
        assert found is not None
        return found


@dataclass(frozen=True, slots=True)
class EdgeChange:
    """An edge that came or went.

    cause: the transaction that did it, or that brought or took a claim at one of its ends; None where that was time.
    """

    edge: Edge
    cause: Cause | None


@dataclass(frozen=True, slots=True)
class Diff:
    """What differs between the snapshots of two moments.

    added, removed: claims that only the later, or only the earlier one shows; a removed one was forgotten, superseded
    or otherwise out of use, its `after` says which.  changed: claims in both that read differently.
    edges_added, edges_removed: edges that only the later, or only the earlier one shows.
    """

    added: tuple[ClaimChange, ...] = ()
    removed: tuple[ClaimChange, ...] = ()
    changed: tuple[ClaimChange, ...] = ()
    edges_added: tuple[EdgeChange, ...] = ()
    edges_removed: tuple[EdgeChange, ...] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, each.name) for each in fields(self))


def bears(claim: Claim) -> bool:
    """Whether edges out of the claim are shown in scopes that do not show it."""
    return claim.scope == GLOBAL and claim.status in CURRENT


@dataclass(frozen=True, slots=True)
class _Moment:
    """What is known of some claims at one of the moments. seq: its last transaction.  shown: the keys of those that its
    snapshot shows.  starts: of those from which it shows edges."""

    seq: int
    claims: Mapping[int, Claim]
    shown: frozenset[int]
    starts: frozenset[int]

    @classmethod
    def of(cls, conn: Connection, query: Query, seq: int, keys: Iterable[int]) -> "_Moment":
        claims = Reader(conn, seq=seq).claims(keys)
        at = query.as_of or 0.0
        shown = frozenset(
            pk for pk, claim in claims.items() if _in(query, claim.scope) and holds(claim, query, at)
        )
        return cls(seq, claims, shown, shown | {pk for pk, claim in claims.items() if bears(claim)})

    def shows(self, edge: EdgeSpan) -> bool:
        return edge.dst in self.shown and edge.src in self.starts and edge.stood(self.seq)


def compare(conn: Connection, first: Query, second: Query) -> Diff:
    """What differs between the snapshots of two queries that ask the same, the second at a later time."""
    start, end = first.as_of or 0.0, second.as_of or 0.0
    after, last = seq_at(conn, start), seq_at(conn, end)
    causes = touched(conn, first.scopes, after=after, last=last)
    keys = set(causes) | turned(conn, first.scopes, after=start, last=end)
    reader = Reader(conn)
    edges = edge_spans(reader, keys)
    if not _in(first, GLOBAL):
        # A claim of global takes its edges with it.
        outer = touched(conn, (GLOBAL,), after=after, last=last)
        going = edge_spans(reader, outer)
        ends = reader.identities(edge.dst for edge in going)
        edges += [edge for edge in going if _in(first, ends[edge.dst].scope)]
        causes = outer | causes
    edges = [edge for edge in edges if edge.stood(after) or edge.stood(last)]
    known = keys | {pk for edge in edges for pk in (edge.src, edge.dst)}
    before, later = _Moment.of(conn, first, after, known), _Moment.of(conn, second, last, known)
    came, went = _edges(edges, before, later, causes)
    sorts = _claims(keys, before, later, causes)
    return Diff(
        **{name: tuple(changes) for name, changes in sorts.items()}, edges_added=came, edges_removed=went
    )


def _in(query: Query, scope: str) -> bool:
    return query.scopes is ALL_SCOPES or scope in query.scopes


def _claims(
    keys: Iterable[int], before: _Moment, later: _Moment, causes: Mapping[int, list[Cause]]
) -> dict[str, list[ClaimChange]]:
    sorts: dict[str, list[ClaimChange]] = {"added": [], "removed": [], "changed": []}
    kinds = {(False, True): "added", (True, False): "removed", (True, True): "changed"}
    for pk in sorted(keys):
        old, new = before.claims.get(pk), later.claims.get(pk)
        kind = kinds.get((pk in before.shown, pk in later.shown))
        differing = _differing(old, new)
        if kind is not None and (kind != "changed" or differing):
            sorts[kind].append(ClaimChange(old, new, differing, tuple(causes.get(pk, ()))))
    return sorts


def _differing(old: Claim | None, new: Claim | None) -> dict[str, tuple[Any, Any]]:
    if old is None or new is None:
        return {}
    pairs = {each.name: (getattr(old, each.name), getattr(new, each.name)) for each in fields(old)}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _edges(
    edges: Iterable[EdgeSpan], before: _Moment, later: _Moment, causes: Mapping[int, list[Cause]]
) -> tuple[tuple[EdgeChange, ...], tuple[EdgeChange, ...]]:
    """The edges that came, and those that went. One that was taken away and put back is neither."""

    def told(span: EdgeSpan) -> Edge:
        ends = {"src": _id(span.src), "dst": _id(span.dst)}
        said = {"relation": span.relation, "strength": span.strength, "derivation": span.derivation}
        return as_stored(Edge, ends | said)

    def _id(pk: int) -> str:
        return (later.claims.get(pk) or before.claims[pk]).id

    old = {told(edge): edge for edge in edges if before.shows(edge)}
    new = {told(edge): edge for edge in edges if later.shows(edge)}

    def cause(span: EdgeSpan) -> Cause | None:
        if before.seq < span.began.seq <= later.seq:
            return span.began
        if span.ended is not None and before.seq < span.ended.seq <= later.seq:
            return span.ended
        turning = [pk for pk in (span.src, span.dst) if (pk in before.starts) != (pk in later.starts)]
        return max(
            (each for pk in turning for each in causes.get(pk, ())), key=lambda each: each.seq, default=None
        )

    came = tuple(EdgeChange(edge, cause(span)) for edge, span in new.items() if edge not in old)
    return came, tuple(EdgeChange(edge, cause(span)) for edge, span in old.items() if edge not in new)
