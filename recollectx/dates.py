"""The dates a question names: "on 8 May 2023", "im Mai 2023", "2023-05-08", "in 2023".

Days, months and years as they are written in English, French, German, Italian, Portuguese and Spanish, in numbers
(2023-05-08, 8.5.2023, 2023年5月8日), with or without the year. What says nothing of the year means that day or month of
every year, and a month's name alone means nothing where it is a word of its own ("it may rain", "gli agosto").
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_MONTHS = """
    january jan januar jänner janvier gennaio janeiro enero
    february feb februar février febbraio fevereiro febrero
    march mar märz mars marzo março
    april apr avril aprile abril
    may mai maggio maio mayo
    june jun juni juin giugno junho junio
    july jul juli juillet luglio julho julio
    august aug août agosto
    september sept sep septembre settembre setembro septiembre
    october oct oktober okt octobre ottobre outubro octubre
    november nov novembre novembro noviembre
    december dec dezember dez décembre dicembre dezembro diciembre
"""
_MONTH = {name: number for number, line in enumerate(_MONTHS.split("\n")[1:-1], 1) for name in line.split()}
_LONE = frozenset(
    {"may", "mar", "march", "mars", "sept", "sep", "jan", "dec", "dez", "jun", "jul", "nov", "okt", "oct"}
)
"""Words that mean a month only beside a day or a year."""
_NAMES = "|".join(sorted(_MONTH, key=len, reverse=True))
_YEARS = 100
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_OF = r"(?:\s+|\.\s*|\s+(?:of|de|del|di)\s+)"
_PATTERN = re.compile(
    rf"""
      (?<![\w.])(?P<iso_year>(?:19|20)\d\d)[-/.](?P<iso_month>0?[1-9]|1[0-2])(?:[-/.](?P<iso_day>{_DAY}))?(?!\d)
    | (?P<han_year>(?:19|20)\d\d)\s*年(?:\s*(?P<han_month>1[0-2]|0?[1-9])\s*月(?:\s*(?P<han_day>{_DAY})\s*日)?)?
    | (?<![\d.])(?P<dot_day>{_DAY})\.\s?(?P<dot_month>0?[1-9]|1[0-2])\.\s?(?P<dot_year>(?:19|20)\d\d)(?!\d)
    | (?:(?<![\d.])(?P<day>{_DAY})(?:st|nd|rd|th|er|º|ª)?{_OF})?
      \b(?P<month>{_NAMES})\b\.?
      (?:\s+(?P<late_day>{_DAY})(?:st|nd|rd|th)?(?!\d))?
      (?:(?:\s*,\s*|\s+(?:of\s+|de\s+|del\s+|di\s+)?)(?P<year>(?:19|20)\d\d)(?!\d))?
    | (?<![\w.,/$€£-])(?P<alone>(?:19|20)\d\d)(?![\w/-]|[.,]\d)
    """,
    re.VERBOSE | re.IGNORECASE,
)


_BESIDE = re.compile(
    r"\b(?:before|until|till|since|after|vor|nach|bis|seit|avant|après|depuis|jusqu'(?:au?|en)|antes de|después de|hasta|"
    r"desde|prima (?:di|del)|dopo|fino a|depois de|até)\s+(?:(?:the|dem|der|le|la|el|il|o)\s+)?\Z",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Period:
    """A day, a month or a year; year None is every year, month or day None the whole of it."""

    year: int | None
    month: int | None = None
    day: int | None = None

    def spans(self, first: int, last: int) -> Iterator[tuple[float, float]]:
        """Begin and end of each, in seconds since 1970 UTC.

        Of every year from `first` to `last` if none is said, the last hundred of them at most.
        """
        years = range(max(first, last - _YEARS), last + 1) if self.year is None else (self.year,)
        for year in years:
            try:
                begin = datetime(year, self.month or 1, self.day or 1, tzinfo=UTC)
                if self.day is not None:
                    end = begin + timedelta(days=1)
                elif self.month is not None:
                    end = datetime(year + self.month // 12, self.month % 12 + 1, 1, tzinfo=UTC)
                else:
                    end = datetime(year + 1, 1, 1, tzinfo=UTC)
            except (
                ValueError,
                OverflowError,
            ):  # the 29th of February in most years, or the end of the calendar
                continue
            yield begin.timestamp(), end.timestamp()


def periods(text: str) -> list[Period]:
    """The periods that a text names, in order; not those that it only names the time before or after of."""
    return [
        period
        for found in _PATTERN.finditer(text)
        if not _BESIDE.search(text, 0, found.start()) and (period := _period(found.groupdict()))
    ]


def _period(found: dict[str, str | None]) -> Period | None:
    def number(*names: str) -> int | None:
        return next((int(text) for name in names if (text := found[name]) is not None), None)

    month = number("iso_month", "han_month", "dot_month")
    day = number("iso_day", "han_day", "dot_day", "day", "late_day")
    year = number("iso_year", "han_year", "dot_year", "year", "alone")
    name = found["month"]
    if name is not None:
        month = _MONTH[name.casefold()]
        if name.casefold() in _LONE and day is None and year is None:
            return None
    return Period(year, month, day)
