"""Shapes: what of the words after a verb is a place, a job, a project or whatever the verb asks for."""

import re
from collections.abc import Callable

from recollectx.extractors.phrase_objects import (
    LONGEST,
    LONGEST_TEXT,
    NAME,
    PLAIN_ADJECTIVE,
    PROPER,
    longest_whole,
    tokens,
    trimmed,
    until,
    whole,
)
from recollectx.extractors.phrase_tables import (
    AMBITIONS,
    DIETS,
    EMPLOYERS,
    GENERIC,
    HOMES,
    JOKE_ALLERGENS,
    LANGUAGES,
    NOT_AMBITIONS,
    NOT_JOBS,
    NOT_PLACES,
    NOT_YET,
    PETS,
    PLAYED,
    PROFESSIONS,
    SAYING,
    SCHOOLS,
)
from recollectx.extractors.phrase_verbs import Shape

_PLACE = re.compile(
    rf"(?:the\s+|downtown\s+|central\s+|upstate\s+|north(?:ern)?\s+|south(?:ern)?\s+)*{PROPER}(?:\s+(?:area|region|city))?"
)
_ADJECTIVES = r"(?:[a-z-]+\s+){0,2}"
_HOME = re.compile(rf"(?:an?|the)\s+{_ADJECTIVES}{HOMES}(?:\s+(?:near|outside|by|of)\s+.+)?")
_EMPLOYER = re.compile(
    rf"(?:the\s+)?{PROPER}|(?:an?|the|my)\s+(?:[\w'-]+\s+){{0,3}}{EMPLOYERS}(?:\s+(?:of|for)\s+.+)?"
)
_JOB = re.compile(r"(?:an?|the)\s+\S.*")
_PLACE_END = re.compile(
    r"\s(?:with|for|since|all|from|after|before|during|in|at|last|this|to|as|about|over|on|around|where|who|and(?!\s+[A-Z])|"
    r"these|recently|now|again|permanently|alone|full-time|part-time|every|\d+|an?\s+(?:few|couple|year|month|week)|"
    r"(?:two|three|four|five|six|seven|eight|nine|ten)\s+\w+\s+ago)(?=\s|$)"
)
_JOB_END = re.compile(
    r"\s(?:at|for|with|since|by(?=\s+(?:trade|profession))|where|who|last|this|these|in(?=\s+(?:[A-Z\d]|an?\s|the\s|my\s))|and)(?=\s|$)"
)
_RANK = re.compile(rf"(?:an?\s+|the\s+)?(?:[\w-]+\s+){{0,2}}?{PROFESSIONS}")
_PROFESSION = re.compile(rf"an?\s+(?:[\w-]+\s+){{0,2}}?{PROFESSIONS}")


def _known_kind(text: str) -> bool:
    """Whether "the ..." names a kind or a proper name rather than something just shown."""
    said = text.split()
    if "the" not in map(str.lower, said[:2]) or said[0].lower() not in ("the", "all", "both"):
        return True
    named = said[said.index("the") + 1 if "the" in said else 1 :]
    return bool(named) and (named[0][0].isupper() or (named[0] in GENERIC and named[1:2] in ([], ["of"])))


def _liking(text: str) -> str:
    text = longest_whole(text)
    said = tokens(text)
    if not text or not _known_kind(text) or (said[0] == "to" and (len(said) < 2 or said[1] in SAYING)):
        return ""
    return text


def _home(text: str) -> str:
    place = _destination(text)
    return place or (home[0] if (home := _HOME.fullmatch(until(_PLACE_END, text))) else "")


def _destination(text: str) -> str:
    place = until(_PLACE_END, text)
    return place if _PLACE.fullmatch(place) and not NOT_PLACES.intersection(place.split()) else ""


def _job(text: str) -> str:
    job = until(_JOB_END, text)
    return job if _JOB.fullmatch(job) and whole(job) and not NOT_JOBS.intersection(tokens(job)) else ""


def _profession(text: str) -> str:
    job = until(_JOB_END, text)
    return job if _PROFESSION.fullmatch(job) and not NOT_YET.intersection(tokens(job)) else ""


def _rank(text: str) -> str:
    job = until(_JOB_END, text)
    return job if _RANK.fullmatch(job) else ""


