"""Moments: the day that words like "yesterday" or "in May 2023" mean, counted from when they were said."""

import re
from datetime import UTC, datetime, timedelta

from recollectx.dates import periods
from recollectx.instants import to_seconds

_DAYS = {"the day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0, "tomorrow": 1}
_NUMBERS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "ten": 10,
}
_AGO = re.compile(rf"\b(\d{{1,3}}|{'|'.join(_NUMBERS)})\s+(day|week|month|year)s?\s+ago\b", re.IGNORECASE)
_NEAR = re.compile(r"\b(last|next)\s+(week|month|year)\b", re.IGNORECASE)
_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_LAST = re.compile(rf"\blast\s+({'|'.join(_WEEKDAYS)})\b", re.IGNORECASE)
_PART = re.compile(r"(\d{4})(?:-(\d\d))?")


def meant(words: str, said_at: float) -> float | None:
    """When the day, month or year begins that `words` name, in seconds since 1970 UTC; None if they are not understood.

    Relative words are understood in English only, dates with a year in several languages.
    """
    try:
        day = datetime.fromtimestamp(said_at, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        found = _relative(words.lower(), day)
    except (ValueError, OverflowError, OSError):  # before the year 1, or past 9999
        return None
    if found is not None:
        return found.timestamp()
    named = [period for period in periods(words) if period.year is not None]
    return next((begin for begin, _ in named[0].spans(0, 0)), None) if len(named) == 1 else None


def written(text: str) -> float:
    """Seconds since 1970 UTC of an ISO time, of which month and day may be missing. Raises ValueError for others."""
    part = _PART.fullmatch(text.strip())
    return to_seconds(f"{part[1]}-{part[2] or '01'}-01" if part else text.strip())


def _relative(words: str, day: datetime) -> datetime | None:
    for name, further in _DAYS.items():
        if re.search(rf"\b{name}\b", words):
            return day + timedelta(days=further)
    if ago := _AGO.search(words):
        count = _NUMBERS.get(ago[1]) or int(ago[1])
        return _moved(day, -count, ago[2])
    if near := _NEAR.search(words):
        begin = _begun(day, near[2])
        return _moved(begin, -1 if near[1] == "last" else 1, near[2])
    if last := _LAST.search(words):
        return day - timedelta(days=(day.weekday() - _WEEKDAYS.index(last[1]) - 1) % 7 + 1)
    return None


def _begun(day: datetime, unit: str) -> datetime:
    if unit == "week":
        return day - timedelta(days=day.weekday())
    return day.replace(day=1, month=1 if unit == "year" else day.month)


def _moved(day: datetime, count: int, unit: str) -> datetime:
    if unit in ("day", "week"):
        return day + timedelta(days=count * (7 if unit == "week" else 1))
    months = day.year * 12 + day.month - 1 + count * (12 if unit == "year" else 1)
    # The 31st of a month that has 30 days is its 28th: a day too early rather than another month.
    return day.replace(
        year=months // 12, month=months % 12 + 1, day=min(day.day, 28 if day.day > 28 else day.day)
    )
