"""Rewordings: other ways to say what a plain statement says, each turned into it, to be read as any other.

"Home is Porto for me" is read as "I live in Porto". A rewording is written once for "I" and for a name. {I}, {me} and
{my} are who it is about: the first of them in a pattern may be a name, those after it are then "she" or "her". In the
statement, {who} and {whose} name them, {s} ends the verb, and <...> stands for a group of the pattern.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias

from recollectx.extractors.phrase_guards import opens_clause
from recollectx.extractors.phrase_tables import DATES, NOT_NAMES, PETS, PROFESSIONS, RELATIVES
from recollectx.extractors.phrase_verbs import ADVERBS

_NAME = rf"(?!(?:{NOT_NAMES})\b)[A-Z][\w-]{{1,40}}(?:\s+(?!(?:{NOT_NAMES})\b)[A-Z][\w-]{{1,40}})?"
_ADV = rf"(?:{ADVERBS}\s+)*"
_BUT = rf"(?:,?\s+(?:but|and|though)\s+|[,;]\s*){_ADV}"
_IT_IS = rf"(?:[Ii]t's|[Ii]t\s+is|[Tt]hat's)\s+{_ADV}"
_JOINT = r"(?:[Aa]nd|[Bb]ut|[Ss]o|[Oo]r|[Bb]ecause|[Tt]hat|[Ii]t|[Tt]his)\b"
_PROPER = r"(?P<v>[A-Z][^,;:()]{1,60}?)"
_VALUE = rf"(?!{_JOINT})(?P<v>[^,;:()]{{2,60}}?)"
_REST = r"(?P<v>\S.*)"
_ATTRIBUTE = r"(?P<name>(?:[\w-]{1,40}\s+){0,2}?[\w-]{1,40})"
_NOW = r"(?:of\s+all\s+time|ever|by\s+far|in\s+the\s+(?:whole\s+)?world|(?:right\s+)?now|these\s+days|nowadays|at\s+the\s+moment|at\s+present|this\s+year|currently|for\s+(?:this\s+|the\s+)?(?:next\s+)?(?:year|summer|winter|month|20\d\d))"
_NUMBER = r"(?P<v>\+?\(?\d[\d\s().-]{5,18}\d)"
_CALL = r"(?:reach|get|call|ring|text|phone|message)"
_RELATIVE = "(?:" + "|".join(sorted(RELATIVES)) + ")"
_OWNED = rf"(?:{PETS}|{_RELATIVE})"
_WORKPLACE = r"(?:company|firm|start-?up|business|employer|place|agency|organi[sz]ation)"
_DAY = rf"(?:[Ii]t|[Tt]oday|[Yy]esterday|(?:[Ll]ast\s+)?(?:{'|'.join(DATES.split())}))"
_LEAVE = (
    r"(?:left|quit|resigned\s+from|gave\s+up|(?:changed|switched|sold|stopped)|no\s+longer|(?:don't|doesn't))"
)

_REWORDINGS = (
    # home
    ("{who} live{s} in <v>", rf"[Hh]ome(?:\s+for\s+{{me}})?\s+is\s+{_ADV}(?P<v>[A-Z].*?)\s+for\s+{{me}}"),
    ("{who} live{s} in <v>", rf"[Hh]ome\s+for\s+{{me}}\s+is\s+{_ADV}{_REST}"),
    ("{who} live{s} in <v>", rf"{{my}}\s+(?:new\s+|current\s+)?(?:home|house|flat|apartment|place)\s+is\s+{_ADV}in\s+{_REST}"),
    ("{who} live{s} in <v>", rf"{{I}}\s+{_ADV}calls?\s+{_PROPER}\s+(?:my\s+|his\s+|her\s+)?home(?!\s*\w*town)"),
    ("{who} live{s} in <v>", rf"{_IT_IS}{_PROPER}\s+(?:that\s+|where\s+)?{{I}}\s+{_ADV}lives?\b"),
    ("{who} live{s} in <v>", rf"{_PROPER}\s+is\s+{_ADV}where\s+{{I}}\s+{_ADV}lives?\b"),
    (
        "{who} live{s} in <v>",
        rf"(?:[Tt]he\s+(?:city|town|place|village)\s+(?:where\s+)?{{I}}\s+lives?(?:\s+in)?|[Ww]here\s+{{I}}\s+lives?)"
        rf"(?:\s+{_NOW})?\s+is\s+{_ADV}{_REST}",
    ),
    # work
    ("{who} work{s} as <v>", rf"[Tt]hey(?:'ve|\s+have|)\s+{_ADV}(?:hired|employed|took)\s+{{me}}\s+(?:on\s+)?as\s+{_REST}"),
    ("{who} work{s} <as> <v>", rf"{_DAY}(?:'s|\s+is|\s+was)\s+{_ADV}{{my}}\s+first\s+(?:day|week|shift)\s+(?P<as>as|at|for)\s+{_REST}"),
    ("{who} work{s} as <v>", rf"{{my}}\s+(?:new\s+|current\s+)?(?:job|profession|occupation|trade)\s+is\s+{_ADV}(?P<v>(?:an?\s+)?{PROFESSIONS}\b.*)"),
    ("{who} work{s} as <v>", rf"(?!{_JOINT})(?P<v>(?:[Aa]n?\s+)?(?:[a-z]+\s+)??{PROFESSIONS})\s+is\s+{_ADV}what\s+{{I}}\s+{_ADV}(?:works?\s+as|am|is|do(?:es)?\b)"),
    ("{who} work{s} as <v>", rf"{_IT_IS}(?:as\s+)?(?P<v>(?:an?\s+)?(?:[a-z]+\s+)??{PROFESSIONS})\s+(?:that\s+)?{{I}}\s+{_ADV}(?:works?(?:\s+as)?|am|is)\b"),
    ("{who} work{s} at <v>", rf"{{I}}\s+{_ADV}works?\s+(?:at|for)\s+an?\s+(?:[\w-]+\s+){{0,2}}{_WORKPLACE}\s+(?:called|named)\s+{_REST}"),
    ("{who} work{s} at <v>", rf"{_IT_IS}(?:at\s+|for\s+)?{_PROPER}\s+(?:that\s+|where\s+|who\s+)?{{I}}\s+{_ADV}works?\b"),
    ("{who} work{s} at <v>", rf"{_PROPER}\s+is\s+{_ADV}(?:where|who|the\s+{_WORKPLACE})\s+{{I}}\s+{_ADV}works?\b"),
    (
        "{who} work{s} at <v>",
        rf"(?:[Tt]he\s+{_WORKPLACE}\s+(?:where\s+)?{{I}}\s+works?(?:\s+(?:at|for))?|[Ww]here\s+{{I}}\s+works?)"
        rf"(?:\s+{_NOW})?\s+is\s+{_ADV}(?:called\s+)?{_REST}",
    ),
    ("{who} work{s} on <v>", rf"[Tt]hey(?:'ve|\s+have|)\s+{_ADV}(?:put|assigned|moved)\s+{{me}}\s+(?:on|onto|to)\s+{_REST}"),
    ("{who} work{s} at <v>", rf"(?!(?:{NOT_NAMES})\b){_PROPER}\s+(?:has\s+|have\s+)?{_ADV}(?:hired|employs|recruited)\s+{{me}}\b"),
    ("{who} work{s} at <v>", rf"{{my}}\s+(?:new\s+|current\s+)?job\s+is\s+{_ADV}(?:at|with)\s+{_REST}"),
    ("{who} work{s} at <v>", rf"{{I}}(?:'ve|'s|\s+have|\s+has|)\s+{_ADV}(?:left|quit)\s+[^,;]{{2,60}}?\s+(?:and\s+{_ADV}joined|to\s+join)\s+(?P<v>[A-Z].*)"),
    ("I am <verb>", r"(?:[Cc]urrently|[Nn]ow|[Pp]resently)\s+(?P<verb>(?:living|residing|based|working)\s+(?:in|as|at|for)\s.+)"),
    # changes
    ("{who} <verb>", rf"{{I}}(?:'ve|'s|\s+have|\s+has|)\s+{_ADV}{_LEAVE}\s+[^,;]{{2,60}}?{_BUT}(?P<verb>(?:works?|lives?|joined|moved|got|took|started|became|prefers?)\s.+)"),
    ("{who} <verb> <as> <v>", rf"{{I}}\s+no\s+longer\s+(?P<verb>lives?|works?)\s+(?:in|at|for|as)\s+[^,;]{{2,60}}?,?\s+but\s+{_ADV}(?P<as>in|at|for|as)\s+{_REST}"),
    ("{whose} <name> is <v>", rf"{{my}}\s+{_ATTRIBUTE}\s+(?:used\s+to\s+be|was)\s+[^,;]{{1,60}}?{_BUT}(?:it's\s+|it\s+is\s+|is\s+){_ADV}{_REST}"),
    ("{whose} <name> is <v>", rf"{{my}}\s+{_ATTRIBUTE}\s+(?:isn't|is\s+not|is\s+no\s+longer)\s+[^,;]{{1,60}}?(?:\s+any\s?more)?(?:,?\s+but\s+(?:it's\s+|it\s+is\s+)?|[,;]\s+(?:it's|it\s+is)\s+){_ADV}{_REST}"),
    ("{whose} <name> is <v>", rf"{{I}}(?:'ve|\s+have|\s+has|)\s+{_ADV}(?:changed|switched|updated)\s+(?:my|his|her|their)\s+{_ATTRIBUTE}\s+(?:from\s+.{{1,60}}?\s+)?to\s+{_REST}"),
    ("{whose} <name> is <v>", rf"{{my}}\s+{_ATTRIBUTE}\s+(?:has\s+)?{_ADV}(?:changed|switched|moved)\s+from\s+.{{1,60}}?\s+to\s+{_REST}"),
    ("{whose} <name> is <v>", rf"{{my}}\s+{_ATTRIBUTE}\s+(?:became|has\s+become)\s+{_REST}"),
    ("{whose} <name> is <v>", rf"{{I}}(?:'ve|'s|\s+have|\s+has|'m|\s+am|\s+is|)\s+{_ADV}(?:returned|gone\s+back|went\s+back|back)\s+to\s+(?:my|his|her|their)\s+(?:old|older|earlier|previous|first|original)\s+{_ATTRIBUTE}[,:]\s+{_REST}"),
    ("{who} moved to <v>", rf"{{I}}(?:'m|'s|\s+am|\s+is)\s+{_ADV}back\s+in\s+{_PROPER}\s+for\s+good"),
    ("{who} moved to <v>", rf"[Bb]ack\s+in\s+{_PROPER}\s+for\s+good"),
    # likings, favourites and goals
    ("{who} love{s} <v>", rf"{{I}}\s+could\s+{_ADV}(?:eat|drink)\s+{_VALUE}\s+(?:every\s+(?:single\s+)?(?:day|night|morning|evening|week)|all\s+day(?:\s+long)?|for\s+(?:breakfast|lunch|dinner)\b.*)"),
    ("{who} love{s} <v>", rf"[Nn]othing(?:\s+[\w-]+){{0,4}}?\s+(?:beats|tops)\s+{_VALUE}\s+(?:for|to)\s+{{me}}"),
    ("{whose} <name> is <v>", rf"{{my}}\s+{_ATTRIBUTE}\s+{_NOW}\s+(?:is|are)\s+{_ADV}{_REST}"),
    ("{whose} favorite <name> is <v>", rf"[Oo]f\s+all\s+(?:the\s+)?(?P<name>[a-z]+?)s,?\s+{{I}}\s+{_ADV}(?:like|love|prefer)s?\s+{_VALUE}\s+(?:the\s+)?(?:most|best)\b"),
    ("{whose} favorite <name> is <v>", rf"[Tt]he\s+(?P<name>[a-z]+)\s+(?:that\s+)?{{I}}\s+{_ADV}(?:like|love)s?\s+(?:the\s+)?(?:most|best)\s+is\s+{_REST}"),
    ("{whose} favorite <name> is <v>", rf"{_VALUE}\s+is\s+{_ADV}the\s+(?P<name>[a-z]+)\s+(?:that\s+)?{{I}}\s+{_ADV}(?:like|love)s?\s+(?:the\s+)?(?:most|best)\b"),
    ("{whose} favorite <name> is <v>", rf"{{I}}\s+{_ADV}(?:like|love)s?\s+{_VALUE}\s+(?:the\s+)?(?:best|most)\s+of\s+all\s+(?:the\s+)?(?P<name>[a-z]+?)s\b"),
    ("{whose} goal is <v>", r"[Ww]hat\s+{I}\s+(?:really\s+|most\s+)?wants?\s+(?:most|more\s+than\s+anything)(?:\s+of\s+all)?\s+is\s+(?P<v>to\s.+)"),
    ("{whose} goal is <v>", rf"{{my}}\s+(?:goal|plan|aim)s?\s+(?:has\s+|have\s+)?changed[,;:]\s+{{I}}\s+{_ADV}wants?\s+(?P<v>to\s.+)"),
    ("{whose} <name> is <v>", rf"[Tt]he\s+{_ATTRIBUTE}\s+of\s+{{me}}\s+is\s+{_ADV}{_REST}"),
    ("{whose} <name> is <v>", rf"{{my}}\s+(?:new\s+|current\s+)(?P<name>[\w-]+(?:\s+[\w-]+)?):\s+{_REST}"),
    # names, ways to be reached
    ("{whose} <name>'s name is <v>", rf"{{my}}\s+(?P<name>{_OWNED})\s+(?:is\s+)?(?:called|named|goes\s+by|answers\s+to)\s+{_REST}"),
    (
        "{whose} <name>'s name is <v>",
        rf"{{I}}(?:\s+(?:have|has|own|owns|adopted|got)(?:\s+got)?|'ve\s+got)\s+(?:an?|another)\s+(?:(?!stuffed|toy)[a-z-]+\s+){{0,2}}?"
        rf"(?P<name>{_OWNED})\s*,?\s+(?:named|called)\s+(?P<v>[A-Z]\w+)",
    ),
    ("{whose} phone number is <v>", rf"{{I}}\s+can\s+{_ADV}be\s+(?:called|reached|phoned)\s+(?:on|at)\s+{_NUMBER}"),
    ("my phone number is <v>", rf"(?:[Yy]ou\s+can\s+{_ADV}|[Pp]lease\s+|[Jj]ust\s+)?(?i:{_CALL})\s+me\s+(?:on|at)\s+{_NUMBER}"),
    ("my phone number is <v>", rf"[Pp]lease\s+{_CALL}\s+{_NUMBER}\s+(?:from\s+now\s+on|instead)"),
    ("my phone number is <v>", rf"I(?:'ve|\s+have|)\s+(?:got\s+)?a\s+new\s+(?:phone|mobile|cell|number)(?:\s+number)?[,:;]?\s+(?:and\s+)?(?:(?:the\s+number|it)(?:'s|\s+is)\s+)?{_NUMBER}"),
    ("my phone number is <v>", rf"(?:[Hh]ere(?:'s|\s+is)\s+)?(?:[Mm]y\s+)?[Nn]ew\s+(?:phone\s+)?number(?::|\s+is|'s)?\s+{_NUMBER}"),
    ("my phone number is <v>", rf"[Hh]ere(?:'s|\s+is)\s+my\s+(?:new\s+)?(?:phone\s+)?number:\s+{_NUMBER}"),
    ("my email is <v>", r"(?:[Yy]ou\s+can\s+|[Pp]lease\s+)?(?i:(?:email|e-mail|write\s+to|write|reach)\s+me|drop\s+me\s+a\s+line)\s+(?:at|on)\s+(?P<v>[\w.+-]+@[\w-]+\.[\w.-]*\w)"),
    ("{who} am allergic to <v>", r"I(?:'ve\s+got|\s+have(?:\s+got)?)\s+an?\s+(?:(?:severe|bad|mild|serious)\s+)?(?P<v>[a-z]+)\s+allergy"),
    # what we do, I do
    ("{who} live{s} in <v>", rf"[Ww]e(?:\s+{_ADV}live|(?:'re|\s+are)\s+{_ADV}(?:living|settled|based))\s+in\s+{_REST}"),
    ("{who} moved to <v>", rf"[Ww]e(?:'ve|\s+have|)\s+{_ADV}(?:moved|relocated)\s+(?:back\s+)?to\s+{_REST}"),
    ("{whose} <name>'s name is <v>", rf"(?:[Ww]e\s+(?:have|adopted|got)|[Ww]e've\s+got)\s+(?:an?|another)\s+(?:(?!stuffed|toy)[a-z-]+\s+){{0,2}}?(?P<name>{_OWNED})\s*,?\s+(?:named|called)\s+(?P<v>[A-Z]\w+)"),
)  # fmt: skip
_PRESUPPOSED = (
    ("{whose} <name>'s name is <v>", rf"{{my}}\s+(?!friend)(?P<name>{_OWNED})\s+(?P<v>[A-Z][a-z]+)(?!\w|'s\s+name)"),
    ("{whose} <name> is <v>", r"{my}\s+(?P<name>hometown|home\s+(?:town|city|country))(?:,|\s+of)\s+(?P<v>[A-Z]\w+)"),
)  # fmt: skip
"""Said by the way, wherever in a clause it stands: "we celebrated my daughter Bea's birthday"."""
_SELF = re.compile(r"\b(?:I|me|my|we|back|please|currently|now|presently|number)\b", re.IGNORECASE)
_Wording: TypeAlias = tuple[re.Pattern[str], str, bool]
_PLACEHOLDER = re.compile(r"\{(I|me|my)\}")
_FIRST = {"I": "I", "me": "me", "my": "[Mm]y"}
_NAMED = {"I": rf"(?P<who>{_NAME})", "me": rf"(?P<who>{_NAME})", "my": rf"(?P<who>{_NAME})'s"}
_REFERRED = {"I": "(?:he|she|they)", "me": "(?:him|her|them)", "my": "(?:his|her|their)"}
_GROUP = re.compile(r"<(\w+)>")


@lru_cache(maxsize=1)
def _compiled() -> tuple[tuple[_Wording, ...], tuple[_Wording, ...]]:
    """The wordings of "I" and those of names: pattern, statement, and whether it is only said by the way."""
    every = [(*each, False) for each in _REWORDINGS] + [(*each, True) for each in _PRESUPPOSED]
    first, named = [], []
    for stated, pattern, aside in every:
        own = _PLACEHOLDER.sub(lambda who: _FIRST[who[1]], pattern)
        first.append((_ready(own), stated.format(who="I", whose="my", s=""), aside))
    for stated, pattern, aside in every:
        if head := _PLACEHOLDER.search(pattern):
            rest = _PLACEHOLDER.sub(lambda who: _REFERRED[who[1]], pattern[head.end() :])
            third = pattern[: head.start()] + _NAMED[head[1]] + rest
            named.append((_ready(third), stated.format(who="<who>", whose="<who>'s", s="s"), aside))
    return tuple(first), tuple(named)


def _ready(pattern: str) -> re.Pattern[str]:
    return re.compile(r"(?<![\w'])" + pattern)


def reworded(sentence: str, speaker: str | None, begins: int, ends: int) -> Iterator[tuple[int, str]]:
    """Where between two places in a sentence something is said in another way, and the plain statement of it."""
    first, named = _compiled()
    # Most sentences name nobody who could be meant; they need not be tried against every wording.
    wordings = first if _SELF.search(sentence) else ()
    if speaker is None or speaker.split()[0] in sentence:
        wordings += named
    for pattern, stated, aside in wordings:
        for match in pattern.finditer(sentence, begins):
            start = match.start()
            if start < ends and (aside or start == begins or opens_clause(sentence[:start])):
                groups = match.groupdict()
                if "work" in stated and "as <v>" in stated and "<as>" not in stated:
                    groups["v"] = _with_article(groups["v"])
                yield start, _filled(stated, groups)


def _filled(stated: str, groups: Mapping[str, str]) -> str:
    return _GROUP.sub(lambda group: groups[group[1]], stated)


def _with_article(job: str) -> str:
    first = job[0].lower() + job[1:]
    return first if re.match(r"(?:an?|the)\s", first) else f"{article(first)} {first}"


def article(noun: str) -> str:
    """ "a" or "an", by the first letter."""
    return "an" if noun[:1].lower() in "aeiou" else "a"
