"""The belief graph as the solver sees it: loaded in batches, one read per table."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sqlalchemy import bindparam, select

from recollectx.claims import CURRENT, Basis
from recollectx.db.tables import ClaimRow, RevisionRow
from recollectx.edges import EPISTEMIC, Relation
from recollectx.propagation import Arrow, Node, Voice
from recollectx.storage.reading import Reader

STANDING = (
    select(
        ClaimRow.pk,
        ClaimRow.scope,
        ClaimRow.strength,
        ClaimRow.confidence,
        RevisionRow.status,
        RevisionRow.basis,
    )
    .join(RevisionRow, RevisionRow.claim == ClaimRow.pk)
    .where(ClaimRow.pk.in_(bindparam("keys", expanding=True)), RevisionRow.tx_to.is_(None))
)


class StoredGraph:
    """The live graph around the claims that were loaded.

    onto: to look at these claims only: of the others just those get arrows that may take their group from premises.
    bearing: every edge that bears on one of `onto`, if they were read already.
    """

    def __init__(
        self,
        reader: Reader,
        *,
        onto: Collection[int] | None = None,
        bearing: Iterable[Any] | None = None,
    ) -> None:
        self._reader = reader
        self._onto = onto
        self._read_already = bearing is not None
        self._into: dict[int, list[Any]] = defaultdict(list)
        self._out_of: dict[int, list[Any]] = defaultdict(list)
        for edge in bearing or ():
            self._into[edge.dst].append(edge)
            if edge.relation == Relation.CONTRADICTS:
                self._out_of[edge.src].append(edge)
        self._nodes: dict[int, Node] = {}
        self._strengths: dict[int, float] = {}
        self._confidences: dict[int, float] = {}
        self._dependents: dict[int, list[int]] = {}
        self._scope_of: dict[int, str] = {}

    def load(self, pks: Collection[int]) -> None:
        """Make these claims available: claims, assertions and edges, one query each per batch."""
        missing = [pk for pk in dict.fromkeys(pks) if pk not in self._nodes]
        if not missing:
            return
        rows = {row.pk: row for row in self._reader.rows_in(STANDING, missing)}
        voices = self._reader.voices(missing)
        incoming, outgoing = self._edges([pk for pk in missing if self._wanted(pk, rows)])
        self._scope_of |= {pk: row.scope for pk, row in rows.items()}
        scopes = self._scopes(rows, incoming + outgoing)
        trusts = self._reader.trusts(
            {(said.source, row.scope) for pk, row in rows.items() for said in voices[pk]}
        )
        arrows: dict[int, list[Arrow]] = defaultdict(list)
        dependents: dict[int, list[int]] = defaultdict(list)
        for edge in incoming:
            arrows[edge.dst].append(Arrow(edge.src, edge.relation, edge.strength, edge.derivation))
            if edge.relation == Relation.CONTRADICTS and scopes[edge.src] == scopes[edge.dst]:
                dependents[edge.dst].append(edge.src)
        for edge in outgoing:
            dependents[edge.src].append(edge.dst)
            if edge.relation == Relation.CONTRADICTS and scopes[edge.src] == scopes[edge.dst]:
                arrows[edge.src].append(Arrow(edge.dst, edge.relation, edge.strength, None, mirrored=True))
        for pk in missing:
            self._dependents[pk] = list(dict.fromkeys(dependents[pk]))
            row: Any = rows.get(pk)
            if row is None:
                self._strengths[pk] = self._confidences[pk] = 0.5
                self._nodes[pk] = Node(pk, (), tuple(arrows[pk]), False, False)
                continue
            self._strengths[pk], self._confidences[pk], scope = row.strength, row.confidence, row.scope
            said = [Voice(each.source, each.confidence, trusts[each.source, scope]) for each in voices[pk]]
            self._nodes[pk] = Node(
                pk, tuple(said), tuple(arrows[pk]), row.basis == Basis.DERIVED, row.status in CURRENT
            )

    def _edges(self, pks: Collection[int]) -> tuple[list[Any], list[Any]]:
        """The epistemic edges into and out of these claims; of those read already only what bears on them."""
        here = [pk for pk in pks if self._read_already and self._onto is not None and pk in self._onto]
        asked = set(pks).difference(here)
        incoming = self._reader.edges_in(asked) if asked else []
        outgoing = self._reader.edges_out(asked) if asked else []
        incoming += [edge for pk in here for edge in self._into.get(pk, ())]
        outgoing += [edge for pk in here for edge in self._out_of.get(pk, ())]
        return (
            [edge for edge in incoming if edge.relation in EPISTEMIC],
            [edge for edge in outgoing if edge.relation in EPISTEMIC],
        )

    def _scopes(self, rows: Mapping[int, Any], edges: Iterable[Any]) -> dict[int, str]:
        """The scopes of both ends of contradictions, which decide whether they are read both ways."""
        scopes = {pk: row.scope for pk, row in rows.items()}
        ends = {pk for edge in edges if edge.relation == Relation.CONTRADICTS for pk in (edge.src, edge.dst)}
        if not ends <= scopes.keys():
            found = self._reader.identities(ends - scopes.keys())
            scopes |= {pk: each.scope for pk, each in found.items()}
        return scopes

    def _wanted(self, pk: int, rows: Mapping[int, Any]) -> bool:
        derived = pk in rows and rows[pk].basis == Basis.DERIVED
        return self._onto is None or pk in self._onto or derived

    def scope(self, pk: int) -> str:
        """The scope of a claim."""
        if pk not in self._scope_of:
            self._scope_of[pk] = self._reader.identities([pk])[pk].scope
        return self._scope_of[pk]

    def node(self, pk: int) -> Node:
        """The claim with its voices and arrows."""
        return self._nodes[pk]

    def strength(self, pk: int) -> float:
        """The strength kept in the database."""
        return self._strengths[pk]

    def confidence(self, pk: int) -> float:
        """The confidence kept in the database."""
        return self._confidences[pk]

    def dependents(self, pk: int) -> Collection[int]:
        """The claims that this one bears on."""
        return self._dependents[pk]
