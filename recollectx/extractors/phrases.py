"""Claims from plain English phrases, without a model: where someone lives and works, what they like, "my X is Y".

It would rather miss a claim than make a wrong one. A phrase counts only where its subject begins a clause,
so "the place I love" and "Bob says I like" are none; questions, quotations, conditions, wishes and what was
once so are left alone; an object must be whole and mean something away from its turn.

Predicates: lives_in, hometown, born_in, works_as, works_at, current_project, goal, prefers, likes, dislikes,
allergic_to, diet, speaks, plays, has_pet, married_to, engaged_to, dating, major, age, birthday, phone_number, email,
and the speaker's own words for attributes: "my favourite colour is blue" gives favorite_color, "my sister's name is
Bea" gives sister_name.
In objects "my" becomes the subject's name: "Ana likes Ana's job".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from recollectx.claims import Category, SemanticClaim, check_unit
from recollectx.extractors.base import ANONYMOUS, Finding, Turn, is_machine
from recollectx.extractors.phrase_denials import denied
from recollectx.extractors.phrase_guards import (
    opens_clause,
    quotations,
    readable,
    sentences,
    taken_back,
    within,
)
from recollectx.extractors.phrase_objects import attribute, attribute_value, clause, unquoted
from recollectx.extractors.phrase_rewordings import article, reworded
from recollectx.extractors.phrase_shapes import shaped
from recollectx.extractors.phrase_tables import (
    BLOCKING,
    CATEGORY,
    HEARSAY,
    HEARSAY_AFTER,
    IMPORTANCE,
    MISSPOKE,
    NOT_NAMES,
    NOT_PLACES,
    OTHER_IMPORTANCE,
    RELATIVES,
)
from recollectx.extractors.phrase_verbs import PHRASES, Shape

HEARD = 0.5
"""What is left of the confidence where the words themselves say that they were only heard, or thought."""

_ATTRIBUTE = re.compile(
    r"\s+((?:[\w-]{1,40}(?:'s)?\s+){0,3}?[\w-]{1,40})\s+"
    r"(?:(?:is|are)(?:\s+(?:now|currently|still|again|nowadays|these\s+days|definitely|officially))*|"
    r"(?:has\s+)?(?:just\s+|recently\s+)?(?:changed|switched)\s+to)(?=\s)|(?P<short>\s+(?:new\s+)?(?:number|mobile|birthday))'s(?=\s+(?:on\s+)?\d)"
)
_INVERTED = re.compile(
    r"\s*(?:(?:and|but|so|oh|yeah|well)[,!]?\s+)?(?P<value>[^,;:()]{2,80}?)\s+(?:is|are|has\s+become|became)\s+(?:(?:now|currently|still|again)\s+)?(?P<my>my)\s+"
    r"(?:(?:number\s+one|main|biggest|ultimate|all-time|absolute)\s+)?(?P<name>(?:(?:favou?rite|go-to|preferred|current|new)\s+)?[a-z-]{3,30})"
    r"(?=(?:\s+(?:now|again|these\s+days|nowadays|currently|at\s+the\s+moment))?\s*(?:[,.!]|$))",
    re.IGNORECASE,
)
_LATER_CLAUSE = re.compile(r"(?:[,;:]|\s[-–—])\s+(?=[A-Z])")
_NEXT_VERB = re.compile(r",?\s+(?:and|but)(?=\s)")
_PROPER_NAME = re.compile(r"[A-Z][\w'-]*(?:\s+[A-Z][\w'-]*)*")


@dataclass(frozen=True, slots=True)
class _Said:
    """Subject, predicate and object, and where in the turn they stand."""

    subject: str
    predicate: str
    object: str
    start: int
    end: int
    heard: bool = False


@lru_cache(maxsize=256)
def _subjects(speaker: str | None) -> re.Pattern[str]:
    """Matches what can be a subject: I, my, and the speaker's name, or any name when there is no speaker."""
    if speaker is None:
        word = rf"(?!(?:{NOT_NAMES})\b)[A-Z][\w-]{{1,40}}"
        name = rf"{word}(?:\s+{word}){{0,2}}"
    else:
        name = "|".join(re.escape(known) for known in (speaker, speaker.split()[0]))
    return re.compile(rf"\b(?:(?P<first>[Ii])|(?P<my>[Mm]y)|(?P<name>{name}))(?=[\s']|$)")


