"""Passages: the words of a text with their places, its sentences, and where in it other words stand."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

# One character of a script without spaces is a word here, so that a part of a run can be found.
_WORD = re.compile(r"[\u0e01-\u0edf\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff]|[^\W_]+")
_SENTENCE = re.compile(r"[^\n.!?…。！？]*(?:[.!?…](?=\w)[^\n.!?…。！？]*)*[.!?…。！？]*")
_GAP = "\x1f"
_LETTER = re.compile(r"\w")


@lru_cache(maxsize=64)
def _words(text: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The words of `text` between gaps, and where each stands; case, punctuation and width do not matter."""
    found = [(match.span(), match[0]) for match in _WORD.finditer(text)]
    plain = [unicodedata.normalize("NFKC", word).casefold() for _, word in found]
    return _GAP + "".join(word + _GAP for word in plain), tuple(span for span, _ in found)


def places(passage: str, text: str) -> Iterator[tuple[int, int]]:
    """Begin and end of each place in `text` where the words of `passage` stand in this order, not overlapping."""
    sought, _ = _words(passage)
    held, spans = _words(text)
    size = sought.count(_GAP) - 1
    at = held.find(sought) if size else -1
    seen = first = 0
    while at >= 0:
        first, seen = first + held.count(_GAP, seen, at), at
        yield spans[first][0], spans[first + size - 1][1]
        at = held.find(sought, at + len(sought) - 1)


def length(text: str) -> int:
    """How many words there are in `text`."""
    return len(_words(text)[1])


def sentences(text: str) -> list[str]:
    """The sentences and lines of `text` that hold a word, as they stand in it, in order."""
    return [
        part for match in _SENTENCE.finditer(text) if _LETTER.search(match[0]) and (part := match[0].strip())
    ]
