"""How text is compared (fold) and searched (tokens).

Folding decides that two wordings say the same, so it errs towards "different": a wrong match loses a claim, a
missed one only keeps a duplicate. What could tell two numbers, names or negations apart therefore stays.
An article that stays although it looks droppable ("Vitamin A is") is marked with ^, so folding twice changes nothing.

Search tokens err the other way: words meet across case, accents, possessives and English endings.
"""

import re
import unicodedata
from functools import lru_cache

import snowballstemmer

from recollectx.claims import STATES, Claim, SemanticClaim

_SEPARATOR = "\x1f"
_OPENING = frozenset("\"'([{“‘«")
_ALWAYS_KEPT = frozenset("@&%‰‱٪?؟§′")
_DECIDED_BY_CONTEXT = frozenset("-.,:/*'!#")
_DASHES = "‐‑‒–—―−﹘﹣－"
_IGNORED = "\u00ad\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\ufe0e\ufe0f\ufeff"
_VARIANTS = str.maketrans(
    {
        **dict.fromkeys(_IGNORED, ""),
        **dict.fromkeys(_DASHES, "-"),
        **dict.fromkeys("’‘‛ʼ＇´`", "'"),
        "_": " ",
        "\u0345": "ι",  # the one mark that casefolding would turn into a letter
        "\u037e": "?",  # the Greek question mark, which NFKC would make a semicolon
    }
)
# It begins with its letters, as that is what a search can run ahead to.
_ARTICLE = re.compile(r"[aAtT](?<![\w^].)(?:(?<=[aA])[nN]?|(?<=[tT])[hH][eE])(?!\w)")
_FIRST_WORD = re.compile(r"\w")
_LAST_WORD = re.compile(r"\w\W*\Z")
_IN_CONTEXT = re.compile(
    r"""(?=[-.,:/*'!\#])(?: (?P<keep>          # without the first look every place is tried in ten ways
      -(?=\W{0,8}\d)                            # a sign, a date, a range: never lost before a number
    | (?<=\b[A-Za-z])-(?![\w-]) | (?<=\b[A-Za-z]{2})-(?![\w-])    # grade A-, blood group AB-
    | (?<=\d)[.,:/*']+(?=\d) | (?<![\w.])\.(?=\d)
    | (?<=\w)[.'](?=\w)
    | !(?==) | (?<![\w!])!(?=\w)
    | (?<=\w)\# | \#(?=\w)
    ) | [-.,:/*'!\#])""",
    re.VERBOSE,
)
_QUESTION_MARKS = re.compile(r"(?:\s*\?)+")
_LOOSE_UNIT = re.compile(r"\s+(?=[%‰‱٪])|(?<=[$€£¥₹])\s+(?=\d)")


class _Blanks(dict[int, int | str]):
    """A translation table, filled as characters are met: punctuation, spaces and controls become a space."""

    def __missing__(self, code: int) -> int | str:
        character = chr(code)
        kept = character in _ALWAYS_KEPT or character in _DECIDED_BY_CONTEXT
        # U+E0020 to U+E007F spell the flags of England, Scotland and Wales.
        kept = kept or unicodedata.category(character)[0] in "LMNS" or 0xE0020 <= code <= 0xE007F
        self[code] = code if kept else " "
        return self[code]


_BLANKS = _Blanks()


_ARTICLES = frozenset({"a", "an", "the"})
_GRADE = re.compile(r"\b[a-z]{1,2}-(?![\w-])")


def _plain_words(text: str) -> list[str] | None:
    """The words of `text` in small letters where nothing but spaces, or between words of letters the commonest marks,
    stands between them: there the rules about symbols, which take the most time, have nothing to do. None elsewhere.
    """
    if not text.isascii():
        return None
    plain = text.lower()
    if plain.replace(" ", "").isalnum():
        return plain.split()
    if "-" in plain and _GRADE.search(plain):
        return None
    words = plain.replace(",", " ").replace("-", " ").replace(". ", " ").removesuffix(".").split()
    return words if "".join(words).isalpha() else None


def fold(text: str) -> str:
    """`text` such that two wordings of the same are equal: case, spacing, punctuation and articles gone.

    Never equal: texts that differ in a number, a name, a negation, a symbol, or in being a question.
    Idempotent; text of punctuation alone is kept as it is.
    """
    words = _plain_words(text)
    if words is not None and _ARTICLES.isdisjoint(words):
        return " ".join(words)
    plain = " ".join(_compatible(text).split())
    kept = _IN_CONTEXT.sub(lambda found: found[0] if found["keep"] else " ", _without_articles(plain))
    folded = " ".join(kept.translate(_BLANKS).split())
    if not folded.isascii() or not folded.replace(" ", "").isalnum():
        folded = _LOOSE_UNIT.sub("", _QUESTION_MARKS.sub("?", folded))
    return _casefolded(folded or plain)


