"""Items: what a model proposes about messages, each checked against them before it is a claim.

A model is a witness that may be wrong in any way; the message is the evidence. So an item counts only if

- the words that it quotes are in a person's message. A quote that stands in another one than the item names is looked
  up there. If it is nowhere, the quote is dropped, and the item counts only if one message of the speaker holds all
  telling words of its object; the sentence that holds most of them is the evidence then, and the loss is reported.
  0.2.7's items have no quote and are read in the same way, without a report;
- at least half of its object's telling words are the speaker's own, said in these messages, and none of the others is
  an echo (recollectx.echoes) of what was shown, of what a machine said, or of the prompt's example;
- the words around the quote state it: they neither deny, ask, suppose or only report it, nor say it of somebody else
  (recollectx.extractors.stance). A predicate that no word says costs confidence, or the item if its words are known;
- its subject is somebody who speaks here, or is named in what people said;
- a claim can be built from it. What is wrong with a date or a confidence alone costs only that.

Everything left out is reported, with the reason.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from recollectx.claims import Claim, EpisodicClaim, SemanticClaim
from recollectx.echoes import ECHO, Shown, Words
from recollectx.errors import InvalidClaim
from recollectx.extractors.base import ANONYMOUS, Finding, Turn
from recollectx.extractors.moments import meant, written
from recollectx.extractors.phrase_tables import CATEGORY, IMPORTANCE, OTHER_IMPORTANCE, PREDICATE_WORDS
from recollectx.extractors.stance import Stated, groundless, unstated
from recollectx.passages import places, sentences
from recollectx.text import fold, query_tokens

UNSAID_CONFIDENCE = 0.7
GROUNDLESS_CONFIDENCE = 0.5
"""The most for a fact whose predicate is in other words than the message."""
LONGEST_SHOWN = 120
DAY = 86_400.0
_SELF = frozenset({"i", "me", "myself", "my", "user", "speaker", "self", "我", "ich", "je", "yo", "eu", "io"})
_YES_NO = frozenset({"yes", "no", "true", "false"})


class Unusable(Exception):
    """An item that is no claim; the message says why."""


@dataclass(frozen=True)
class Scene:
    """The messages that items are about.

    turns: those with a number, by persons, the first is number 1.  beside: what else the model saw.
    foreign: what no person said here: what they were shown, what machines said, the prompt's example.
    """

    turns: Sequence[Turn]
    beside: Sequence[Turn]
    foreign: Shown

    @cached_property
    def _said(self) -> dict[str, list[str]]:
        """What each person said."""
        said: dict[str, list[str]] = {ANONYMOUS: []}
        for turn in (*self.beside, *self.turns):
            if not turn.by_machine:
                said.setdefault(turn.said_by, []).append(turn.text)
        return said

    @cached_property
    def _own(self) -> dict[str, Words]:
        return {speaker: self.foreign.own_words(texts, speaker) for speaker, texts in self._said.items()}

    def own(self, speaker: str) -> Words:
        """What a speaker said of their own accord."""
        return self._own[speaker]

    def is_known(self, subject: str) -> bool:
        """Whether anybody here bears this name, or spoke of it."""
        return not _missing(subject, self._all)

    @cached_property
    def _all(self) -> Words:
        return Words(
            text
            for speaker, texts in self._said.items()
            for text in (speaker, *(self.foreign.own(text, speaker) for text in texts))
        )


@dataclass
class Read:
    """What came of one reply. findings: by number of the turn, from 0."""

    scene: Scene
    least: float
    most: int
    findings: dict[int, list[Finding]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def take(self, items: Any) -> None:
        """Every item of a reply, each on its own."""
        if not isinstance(items, list):
            self.problems.append(f"the items are no list: {_short(items)}")
            return
        for number, item in enumerate(items, 1):
            noted: list[str] = []
            try:
                at, finding = self._finding(item, noted)
                self._keep(at, finding)
            except (Unusable, InvalidClaim) as error:
                noted = [f"left out: {error}"]
            self.problems += [f"item {number} {_short(item)}: {each}" for each in noted]

    def _keep(self, at: int, finding: Finding) -> None:
        held = self.findings.setdefault(at, [])
        if finding.claim.confidence < self.least:
            raise Unusable(f"confidence {finding.claim.confidence:g} is below {self.least:g}")
        if any(_same(finding.claim, each.claim) for each in held):
            raise Unusable("it was said before")
        if len(held) >= self.most:
            raise Unusable(f"{self.most} were found in this message already")
        held.append(finding)

    def _finding(self, item: Any, noted: list[str]) -> tuple[int, Finding]:
        if not isinstance(item, Mapping):
            raise Unusable("it is no object")
        said = _said(item)
        at, (begin, end) = self._evidence(item, said, noted)
        turn = self.scene.turns[at]
        span = turn.text[begin:end]
        confidence = _confidence(item, noted)
        stated = _stated(item, said, turn)
        if why := groundless(turn.text, (begin, end), stated):
            if stated.predicate in PREDICATE_WORDS:
                raise Unusable(why)
            if confidence > GROUNDLESS_CONFIDENCE:
                noted.append(f"{why}; its confidence is {GROUNDLESS_CONFIDENCE:g}")
                confidence = GROUNDLESS_CONFIDENCE
        shared = {
            "confidence": confidence,
            "evidence": (span,),
            "created_at": turn.said_at,
            "source": turn.speaker,
        }
        shared |= {"session": turn.session, **_times(item, turn, noted)}
        claim = self._claim(item, said, turn, shared)
        own = self.scene.own(turn.said_by)
        if self.scene.foreign.echo(claim, own, machine=False) or self.scene.foreign.retold(claim, own):
            raise Unusable(ECHO)
        return at, Finding(claim, span)

    def _claim(self, item: Mapping[str, Any], said: str, turn: Turn, shared: dict[str, Any]) -> Claim:
        if not _is_fact(item):
            return EpisodicClaim(summary=said, **shared)
        subject, predicate = self._subject(item, turn), _predicate(item)
        return SemanticClaim(
            subject=subject,
            predicate=predicate,
            object=said,
            entities=(subject,),
            category=CATEGORY.get(predicate),
            importance=IMPORTANCE.get(predicate, OTHER_IMPORTANCE),
            **shared,
        )

    def _subject(self, item: Mapping[str, Any], turn: Turn) -> str:
        subject = _text(item, "subject") if item.get("subject") is not None else ANONYMOUS
        if fold(subject) in _SELF:
            return turn.said_by
        if not self.scene.is_known(subject):
            raise Unusable(f"nobody said anything of {subject!r}")
        return subject

    def _evidence(self, item: Mapping[str, Any], said: str, noted: list[str]) -> tuple[int, tuple[int, int]]:
        """The number of the turn that says the item, from 0, and where its words that do stand."""
        named = _number(item.get("turn"))
        at_first = [] if named is None or not 0 < named <= len(self.scene.turns) else [named - 1]
        order = [*at_first, *(at for at in range(len(self.scene.turns)) if at not in at_first)]
        quote = item.get("quote")
        why = ""
        if isinstance(quote, str) and quote.strip():
            for at in order:
                turn = self.scene.turns[at]
                for span in places(quote, turn.text):
                    self._check_grounds(item, said, turn)
                    why = unstated(turn.text, span, _stated(item, said, turn))
                    if not why:
                        return at, span
            if why:
                raise Unusable(why)
            if any(next(places(quote, turn.text), None) for turn in self.scene.beside if turn.by_machine):
                raise Unusable("no person said it")
        for at in order:
            turn = self.scene.turns[at]
            if _missing(_grounds(item, said), Words([turn.text])):
                continue
            span = _sentence(turn.text, said)
            why = unstated(turn.text, span, _stated(item, said, turn))
            if why:
                continue
            if quote:
                noted.append("its quote is not in the message; the sentence with its words stands for it")
            return at, span
        raise Unusable(why or ("its quote is in no message" if quote else "no message says it"))

    def _check_grounds(self, item: Mapping[str, Any], said: str, turn: Turn) -> None:
        grounds = _grounds(item, said)
        missing = _missing(grounds, self.scene.own(turn.said_by))
        if 2 * len(missing) > max(1, len(query_tokens(grounds))):
            reason = ECHO if self.scene.foreign.hold(grounds) else f"{turn.said_by} did not say {grounds!r}"
            raise Unusable(reason)


def _sentence(text: str, said: str) -> tuple[int, int]:
    """Where the sentence stands that holds most of what is said."""
    parts = sentences(text) or [text.strip()]
    best = min(parts, key=lambda part: len(_missing(said, Words([part]))))
    begin = text.index(best)
    return begin, begin + len(best)


def _stated(item: Mapping[str, Any], said: str, turn: Turn) -> Stated:
    subject = item.get("subject")
    by_speaker = subject is None or (
        isinstance(subject, str) and fold(subject) in (*_SELF, fold(turn.said_by))
    )
    predicate = _predicate(item) if _is_fact(item) else ""
    return Stated(
        predicate, said, turn.said_by if by_speaker else None, ended=item.get("until") not in (None, "")
    )


def _predicate(item: Mapping[str, Any]) -> str:
    return "_".join(_text(item, "predicate").lower().split())


def _missing(text: str, words: Words) -> list[str]:
    """The telling words of `text` that are not among `words`; all of it if it has none."""
    return words.missing(text) if query_tokens(text) else [text] * (2 * (text.casefold() not in words.plain))


def _is_fact(item: Mapping[str, Any]) -> bool:
    kind = item.get("type")
    if kind not in ("semantic", "episodic"):
        return item.get("object") is not None
    return bool(kind == "semantic")


def _said(item: Mapping[str, Any]) -> str:
    """The object of a fact, the content of an event."""
    if _is_fact(item):
        _text(item, "predicate")
        return _text(item, "object")
    return _text(item, "content")


def _grounds(item: Mapping[str, Any], said: str) -> str:
    """The words that the speaker must have said: a yes or no is said by the verb."""
    return _text(item, "predicate").replace("_", " ") if _is_fact(item) and fold(said) in _YES_NO else said


def _text(item: Mapping[str, Any], name: str) -> str:
    value = item.get(name)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = json.dumps(value)
    if not isinstance(value, str) or not value.strip():
        raise Unusable(f"{name} is {_short(value)}")
    return value.strip()


def _number(value: Any) -> int | None:
    if isinstance(value, str) and len(value) < 9 and value.strip().isdecimal():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _confidence(item: Mapping[str, Any], noted: list[str]) -> float:
    value = item.get("confidence")
    if value is None:
        return UNSAID_CONFIDENCE
    try:
        number = (
            float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else -1.0
        )
    except (ValueError, OverflowError):
        number = -1.0
    if 0 <= number <= 1:
        return number
    noted.append(f"confidence {_short(value)} is no number from 0 to 1; {UNSAID_CONFIDENCE} stands for it")
    return UNSAID_CONFIDENCE


def _times(item: Mapping[str, Any], turn: Turn, noted: list[str]) -> dict[str, float]:
    """valid_from and valid_to, as far as words of the message say them."""
    given = {name: item[name] for name in ("since", "until") if item.get(name) not in (None, "")}
    when = item.get("when")
    heard = isinstance(when, str) and next(places(when, turn.text), None) is not None
    known = meant(when, turn.said_at) if heard and isinstance(when, str) else None
    if given and not heard:
        noted.append("its date was dropped: no words of the message say it")
        return {"valid_from": turn.said_at}
    begin, end = None, None
    for name, value in given.items():
        try:
            moment = written(value if isinstance(value, str) else "")
        except ValueError:
            noted.append(f"{name} was dropped: {_short(value)} is no date")
            continue
        begin, end = (moment, end) if name == "since" else (begin, moment)
    if known is not None and "until" not in given:
        begin = known
    if end is None:
        return {"valid_from": turn.said_at if begin is None else begin}
    if begin is None:
        # An end alone says nothing of the beginning, but that it was so the day before.
        return {"valid_from": min(turn.said_at, end - DAY), "valid_to": end}
    if end < begin:
        raise Unusable("it ended before it began, as far as its dates say")
    return {"valid_from": begin, "valid_to": end}


def _same(one: Claim, other: Claim) -> bool:
    return one.type == other.type and fold(one.text) == fold(other.text)


def _short(value: Any) -> str:
    shown = json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "replace").decode("utf-8")
    return shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN]}…"
