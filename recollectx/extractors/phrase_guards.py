"""What of a text may be read at all: sentences that are stated and stand, outside quotations, and where a clause begins."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter

from recollectx.extractors.phrase_tables import (
    CONDITION_AFTER,
    HEARSAY_AFTER,
    LEAD,
    REPORTED_AFTER,
    RETRACTED,
)

LONGEST_SENTENCE = 1_000
"""Characters; what is longer is no sentence someone said, and would be slow to read."""

_LEAD_REACH = 40
_CAPTION = re.compile(r"\[shares [^\]]*\]")
_QUOTED = re.compile(
    r'"[^"\n]*(?:"|$|(?=\n))|„[^“”\n]*[“”]?|“[^”\n]*”?|«[^»\n]*»?|「[^」\n]*」?|(?<!\w)\'[^\'\n]{1,300}(?:\'\w[^\'\n]{0,300}){0,4}\'(?!\w)|^>.*$',
    re.MULTILINE,
)
_SENTENCE_END = re.compile(r"(?<!\b[A-Z])(?<!\b[DMS][rst])(?<!\bMrs)[.!?…]+(?=\W|$)|[。！？؟]+|\n+")
_ASKED = re.compile("[?？؟]")
_MOVED_ON = re.compile(
    r"\b(?:moved\s+back|came\s+back|returned|but\s+(?:then|now)|and\s+then|when\s+\w+\s+(?:was|were))\b"
)


def readable(text: str) -> str:
    """`text`, character for character, with plain apostrophes and captions of pictures blanked."""
    return _CAPTION.sub(lambda caption: "\n" * len(caption[0]), text.replace("’", "'"))


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Start and words of each sentence that is stated and stands: no question, not taken back by the next."""
    for start, sentence, stands in _all_sentences(text):
        if stands and len(sentence) <= LONGEST_SENTENCE:
            yield start, sentence


def sentences_at(text: str, begin: int, end: int) -> Iterator[tuple[int, str, bool]]:
    """Start and words of each sentence that overlaps a span, and whether it is stated and stands."""
    for start, sentence, stands in _all_sentences(text):
        if start < end and begin < start + len(sentence):
            yield start, sentence, stands


def _all_sentences(text: str) -> Iterator[tuple[int, str, bool]]:
    start = 0
    for match in [*_SENTENCE_END.finditer(text), None]:
        end, stop, mark = (match.start(), match.end(), match[0]) if match else (len(text), len(text), "")
        yield start, text[start:end], not _ASKED.search(mark) and not RETRACTED.match(text, stop)
        start = stop


def quotations(text: str) -> list[tuple[int, int]]:
    """Where the quotations of `text` stand."""
    return [match.span() for match in _QUOTED.finditer(text)]


def within(spans: list[tuple[int, int]], at: int) -> bool:
    """Whether one of the sorted, disjoint `spans` covers `at`."""
    place = bisect_right(spans, at, key=itemgetter(0))
    return place > 0 and at < spans[place - 1][1]


def opens_clause(before: str) -> bool:
    """Whether a clause may begin after `before`."""
    return not before.strip() or bool(LEAD.search(before[-_LEAD_REACH:]))


def taken_back(rest: str, *, moved: bool = False) -> bool:
    """Whether the rest of a sentence makes it conditional, somebody else's, or (after a move) past."""
    stated = HEARSAY_AFTER.sub("", rest)
    return bool(
        CONDITION_AFTER.search(stated)
        or REPORTED_AFTER.search(stated)
        or (moved and _MOVED_ON.search(stated))
    )