def _compatible(text: str) -> str:
    """NFKC, one kind of dash and apostrophe, and a ^ before raised, circled and fraction digits (10² is not 102)."""
    if text.isascii():
        return text.translate(_VARIANTS) if "_" in text or "`" in text else text
    marked = "".join(
        f"^{char}"
        if unicodedata.category(char) == "No" and unicodedata.normalize("NFKC", char) != char
        else char
        for char in text.translate(_VARIANTS).replace("\u200b", " ")
    )
    return unicodedata.normalize("NFKC", marked).translate(_VARIANTS)


def _casefolded(text: str) -> str:
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text.casefold())


def _without_articles(text: str) -> str:
    """Drops an article that stands alone, is lower-case or the first word, and is not the last word."""
    if not _ARTICLE.search(text):
        return text
    first, last = _FIRST_WORD.search(text), _LAST_WORD.search(text)
    if first is None or last is None:
        return text

    def decide(found: re.Match[str]) -> str:
        start, end = found.span()
        if end > last.start():
            return found[0]
        alone = text[end].isspace() and (
            start == 0 or text[start - 1].isspace() or text[start - 1] in _OPENING
        )
        droppable = alone and (found[0].islower() or start == first.start())
        return "" if droppable else f"^{found[0]}"

    return _ARTICLE.sub(decide, text)


def fold_claim(claim: Claim) -> str:
    """Equal for two claims that say the same; an episode is the same only at the same place and time."""
    if isinstance(claim, SemanticClaim):
        return _SEPARATOR.join((slot(claim), fold(claim.object)))
    place = (repr(part) for part in (claim.session, claim.position, claim.created_at))
    return _SEPARATOR.join((claim.text, *place))


def slot(claim: SemanticClaim) -> str:
    """Equal for two claims that give a value to the same thing."""
    return _SEPARATOR.join((fold(claim.subject), fold(claim.predicate)))


# Vowel signs of the Indic scripts are marks, which \w leaves out; the two dandas are punctuation.
_INDIC = "\u0900-\u0963\u0966-\u0dff"
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0edf\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17d7\u17dc-\u17e9"
    "\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
)
_DIACRITICS = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670]"
)
_POSSESSIVE = re.compile(r"(?<=\w)'s(?!\w)")
_INNER_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_WORDS = re.compile(
    rf"(?P<unspaced>[{_UNSPACED}]+)|\d+(?:,\d{{3}})+(?![\d,])|\d+\.\d+(?!\w)|[a-z](?:\+\+|\#)(?!\w)"
    rf"|(?:(?![{_UNSPACED}])[^\W_]|[{_INDIC}])+"
)
_ASCII_WORDS = re.compile(r"\d+(?:,\d{3})+(?![\d,])|\d+\.\d+(?!\w)|[a-z](?:\+\+|\#)(?!\w)|[^\W_]+")
_ENGLISH = re.compile("[a-z]+")
_INFLECTED = re.compile("(?:[sey]|ed|ing|[alu]l|[eo]r|ic|nt|sm|on|(?:nc|l|it|og)i)$")
"""The endings that English stemming acts on; the stemmer takes longer to leave a word alone than all else to store it."""
MOST_STEMS = 1 << 16

_FUNCTION_WORD_LIST = """
    a an the this that these those there here
    what when where which who whom whose why how
    am is are was were be been being do does did done doing has have had having
    can could would should shall might must
    i me my mine we us our ours you your yours he him his she her hers it its they them their theirs
    of to in on at by for from with into onto about as and or but if than then so too very
    dont didnt doesnt isnt arent wasnt werent hasnt havent hadnt cant couldnt wouldnt shouldnt
"""
_BEGINNINGS = frozenset({"will", "may", "mark", "grant", "pat"})
"""Names that are other words where a question begins."""
_WRITTEN = re.compile(r"[^\W\d_]+")
_FUNCTION_WORDS = frozenset(_FUNCTION_WORD_LIST.split())


