"""LLMMerger: what a model makes of a claim beside claims that are like it, by the same rules as MemoryUpdater."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from recollectx.candidates import Candidate
from recollectx.changes import Action
from recollectx.claims import Claim, assertion_of
from recollectx.deciding import RuleDecider, with_content
from recollectx.errors import InvalidClaim
from recollectx.judging import judged, likeness
from recollectx.llm.providers import provider_from
from recollectx.proposing import Shown, proposed


@dataclass(frozen=True, slots=True)
class MergeDecision:
    """What is to be done. target_id: the claim it is about.  merged_content: other words for it, of an UPDATE."""

    action: str
    target_id: str | None
    merged_content: str | None
    reason: str


class LLMMerger:
    """Decides on claims in hand, without a store. llm_provider: what `provider_from` takes."""

    def __init__(self, llm_provider: Any, temperature: float = 0.2) -> None:
        self.llm_provider, self.temperature = provider_from(llm_provider), temperature

    def decide(self, new_claim: Claim, existing_claims: Sequence[Claim]) -> MergeDecision:
        """What to do with a new claim; existing_claims: those that may be concerned. How alike they are goes by words."""
        candidates = [Candidate(each, {each.source: 1.0}, (assertion_of(each),)) for each in existing_claims]
        rule = RuleDecider()(new_claim, candidates, 1.0)
        if existing_claims and rule.action not in (Action.UPDATE, Action.NONE):
            alike = {each.id: likeness(new_claim, each, None) for each in existing_claims}
            shown = Shown(new_claim, tuple(existing_claims), alike)
            answer = next(proposed(self.llm_provider, [shown], temperature=self.temperature))
            rule = judged(answer.proposal, rule, new_claim, candidates)
        return MergeDecision(rule.action, rule.target, rule.content, rule.reason)

    def apply_decision(
        self, decision: MergeDecision, new_claim: Claim, existing_claims: Sequence[Claim]
    ) -> Claim | None:
        """The claim to keep: the new one, the known one united with it, or None if nothing is new.

        Raises InvalidClaim for an UPDATE of a claim that is not among `existing_claims`.
        """
        if decision.action == Action.NONE:
            return None
        if decision.action != Action.UPDATE:
            return new_claim
        target = next((each for each in existing_claims if each.id == decision.target_id), None)
        if target is None:
            raise InvalidClaim(f"there is no claim {decision.target_id!r} to update among those given")
        united = replace(
            target,
            confidence=max(target.confidence, new_claim.confidence),
            importance=max(target.importance, new_claim.importance),
            evidence=target.evidence + new_claim.evidence,
            entities=target.entities + new_claim.entities,
            metadata={**target.metadata, **new_claim.metadata},
            support_count=target.support_count + new_claim.support_count,
            last_reinforced_at=max(target.last_reinforced_at, new_claim.last_reinforced_at),
        )
        return united if decision.merged_content is None else with_content(united, decision.merged_content)
