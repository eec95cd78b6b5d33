"""Scenarios of people whose lives change, and what is true in them: a generator from a seed, and an oracle.

Nothing here imports the package. A scenario is a list of events in the order in which they are told. Each is told at a
time of its own, perhaps long after the date it is about. The oracle folds the list by date:

    said       a person, a friend or a rumour gives the value of one attribute of the person from a date on;
               only the person's own word counts for what is true
    retracted  the person takes a statement back: from then on it is as if it had never been made, so that an
               earlier value takes its place again
    corrected  a statement was never true; from then on it is as if another value had been stated at its date

A value that the person states again while it lasts is one run with the first: the statement taken back or corrected
stands for its whole run.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random

DAY = 86_400.0
YEARS = 730
BEGIN = 1_640_995_200.0
PEOPLE = ("Ana", "Bela", "Carl")
VALUES = {
    "lives in": ("Porto", "Braga", "Faro", "Evora", "Beja", "Lagos", "Tomar", "Viseu"),
    "works as": ("baker", "pilot", "nurse", "tailor", "clerk", "miner", "judge", "actor"),
    "current project": ("harbour", "bridge", "atlas", "orchard", "archive", "mill", "garden", "choir"),
    "favorite food": ("rice", "figs", "soup", "bread", "cod", "plums", "olives", "cake"),
}
FRIEND, RUMOUR = "a friend", "a rumour"


@dataclass(frozen=True)
class Event:
    """One thing told. of: the number of the statement that is retracted or corrected. late: after a newer one.

    style: how the date is given, as a number that the teller of the scenario makes something of.
    """

    number: int
    kind: str
    told: float
    person: str
    attribute: str
    source: str
    value: str = ""
    date: float = 0.0
    of: int = -1
    late: bool = False
    style: int = 0

    @property
    def own(self) -> bool:
        """Whether the person says it."""
        return self.source == self.person


# -- the oracle ----------------------------------------------------------------------------------------------------


def runs(events: Iterable[Event], person: str, attribute: str, known: float) -> list[list[Event]]:
    """What the person stands by at `known`, by date: equal values in a row are one run."""
    stand: list[Event] = []
    for event in events:
        if event.told > known:
            break
        if (event.person, event.attribute) != (person, attribute) or not event.own:
            continue
        if event.kind == "said":
            stand.append(event)
            continue
        meant = next(run for run in in_rows(stand) if event.of in [each.number for each in run])
        stand = [each for each in stand if each not in meant]
        if event.kind == "corrected":
            stand.append(replace(event, date=meant[0].date))
    return in_rows(stand)


def in_rows(statements: Iterable[Event]) -> list[list[Event]]:
    """Statements by date, equal values in a row together."""
    rows: list[list[Event]] = []
    for each in sorted(statements, key=lambda event: event.date):
        if rows and rows[-1][-1].value == each.value:
            rows[-1].append(each)
        else:
            rows.append([each])
    return rows


def truth(events: Iterable[Event], person: str, attribute: str, day: float, known: float) -> str | None:
    """The value at `day` as known at `known`; None before the first."""
    values = [run[0].value for run in runs(events, person, attribute, known) if run[0].date <= day]
    return values[-1] if values else None


# -- the generator -------------------------------------------------------------------------------------------------


def scenario(seed: int, *, late: float = 0.2) -> list[Event]:
    """Events in the order in which they are told, at times that are all different. late: share of late statements."""
    random = Random(seed)
    told = [
        event for person in PEOPLE for attribute in VALUES for event in _life(random, person, attribute, late)
    ]
    told.sort(key=lambda event: event.told)
    told = [replace(event, number=number) for number, event in enumerate(told)]
    return _second_thoughts(random, told)


def _life(random: Random, person: str, attribute: str, late: float) -> Iterator[Event]:
    dates = [BEGIN + day * DAY for day in sorted(random.sample(range(YEARS), random.randint(4, 9)))]
    values: list[str] = []
    for _ in dates:
        kind = random.random()
        if values and kind < 0.15:
            values.append(values[-1])
        elif len(set(values)) > 1 and kind < 0.45:
            values.append(random.choice([each for each in values if each != values[-1]]))
        else:
            values.append(random.choice([each for each in VALUES[attribute] if each not in values[-1:]]))
    times = [date + random.uniform(0.01, 0.9) * DAY for date in dates]
    for at, (date, value) in enumerate(zip(dates, values, strict=True)):
        is_late = at + 1 < len(dates) and random.random() < late
        after = times[random.randint(at + 1, len(dates) - 1)] if is_late else times[at]
        when = after + random.uniform(0.001, 0.09) * DAY
        yield Event(
            0, "said", when, person, attribute, person, value, date, late=is_late, style=random.randrange(6)
        )
    for source, share in ((FRIEND, 0.5), (RUMOUR, 0.4)):
        for (start, end), value in zip(pairwise([*dates, dates[-1] + 60 * DAY]), values, strict=True):
            if random.random() < share:
                date = float(round(random.uniform(start + DAY, end)))
                wrong = source == RUMOUR or random.random() < 0.3
                others = [each for each in VALUES[attribute] if each != value]
                heard = random.choice(others) if wrong else value
                delay = random.uniform(1, 150) if random.random() < late else random.uniform(0.001, 0.9)
                yield Event(0, "said", date + delay * DAY, person, attribute, source, heard, date)


def _second_thoughts(random: Random, told: list[Event]) -> list[Event]:
    """The events with some statements of the person retracted or corrected later."""
    wanted = [
        replace(
            event,
            kind=random.choice(["retracted", "corrected"]),
            number=len(told) + event.number,
            of=event.number,
            told=event.told + random.uniform(1, 200) * DAY,
            style=0,
            late=False,
        )
        for event in told
        if event.own and random.random() < 0.2
    ]
    events: list[Event] = []
    gone: list[Event] = []
    for event in sorted(told + wanted, key=lambda each: each.told):
        if event.kind != "said":
            rows = runs(events, event.person, event.attribute, event.told)
            meant = next((run for run in rows if event.of in [each.number for each in run]), None)
            if meant is None or _touches(meant, gone):
                continue
            gone.extend(meant)
            around = {run[0].value for run in rows}
            value = random.choice([each for each in VALUES[event.attribute] if each not in around] or [""])
            if event.kind == "corrected" and not value:
                continue
            events.append(replace(event, value=value, date=meant[0].date))
        else:
            events.append(event)
    return events


def _touches(run: list[Event], gone: list[Event]) -> bool:
    """Whether a run was two before something between them was taken back: which one is meant would be unclear."""
    return any(
        (each.person, each.attribute) == (run[0].person, run[0].attribute)
        and run[0].date < each.date < run[-1].date
        for each in gone
    )
