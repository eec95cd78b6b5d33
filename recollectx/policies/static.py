"""Policies that look at the claim alone."""

from typing import Any

from recollectx.claims import Claim, check_unit
from recollectx.errors import InvalidClaim, InvalidSetting
from recollectx.policies.base import Decision, Policy


class MinConfidence(Policy):
    """Accepts claims asserted with at least this confidence.

    MinConfidence() asks .3 of episodes and .6 of facts; one positional number asks the same of both; a
    keyword sets one kind. A claim of no known type is rejected. `thresholds` holds the numbers by type.
    """

    def __init__(
        self, both: float | None = None, *, episodic: float | None = None, semantic: float | None = None
    ) -> None:
        self.thresholds = {
            "episodic": _threshold(episodic, both, 0.3),
            "semantic": _threshold(semantic, both, 0.6),
        }

    def __call__(self, claim: Claim, memory: Any) -> Decision:
        threshold = self.thresholds.get(claim.type)
        return Decision(threshold is not None and claim.confidence >= threshold)

    def __repr__(self) -> str:
        return (
            f"MinConfidence(episodic={self.thresholds['episodic']}, semantic={self.thresholds['semantic']})"
        )


def _threshold(own: float | None, both: float | None, default: float) -> float:
    value = own if own is not None else both if both is not None else default
    try:
        return check_unit(value, "a confidence threshold")
    except InvalidClaim as error:
        raise InvalidSetting(str(error)) from None


class MinEvidence(Policy):
    """Accepts claims with at least `n` pieces of evidence."""

    def __init__(self, n: int) -> None:
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise InvalidSetting(f"MinEvidence takes a whole number from 0, got {n!r}")
        self.n = n

    def __call__(self, claim: Claim, memory: Any) -> Decision:
        return Decision(len(claim.evidence) >= self.n)

    def __repr__(self) -> str:
        return f"MinEvidence({self.n})"
