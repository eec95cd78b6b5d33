"""Candidates: the known claims that a decider is shown, and how their sources compare with that of a new claim."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from recollectx.claims import CURRENT, Assertion, Claim, SemanticClaim, Status
from recollectx.text import fold_claim, slot


class Word(Enum):
    """Who stands behind a known claim, as seen by the source of a new one: it goes by the most trusted of them.

    LESS: only less trusted sources.  OWN: the source itself, and nobody more trusted.
    EQUAL: others that are trusted as much.  MORE: a more trusted one.
    """

    LESS = auto()
    OWN = auto()
    EQUAL = auto()
    MORE = auto()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A known claim shown to a decider, with the trust in each source that stands behind it.

    voices: what each of them said.
    """

    claim: Claim
    sources: Mapping[str | None, float]
    voices: tuple[Assertion, ...] = ()

    def word(self, source: str | None, trust: float) -> Word:
        """Who stands behind it, as seen by a source that is trusted so far."""
        most = max(self.sources.values(), default=0.0)
        if trust != most:
            return Word.LESS if trust > most else Word.MORE
        return Word.OWN if source in self.sources else Word.EQUAL

    def holds(self, at: float) -> bool:
        """Whether recall would return it unasked, at a time in seconds since 1970 UTC."""
        return self.claim.status in CURRENT and (self.claim.valid_to is None or self.claim.valid_to > at)

    def held_then(self, at: float) -> bool:
        """Whether it has been superseded, and held at that time."""
        ends = self.claim.valid_to
        return (
            self.claim.status == Status.SUPERSEDED
            and self.claim.since <= at
            and ends is not None
            and at < ends
        )

    def in_force(self, at: float) -> bool:
        """Whether it held at that time, superseded since or not."""
        return self.claim.since <= at and (self.holds(at) or self.held_then(at))

    def stands(self) -> bool:
        """Whether it is in use, or was until another value took its place."""
        return self.claim.status in CURRENT or (self.claim.status == Status.SUPERSEDED and bool(self.sources))

    def withdrawn(self, at: float) -> bool:
        """Whether it is out of use at that time only because nothing stands behind it any more."""
        forsaken = self.claim.status == Status.RETIRED and not self.sources
        over = self.claim.valid_to is not None and self.claim.valid_to <= at
        return (forsaken or self.claim.status == Status.UNSUPPORTED) and not over


def says_the_same(one: Claim, other: Claim) -> bool:
    """Whether two claims are one: equal facts, or the very same episode."""
    return one.type == other.type and fold_claim(one) == fold_claim(other)


def of_one_thing(one: Claim, other: Claim) -> bool:
    """Whether two claims give a value to the same thing."""
    return (
        isinstance(one, SemanticClaim)
        and isinstance(other, SemanticClaim)
        and bool(one.subject)
        and slot(one) == slot(other)
    )


def overlap(one: Claim, other: Claim) -> bool:
    """Whether two claims hold at one time, as far as their dates say."""
    ends = [end for end in (one.valid_to, other.valid_to) if end is not None]
    return not ends or max(one.since, other.since) < min(ends)
