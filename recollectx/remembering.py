"""Turns: what was said, put in order and read for claims.

A turn is kept as an episode, word for word; each claim an extractor finds in it derives from that episode and quotes
the words that say it. A plain text in which nothing is found is kept as a fact that is only text.
"""

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from recollectx.changes import WriteResult
from recollectx.claims import Claim, EpisodicClaim, SemanticClaim, check_metadata, check_text
from recollectx.echoes import Shown
from recollectx.errors import TranscriptError
from recollectx.extractors.base import Extraction, Extractor, Finding, Turn, read_turns, without_echoes
from recollectx.extractors.messages import plain_role, unknown_key, words_in
from recollectx.instants import Instant, to_seconds
from recollectx.llm.base import Usage

Message: TypeAlias = Mapping[str, Any]
USER = "user"
RECALL = "recall"
"""The metadata key under which a machine's turn names the recall that it was made on."""
TEXT_CONFIDENCE = 0.8


@dataclass(frozen=True, slots=True)
class Heard:
    """A claim found in a turn, with the words that say it, or that take it back."""

    claim: Claim
    span: str | None
    denied: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What one turn comes to: the episode (None for a bare fact) and the claims found in it."""

    episode: EpisodicClaim | None
    found: tuple[Heard, ...]
    own_place: bool = True

    def placed(self, moved: Mapping[str, int]) -> EpisodicClaim:
        """The episode, moved on in its session if it did not say its place."""
        assert self.episode is not None
        session, position = self.episode.session, self.episode.position
        further = 0 if self.own_place or session is None else moved.get(session, 0)
        return (
            replace(self.episode, position=position + further)
            if further and position is not None
            else self.episode
        )


@dataclass(frozen=True, slots=True)
class Readings:
    """What a text or several turns come to, and how the reading went."""

    readings: tuple[Reading, ...]
    extraction: Extraction


class Remembered(list[WriteResult]):
    """What came of each claim. problems: what was not taken as a claim, or could not be read, and why.  usage: what a
    model cost on the way."""

    def __init__(self, results: Iterable[WriteResult], extraction: Extraction) -> None:
        super().__init__(results)
        self.problems: tuple[str, ...] = extraction.problems
        self.usage: Usage = extraction.usage


def read_text(
    text: str,
    *,
    source: str,
    at: float,
    scope: str,
    metadata: Mapping[str, Any],
    extractor: Extractor | None,
    shown: Shown,
) -> Readings:
    """One plain text, said by `source` at `at` (seconds since 1970 UTC)."""
    turn = Turn(text, None if source == USER else source, at, None, None)
    extraction = read_turns(extractor, [turn], shown)
    if extractor is not None and not hasattr(extractor, "read") and not extraction.findings[0]:
        # Whoever is the source may be telling of somebody else: then nobody in the text is the speaker.
        problems = list(extraction.problems)
        found = without_echoes(turn, extractor.find(replace(turn, speaker=None)), shown, problems)
        extraction = Extraction((tuple(found),), tuple(problems))
    heard = _heard(extraction.findings[0], source, scope)
    # What a machine makes of what it was shown is no fact of its own, in whatever words.
    retold = bool(shown.passages) and turn.by_machine
    if heard or retold or shown.quoted_in(text, turn.said_by):
        episode = _episode(turn, text, source, scope, _with_lineage(metadata, turn, shown))
        return Readings((Reading(episode, heard),), extraction)
    fact = SemanticClaim.from_text(
        text,
        confidence=TEXT_CONFIDENCE,
        evidence=(text,),
        created_at=at,
        source=source,
        scope=scope,
        metadata=metadata,
    )
    return Readings((Reading(None, (Heard(fact, text),)),), extraction)


def read_messages(
    messages: Sequence[Message],
    *,
    source: str | None,
    at: float,
    scope: str,
    metadata: Mapping[str, Any],
    extractor: Extractor | None,
    next_position: Mapping[str, int],
    shown: Shown,
    known: Callable[[EpisodicClaim], bool],
) -> Readings:
    """Turns in order. next_position: where a session goes on, for turns that do not say their place.

    known: whether a turn is held already; an extractor that costs money is not asked about it.
    """
    own_session = f"session-{uuid.uuid4()}"
    places: Counter[str] = Counter(next_position)
    said: list[tuple[Turn, EpisodicClaim, bool]] = []
    silent: list[str] = []
    for number, message in enumerate(messages, 1):
        where = f"message {number}"
        words = _words(message, where)
        if not words.strip():
            silent.append(f"{where} was left out: it says nothing")
            continue
        session = message.get("session") or own_session
        position = message.get("position")
        try:
            place: int = places[check_text(session, "session")] if position is None else position
            turn, named, said_by = _turn(message, words, source, at=at, session=session, position=place)
            summary = f"{named}: {turn.text}" if named else turn.text
            extra = {**metadata, **check_metadata(message.get("metadata") or {})}
            episode = _episode(turn, summary, said_by, scope, _with_lineage(extra, turn, shown))
        except ValueError as error:
            raise TranscriptError(f"{where}: {error}") from None
        places[session] = place + 1
        said.append((turn, episode, position is not None))
    costs = hasattr(extractor, "read")
    new = [
        at for at, (_, episode, own_place) in enumerate(said) if not (costs and own_place and known(episode))
    ]
    extraction = read_turns(extractor, [said[at][0] for at in new], shown)
    extraction = replace(extraction, problems=(*silent, *extraction.problems))
    findings = dict(zip(new, extraction.findings, strict=True))
    readings = tuple(
        Reading(episode, _heard(findings.get(at, ()), str(episode.source), scope), own_place=own_place)
        for at, (_, episode, own_place) in enumerate(said)
    )
    return Readings(readings, extraction)


def _with_lineage(metadata: Mapping[str, Any], turn: Turn, shown: Shown) -> Mapping[str, Any]:
    """What a machine says names the recall that it had to go on."""
    if shown.recall_id is None or not turn.by_machine:
        return metadata
    return {**metadata, RECALL: shown.recall_id}


def sessions_of(messages: Iterable[Message]) -> set[str]:
    """Sessions with turns that do not say their place."""
    return {
        str(message["session"])
        for message in messages
        if isinstance(message, Mapping) and message.get("session") and message.get("position") is None
    }


def _words(message: Any, where: str) -> str:
    if not isinstance(message, Mapping):
        raise TranscriptError(
            f"{where} is no mapping: {message!r}; give role and content, or speaker and text"
        )
    unknown = unknown_key(message)
    if unknown is not None:
        raise TranscriptError(f"{where} has the unknown key {unknown!r}; put what is your own under metadata")
    try:
        return words_in(message)
    except ValueError as error:
        raise TranscriptError(f"{where}: {error}") from None


def _turn(
    message: Message, text: str, source: str | None, *, at: float, session: str, position: int
) -> tuple[Turn, str | None, str]:
    """The turn, the name to show before its words, and its source."""
    role = message.get("role")
    speaker = message.get("speaker") or message.get("name")
    for name, value in (("role", role), ("speaker", speaker)):
        if value is not None:
            check_text(value, name)
    role = plain_role(role)
    when: Instant | None = message.get("time", message.get("timestamp"))
    said_at = at if when is None else to_seconds(when, "time")
    person = speaker or (source if role in (None, USER) else None)
    said_by = str(person or role or USER)
    named = speaker or (None if role in (None, USER) and source is None else said_by)
    turn = Turn(text, None if said_by == USER else said_by, said_at, session, position, role)
    return turn, named, said_by


def _episode(turn: Turn, summary: str, source: str, scope: str, metadata: Mapping[str, Any]) -> EpisodicClaim:
    return EpisodicClaim(
        summary=summary,
        confidence=1.0,
        created_at=turn.said_at,
        source=source,
        scope=scope,
        session=turn.session,
        position=turn.position,
        metadata=metadata,
    )


def _heard(findings: Iterable[Finding], source: str, scope: str) -> tuple[Heard, ...]:
    return tuple(
        Heard(replace(each.claim, source=source, scope=scope), each.span, each.denied) for each in findings
    )


def claims_of(readings: Iterable[Reading]) -> Iterator[Claim]:
    """Every claim that the readings make, episodes first in their turn."""
    for reading in readings:
        if reading.episode is not None:
            yield reading.episode
        yield from (heard.claim for heard in reading.found if not heard.denied)
