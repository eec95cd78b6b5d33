"""Stance: whether the words around a passage state what is made of them, or deny, ask, suppose or only report it.

A passage may be copied letter by letter out of "I never lived in Rome", and still say the opposite. So its sentence is
read by the guards that plain phrases have (phrase_guards, phrase_tables), and its clause for words that turn it round.
What the item says itself ("dislikes", "wants_to_live_in", "meat only if it is halal") turns nothing round.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

from recollectx.echoes import NEGATIONS, Words
from recollectx.extractors.phrase_guards import (
    opens_clause,
    quotations,
    readable,
    sentences_at,
    taken_back,
    within,
)
from recollectx.extractors.phrase_tables import (
    ATTRIBUTES,
    BLOCKING,
    HEARSAY,
    MISSPOKE,
    NOT_NAMES,
    OTHER_NAMES,
    OTHER_PEOPLE,
    PREDICATE_WORDS,
    words,
)
from recollectx.passages import places
from recollectx.text import query_tokens, tokens

_PERSON = r"(?:I|I'm|I've|we|we're|you|he|she|they|it|my|our|ich|wir|je|j'|nous|yo|eu|io|я|мы)\b"
_CLAUSE = re.compile(
    r"[;—–，；]|:(?=\s)|\s-\s|\b(?:but|however|aber|sondern|mais|pero|sino|mas|ma|maar|но|ale)\b|但|"
    rf",\s*(?:(?:and|so|because|und|et|y|e|и)\s+)?(?={_PERSON})|,\s*(?=(?:not|nicht|pas|non?)\b)|"
    rf"\b(?:and|so|because|although|though|und|et|y)\s+(?={_PERSON})",
    re.IGNORECASE,
)
_NEW_STATEMENT = re.compile(r";|\b(?:but|however)\b", re.IGNORECASE)
_UNDENYING = re.compile(
    r"\b(?:not\s+only|not\s+to\s+mention|no\s+(?:doubt|wonder|problem)|can't\s+wait)\b", re.IGNORECASE
)
_UNSPACED_NEGATION = re.compile("[不没沒無]|ない|ません")
_REVERSING = re.compile(
    r"\b(?:no\s+longer|stopped|stop|quit|gave\s+up|given\s+up|instead\s+of|rather\s+than|other\s+than|except|without|"
    r"anything\s+but|former|formerly|ex-\w+|almost|nearly|hardly|barely|rarely|seldom|refuses?|failed\s+to|"
    r"left|lost|moved\s+(?:away\s+)?from(?!.*\bto\b)|"
    r"wants?\s+to|hop(?:e|es|ing)\s+to|plan(?:s|ning)?\s+(?:to|on)|intends?\s+to|considering|thinking\s+(?:of|about)|"
    r"doubt|lied|deny|whether|wonder|let's\s+say|is\s+it\s+true|in\s+(?:the|a|this|that)\s+(?:game|story|book|film|movie|novel|show))\b",
    re.IGNORECASE,
)
_WISHED = re.compile(
    r"would|could|might|.'d|wish\w*|dream\w*|.*\b(?:wants?|hop\w+|plan\w*|intends?|considering|thinking)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_PAST = re.compile(r"used\s+to|no\s+longer|former|formerly|stopped|quit|moved\b.*", re.IGNORECASE)
_WISHING = frozenset(
    tokens("goal dream want wish hope plan would consider interest aim ambition desire intend")
)
_ENDED = frozenset(tokens("used former formerly previous previously past was were had ex stopped quit left"))
_ONCE = re.compile(r"\bI\s+(?:lived|worked|studied|smoked|owned)\b", re.IGNORECASE)
_PAST_PREDICATE = re.compile(r"(?:^|[_\s])(?:lived|worked|studied|owned|smoked|attended|played)(?:[_\s]|$)")
_NEGATIVE = frozenset(
    tokens(
        "dislike hate avoid lack refuse intolerant stop quit former without free unable exclude abstain false cannot"
    )
)
_ASKED_AFTER = re.compile(
    r"\s*[,;:–—-]\s*(?:(?:so|and|but)\s+)?(?:what|where|which|who|how|why|"
    r"(?:can|could|would|will|do|are|have)\s+you|(?:is|are)\s+(?:there|it|that))\b",
    re.IGNORECASE,
)
_FIRST = re.compile(
    r"\b(?:I|[Mm]e|[Mm]yself|[Mm]ine|[Ww]e|[Uu]s|[Ii]ch|[Ww]ir|[Jj]e|[Nn]ous|[Yy]o|[Nn]osotros|[Ii]o|[Nn]oi|[Ee]u)\b"
)
_OWN = re.compile(
    r"\b(?:my|our|the|an?|mein\w*|unser\w*|mi|mis|nuestr\w+|ma|mon|mes|mia|mio|minha|meu)\s+((?:[\w'-]+\s+){0,3}[\w'-]+)",
    re.IGNORECASE,
)
_OTHERS = re.compile(r"\b(?:he|she|they|you|his|her|their|your)\b", re.IGNORECASE)
_NAMED = re.compile(rf"\W*(?!(?:{NOT_NAMES})\b)([A-Z][\w-]+)(?:\s+[A-Z][\w-]+)*\s+[a-z]+s\b")
_NO_PERSON = ATTRIBUTES | OTHER_NAMES.keys() | words("job work city town favorite favourite current")
_TIES = frozenset(
    tokens(
        "married engaged dating relationship partner spouse sibling parent child family relative friend knows"
    )
)
_ENGLISH = re.compile(r"\b(?:I|I'm|I've|[Mm]y|[Tt]he|[Aa]nd|[Oo]ur|[Ss]he|[Tt]hey)\b")
_BEING = re.compile(
    r"(?:\b(?:am|is|are|was)|'m|'s|'re)\s+(?:(?:an?|the|now|currently|called)\s+)*$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Stated:
    """What an item says. predicate: "" for an event.  speaker: who said it, if it is about them."""

    predicate: str
    said: str
    speaker: str | None
    ended: bool = False

    @property
    def tokens(self) -> frozenset[str]:
        """All its words, as search tokens."""
        return frozenset(tokens(f"{self.predicate.replace('_', ' ')} {self.said}"))


def unstated(text: str, span: tuple[int, int], stated: Stated) -> str:
    """Why the words at `span` of `text` do not state it; "" if they do."""
    plain = readable(text)
    if within(quotations(plain), span[0]):
        return "its words are quoted speech"
    start, sentence, stands = _sentence(plain, span, stated)
    begin, end = _clause(sentence, span[0] - start, span[1] - start, stated.said)
    found = next(places(stated.said, sentence[begin:end]), None)
    upto, object_at = (begin + found[1], begin + found[0]) if found else (end, end)
    if not stands and not _asked_after(sentence, max(0, span[0] - start), upto):
        return "its words are asked or taken back"
    before = MISSPOKE.match(sentence) or HEARSAY.match(sentence)
    opening = max(
        [before.end() if before else 0, *(each.end() for each in _NEW_STATEMENT.finditer(sentence, 0, upto))]
    )
    if turned := _turned(sentence[opening:upto], sentence[begin:upto], stated):
        return f"its words stand after {turned!r}"
    # The rest of a question that follows a statement says nothing about it.
    if stands and taken_back(sentence[upto:]) and "if" not in stated.tokens and "unless" not in stated.tokens:
        return "its words are conditional or somebody else's"
    if _ONCE.search(sentence, begin, upto) and stated.predicate and not _is_past(stated):
        return "its words say that it was so once"
    clause = sentence[begin:end]
    return _denial(clause, stated) or _other_subject(sentence[begin:object_at], stated)


def groundless(text: str, span: tuple[int, int], stated: Stated) -> str:
    """Why the message does not say the predicate of a fact, as far as that can be told; "" if it does.

    Told only in English, the language in which predicates are given.
    """
    _, sentence, _ = _sentence(readable(text), span, stated)
    told = PREDICATE_WORDS.get(stated.predicate, "")
    wanted = query_tokens(stated.predicate) + tokens(told)
    said = Words([sentence])
    if not stated.predicate or not _ENGLISH.search(sentence) or any(map(said.holds, wanted)):
        return ""
    if any(_BEING.search(sentence, 0, begin) for begin, _ in places(stated.said, sentence)):
        return ""
    return f"no word of the message says {stated.predicate!r}"


def _sentence(text: str, span: tuple[int, int], stated: Stated) -> tuple[int, str, bool]:
    """The sentence that overlaps a span and holds most of what is said, as `sentences_at` gives it."""
    return min(
        [*sentences_at(text, *span)] or [(0, text, True)],
        key=lambda each: len(Words([each[1]]).missing(stated.said)),
    )


def _clause(sentence: str, first: int, last: int, said: str) -> tuple[int, int]:
    """Where the clause stands that overlaps a span and holds most of what is said."""
    cuts = [0, *(each.end() for each in _CLAUSE.finditer(sentence)), len(sentence)]
    clauses = [each for each in pairwise(cuts) if each[0] < last and each[1] > first]
    return min(
        clauses or [(0, len(sentence))],
        key=lambda each: len(Words([sentence[each[0] : each[1]]]).missing(said)),
    )


def _asked_after(sentence: str, first: int, upto: int) -> bool:
    """Whether a question only follows a statement: "I live in Ghent, where can I keep bees"."""
    own = re.match(r"(?:I|I'm|I've|My|We)\b", sentence[first:].lstrip(), re.IGNORECASE)
    return bool(own and opens_clause(sentence[:first]) and _ASKED_AFTER.match(sentence, upto))


def _turned(statement: str, clause: str, stated: Stated) -> str:
    """The word before what is said that makes it a condition, a wish, past, or somebody else's; "" if none does."""
    for match in (*BLOCKING.finditer(statement), *_REVERSING.finditer(clause)):
        word = match[0]
        carried = set(tokens(word)) <= stated.tokens
        wished = _WISHED.fullmatch(word) and (_WISHING & stated.tokens or not stated.predicate)
        past = _PAST.fullmatch(word) and _is_past(stated)
        timed = not stated.predicate and word.lower() in ("when", "whenever")
        against = _REVERSING.fullmatch(word) and (NEGATIONS | _NEGATIVE) & stated.tokens
        if not (carried or wished or past or timed or against):
            return word
    return ""


