"""All that is told about one claim, gathered once for `explain`, `history` and `demo`."""

from dataclasses import dataclass
from typing import Any

from recollectx.claims import Claim
from recollectx.cli.documents import (
    Document,
    assertion_document,
    claim_document,
    move_document,
)
from recollectx.errors import NotFound
from recollectx.graph.explanation import ExplanationResult
from recollectx.graph.pictures import node_dict
from recollectx.instants import iso
from recollectx.memory import ConfidenceChangeEvent, Memory
from recollectx.storage.journal import first_confidence


@dataclass(frozen=True, slots=True)
class Explained:
    """direct, deep: as Memory explains a claim.  superseded: what it took the place of.

    first: its first confidence and when that was.  events: the moves after that, oldest first.
    """

    direct: dict[str, Any]
    deep: ExplanationResult
    superseded: tuple[Claim, ...]
    first: tuple[float, float]
    events: tuple[ConfidenceChangeEvent, ...]

    @property
    def claim(self) -> Claim:
        """The claim that is explained."""
        return self.deep.root.belief

    def document(self) -> Document:
        """The explanation as JSON; the moves are oldest first."""
        listed = ("supported_by", "contradicted_by", "derived_from", "supersedes", "superseded_by")
        return {
            "belief": claim_document(self.claim),
            "assertions": [assertion_document(assertion) for assertion in self.direct["assertions"]],
            **{name: list(self.direct[name]) for name in listed},
            "tree": node_dict(self.deep.root, claim_document),
            "cycle_detected": self.deep.cycle_detected,
            "truncated": self.deep.truncated,
            "formed": {"at": iso(self.first[1]), "confidence": self.first[0]},
            "moves": [move_document(event) for event in self.events],
        }


def explained(memory: Memory, claim_id: str, *, depth: int) -> Explained:
    """What bears on a claim, down to `depth`, and how its confidence came about. Raises NotFound."""
    direct, deep = memory.explain(claim_id), memory.explain_deep(claim_id, depth)
    if direct is None or deep is None:
        raise NotFound(f"scope {memory.scope!r} holds no claim with the id {claim_id!r}")
    replaced = [memory.get(other) for other in direct["supersedes"]]
    events = memory.explain_confidence_history(claim_id)
    with memory.storage.reader() as reader:
        known = reader.resolve(claim_id)
        first = None if known is None else first_confidence(reader, known.pk)
    if first is None:
        raise NotFound(f"claim {claim_id!r} has lost its history; `recollectx doctor` looks for the cause")
    return Explained(
        direct,
        deep,
        tuple(claim for claim in replaced if claim is not None),
        first,
        tuple(reversed(events)),
    )
