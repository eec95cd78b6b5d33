"""The belief graph: edges, graphs and explanations."""

from recollectx.edges import Edge, Relation
from recollectx.graph.edges import BeliefEdge
from recollectx.graph.explanation import ExplanationNode, ExplanationResult
from recollectx.graph.graph import BeliefGraph, TraversalNode

__all__ = [
    "BeliefEdge",
    "BeliefGraph",
    "Edge",
    "ExplanationNode",
    "ExplanationResult",
    "Relation",
    "TraversalNode",
]
