"""Doubt as a value: which of two claims that contradict each other wins, if any; and whether anything found fits.

One wins clearly when its odds are more than DECISIVE times the other's: .9 against .7, .75 against .49. Then the
other is only contradicted. Otherwise the pair is disputed, and somebody has to look at it.

How well what was found fits a question is the greatest cosine where recall went by meaning, else the greatest share
of the question's IDF that one claim matches; under FITTING, nothing fits. Measured by benchmarks/abstention.py, 200
facts, 400 questions they answer and 360 they do not: with the embedded model AUROC .90, 18 % of the answerable turned
away (none of those in the words of the fact, 36 % of those in other words), 24 % of the others let through (39 % about
something untold of a known person, 14 % about a stranger, none about something else). By words alone AUROC .74, 50 %
(14 and 85) and 25 % (49, 8 and 0). Both numbers together separate no better than the cosine alone (.90). Another model
has cosines of another size: compare `Recall.relevance` with a threshold of its own.
"""

from dataclasses import dataclass
from math import log

DECISIVE = 3.0
FITTING = 0.5


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
