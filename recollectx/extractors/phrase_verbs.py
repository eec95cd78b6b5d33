"""The phrases PhraseExtractor knows, as data: a verb, its predicate, and what its object must look like.

A phrase is written once for "I" and for a name: {be}, {have}, {has}, {was} and {dont} are the auxiliaries with the
space before them ({have} may be missing), {s} ends a verb in the third person, {own} is "my" or "her", {adv} is the
gap before a verb, with or without adverbs that leave its meaning alone. An adverb that changes the meaning (never,
almost, once) is in no list, so a phrase that holds one is no match.
"""

import re
from dataclasses import dataclass
from enum import Enum

from recollectx.extractors.phrase_tables import DIETS, PETS, PLAYED, either


class Shape(Enum):
    """What the object of a phrase must look like."""

    HOME = "home"
    DESTINATION = "destination"
    ORIGIN = "origin"
    JOB = "job"
    EMPLOYER = "employer"
    COMPANY = "company"
    LIKING = "liking"
    ALLERGEN = "allergen"
    PROFESSION = "profession"
    RANK = "rank"
    PROJECT = "project"
    GOAL = "goal"
    AMBITION = "ambition"
    PERSON = "person"
    DATE = "date"
    AGE = "age"
    DIET = "diet"
    PET = "pet"
    LANGUAGE = "language"
    PLAYED = "played"


@dataclass(frozen=True, slots=True)
class Phrase:
    """One way to say a predicate, for "I" and for a name."""

    predicate: str
    shape: Shape
    first: re.Pattern[str]
    third: re.Pattern[str]


ADVERBS = either(
    "really, truly, absolutely, just, still, also, always, actually, definitely, totally, personally, honestly, "
    "currently, now, recently, finally, mostly, especially, particularly, simply, quite, very much, both, only, "
    "generally, usually, genuinely, severely, deathly, highly, very, pretty, super, mildly, extremely, happily, "
    "proudly, officially, already, permanently, mainly, primarily, presently, nowadays, these days, at present, "
    "again, once more, once again, originally, since, full-time, part-time"
)
_NEGATED_ADVERBS = either("really, particularly, especially, actually, even, generally, usually, much")
_FIRST = {
    "be": r"(?:'m|\s+am)",
    "have": r"(?:'ve|\s+have|)",
    "has": r"(?:'ve|\s+have)",
    "own": "my",
    "dont": r"\s+(?:don't|do\s+not|dont)",
    "s": "",
}
_THIRD = {
    "be": r"(?:'s|\s+is)",
    "have": r"(?:'s|\s+has|)",
    "has": r"(?:'s|\s+has)",
    "own": "(?:his|her|their)",
    "dont": r"\s+(?:doesn't|does\s+not)",
    "s": "s",
}
_WAS = r"(?:\s+was|\s+got|(?:'ve|'s|\s+have|\s+has)\s+been)(?:\s+(?:just|recently|finally))*"
_POSSESS = r"(?:\s+(?:have|has|own|owns)(?:\s+got)?|'ve\s+got|'s\s+got)"
_FAN = r"an?\s+(?:(?:big|huge|massive|total|lifelong)\s+)*fan\s+of"
_JOB_GOT = r"(?:started|taken(?:\s+(?:up|on))?|took(?:\s+(?:up|on))?|got|gotten|landed|accepted|found)\s+an?\s+(?:[a-z-]+\s+)?(?:job|position|role|post)"
_FLAT = r"an?\s+(?:[a-z-]+\s+)??(?:flat|apartment|room|studio|house)\s+in"
_PROJECT = r"(?=\s+(?:the\s+)?(?:new\s+)?(?:[Pp]roject\s+[A-Z]|[A-Z]\w+\s+project\b))"
_PETS = rf"(?=\s+(?:an?|one|two|three|four|five|\d)\s+(?:(?!stuffed|toy|hot)[a-z-]+\s+)??{PETS}(?![\w-]))"
_DIETS = rf"(?=\s+(?:an?\s+)?{DIETS}\b)"
_PLAYED = rf"(?=\s+(?:the\s+)?{PLAYED}\b)"
_LASTING = r"(?=\s[^,;.]*\b(?:since|for\s+\w+|all\s+(?:my|his|her)\s+life|my\s+whole\s+life)\b)"

