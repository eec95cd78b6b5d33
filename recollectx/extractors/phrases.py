"""Claims from plain English phrases, without a model: where someone lives and works, what they like, "my X is Y".

It would rather miss a claim than make a wrong one. A phrase counts only where its subject begins a clause,
so "the place I love" and "Bob says I like" are none; questions, quotations, conditions, wishes and what was
once so are left alone; an object must be whole and mean something away from its turn.

Predicates: lives_in, works_as, works_at, prefers, likes, dislikes, allergic_to, and the speaker's own words
for attributes: "my favourite colour is blue" gives favorite_color, "my sister's name is Bea" gives sister_name.
In objects "my" becomes the subject's name: "Ana likes Ana's job".
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import itemgetter

from recollectx.claims import Category, SemanticClaim, check_unit
from recollectx.extractors.base import ANONYMOUS, MACHINES, Finding, Turn
from recollectx.extractors.phrase_denials import denied
from recollectx.extractors.phrase_objects import attribute, attribute_value, clause, shaped, unquoted
from recollectx.extractors.phrase_tables import (
    BLOCKING,
    CATEGORY,
    CONDITION_AFTER,
    IMPORTANCE,
    LEAD,
    MISSPOKE,
    NOT_NAMES,
    NOT_PLACES,
    OTHER_IMPORTANCE,
    PHRASES,
    RELATIVES,
    REPORTED_AFTER,
    RETRACTED,
    Shape,
)

LONGEST_SENTENCE = 1_000
"""Characters; what is longer is no sentence someone said, and would be slow to read."""

_LEAD_REACH = 40
_CAPTION = re.compile(r"\[shares [^\]]*\]")
_QUOTED = re.compile(
    r'"[^"\n]*(?:"|$|(?=\n))|“[^”\n]*”?|(?<!\w)\'[^\'\n]{1,300}(?:\'\w[^\'\n]{0,300}){0,4}\'(?!\w)|^>.*$',
    re.MULTILINE,
)
_SENTENCE_END = re.compile(r"(?<!\b[A-Z])(?<!\b[DMS][rst])(?<!\bMrs)[.!?…]+(?=\W|$)|\n+")
_ATTRIBUTE = re.compile(
    r"\s+((?:[\w-]{1,40}(?:'s)?\s+){0,3}?[\w-]{1,40})\s+"
    r"(?:(?:is|are)(?:\s+(?:now|currently|still))?|(?:has\s+)?(?:just\s+)?changed\s+to)(?=\s)"
)
_INVERTED = re.compile(
    r"\s*(?:(?:and|but|so|oh|yeah|well)[,!]?\s+)?(?P<value>[^,;:()]{2,80}?)\s+(?:is|are)\s+(?:(?:now|currently|still|again)\s+)?(?P<my>my)\s+"
    r"(?:(?:number\s+one|main|biggest|ultimate)\s+)?(?P<name>(?:(?:favou?rite|current|new)\s+)?[a-z-]{3,30})"
    r"(?=(?:\s+(?:now|again|these\s+days|nowadays|currently|at\s+the\s+moment))?\s*(?:[,.!]|$))",
    re.IGNORECASE,
)
_NEXT_VERB = re.compile(r",?\s+(?:and|but)(?=\s)")
_MOVED_ON = re.compile(
    r"\b(?:moved\s+back|came\s+back|returned|but\s+(?:then|now)|and\s+then|when\s+\w+\s+(?:was|were))\b"
)
_PROPER_NAME = re.compile(r"[A-Z][\w'-]*(?:\s+[A-Z][\w'-]*)*")


@dataclass(frozen=True, slots=True)
class _Said:
    """Subject, predicate and object, and where in the turn they stand."""

    subject: str
    predicate: str
    object: str
    start: int
    end: int


@lru_cache(maxsize=256)
def _subjects(speaker: str | None) -> re.Pattern[str]:
    """Matches what can be a subject: I, my, and the speaker's name, or any name when there is no speaker."""
    if speaker is None:
        word = rf"(?!(?:{NOT_NAMES})\b)[A-Z][\w-]{{1,40}}"
        name = rf"{word}(?:\s+{word}){{0,2}}"
    else:
        name = "|".join(re.escape(known) for known in (speaker, speaker.split()[0]))
    return re.compile(rf"\b(?:(?P<first>[Ii])|(?P<my>[Mm]y)|(?P<name>{name}))(?=[\s']|$)")


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    """Start and words of each sentence that is stated and stands: no question, not taken back by the next."""
    start = 0
    for match in [*_SENTENCE_END.finditer(text), None]:
        end, stop, mark = (match.start(), match.end(), match[0]) if match else (len(text), len(text), "")
        if "?" not in mark and end - start <= LONGEST_SENTENCE and not RETRACTED.match(text, stop):
            yield start, text[start:end]
        start = stop


