"""BeliefEdge: an edge between two claims, by their ids, as 0.2.7 spells it."""

from dataclasses import dataclass

from recollectx.edges import SIMILAR, Relation

__all__ = ["SIMILAR", "BeliefEdge", "Relation"]


@dataclass(frozen=True, slots=True)
class BeliefEdge:
    """It reads "src supports / contradicts dst", "dst derives from src"; `similar` goes both ways."""

    src_id: str
    dst_id: str
    relation: str
