"""From claims, edges and events to the objects of recollectx.db.models, and back."""

import json

from recollectx.claims import Claim, EpisodicClaim, SemanticClaim
from recollectx.db.models import BeliefEdgeModel, ClaimModel, ConfidenceHistoryModel
from recollectx.graph.edges import BeliefEdge
from recollectx.propagation import ConfidenceChangeEvent

_SHARED = ("id", "confidence", "importance", "created_at", "last_reinforced_at", "support_count")
_KINDS: dict[str, tuple[type[Claim], tuple[str, ...]]] = {
    "episodic": (EpisodicClaim, ("summary",)),
    "semantic": (SemanticClaim, ("subject", "predicate", "object")),
    "": (Claim, ()),
}
_EDGE = ("src_id", "dst_id", "relation")
_EVENT = (
    "claim_id",
    "old_confidence",
    "new_confidence",
    "reason",
    "change_type",
    "timestamp",
    "caused_by_id",
)


def claim_to_model(claim: Claim) -> ClaimModel:
    """A claim as a row; it cannot be saved."""
    names = (*_SHARED, "type", "scope", *_KINDS[claim.type][1])
    return ClaimModel(
        **{name: getattr(claim, name) for name in names},
        status=str(claim.status),
        evidence=json.dumps(claim.evidence, ensure_ascii=False),
    )


def model_to_claim(model: ClaimModel) -> Claim:
    """The claim of a row, with what 0.2.7's columns say; MemoryStore.get gives all of it."""
    kind, words = _KINDS[model.type]
    fields = {name: getattr(model, name) for name in (*_SHARED, *words)}
    placed = {name: getattr(model, name) for name in ("scope", "status") if getattr(model, name) is not None}
    return kind(**fields, **placed, evidence=tuple(json.loads(model.evidence or "[]")))


def edge_to_model(edge: BeliefEdge) -> BeliefEdgeModel:
    """An edge as a row; it cannot be saved."""
    return BeliefEdgeModel(**{name: getattr(edge, name) for name in _EDGE})


def model_to_edge(model: BeliefEdgeModel) -> BeliefEdge:
    """The edge of a row."""
    return BeliefEdge(**{name: getattr(model, name) for name in _EDGE})


def confidence_event_to_model(event: ConfidenceChangeEvent) -> ConfidenceHistoryModel:
    """A move of a confidence as a row; it cannot be saved."""
    return ConfidenceHistoryModel(**{name: getattr(event, name) for name in _EVENT})


def model_to_confidence_event(model: ConfidenceHistoryModel) -> ConfidenceChangeEvent:
    """The move of a row."""
    return ConfidenceChangeEvent(**{name: getattr(model, name) for name in _EVENT})