def _readable(text: str) -> str:
    """`text`, character for character, with plain apostrophes and captions of pictures blanked."""
    return _CAPTION.sub(lambda caption: "\n" * len(caption[0]), text.replace("’", "'"))


class PhraseExtractor:
    """Finds claims by a small set of English phrases; deterministic, in the order of the text."""

    def __init__(self, confidence: float = 0.8) -> None:
        self.confidence = check_unit(confidence, "confidence")

    def find(self, turn: Turn) -> list[Finding]:
        """The claims of this turn, none twice; a turn by an assistant, system or tool makes none."""
        if turn.role in MACHINES:
            return []
        found = {(said.subject, said.predicate, said.object): said for said in reversed([*_statements(turn)])}
        stated = [self._finding(turn, said) for said in reversed(found.values())]
        return [*self._denials(turn), *stated]

    def _denials(self, turn: Turn) -> Iterator[Finding]:
        """What the sentences of a turn take back, each whole sentence being the span."""
        text = _readable(turn.text)
        quoted = [match.span() for match in _QUOTED.finditer(text)]
        for start, sentence in _sentences(text):
            at = start + len(sentence) - len(sentence.lstrip())
            positive = "" if _within(quoted, at) else denied(sentence)
            for said in _statements(replace(turn, text=positive)) if positive else ():
                whole = replace(said, start=at, end=start + len(sentence.rstrip()))
                yield replace(self._finding(turn, whole), denied=True)

    def _finding(self, turn: Turn, said: _Said) -> Finding:
        span = turn.text[said.start : said.end]
        claim = SemanticClaim(
            subject=said.subject,
            predicate=said.predicate,
            object=said.object,
            confidence=self.confidence,
            importance=IMPORTANCE.get(said.predicate, OTHER_IMPORTANCE),
            evidence=(span,),
            created_at=turn.said_at,
            last_reinforced_at=turn.said_at,
            valid_from=turn.said_at,
            source=turn.speaker,
            session=turn.session,
            entities=(said.subject, *_names(said.object)),
            category=_category(said.predicate),
        )
        return Finding(claim, span)


def _category(predicate: str) -> Category | None:
    if predicate.split("_", maxsplit=1)[0] in RELATIVES:
        return Category.RELATIONSHIPS
    if predicate.startswith("favorite_"):
        return Category.PREFERENCES
    return CATEGORY.get(predicate)


def _names(text: str) -> list[str]:
    return [name for name in _PROPER_NAME.findall(text) if name not in NOT_PLACES]


def _statements(turn: Turn) -> Iterator[_Said]:
    text = _readable(turn.text)
    quoted = [match.span() for match in _QUOTED.finditer(text)]
    for offset, sentence in _sentences(text):
        corrected = MISSPOKE.match(sentence)
        blocked = BLOCKING.search(sentence, corrected.end() if corrected else 0)
        if not blocked and not _within(quoted, offset):
            for said in _inverted(turn.speaker or ANONYMOUS, sentence):
                yield replace(said, start=said.start + offset, end=said.end + offset)
        for match in _subjects(turn.speaker).finditer(sentence):
            at = match.start()
            if corrected and at < corrected.end():
                continue
            if blocked and blocked.end() <= at:
                break
            if _opens_clause(sentence[:at]) and not _within(quoted, at + offset):
                for said in _about(match, sentence, turn.speaker):
                    yield replace(said, start=said.start + offset, end=said.end + offset)


