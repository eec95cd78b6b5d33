"""Objects of phrases: where the words after a verb stop, and whether what is left says something whole."""

import re
from collections.abc import Callable

from recollectx.extractors.phrase_tables import (
    ADJECTIVES,
    ATTRIBUTES,
    CLAUSE_END,
    DANGLING,
    EMPLOYERS,
    EMPTY_OBJECTS,
    FILLER,
    GENERIC,
    HOMES,
    JOKE_ALLERGENS,
    NOT_FIRST,
    NOT_JOBS,
    NOT_LAST,
    NOT_PLACES,
    NOT_YET,
    OTHER_NAMES,
    PROFESSIONS,
    SAYING,
    SOON,
    SPELLING,
    VAGUE_ATTRIBUTES,
    Shape,
)

LONGEST = 8
"""Words in an object; a longer one is nearly always a clause that was cut in the wrong place."""

_LONGEST_TEXT = 200
_LISTED = 3
_NAME = r"[A-Z][\w'.&-]*"
_PROPER = rf"{_NAME}(?:\s+(?:{_NAME}|of|the|de|da|do|del|la|le|and)(?=\s|$))*"
_PLACE = re.compile(
    rf"(?:the\s+|downtown\s+|central\s+|upstate\s+|north(?:ern)?\s+|south(?:ern)?\s+)*{_PROPER}(?:\s+(?:area|region|city))?"
)
_ADJECTIVES = r"(?:[a-z-]+\s+){0,2}"
_HOME = re.compile(rf"(?:an?|the)\s+{_ADJECTIVES}{HOMES}(?:\s+(?:near|outside|by|of)\s+.+)?")
_EMPLOYER = re.compile(
    rf"(?:the\s+)?{_PROPER}|(?:an?|the|my)\s+(?:[\w'-]+\s+){{0,3}}{EMPLOYERS}(?:\s+(?:of|for)\s+.+)?"
)
_JOB = re.compile(r"(?:an?|the)\s+\S.*")
_PLACE_END = re.compile(
    r"\s(?:with|for|since|from|after|before|during|in|at|last|this|to|as|about|over|on|around|where|who|and(?!\s+[A-Z])|"
    r"recently|now|again|permanently|alone|full-time|part-time|every|\d+|an?\s+(?:few|couple|year|month|week)|"
    r"(?:two|three|four|five|six|seven|eight|nine|ten)\s+\w+\s+ago)(?=\s|$)"
)
_JOB_END = re.compile(r"\s(?:at|for|with|since|where|who|in(?=\s+(?:[A-Z\d]|an?\s|the\s|my\s))|and)(?=\s|$)")
_PROFESSION = re.compile(rf"an?\s+(?:[\w-]+\s+){{0,2}}?{PROFESSIONS}")
_RESTRICTED = re.compile(r"(\w+s|people)\s+(?:that|who)(?=\s)")
_PLAIN_ADJECTIVE = re.compile(r"[A-Z]\w*(?:ese|ish|ian|ican)")


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


def _until(end: re.Pattern[str], text: str) -> str:
    match = end.search(text)
    return trimmed(text[: match.start()] if match else text)


def _shorter(text: str) -> str:
    """`text` without its last "and ..." or "or ..."."""
    joints = list(re.finditer(r",?\s+(?:and|or)\s", text))
    return trimmed(text[: joints[-1].start()]) if joints else ""


def _whole(text: str) -> bool:
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


def _known_kind(text: str) -> bool:
    """Whether "the ..." names a kind or a proper name rather than something just shown."""
    said = text.split()
    if "the" not in map(str.lower, said[:2]) or said[0].lower() not in ("the", "all", "both"):
        return True
    named = said[said.index("the") + 1 if "the" in said else 1 :]
    return bool(named) and (named[0][0].isupper() or (named[0] in GENERIC and named[1:2] in ([], ["of"])))


def _longest_whole(text: str) -> str:
    """`text`, or what is left of it when parts joined by "and" are dropped until it stands on its own."""
    while text and not _whole(text):
        text = _shorter(text)
        if text.endswith("ing") and " " not in text:
            return ""
    return text


def _liking(text: str) -> str:
    text = _longest_whole(text)
    said = tokens(text)
    if not text or not _known_kind(text) or (said[0] == "to" and (len(said) < 2 or said[1] in SAYING)):
        return ""
    return text


def _home(text: str) -> str:
    place = _destination(text)
    return place or (home[0] if (home := _HOME.fullmatch(_until(_PLACE_END, text))) else "")


def _destination(text: str) -> str:
    place = _until(_PLACE_END, text)
    return place if _PLACE.fullmatch(place) and not NOT_PLACES.intersection(place.split()) else ""


def _job(text: str) -> str:
    job = _until(_JOB_END, text)
    return job if _JOB.fullmatch(job) and _whole(job) and not NOT_JOBS.intersection(tokens(job)) else ""


def _profession(text: str) -> str:
    job = _until(_JOB_END, text)
    return job if _PROFESSION.fullmatch(job) and not NOT_YET.intersection(tokens(job)) else ""


def _employer(text: str) -> str:
    place = _until(_PLACE_END, text)
    return place if _EMPLOYER.fullmatch(place) and not NOT_PLACES.intersection(place.split()) else ""


def _allergen(text: str) -> str:
    text = _longest_whole(text)
    return "" if JOKE_ALLERGENS.intersection(tokens(text)) else text


_SHAPED: dict[Shape, Callable[[str], str]] = {
    Shape.HOME: _home,
    Shape.DESTINATION: _destination,
    Shape.JOB: _job,
    Shape.EMPLOYER: _employer,
    Shape.LIKING: _liking,
    Shape.ALLERGEN: _allergen,
    Shape.PROFESSION: _profession,
}


def shaped(shape: Shape, raw: str) -> str:
    """The object of a phrase in the words of the turn, a leading part of `raw`; "" if there is none to trust."""
    words = _SHAPED[shape](trimmed(raw))
    return words if len(words.split()) <= LONGEST and len(words) <= _LONGEST_TEXT else ""


def attribute(words: str) -> str:
    """Predicate for the words between "my" and "is"; "" for those that name nothing lasting."""
    said = [SPELLING.get(word, word) for word in tokens(words)]
    if not said or VAGUE_ATTRIBUTES.intersection(said[-1:]) or DANGLING.intersection(said):
        return ""
    kept = said[1:] if said[0] == "new" else said
    name = "_".join(re.sub(r"\W+", "_", word.removesuffix("'s")) for word in kept)
    return OTHER_NAMES.get(name, name)


def attribute_value(predicate: str, raw: str) -> str:
    """What an attribute is said to be; "" if it is vague, passing, or only an adjective."""
    text = trimmed(raw)
    if predicate.endswith("birthday"):
        text = text.removeprefix("on ")
    said = tokens(text)
    if not _whole(text) or len(text) > _LONGEST_TEXT or SOON.intersection(said[:1]):
        return ""
    known = predicate.startswith("favorite_") or predicate.rsplit("_", 1)[-1] in ATTRIBUTES
    proper = re.fullmatch(_PROPER, text) and not _PLAIN_ADJECTIVE.fullmatch(text)
    return text if known or proper or text[0].isdigit() else ""
