"""What a script reads: values of recollectx as JSON objects, with whole ids and ISO times."""

from dataclasses import asdict
from typing import Any

from recollectx.changes import EraseReceipt, WriteResult
from recollectx.claims import Assertion, Claim, EpisodicClaim, SemanticClaim
from recollectx.instants import iso
from recollectx.memory import ConfidenceChangeEvent
from recollectx.query import Hit

Document = dict[str, Any]


def _iso(seconds: float | None) -> str | None:
    return None if seconds is None else iso(seconds)


def claim_document(claim: Claim) -> Document:
    """A claim."""
    said: Document = {}
    if isinstance(claim, SemanticClaim):
        said = {"subject": claim.subject, "predicate": claim.predicate, "object": claim.object}
    elif isinstance(claim, EpisodicClaim):
        said = {"summary": claim.summary}
    return {
        "id": claim.id,
        "type": claim.type,
        "text": claim.text,
        **said,
        "confidence": claim.confidence,
        "prior": claim.prior,
        "importance": claim.importance,
        "status": claim.status,
        "basis": claim.basis,
        "category": claim.category,
        "source": claim.source,
        "scope": claim.scope,
        "session": claim.session,
        "position": claim.position,
        "created_at": iso(claim.created_at),
        "last_reinforced_at": iso(claim.last_reinforced_at),
        "support_count": claim.support_count,
        "valid_from": _iso(claim.valid_from),
        "valid_to": _iso(claim.valid_to),
        "due_at": _iso(claim.due_at),
        "review_after": _iso(claim.review_after),
        "entities": list(claim.entities),
        "evidence": list(claim.evidence),
        "metadata": dict(claim.metadata),
    }


def hit_document(hit: Hit, rank: int) -> Document:
    """A hit, the claim inside it."""
    return {
        "rank": rank,
        "score": hit.score,
        "parts": asdict(hit.parts),
        "disputed_by": list(hit.disputed_by),
        "disputes": [asdict(dispute) for dispute in hit.disputes],
        "claim": claim_document(hit.claim),
    }


def result_document(result: WriteResult, claim: Claim | None) -> Document:
    """What came of a write. claim: the one it is about, as it reads now."""
    return {
        "action": result.action,
        "id": result.claim_id,
        "reason": result.reason,
        "tx": result.tx,
        "claim": None if claim is None else claim_document(claim),
    }


def assertion_document(assertion: Assertion) -> Document:
    """One source standing behind a claim."""
    return {
        "source": assertion.source,
        "confidence": assertion.confidence,
        "said_at": iso(assertion.said_at),
        "span": assertion.span,
        "evidence": list(assertion.evidence),
        "session": assertion.session,
        "times": assertion.times,
    }


def move_document(event: ConfidenceChangeEvent) -> Document:
    """One move of a confidence."""
    return {
        "at": iso(event.timestamp),
        "from": event.old_confidence,
        "to": event.new_confidence,
        "change_type": event.change_type,
        "reason": event.reason,
        "caused_by": event.caused_by_id,
    }


def receipt_document(receipt: EraseReceipt) -> Document:
    """What was erased."""
    return {
        "ids": list(receipt.ids),
        "rows": receipt.rows,
        "at": iso(receipt.at),
        "pending": receipt.pending,
        "cut": list(receipt.cut),
        "answers": receipt.answers,
    }
