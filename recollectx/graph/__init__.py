"""The belief graph: edges and explanations."""

from recollectx.edges import Edge, Relation
from recollectx.graph.explanation import ExplanationNode, ExplanationResult

__all__ = ["Edge", "ExplanationNode", "ExplanationResult", "Relation"]