def _is_past(stated: Stated) -> bool:
    return bool(stated.ended or _ENDED & stated.tokens or _PAST_PREDICATE.search(stated.predicate))


def _denial(clause: str, stated: Stated) -> str:
    here = frozenset(tokens(_UNDENYING.sub("", clause)))
    denied = bool(NEGATIONS & here or _UNSPACED_NEGATION.search(clause))
    denies = bool(NEGATIONS & stated.tokens or _UNSPACED_NEGATION.search(stated.said))
    # "I don't hate it" and "hates" share their negative word: only the message says "not".
    if denied and not denies and not (_NEGATIVE & stated.tokens) - here:
        return "its words deny it"
    if denies and not denied and not _NEGATIVE & here and not _REVERSING.search(clause):
        return "its words do not deny anything"
    return ""


def _other_subject(before: str, stated: Stated) -> str:
    """Whether somebody else is the subject of what is made a fact of the speaker. before: the clause up to the object."""
    if stated.speaker is None or not stated.predicate or _FIRST.search(before):
        return ""
    own = _OWN.search(before)
    if own:
        kin = OTHER_PEOPLE.intersection(re.findall(r"[^\W\d_]+", own[1].lower()))
        tied = (_TIES | set(tokens(" ".join(kin)))) & stated.tokens
        return f"it is said of {own[0]!r}" if kin and not tied else ""
    name = _NAMED.match(before)
    themselves = name and name[1].casefold() in stated.speaker.casefold().split()
    named = name and not themselves and name[1].lower() not in _NO_PERSON
    return "it is said of somebody else" if named or _OTHERS.search(before) else ""