def _employer(text: str) -> str:
    place = until(_PLACE_END, text)
    if company := _COMPANY.fullmatch(place):
        place = company["name"]
    return place if _EMPLOYER.fullmatch(place) and not NOT_PLACES.intersection(place.split()) else ""


def _allergen(text: str) -> str:
    text = longest_whole(text)
    return "" if JOKE_ALLERGENS.intersection(tokens(text)) else text


_COMPANY = re.compile(r"the\s+(?:company|firm|start-?up|employer)\s+(?P<name>[A-Z].*)")
_PROJECT = re.compile(
    rf"(?:the\s+)?(?:new\s+)?(?:[Pp]roject\s+(?P<after>{NAME})|(?P<before>{NAME})\s+project)(?:\s.*)?"
)
_PERSON = re.compile(r"[A-Z][\w'-]+(?:\s+[A-Z][\w'-]+)?")
_DATE = re.compile(
    r"(?:the\s+)?(?:\d{1,2}(?:st|nd|rd|th)?\s+(?:of\s+)?[A-Z][a-z]{2,8}|[A-Z][a-z]{2,8}\s+(?:the\s+)?\d{1,2}(?:st|nd|rd|th)?)"
    r"(?:,?\s+\d{4})?"
)
_AGE = re.compile(r"(\d{1,3})(?:\s+years\s+old)?(?:\s+(?:last|this|yesterday|in|on)\b.*)?$")
_DIET = re.compile(rf"(?:an?\s+)?({DIETS})(?:\s+(?:now|since|for|again)\b.*)?")
_PET = re.compile(rf"(?:an?|\w+)\s+(?:[a-z-]+\s+)?{PETS}(?![\w-])")
_PLAYED = re.compile(rf"(?:the\s+)?({PLAYED})")
_LANGUAGE = re.compile(rf"(?:{LANGUAGES}|{PLAIN_ADJECTIVE.pattern})")


def _company(text: str) -> str:
    place = _employer(text)
    return place if place[:1].isupper() and not SCHOOLS.intersection(place.split()) else ""


def _project(text: str) -> str:
    match = _PROJECT.fullmatch(text)
    return (match["after"] or match["before"]) if match else ""


def _person(text: str) -> str:
    match = _PERSON.match(until(_PLACE_END, text))
    return match[0] if match and not NOT_PLACES.intersection(match[0].split()) else ""


def _first_group(pattern: re.Pattern[str]) -> Callable[[str], str]:
    def find(text: str) -> str:
        match = pattern.match(text)
        return match[match.re.groups] if match else ""

    return find


def _goal(text: str) -> str:
    said = tokens(text)
    begins = len(said) > 1 and (said[0] in ("to", "a", "an") or said[0].endswith("ing"))
    return text if begins and whole(text) and said[1] not in SAYING else ""


def _ambition(text: str) -> str:
    said = tokens(text)
    lasting = len(said) > 2 and said[1] in AMBITIONS and not NOT_AMBITIONS.intersection(said)
    return _goal(text) if lasting else ""


_SHAPED: dict[Shape, Callable[[str], str]] = {
    Shape.HOME: _home,
    Shape.DESTINATION: _destination,
    Shape.JOB: _job,
    Shape.EMPLOYER: _employer,
    Shape.COMPANY: _company,
    Shape.LIKING: _liking,
    Shape.ORIGIN: _destination,
    Shape.ALLERGEN: _allergen,
    Shape.PROFESSION: _profession,
    Shape.RANK: _rank,
    Shape.PROJECT: _project,
    Shape.GOAL: _goal,
    Shape.AMBITION: _ambition,
    Shape.PERSON: _person,
    Shape.DATE: _first_group(_DATE),
    Shape.AGE: _first_group(_AGE),
    Shape.DIET: _first_group(_DIET),
    Shape.PLAYED: _first_group(_PLAYED),
    Shape.PET: _first_group(_PET),
    Shape.LANGUAGE: _first_group(_LANGUAGE),
}


def shaped(shape: Shape, raw: str) -> str:
    """The object of a phrase in the words of the turn, a leading part of `raw`; "" if there is none to trust."""
    words = _SHAPED[shape](trimmed(raw))
    return words if len(words.split()) <= LONGEST and len(words) <= LONGEST_TEXT else ""
