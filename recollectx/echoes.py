"""Echoes: whether a claim comes from who says it, or from what the memory had shown before they said it.

What an answer was made with (recalled claims, a persona, a prompt) is no evidence for itself. So where it is known what
was shown, a claim counts only by words that are not from there:

- What a machine says is an echo if one shown passage holds all telling words of the object (or of the summary).
- A person's words are their own, but for passages that repeat what was shown word for word: those are a quotation. The
  person's own earlier words are one only where two of them stand together, for a single sentence may be said again.
- A claim of a person is an echo if a telling word of its object is not among their own words but was shown. What a model
  makes of their words is one also if it is a shown claim over again and no word of its predicate is theirs.

Telling words are compared as search tokens, so an inflection does not make a word another one.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any

from recollectx.claims import CURRENT, Claim, SemanticClaim
from recollectx.errors import InvalidQuery
from recollectx.passages import length, places, sentences
from recollectx.query import Hit, Recall
from recollectx.text import fold_claim, query_tokens, tokens

ECHO = "it repeats what the memory had shown"
SHORTEST = 3
"""Words of a passage that counts as repeated inside a longer text; a shorter one may stand there by chance."""
TOGETHER = 2
_NEGATIONS = """
    no not never none nothing neither nor cannot nobody dont doesnt didnt isnt arent wasnt werent wont cant aint hasnt
    havent hadnt couldnt wouldnt shouldnt nicht kein keine keinen keiner nie niemals pas jamais nunca jamás non não
    niet geen nooit ne не нет никогда 不 没
"""
# Without the Italian "mai", which is a month in German, and seldom comes without "non".
NEGATIONS = frozenset(tokens(_NEGATIONS))


class Words:
    """The words of texts, as search tokens. plain: the texts without case."""

    def __init__(self, texts: Iterable[str]) -> None:
        together = "\n".join(texts)
        self._tokens = frozenset(tokens(together))
        self.plain = together.casefold()

    def holds(self, token: str) -> bool:
        """Whether one of the words is this one, or an inflection of it."""
        if token in self._tokens or (not token.isascii() and token in self.plain):
            return True
        return not token.isdigit() and any(_inflected(token, other) for other in self._tokens)

    def missing(self, text: str) -> list[str]:
        """The telling words of `text` that are not among these."""
        return [token for token in query_tokens(text) if not self.holds(token)]


def _inflected(one: str, other: str) -> bool:
    """Whether two words begin alike so far that they may be forms of one."""
    return one.startswith(other[: _enough(other)]) and other.startswith(one[: _enough(one)])


def _enough(token: str) -> int:
    """How many letters two forms of a word share; English ones meet as stems, short ones only as they are."""
    return len(token) if token.isascii() and len(token) <= 4 else ceil(0.75 * len(token))


@dataclass(frozen=True, slots=True)
class Passage:
    """Words that were shown. said_by: whose own words they are, None if nobody's."""

    text: str
    tokens: frozenset[str]
    said_by: str | None = None


@dataclass(frozen=True)
class Shown:
    """What somebody was shown before they spoke. recall_id: of the recall that it came from, if it came from one."""

    passages: tuple[Passage, ...] = ()
    claims: frozenset[str] = frozenset()
    recall_id: str | None = None

    @classmethod
    def of(cls, given: Any) -> "Shown":
        """From a Recall, a Hit, a claim, a text, a mapping, several of these, or None. Raises InvalidQuery for others."""
        if isinstance(given, Shown):
            return given
        if isinstance(given, Recall):
            return Shown(recall_id=given.id) + cls.of(given.claims)
        if isinstance(given, Hit | Claim):
            claim = given.claim if isinstance(given, Hit) else given
            return cls(tuple(_passages(claim)), _in_use(claim))
        if isinstance(given, str):
            return cls(tuple(Passage(part, frozenset(tokens(part))) for part in sentences(given)))
        if isinstance(given, Mapping):
            return cls.of(f"{key}: {value}" for key, value in given.items())
        if given is not None and not isinstance(given, Iterable):
            raise InvalidQuery(f"shown is a Recall, claims or texts, got {given!r}")
        return sum((cls.of(each) for each in given or ()), cls())

    def __add__(self, other: "Shown") -> "Shown":
        return Shown(
            self.passages + other.passages, self.claims | other.claims, self.recall_id or other.recall_id
        )

    @cached_property
    def words(self) -> Words:
        """All words that were shown."""
        return Words(passage.text for passage in self.passages)

    def own_words(self, texts: Iterable[str], speaker: str) -> "Words":
        """The words of a speaker's texts that are their own, and their name."""
        return Words([speaker, *(self.own(text, speaker) for text in texts)])

    def own(self, text: str, speaker: str) -> str:
        """`text`, character for character, with what it repeats word for word blanked."""
        quoted: set[tuple[int, int]] = set()
        again: set[tuple[int, int]] = set()
        whole = length(text)
        for passage in dict.fromkeys(self.passages):
            if length(passage.text) >= min(SHORTEST, whole):
                (again if passage.said_by == speaker else quoted).update(places(passage.text, text))
        if quoted or len(again) >= TOGETHER:
            quoted |= again
        for begin, end in quoted:
            text = text[:begin] + " " * (end - begin) + text[end:]
        return text

    def hold(self, text: str) -> bool:
        """Whether one passage holds all telling words of `text`, and `text` denies nothing that it does not."""
        told = set(query_tokens(text)) | NEGATIONS.intersection(tokens(text))
        return bool(told) and any(told <= passage.tokens for passage in self.passages)

    def quoted_in(self, text: str, speaker: str) -> bool:
        """Whether `text` repeats word for word something that was shown."""
        return self.own(text, speaker) != text

    def echo(self, claim: Claim, own: Words, *, machine: bool) -> bool:
        """Whether `claim` is an echo of this. own: what its speaker said of their own accord."""
        said = claim.object if isinstance(claim, SemanticClaim) else claim.text
        if machine:
            return self.hold(said)
        return any(self.words.holds(token) for token in own.missing(said))

    def retold(self, claim: Claim, own: Words) -> bool:
        """Whether `claim` is a shown one over again, and what it says of its object is not in `own`."""
        if not isinstance(claim, SemanticClaim) or fold_claim(claim) not in self.claims:
            return False
        predicate = claim.predicate.replace("_", " ")
        return len(own.missing(predicate)) == len(query_tokens(predicate))


NOTHING = Shown()


def _passages(claim: Claim) -> Iterator[Passage]:
    about = frozenset(tokens(claim.source or ""))
    said: list[tuple[str, str | None]] = [(piece, claim.source) for piece in claim.evidence]
    if isinstance(claim, SemanticClaim):
        said.append((claim.text, None))
    else:
        bare = claim.text.removeprefix(f"{claim.source}: ")
        said.append((bare, claim.source))
        if bare != claim.text:
            # Whoever writes their own name before their words has copied them.
            said += [(part, None) for part in sentences(claim.text)[:1]]
    for text, said_by in said:
        for part in sentences(text):
            yield Passage(part, frozenset(tokens(part)) | about, said_by)


def _in_use(claim: Claim) -> frozenset[str]:
    return (
        frozenset({fold_claim(claim)})
        if isinstance(claim, SemanticClaim) and claim.status in CURRENT
        else frozenset()
    )
