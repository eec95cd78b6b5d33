"""The policy seam: anything that looks at a claim and says ACCEPT or REJECT.

A policy is a callable `(claim, memory) -> Decision`; a bool is taken for one. Classes that inherit Policy
combine with `&`, `|` and `~`, also with plain callables on either side.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Any, TypeAlias

from recollectx.claims import Claim


class Decision(IntEnum):
    """What a policy says of a claim."""

    REJECT = 0
    ACCEPT = 1


PolicyLike: TypeAlias = Callable[[Claim, Any], Decision | bool]


def decide(policy: PolicyLike, claim: Claim, memory: Any) -> Decision:
    """The decision of any policy-like callable; TypeError if it answers anything but a Decision or a bool."""
    answer = policy(claim, memory)
    if not isinstance(answer, Decision | bool):
        raise TypeError(
            f"policy {describe(policy)} answered {answer!r}; return Decision.ACCEPT or Decision.REJECT"
        )
    return Decision(answer)


def describe(policy: PolicyLike) -> str:
    """A policy as people would write it."""
    return repr(policy) if isinstance(policy, Policy) else getattr(policy, "__name__", type(policy).__name__)


class Policy:
    """Base of policies that combine; implement `__call__`."""

    def __call__(self, claim: Claim, memory: Any) -> Decision | bool:
        raise TypeError(f"{type(self).__name__} must implement __call__(claim, memory) -> Decision")

    def __and__(self, other: PolicyLike) -> "AndPolicy":
        return AndPolicy(self, other)

    def __rand__(self, other: PolicyLike) -> "AndPolicy":
        return AndPolicy(other, self)

    def __or__(self, other: PolicyLike) -> "OrPolicy":
        return OrPolicy(self, other)

    def __ror__(self, other: PolicyLike) -> "OrPolicy":
        return OrPolicy(other, self)

    def __invert__(self) -> "NotPolicy":
        return NotPolicy(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class AndPolicy(Policy):
    """Accepts what both accept."""

    def __init__(self, first: PolicyLike, second: PolicyLike) -> None:
        self.first, self.second = first, second

    def __call__(self, claim: Claim, memory: Any) -> Decision:
        return Decision(all(decide(policy, claim, memory) for policy in (self.first, self.second)))

    def __repr__(self) -> str:
        return f"({describe(self.first)} & {describe(self.second)})"


class OrPolicy(Policy):
    """Accepts what either accepts."""

    def __init__(self, first: PolicyLike, second: PolicyLike) -> None:
        self.first, self.second = first, second

    def __call__(self, claim: Claim, memory: Any) -> Decision:
        return Decision(any(decide(policy, claim, memory) for policy in (self.first, self.second)))

    def __repr__(self) -> str:
        return f"({describe(self.first)} | {describe(self.second)})"


class NotPolicy(Policy):
    """Accepts what the other rejects."""

    def __init__(self, policy: PolicyLike) -> None:
        self.policy = policy

    def __call__(self, claim: Claim, memory: Any) -> Decision:
        return Decision(not decide(self.policy, claim, memory))

    def __repr__(self) -> str:
        return f"~{describe(self.policy)}"
