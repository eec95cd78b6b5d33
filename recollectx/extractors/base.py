"""The seam between a conversation and the claims found in it."""

from dataclasses import dataclass
from typing import Protocol

from recollectx.claims import MAX_TEXT, SemanticClaim, check_text


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing said, once.

    speaker: None is the anonymous user.  said_at: seconds since 1970 UTC.
    position: place of the turn in its session, from 0.  role: user, assistant, system or tool; None is a person.
    Raises InvalidClaim for text that could not be stored and for a blank speaker.
    """

    text: str
    speaker: str | None
    said_at: float
    session: str | None
    position: int | None
    role: str | None = None

    def __post_init__(self) -> None:
        check_text(self.text, "text", MAX_TEXT, blank=True)
        if self.speaker is not None:
            check_text(self.speaker, "speaker")


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim and the words that say it; `span` is an exact substring of the turn's text.

    denied: the words take the claim back: it was never so.
    """

    claim: SemanticClaim
    span: str
    denied: bool = False


class Extractor(Protocol):
    """Anything that finds claims in a turn."""

    def find(self, turn: Turn) -> list[Finding]:
        """The claims this turn makes, in the order it makes them; none is normal."""
        ...