class PhraseExtractor:
    """Finds claims by a small set of English phrases; deterministic, in the order of the text."""

    def __init__(self, confidence: float = 0.8) -> None:
        self.confidence = check_unit(confidence, "confidence")

    def find(self, turn: Turn) -> list[Finding]:
        """The claims of this turn, none twice; a turn of a machine's role makes none."""
        if is_machine(turn.role):
            return []
        found = {(said.subject, said.predicate, said.object): said for said in reversed([*_statements(turn)])}
        stated = [self._finding(turn, said) for said in reversed(found.values())]
        return [*self._denials(turn), *stated]

    def _denials(self, turn: Turn) -> Iterator[Finding]:
        """What the sentences of a turn take back, each whole sentence being the span."""
        text = readable(turn.text)
        quoted = quotations(text)
        for start, sentence in sentences(text):
            at = start + len(sentence) - len(sentence.lstrip())
            if within(quoted, at):
                continue
            positive = denied(sentence)
            wrong = (
                list(_statements(replace(turn, text=positive))) if positive else [*_misspoken(turn, sentence)]
            )
            for said in wrong:
                whole = replace(said, start=at, end=start + len(sentence.rstrip()))
                yield replace(self._finding(turn, whole), denied=True)

    def _finding(self, turn: Turn, said: _Said) -> Finding:
        span = turn.text[said.start : said.end]
        claim = SemanticClaim(
            subject=said.subject,
            predicate=said.predicate,
            object=said.object,
            confidence=self.confidence * (HEARD if said.heard else 1),
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
    text = readable(turn.text)
    quoted = quotations(text)
    for offset, sentence in sentences(text):
        for said in _read(sentence, turn.speaker):
            if not within(quoted, said.start + offset):
                yield replace(said, start=said.start + offset, end=said.end + offset)


def _read(sentence: str, speaker: str | None) -> Iterator[_Said]:
    """What a sentence says, plainly or in other words."""
    before = MISSPOKE.match(sentence) or HEARSAY.match(sentence)
    begins = before.end() if before else 0
    heard = bool(HEARSAY.match(sentence) or HEARSAY_AFTER.search(sentence))
    blocked = BLOCKING.search(sentence, begins)
    ends = blocked.end() if blocked else len(sentence)
    for said in _plainly(sentence, speaker, begins, ends):
        yield replace(said, heard=heard)
    for start, stated in reworded(sentence, speaker, begins, ends):
        for said in _plainly(stated, speaker, 0, len(stated)):
            yield replace(said, start=start, end=len(sentence.rstrip()), heard=heard)


def _plainly(sentence: str, speaker: str | None, begins: int, ends: int) -> Iterator[_Said]:
    """What the plain statements say whose subjects stand between two places in a sentence."""
    if ends == len(sentence):
        for start in [0, *(each.end() for each in _LATER_CLAUSE.finditer(sentence))]:
            yield from _inverted(speaker or ANONYMOUS, sentence, start)
    for match in _subjects(speaker).finditer(sentence, begins):
        at = match.start()
        if at >= ends:
            break
        if at == begins or opens_clause(sentence[:at]):
            yield from _about(match, sentence, speaker)


def _misspoken(turn: Turn, sentence: str) -> Iterator[_Said]:
    """The value that a sentence names as a mistake, of what it then puts right."""
    corrected = MISSPOKE.match(sentence)
    if not corrected:
        return
    wrong = re.sub(
        r"^(?:in|at|for|as|an?)\s+", "", corrected["said"] or corrected["not"], flags=re.IGNORECASE
    )
    right = next(_read(sentence, turn.speaker), None)
    if right and wrong.casefold() not in right.object.casefold():
        named = f"{article(wrong)} {wrong}" if re.match(r"an?\s", right.object) else wrong
        yield replace(right, object=named)


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
        stands = bool(words) and not taken_back(text[verb.end() :], moved=phrase.shape is Shape.DESTINATION)
        if stands:
            yield from _said(subject, phrase.predicate, words, text, start=start, after=verb.end())
        following = _NEXT_VERB.match(text, verb.end() + len(raw.rstrip()))
        if following and (stands or phrase.shape is Shape.DESTINATION):
            yield from _verbs(subject, text, following.end() + 1, following.end(), first=first)
        return


def _attributes(subject: str, text: str, start: int, at: int) -> Iterator[_Said]:
    match = _ATTRIBUTE.match(text, at)
    if match and (predicate := attribute(match[1] or match["short"])) and not taken_back(text[match.end() :]):
        words = attribute_value(predicate, clause(text[match.end() :]))
        yield from _said(subject, predicate, words, text, start=start, after=match.end())


def _inverted(subject: str, text: str, start: int) -> Iterator[_Said]:
    """A clause of the form "X is my goal"."""
    match = _INVERTED.match(text, start)
    if not match or not (predicate := attribute(match["name"])) or taken_back(text[match.end() :]):
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
