"""Objects of phrases: where the words after a verb stop, whether what is left says something whole, and attributes."""

import re

from recollectx.extractors.phrase_tables import (
    ADJECTIVES,
    ATTRIBUTES,
    CLAUSE_END,
    DANGLING,
    EMPTY_OBJECTS,
    FILLER,
    LEADING,
    NOT_FIRST,
    NOT_LAST,
    OTHER_NAMES,
    PREFERRED,
    SOON,
    SPELLING,
    VAGUE_ATTRIBUTES,
)

LONGEST = 8
"""Words in an object; a longer one is nearly always a clause that was cut in the wrong place."""

LONGEST_TEXT = 200
_LISTED = 3
NAME = r"[A-Z][\w'.&-]*"
PROPER = rf"{NAME}(?:\s+(?:{NAME}|of|the|de|da|do|del|la|le|and)(?=\s|$))*"
_RESTRICTED = re.compile(r"(\w+s|people)\s+(?:that|who)(?=\s)")
PLAIN_ADJECTIVE = re.compile(r"[A-Z]\w*(?:ese|ish|ian|ican)")


_WRITTEN = {
    "phone_number": re.compile(r"\+?\(?\d[\d\s().-]*"),
    "email": re.compile(r"\S+@\S+"),
}
"""Attributes whose values are written in a form of their own."""


def clause(rest: str) -> str:
    """The words of `rest` up to where the clause ends; lists with commas stay whole."""
    end = CLAUSE_END.search(rest)
    pieces = (rest[: end.start()] if end else rest).split(",")
    for count in range(len(pieces), 1, -1):
        if _is_list([piece.split() for piece in pieces[:count]]):
            return ",".join(pieces[:count])
    return pieces[0]


def _is_list(pieces: list[list[str]]) -> bool:
    """Whether comma-separated pieces read as "a, b and c"."""
    if any(not 0 < len(piece) <= _LISTED + (place == len(pieces) - 1) for place, piece in enumerate(pieces)):
        return False
    joints = [place for place, word in enumerate(pieces[-1]) if word in ("and", "or")]
    return len(joints) == 1 and joints[0] < len(pieces[-1]) - 1 and (len(pieces) > 2 or joints[0] > 0)


def trimmed(raw: str) -> str:
    """`raw` without trailing filler and punctuation."""
    text = raw.strip(" ,.'\t")
    while (shorter := FILLER.sub("", text).rstrip(" ,.")) != text:
        text = shorter
    return text


def tokens(text: str) -> list[str]:
    """Lower-case words of `text`, with their apostrophes."""
    return re.findall(r"[\w'-]+", text.lower())


def unquoted(text: str) -> str:
    """A title without the quotation marks around it; "" if only one of the two is there."""
    marks = text.count('"') + text.count("“") + text.count("”")
    if marks % 2:
        return ""
    return text[1:-1].strip(" ,.") if marks == 2 and text[0] in '"“' and text[-1] in '"”' else text


def until(end: re.Pattern[str], text: str) -> str:
    """`text` up to where `end` is found, without trailing filler."""
    match = end.search(text)
    return trimmed(text[: match.start()] if match else text)


def _shorter(text: str) -> str:
    """`text` without its last "and ..." or "or ..."."""
    joints = list(re.finditer(r",?\s+(?:and|or)\s", text))
    return trimmed(text[: joints[-1].start()]) if joints else ""


def whole(text: str) -> bool:
    """Whether `text` stands on its own: no dangling pronoun, no loose end, not too long."""
    said = tokens(_RESTRICTED.sub(r"\1", text))
    return (
        len(said) > 0
        and len(text.split()) <= LONGEST
        and not DANGLING.intersection(said)
        and said[0] not in NOT_FIRST
        and said[-1] not in NOT_LAST
        and not (said[-1] in ADJECTIVES and said[-2:-1] in (["a"], ["an"], ["the"]))
        and not (len(said) == 1 and said[0] in EMPTY_OBJECTS)
    )


def longest_whole(text: str) -> str:
    """`text`, or what is left of it when parts joined by "and" are dropped until it stands on its own."""
    while text and not whole(text):
        text = _shorter(text)
        if text.endswith("ing") and " " not in text:
            return ""
    return text


def attribute(words: str) -> str:
    """Predicate for the words between "my" and "is"; "" for those that name nothing lasting."""
    said = [SPELLING.get(word, word) for word in tokens(words)]
    if not said or VAGUE_ATTRIBUTES.intersection(said[-1:]) or DANGLING.intersection(said):
        return ""
    kept = said
    while len(kept) > 1 and kept[0] in LEADING:
        kept = kept[1:]
    if kept[0] in PREFERRED:
        kept = ["favorite", *kept[1:]]
    name = "_".join(re.sub(r"\W+", "_", word.removesuffix("'s")) for word in kept)
    return OTHER_NAMES.get(name, name)


def attribute_value(predicate: str, raw: str) -> str:
    """What an attribute is said to be; "" if it is vague, passing, or only an adjective."""
    text = trimmed(raw)
    if predicate.endswith("birthday"):
        text = text.removeprefix("on ")
    said = tokens(text)
    if not whole(text) or len(text) > LONGEST_TEXT or SOON.intersection(said[:1]):
        return ""
    if predicate in _WRITTEN:
        return text if _WRITTEN[predicate].fullmatch(text) else ""
    known = predicate.startswith("favorite_") or predicate.rsplit("_", 1)[-1] in ATTRIBUTES
    proper = re.fullmatch(PROPER, text) and (
        predicate.endswith("project") or not PLAIN_ADJECTIVE.fullmatch(text)
    )
    return text if known or proper or text[0].isdigit() else ""