def words_of(text: str) -> list[str]:
    """The words of `text` before stemming; scripts without spaces as pairs of characters."""
    if text.isascii():
        return _ascii_words(text)
    plain = unicodedata.normalize("NFKD", text.translate(_VARIANTS).casefold())
    plain = unicodedata.normalize("NFC", _DIACRITICS.sub("", plain))
    plain = _INNER_APOSTROPHE.sub("", _POSSESSIVE.sub("", plain))
    words: list[str] = []
    for found in _WORDS.finditer(plain):
        word = found[0]
        if found["unspaced"] and len(word) > 1:
            words.extend(word[at : at + 2] for at in range(len(word) - 1))
        else:
            words.append(word.replace(",", ""))
    return words


def _ascii_words(text: str) -> list[str]:
    """The same of a text in which no letter has marks and no script goes without spaces."""
    found = _plain_words(text)
    if found is not None:
        return found
    plain = text.lower()
    if "'" in plain or "`" in plain or "_" in plain:
        plain = _INNER_APOSTROPHE.sub("", _POSSESSIVE.sub("", plain.translate(_VARIANTS)))
    words: list[str] = _ASCII_WORDS.findall(plain)
    return [word.replace(",", "") for word in words] if "," in plain else words


class _Stems(dict[str, str]):
    """Words and their stems, filled as words are met; begun anew when there are too many to keep."""

    def __missing__(self, word: str) -> str:
        if len(self) >= MOST_STEMS:
            self.clear()
        self[word] = stem = _stemmed(word)
        return stem


def _stemmed(word: str) -> str:
    if not _ENGLISH.fullmatch(word) or not _INFLECTED.search(word):
        return word
    # One for each word: it keeps the word it works on in itself.
    return str(snowballstemmer.stemmer("english").stemWord(word))


_stem = _Stems().__getitem__


def tokens(text: str) -> list[str]:
    """The search tokens of `text`, in order, repeats included."""
    return list(map(_stem, words_of(text)))


def _fold_and_tokens(text: str) -> tuple[str, str]:
    """`fold` of a text and its tokens joined by spaces: most texts are taken apart once for both."""
    words = _plain_words(text)
    if words is None:
        return fold(text), " ".join(tokens(text))
    found = " ".join(map(_stem, words))
    return (" ".join(words) if _ARTICLES.isdisjoint(words) else fold(text)), found


@lru_cache(maxsize=1 << 12)
def _name(text: str) -> tuple[str, str]:
    """The same of a name, of which few are in many claims; the tokens with a space after them."""
    folded, words = _fold_and_tokens(text)
    return folded, f"{words} " if words else ""


def indexed(claim: Claim) -> tuple[str, str, str]:
    """What a claim is found by: `slot`, "" for what is no value of anything, `fold_claim`, and `tokens` joined by
    spaces."""
    if not isinstance(claim, SemanticClaim):
        return "", fold_claim(claim), " ".join(tokens(claim.text))
    subject, about = _name(claim.subject)
    predicate, does = _name(claim.predicate)
    value, words = _fold_and_tokens(claim.object)
    # Nothing that makes a token reaches over a space.
    if claim.subject or claim.predicate != STATES:
        words = f"{about}{does}{words}".rstrip()
    thing = f"{subject}{_SEPARATOR}{predicate}"
    return thing if claim.subject else "", f"{thing}{_SEPARATOR}{value}", words


def query_tokens(text: str) -> list[str]:
    """The distinct tokens of a question that say what it is about, in order; all of them if none would be left."""
    words = words_of(text)
    telling = [word for word in words if word not in _FUNCTION_WORDS]
    return list(dict.fromkeys(map(_stem, telling or words)))


def names_in(text: str) -> frozenset[str]:
    """The search tokens of a question that may be names: its words with a capital, or of a script without; where all
    are written small, any word that is no function word."""
    written = _WRITTEN.findall(text)
    small = all(word.islower() for word in written[1:])
    asked = [
        word
        for place, word in enumerate(written)
        if (small and word[:1].islower())
        or (not word[:1].islower() and not (place == 0 and word.casefold() in _BEGINNINGS))
    ]
    return frozenset(token for word in asked if (token := telling(word)) is not None)


def telling(word: str) -> str | None:
    """The search token of one word of a question; None for a word that says nothing of what it is about."""
    found = [each for each in words_of(word) if each not in _FUNCTION_WORDS]
    return _stem(found[0]) if found else None


def in_context(before: str | None, text: str) -> str:
    """What is embedded for a turn: its words, then those of the turn before it, if there is one.

    Source of the order: its own words first found .738 of the evidence among the first ten on five conversations, the
    other way round .730, alone .712; and what a model cuts off is the end.
    """
    return text if before is None else f"{text}\n{before}"