def _within(spans: list[tuple[int, int]], at: int) -> bool:
    """Whether one of the sorted, disjoint `spans` covers `at`."""
    place = bisect_right(spans, at, key=itemgetter(0))
    return place > 0 and at < spans[place - 1][1]


def _opens_clause(before: str) -> bool:
    return not before.strip() or bool(LEAD.search(before[-_LEAD_REACH:]))


def _about(match: re.Match[str], text: str, speaker: str | None) -> Iterator[_Said]:
    """What is said of the subject that `match` found in the sentence `text`."""
    subject = speaker or match["name"] or ANONYMOUS
    if match["first"]:
        yield from _verbs(subject, text, match.start(), match.end(), first=True)
    elif match["my"]:
        yield from _attributes(subject, text, match.start(), match.end())
    else:
        yield from _verbs(subject, text, match.start(), match.end(), first=False)
        if text.startswith("'s", match.end()):
            yield from _attributes(subject, text, match.start(), match.end() + 2)


def _verbs(subject: str, text: str, start: int, at: int, *, first: bool) -> Iterator[_Said]:
    """The phrase at `at`, and those that follow it by "and" or "but" with the same subject."""
    for phrase in PHRASES:
        verb = (phrase.first if first else phrase.third).match(text, at)
        if not verb:
            continue
        raw = clause(text[verb.end() :])
        words = shaped(phrase.shape, raw)
        stands = bool(words) and not _taken_back(text[verb.end() :], moved=phrase.shape is Shape.DESTINATION)
        if stands:
            yield from _said(subject, phrase.predicate, words, text, start=start, after=verb.end())
        following = _NEXT_VERB.match(text, verb.end() + len(raw.rstrip()))
        if following and (stands or phrase.shape is Shape.DESTINATION):
            yield from _verbs(subject, text, following.end() + 1, following.end(), first=first)
        return


def _taken_back(rest: str, *, moved: bool = False) -> bool:
    """Whether the rest of a sentence makes it conditional, somebody else's, or (after a move) past."""
    return bool(
        CONDITION_AFTER.search(rest) or REPORTED_AFTER.search(rest) or (moved and _MOVED_ON.search(rest))
    )


def _attributes(subject: str, text: str, start: int, at: int) -> Iterator[_Said]:
    match = _ATTRIBUTE.match(text, at)
    if match and (predicate := attribute(match[1])) and not _taken_back(text[match.end() :]):
        words = attribute_value(predicate, clause(text[match.end() :]))
        yield from _said(subject, predicate, words, text, start=start, after=match.end())


def _inverted(subject: str, text: str) -> Iterator[_Said]:
    """A sentence of the form "X is my goal"."""
    match = _INVERTED.match(text)
    if not match or not (predicate := attribute(match["name"])) or _taken_back(text[match.end() :]):
        return
    words = attribute_value(predicate, match["value"])
    if words and words == match["value"].strip():
        for said in _said(
            subject, predicate, words, text, start=match.start("value"), after=match.start("value")
        ):
            yield replace(said, end=match.end("name"))


def _said(subject: str, predicate: str, words: str, text: str, *, start: int, after: int) -> Iterator[_Said]:
    if title := unquoted(words):
        own = re.sub(r"\bmy own\b", "their own", title, flags=re.IGNORECASE)
        value = re.sub(r"\bmy\b", lambda _: f"{subject}'s", own, flags=re.IGNORECASE)
        yield _Said(subject, predicate, value, start, text.index(words, after) + len(words))
