"""The belief graph of one scope, read from the database at every call."""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from recollectx.claims import GLOBAL
from recollectx.edges import Relation
from recollectx.errors import NotFound
from recollectx.graph.edges import BeliefEdge
from recollectx.graph.graph import BeliefGraph
from recollectx.storage.edge_views import edges_bearing, edges_between, similar_claims

if TYPE_CHECKING:
    from recollectx.storage.memory_store import MemoryStore


class LiveGraph(BeliefGraph):
    """The edges between the claims of a scope that are in use, those that start in "global" included.

    A contradiction is stored once and read from both of its ends. `similar` asks for the claims closest in meaning.
    """

    def __init__(self, storage: "MemoryStore", scope: str) -> None:
        self._storage = storage
        self._scope = scope

    def add(self, edge: BeliefEdge) -> None:
        """Store an edge as MemoryStore.put_edge does. Raises NotFound for an id this scope does not hold."""
        for claim_id, scopes in ((edge.src_id, (self._scope, GLOBAL)), (edge.dst_id, (self._scope,))):
            if self._storage.get(claim_id, scopes=scopes) is None:
                raise NotFound(f"scope {self._scope!r} holds no claim with the id {claim_id!r}")
        self._storage.put_edge(edge)

    def all_edges(self) -> list[BeliefEdge]:
        """Every edge, oldest first."""
        return self._edges_between()

    def incoming_edges(self, belief_id: str) -> list[BeliefEdge]:
        """The edges into a claim, oldest first."""
        return self._edges_between(dst_id=belief_id)

    def outgoing_edges(self, belief_id: str) -> list[BeliefEdge]:
        """The edges out of a claim, oldest first."""
        return self._edges_between(src_id=belief_id)

    def contradictions(self, belief_id: str) -> list[str]:
        """Ids of what contradicts a claim, whichever end the contradiction was stored from."""
        edges = self._bearing([belief_id])
        return [edge.src_id for edge, _ in edges if edge.relation == Relation.CONTRADICTS]

    def similar(self, belief_id: str) -> list[str]:
        """Ids of the claims closest in meaning, best first; none for an unknown id."""
        claim = self._storage.get(belief_id, scopes=(self._scope,))
        if claim is None:
            return []
        near = similar_claims(
            self._storage.recall,
            claim,
            threshold=self._storage.similarity_threshold,
            most=self._storage.max_connections,
        )
        return [found.id for found in near]

    def _edges_between(self, *, src_id: str | None = None, dst_id: str | None = None) -> list[BeliefEdge]:
        with self._storage.reader() as reader:
            return edges_between(reader, self._scope, src_id=src_id, dst_id=dst_id)

    def _bearing(self, belief_ids: Collection[str]) -> Iterable[tuple[BeliefEdge, bool]]:
        asked = dict.fromkeys(belief_ids)
        with self._storage.reader() as reader:
            edges = edges_bearing(reader, self._scope, asked)
        for edge in edges:
            if edge.dst_id in asked:
                yield edge, True
            if edge.src_id in asked and edge.relation == Relation.CONTRADICTS:
                yield BeliefEdge(edge.dst_id, edge.src_id, edge.relation), False
