"""Doubt as a value: which of two claims that contradict each other wins, if any.

One wins clearly when its odds are more than DECISIVE times the other's: .9 against .7, .75 against .49. Then the
other is only contradicted. Otherwise the pair is disputed, and somebody has to look at it.
"""

from dataclasses import dataclass
from math import log

DECISIVE = 3.0


@dataclass(frozen=True, slots=True)
class Dispute:
    """A claim and one that contradicts it while neither clearly wins, by their ids, with both confidences."""

    claim_id: str
    confidence: float
    rival_id: str
    rival_confidence: float


def disputed(one: float, other: float) -> bool:
    """Whether neither of two confidences clearly wins."""
    more, less = max(one, other), min(one, other)
    return more * (1 - less) <= DECISIVE * less * (1 - more) * (1 + 1e-9)


def gap(one: float, other: float) -> float:
    """How far apart two confidences are, in log-odds; each is kept a millionth away from 0 and 1."""
    inner = (min(max(value, 1e-6), 1 - 1e-6) for value in (one, other))
    first, second = (log(value / (1 - value)) for value in inner)
    return abs(first - second)