_PHRASES = (
    ("current_project", Shape.PROJECT, r"{be}{adv}(?:(?:working|busy)\s+|assigned\s+)?(?:on|to)" + _PROJECT),
    ("current_project", Shape.PROJECT, r"{adv}(?:work{s}|spend{s}\s+{own}\s+(?:days|time))\s+on" + _PROJECT),
    (
        "current_project",
        Shape.PROJECT,
        r"{have}{adv}(?:switched|moved|changed|transferred)(?:\s+over)?\s+to" + _PROJECT,
    ),
    ("current_project", Shape.PROJECT, r"{was}\s+(?:assigned|moved|transferred|put)\s+(?:to|on)" + _PROJECT),
    ("current_project", Shape.PROJECT, r"{have}{adv}(?:joined|started(?:\s+(?:on|work\s+on))?)" + _PROJECT),
    ("current_project", Shape.PROJECT, r"(?:{adv}lead{s}|{be}{adv}leading)" + _PROJECT),
    ("lives_in", Shape.HOME, r"{adv}(?:live|reside){s}\s+in"),
    ("lives_in", Shape.HOME, r"{be}{adv}(?:living|residing|based|settled)(?:\s+(?:out|over|up|down))?\s+in"),
    ("lives_in", Shape.HOME, r"{has}{adv}been\s+(?:living|based)\s+in"),
    ("lives_in", Shape.HOME, r"{has}{adv}lived\s+in" + _LASTING),
    ("lives_in", Shape.HOME, r"{have}{adv}(?:settled\s+(?:down\s+)?|ended\s+up\s+living\s+)in"),
    ("lives_in", Shape.HOME, r"(?:{adv}make{s}|{have}{adv}made)\s+(?:{own}|a)\s+home\s+in"),
    ("lives_in", Shape.HOME, r"(?:{adv}(?:rent|share){s}\s+|{be}{adv}renting\s+|{possess}\s+)" + _FLAT),
    (
        "lives_in",
        Shape.DESTINATION,
        r"{have}{adv}(?:moved|relocated|emigrated|immigrated)\s+"
        r"(?:(?:back|house|over|home)\s+|from\s+[A-Z]\w+(?:\s+[A-Z]\w+)?\s+)?to",
    ),
    (
        "hometown",
        Shape.ORIGIN,
        r"(?:{be}{adverbs}\s+from|{adv}(?:come|hail){s}\s+(?:originally\s+)?from|{adv}grew\s+up\s+in)",
    ),
    ("hometown", Shape.ORIGIN, r"\s+was\s+(?:born\s+and\s+(?:raised|bred)|raised)\s+in"),
    ("born_in", Shape.ORIGIN, r"\s+was\s+born\s+in"),
    ("birthday", Shape.DATE, r"\s+was\s+born\s+on"),
    ("age", Shape.AGE, r"(?:{be}{adverbs}(?=\s+\d+\s+years\s+old)|{have}{adv}turned(?=\s+\d\d\b))"),
    ("works_as", Shape.JOB, r"{adv}work{s}\s+(?:full-time\s+|part-time\s+)?as"),
    ("works_as", Shape.JOB, r"(?:{be}|{has}{adv}been){adv}(?:working|employed)\s+as"),
    ("works_as", Shape.JOB, r"{have}{adv}" + _JOB_GOT + r"\s+as"),
    ("works_as", Shape.JOB, r"{was}\s+(?:hired|taken\s+on|appointed)\s+as"),
    (
        "works_as",
        Shape.JOB,
        r"{adv}(?:earn{s}\s+(?:{own}|a)\s+(?:living|bread|money|keep)|make{s}\s+(?:{own}|a)\s+living)\s+as",
    ),
    ("works_as", Shape.PROFESSION, r"{have}{adv}(?:retrained|requalified|qualified)\s+as"),
    ("works_as", Shape.RANK, r"{was}\s+promoted\s+to"),
    ("works_as", Shape.PROFESSION, r"{has}{adv}been(?=\s+an?\s)" + _LASTING),
    ("works_at", Shape.EMPLOYER, r"{adv}work{s}\s+(?:at|for)"),
    ("works_at", Shape.EMPLOYER, r"(?:{be}|{has}{adv}been){adv}working\s+(?:at|for)"),
    ("works_at", Shape.EMPLOYER, r"{be}{adv}employed\s+(?:at|by)"),
    ("works_at", Shape.EMPLOYER, r"{was}\s+(?:hired|taken\s+on|recruited)\s+(?:by|at)"),
    ("works_at", Shape.COMPANY, r"{have}{adv}started\s+at"),
    ("works_at", Shape.EMPLOYER, r"{have}{adv}joined(?=\s+[A-Z][^,;.]*\sas\s+an?\s)"),
    (
        "works_at",
        Shape.EMPLOYER,
        r"{have}{adv}(?:started\s+(?:working|work)|" + _JOB_GOT + r")\s+(?:at|for|with)",
    ),
    ("prefers", Shape.LIKING, r"{adv}prefer{s}"),
    ("likes", Shape.LIKING, r"{adv}(?:do\s+)?(?:like|love|enjoy|adore){s}"),
    ("likes", Shape.LIKING, r"{have}\s+always\s+(?:liked|loved|enjoyed)"),
    ("likes", Shape.LIKING, r"{be}{adv}" + _FAN),
    ("likes", Shape.LIKING, r"{be}{adv}(?:(?:passionate|crazy|mad)\s+about|fond\s+of|keen\s+on)"),
    ("likes", Shape.LIKING, r"{have}\s+always\s+been\s+passionate\s+about"),
    ("likes", Shape.LIKING, r"(?:{be}{adv}|{has}{adv}been\s+)into"),
    ("likes", Shape.LIKING, r"{possess}\s+a\s+soft\s+spot\s+for"),
    ("dislikes", Shape.LIKING, r"{dont}{negated}(?:like|enjoy|care\s+for)"),
    ("dislikes", Shape.LIKING, r"{adv}(?:hate|dislike|detest|loathe){s}"),
    ("dislikes", Shape.LIKING, r"{adv}(?:can't|cannot)\s+(?:stand|bear)"),
    ("dislikes", Shape.LIKING, r"{be}\s+not\s+(?:really\s+)?(?:" + _FAN + r"|fond\s+of|keen\s+on)"),
    ("allergic_to", Shape.ALLERGEN, r"(?:{be}{adv}allergic|{possess}\s+an?\s+(?:[a-z]+\s+)?allergy)\s+to"),
    (
        "married_to",
        Shape.PERSON,
        r"(?:{be}{adv}married\s+to|(?:{have}{adv}|\s+)got\s+married\s+to|{have}{adv}married)",
    ),
    ("engaged_to", Shape.PERSON, r"{be}{adv}engaged\s+to"),
    ("dating", Shape.PERSON, r"{be}{adv}dating"),
    ("has_pet", Shape.PET, r"(?:{possess}|{have}{adv}adopted)" + _PETS),
    ("speaks", Shape.LANGUAGE, r"(?:{adv}speak{s}(?:\s+fluent)?|{be}{adv}fluent\s+in)"),
    ("plays", Shape.PLAYED, r"(?:{adv}play{s}|{have}{adv}started\s+playing)" + _PLAYED),
    ("diet", Shape.DIET, r"(?:{be}{adverbs}|{have}{adv}(?:become|became|gone|went|turned))" + _DIETS),
    ("major", Shape.LIKING, r"{be}{adv}majoring\s+in"),
    ("goal", Shape.GOAL, r"{have}{adv}set\s+{own}\s+(?:heart|sights|mind)\s+on(?:\s+one\s+thing[,:])?"),
    ("goal", Shape.GOAL, r"(?:{be}{adv}aiming|{adv}aim{s})(?=\s+to\s)"),
    ("goal", Shape.AMBITION, r"(?:{be}{adv}(?:determined|hoping)|{adv}hope{s})(?=\s+to\s)"),
    (
        "goal",
        Shape.GOAL,
        r"{have}{adv}set\s+(?:myself|himself|herself)\s+(?:the|a)\s+(?:new\s+)?goal(?:\s+of)?",
    ),
    ("goal", Shape.GOAL, r"{possess}\s+an?\s+(?:(?:new|big|main)\s+)?(?:goal|ambition)[,:]?(?:\s+of)?"),
    ("goal", Shape.AMBITION, r"{adv}want{s}(?=\s+to\s)"),
    ("works_as", Shape.PROFESSION, r"{have}{adv}(?:become|became|started\s+working\s+as)"),
    (
        "works_as",
        Shape.PROFESSION,
        r"{have}{adv}(?:(?:gone|went)\s+back|switched|changed)\s+to\s+(?:being|work\s+as|working\s+as)",
    ),
    ("works_as", Shape.PROFESSION, r"{be}{adverbs}"),
)
"""The first phrase that fits is taken: those that look ahead stand first, the bare "I am" of professions last."""


def _compiled(pattern: str, person: dict[str, str]) -> re.Pattern[str]:
    adverbs = rf"(?:\s+{ADVERBS})*"
    negated = rf"(?:\s+{_NEGATED_ADVERBS})*\s+"
    gaps = {"adv": adverbs + r"\s+", "adverbs": adverbs, "negated": negated}
    return re.compile(pattern.format(**gaps, was=_WAS, possess=_POSSESS, **person) + r"(?=\s)")


PHRASES = tuple(
    Phrase(predicate, shape, _compiled(pattern, _FIRST), _compiled(pattern, _THIRD))
    for predicate, shape, pattern in _PHRASES
)
