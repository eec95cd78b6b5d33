"""Quoting: whether a text holds words of a claim that is to be erased.

Words are compared as search compares them, whatever their case and inflection. A long wording is quoted where it
stands whole, and a run of its words is a fragment of it. A short object ("no", "tea") stands in anything, so it
counts only beside its subject, or where it is a code that names itself ("marzipan-7731").
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from recollectx.claims import in_words
from recollectx.text import query_tokens, tokens

SENTENCE = 3
"""Words from which on a wording says by itself what it is about."""
FRAGMENT = 4
"""Words in a row that make a fragment; two of them at least must tell something, as "in the" does not."""
TELLING = 2
CODE = 6
"""Characters from which on a word of letters and digits, or of five digits, names itself."""


def stems(text: str | None) -> str:
    """The search tokens of a text with a space before, between and after; "" if it has none."""
    return _joined(tokens(text or ""))


def _joined(words: Iterable[str]) -> str:
    found = " ".join(words)
    return f" {found} " if found else ""


def _is_code(word: str) -> bool:
    digits = sum(letter.isdigit() for letter in word)
    return len(word) >= CODE and (digits >= 5 or (digits > 0 and any(letter.isalpha() for letter in word)))


def _runs(words: list[str]) -> set[str]:
    return {_joined(words[at : at + FRAGMENT]) for at in range(len(words) - FRAGMENT + 1)}


@dataclass(frozen=True, slots=True)
class _Wording:
    """One wording in stems. alone: its object needs no subject beside it.  runs: its fragments."""

    subject: str
    object: str
    whole: str
    alone: bool
    runs: frozenset[str]

    @classmethod
    def of(cls, row: Any) -> "_Wording":
        words = tokens(row.object)
        telling = set(query_tokens(row.object))
        runs = {run for run in _runs(words) if len(telling & set(run.split())) >= TELLING}
        whole = row.object if row.predicate is None else in_words(row.subject, row.predicate, row.object)
        alone = len(words) >= SENTENCE or any(map(_is_code, row.object.split()))
        return cls(stems(row.subject), _joined(words), stems(whole), alone, frozenset(runs))

    def found_in(self, held: str, about: str) -> set[str]:
        """Those of its words that identify it in a text of these stems that stands with a claim of those."""
        if self.whole and (self.whole == held or (self.whole.count(" ") > SENTENCE and self.whole in held)):
            return {self.whole}
        beside = self.alone or (self.subject and (self.subject in held or self.subject in about))
        return {self.object} if self.object and beside and self.object in held else set()


class Quoted:
    """The words of some claims. rows: their wordings with subject, predicate and object."""

    def __init__(self, rows: Iterable[Any]) -> None:
        self._wordings = [_Wording.of(row) for row in rows]

    def found_in(self, text: str | None, *, fragments: bool = False, about: str = "") -> set[str]:
        """The words that stand in `text` and tell of one of the claims, in stems. fragments: also parts of them.

        about: stems of which a subject in them counts as beside the text.
        """
        words = tokens(text or "")
        held = _joined(words)
        found = set().union(*(wording.found_in(held, about) for wording in self._wordings))
        if fragments:
            found |= _runs(words) & set().union(*(wording.runs for wording in self._wordings))
        return found

    def covers(self, piece: str) -> set[str]:
        """`piece` in stems if it stands whole in one of the wordings."""
        held = stems(piece)
        return {held} if held and self.says(held) else set()

    def says(self, words: str) -> bool:
        """Whether one of the wordings has these stems."""
        return any(words in wording.whole or words in wording.object for wording in self._wordings)
