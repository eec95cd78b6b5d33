"""The belief graph as the solver sees it: loaded in batches, one read per table."""

from collections import defaultdict
from collections.abc import Collection
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
    """The live graph around the claims that were loaded."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._nodes: dict[int, Node] = {}
        self._strengths: dict[int, float] = {}
        self._confidences: dict[int, float] = {}
        self._dependents: dict[int, list[int]] = {}

    def load(self, pks: Collection[int]) -> None:
        """Make these claims available: claims, assertions and edges, one query each per batch."""
        missing = [pk for pk in dict.fromkeys(pks) if pk not in self._nodes]
        if not missing:
            return
        rows = {row.pk: row for row in self._reader.rows_in(STANDING, missing)}
        assertions = self._reader.assertions(missing)
        incoming = [edge for edge in self._reader.edges_in(missing) if edge.relation in EPISTEMIC]
        outgoing = [edge for edge in self._reader.edges_out(missing) if edge.relation in EPISTEMIC]
        ends = {edge.dst for edge in outgoing} | {edge.src for edge in incoming}
        scopes = {pk: found.scope for pk, found in self._reader.identities(ends | set(missing)).items()}
        trusts = self._reader.trusts(
            {(voice.source, rows[pk].scope) for pk in rows for _, voice in assertions.get(pk, ())}
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
            row: Any = rows.get(pk)
            self._strengths[pk] = row.strength if row else 0.5
            self._confidences[pk] = row.confidence if row else 0.5
            self._dependents[pk] = list(dict.fromkeys(dependents[pk]))
            self._nodes[pk] = Node(
                pk=pk,
                voices=tuple(
                    Voice(voice.source, voice.confidence, trusts[voice.source, row.scope])
                    for _, voice in (assertions.get(pk, ()) if row else ())
                ),
                arrows=tuple(arrows[pk]),
                derived=bool(row and row.basis == Basis.DERIVED),
                alive=bool(row and row.status in CURRENT),
            )

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
