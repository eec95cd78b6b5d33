"""Edges: how one claim bears on another.

An edge reads "src supports / contradicts / corrects dst"; for derives, "dst derives from src". SIGN says which
relations move confidence and in which direction; every relation outside EPISTEMIC is plain and never does.
"""

from dataclasses import dataclass
from enum import StrEnum

from recollectx.claims import check_text, check_unit
from recollectx.errors import InvalidClaim

MAX_RELATION = 100


class Relation(StrEnum):
    """The relations with a meaning of their own; any other name is a plain relation."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    DERIVES = "derives"
    CORRECTS = "corrects"
    SUPERSEDES = "supersedes"


EPISTEMIC = frozenset({Relation.SUPPORTS, Relation.CONTRADICTS, Relation.DERIVES, Relation.CORRECTS})
SIGN = {Relation.SUPPORTS: +1, Relation.DERIVES: +1, Relation.CONTRADICTS: -1}
SIMILAR = "similar"


@dataclass(frozen=True, slots=True)
class Edge:
    """One claim bearing on another; both by id.

    strength: in [0, 1], scales the weight.  derivation: edges into one dst that share a name are joint
    premises of one derivation; None makes each edge a derivation of its own.
    """

    src: str
    dst: str
    relation: str
    strength: float = 1.0
    derivation: str | None = None

    def __post_init__(self) -> None:
        check_text(self.src, "src")
        check_text(self.dst, "dst")
        check_text(self.relation, "relation", MAX_RELATION)
        object.__setattr__(self, "strength", check_unit(self.strength, "strength"))
        if self.relation == SIMILAR:
            raise InvalidClaim("similar is a query, not an edge; use recall to find similar claims")
        if self.src == self.dst:
            raise InvalidClaim(f"claim {self.src} cannot stand in the relation {self.relation} to itself")
        if self.derivation is not None:
            check_text(self.derivation, "derivation")
            if self.relation != Relation.DERIVES:
                raise InvalidClaim(f"only derives edges have a derivation, not {self.relation}")
