"""BeliefGraph: edges between claims, asked for by claim.

It stands alone, in memory; `memory.graph` has the same methods over the database. A claim is founded on what comes
in: its supports, contradictions and premises are the sources of its incoming edges.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from recollectx.edges import Relation
from recollectx.graph.edges import SIMILAR, BeliefEdge


@dataclass(frozen=True, slots=True)
class TraversalNode:
    """A claim met by a walk: how far from its start, and by which edge; relation and parent_id are None at the start."""

    belief_id: str
    depth: int
    relation: str | None
    parent_id: str | None


class BeliefGraph:
    """Edges in memory, in the order they were added; an edge added twice is there once."""

    def __init__(self) -> None:
        self._edges: dict[BeliefEdge, None] = {}
        self._incoming: dict[str, list[BeliefEdge]] = defaultdict(list)
        self._outgoing: dict[str, list[BeliefEdge]] = defaultdict(list)

    def add(self, edge: BeliefEdge) -> None:
        """Add an edge."""
        if edge not in self._edges:
            self._edges[edge] = None
            self._incoming[edge.dst_id].append(edge)
            self._outgoing[edge.src_id].append(edge)

    def all_edges(self) -> list[BeliefEdge]:
        """Every edge."""
        return list(self._edges)

    def incoming_edges(self, belief_id: str) -> list[BeliefEdge]:
        """The edges into a claim."""
        return list(self._incoming.get(belief_id, ()))

    def outgoing_edges(self, belief_id: str) -> list[BeliefEdge]:
        """The edges out of a claim."""
        return list(self._outgoing.get(belief_id, ()))

    def supports(self, belief_id: str) -> list[str]:
        """Ids of what supports a claim."""
        return self._sources(belief_id, Relation.SUPPORTS)

    def contradictions(self, belief_id: str) -> list[str]:
        """Ids of what contradicts a claim."""
        return self._sources(belief_id, Relation.CONTRADICTS)

    def derives(self, belief_id: str) -> list[str]:
        """Ids of what a claim derives from."""
        return self._sources(belief_id, Relation.DERIVES)

    def similar(self, belief_id: str) -> list[str]:
        """Ids of claims said to be similar."""
        return self._sources(belief_id, SIMILAR)

    def traverse_recursive(self, belief_id: str, max_depth: int = 3) -> tuple[list[TraversalNode], bool]:
        """What a claim stands on, breadth first down to `max_depth`, itself first; and whether edges lead in a circle.

        Two ways to one claim are no circle, nor are claims that are similar to each other.
        """
        nodes = {belief_id: TraversalNode(belief_id, 0, None, None)}
        walked: list[BeliefEdge] = []
        frontier = [belief_id]
        for depth in range(1, max_depth + 1):
            bearing = list(self._bearing(frontier))
            walked.extend(edge for edge, directed in bearing if directed)
            frontier = []
            for edge, _ in bearing:
                if edge.src_id not in nodes:
                    nodes[edge.src_id] = TraversalNode(edge.src_id, depth, edge.relation, edge.dst_id)
                    frontier.append(edge.src_id)
            if not frontier:
                break
        return list(nodes.values()), _leads_in_a_circle(walked)

    def _sources(self, belief_id: str, relation: str) -> list[str]:
        return [edge.src_id for edge in self.incoming_edges(belief_id) if edge.relation == relation]

    def _bearing(self, belief_ids: Collection[str]) -> Iterable[tuple[BeliefEdge, bool]]:
        """What bears on these claims, each edge as it comes in; and whether it can be part of a circle."""
        for each in belief_ids:
            for edge in self.incoming_edges(each):
                yield edge, edge.relation != SIMILAR


def _leads_in_a_circle(edges: Iterable[BeliefEdge]) -> bool:
    """Whether any claim is reached from itself: taking away claims on which nothing bears leaves the circles."""
    onward: dict[str, set[str]] = defaultdict(set)
    waiting: dict[str, int] = defaultdict(int)
    for edge in edges:
        if edge.dst_id not in onward[edge.src_id]:
            onward[edge.src_id].add(edge.dst_id)
            waiting[edge.dst_id] += 1
    ready = [each for each in onward if not waiting[each]]
    while ready:
        for each in onward.pop(ready.pop(), ()):
            waiting[each] -= 1
            if not waiting[each]:
                ready.append(each)
    return bool(onward and any(waiting[each] for each in onward))
