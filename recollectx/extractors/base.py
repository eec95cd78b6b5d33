"""The seam between a conversation and the claims found in it.

An extractor has `find`, one turn at a time. One that would rather read several turns at once, and report what went
wrong and what it cost, has `read` as well. `read_turns` asks either kind.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from recollectx.claims import MAX_TEXT, Claim, check_text
from recollectx.echoes import ECHO, NOTHING, Shown
from recollectx.llm.base import Usage

MACHINES = frozenset({"assistant", "system", "tool", "ai", "model", "bot", "developer", "function"})
"""Roles that are no person, in any case."""
HUMAN = "human"
"""LangChain's name of the role user."""
ANONYMOUS = "user"
"""Who speaks where nobody is named."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing said, once.

    speaker: None is the anonymous user.  said_at: seconds since 1970 UTC.
    position: place of the turn in its session, from 0.  role: user, human, or one of MACHINES; None is a person.
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

    @property
    def said_by(self) -> str:
        """The speaker's name."""
        return self.speaker or ANONYMOUS

    @property
    def by_machine(self) -> bool:
        """Whether no person said it: what an assistant proposes is not what anybody believes."""
        # Ai is a given name, so a speaker is only known as a machine by AI or ai.
        named = None if self.speaker == "Ai" else self.speaker
        return is_machine(named if self.role is None else self.role)


def is_machine(role: str | None) -> bool:
    """Whether this role is one of a machine."""
    return role is not None and role.strip().casefold() in MACHINES


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim and the words that say it; `span` is an exact substring of the turn's text.

    denied: the words take the claim back: it was never so.
    """

    claim: Claim
    span: str
    denied: bool = False


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was found in several turns.

    findings: for each turn its own, in order.  problems: what was left out or could not be done, each in one sentence
    that names the item or the turns.  usage: calls of a model and their tokens.
    """

    findings: tuple[tuple[Finding, ...], ...]
    problems: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


class Extractor(Protocol):
    """Anything that finds claims in a turn."""

    def find(self, turn: Turn) -> list[Finding]:
        """The claims this turn makes, in the order it makes them; none is normal."""
        ...


class ClaimExtractor(Protocol):
    """0.2.7's seam: texts in, claims out."""

    def extract(self, text: str, context: Mapping[str, Any] | None = None) -> list[Claim]:
        """The claims of one text."""
        ...

    def extract_batch(
        self, texts: Sequence[str], context: Mapping[str, Any] | None = None
    ) -> Sequence[list[Claim]]:
        """The claims of each text."""
        ...


def read_turns(extractor: Extractor | None, turns: Sequence[Turn], shown: Shown = NOTHING) -> Extraction:
    """What `extractor` finds in turns of one conversation, without what only repeats what was shown."""
    if extractor is None:
        return Extraction(tuple(() for _ in turns))
    if callable(read := getattr(extractor, "read", None)):
        found: Extraction = read(turns, shown)
        return found
    found_here = [extractor.find(turn) for turn in turns]
    problems: list[str] = []
    kept = tuple(
        tuple(without_echoes(turn, findings, shown, problems))
        for turn, findings in zip(turns, found_here, strict=True)
    )
    return Extraction(kept, tuple(problems))


def without_echoes(
    turn: Turn, findings: Sequence[Finding], shown: Shown, problems: list[str]
) -> Iterator[Finding]:
    """The findings of a turn that are no echo of what was shown; the others are told in `problems`."""
    own = shown.own_words([turn.text], turn.said_by)
    for finding in findings:
        if shown.echo(finding.claim, own, machine=turn.by_machine):
            problems.append(f"{finding.claim.text!r} was left out: {ECHO}")
        else:
            yield finding
