"""A seeded stream of plain sentences about people, and an oracle that knows what is true and believed when.

Everyone has eight attributes and speaks of each several times in three years: statements, updates, reverts to an older
value, retractions, corrections. Others repeat it, often wrongly; what a person says of themselves is what counts.
Between all that: chatter, remarks that only mention a value, and questions. A value holds from the day it is told;
one that is retracted never held, and the one before it went on; a corrected one takes the place of the wrong one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from random import Random

from belief_sentences import ATTRIBUTES, CHATTER, NEVER, PEOPLE, Attribute

DAY = 86_400.0
BEGIN = datetime(2022, 1, 3, 9, tzinfo=UTC).timestamp()
DAYS = 3 * 365
OWN = ("said", "updated", "reverted", "retracted", "corrected")
WEIGHTS = {"updated": 0.56, "reverted": 0.16, "retracted": 0.12, "corrected": 0.16}
ROUNDS = (2, 3)
HEARSAY, MENTIONS, ASKED = 0.55, 0.7, 0.03
CHATTING = 120
PLAIN, PLAINLY_ASKED = 0.4, 0.95
"""How often a person speaks of an attribute; sentences of others and about nothing for each attribute; chatter; and the
least share of the plainest wording in sentences and in questions. Chosen on 40 streams, 1.0 to 10.3, so that FTS5 with
cosines of the embedded model scores near .24 current-first, .66 gold@5, .22 stale@5 and .81 as-of-first: it finds, and is
misled. There it scored .26, .67, .24 and .81, with .06, .08, .02 and .06 between streams."""


@dataclass(frozen=True)
class Event:
    """One sentence. kind: one of OWN, heard, or noise, which says nothing of anybody's attribute.

    value: what the sentence says the person's attribute is, or what it takes back.  old: what a correction replaces.
    """

    number: int
    at: float
    kind: str
    speaker: str
    text: str
    person: str = ""
    attribute: str = ""
    value: str = ""
    old: str = ""

    @property
    def asserts(self) -> tuple[str, str, str] | None:
        """Person, attribute and value; None if it asserts none."""
        if self.kind in ("noise", "retracted"):
            return None
        return self.person, self.attribute, self.value


@dataclass(frozen=True)
class Question:
    """kind: now, then or never.  gold: the value; for then, what was believed at `at`.  held: what held at `at`."""

    kind: str
    text: str
    person: str
    attribute: str = ""
    gold: str = ""
    held: str = ""
    at: float = 0.0


class Slot:
    """What a person stands by of one attribute: values with their beginnings, the newest last."""

    def __init__(self) -> None:
        self.rows: list[tuple[float, str]] = []

    def tell(self, event: Event) -> None:
        if event.kind in ("retracted", "corrected"):
            began = self.rows.pop()[0]
            if event.kind == "corrected":
                self._add(began, event.value)
        else:
            self._add(event.at, event.value)

    def _add(self, began: float, value: str) -> None:
        if not self.rows or self.rows[-1][1] != value:
            self.rows.append((began, value))

    def at(self, day: float) -> str:
        """The value at `day`; "" before the first."""
        return next((value for began, value in reversed(self.rows) if began <= day), "")

    @property
    def now(self) -> str:
        return self.rows[-1][1] if self.rows else ""


def told(events: Iterable[Event], person: str, attribute: str, known: float) -> Slot:
    """The slot as of `known`."""
    slot = Slot()
    for event in events:
        if event.at <= known and event.kind in OWN and (event.person, event.attribute) == (person, attribute):
            slot.tell(event)
    return slot


def stream(seed: str) -> tuple[list[Event], list[Question]]:
    """What is said, in order, and what is asked afterwards; the same for the same seed."""
    random = Random(seed)
    events = [
        event
        for person in PEOPLE
        for name, attribute in ATTRIBUTES.items()
        for event in (*_life(random, person, name, attribute), *_around(random, person, name, attribute))
    ]
    for _ in range(CHATTING):
        events.append(_noise(random, random.choice(CHATTER)))
    events.sort(key=lambda event: event.at)
    events = [replace(event, number=number) for number, event in enumerate(events)]
    return events, list(_questions(random, events))


def _life(random: Random, person: str, name: str, attribute: Attribute) -> Iterator[Event]:
    """What the person says of it, one thing a fortnight at most."""
    slot, past, last = Slot(), [""], ""
    rounds = random.randint(*ROUNDS)
    days = sorted(random.sample(range(0, DAYS, 15), rounds))
    for place, day in enumerate(days):
        kind = random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0] if place else "said"
        older = sorted(set(past) - {slot.now, ""})
        if not _possible(kind, slot, last, older):
            kind = "updated"
        fresh = [value for value in attribute.values if value not in past]
        value = {"retracted": slot.now, "reverted": random.choice(older or [""])}.get(kind)
        value = value or random.choice(fresh)
        phrases = {
            "said": attribute.says,
            "updated": attribute.changes,
            "reverted": attribute.reverts,
            "retracted": attribute.retracts,
            "corrected": attribute.corrects,
        }[kind]
        text = _worded(random, phrases, PLAIN).format(v=value, old=slot.now)
        at = BEGIN + (day + random.random()) * DAY
        event = Event(0, at, kind, person, text[0].upper() + text[1:], person, name, value, slot.now)
        slot.tell(event)
        past.append(value)
        last = kind
        yield event


def _possible(kind: str, slot: Slot, last: str, older: Sequence[str]) -> bool:
    """Whether a sentence of this kind would be understood: it is clear which time is meant, and something is left."""
    if kind == "reverted":
        return bool(older)
    if kind not in ("retracted", "corrected"):
        return True
    once = [value for _, value in slot.rows].count(slot.now) == 1
    return once and (kind == "corrected" or (len(slot.rows) > 1 and last != "retracted"))


def _around(random: Random, person: str, name: str, attribute: Attribute) -> Iterator[Event]:
    """What others say of it, remarks with values of it, and questions."""
    for _ in range(_times(random, HEARSAY)):
        value = random.choice(attribute.values)
        text = random.choice(attribute.heard).format(p=person, v=value)
        other = random.choice([each for each in PEOPLE if each != person])
        yield Event(0, _some_time(random), "heard", other, text, person, name, value)
    for _ in range(_times(random, MENTIONS)):
        text = random.choice(attribute.mentions).format(v=random.choice(attribute.values))
        yield _noise(random, text[0].upper() + text[1:], person)
    for _ in range(_times(random, ASKED)):
        asker = random.choice([each for each in PEOPLE if each != person])
        yield _noise(random, random.choice(attribute.asks).format(p=person), asker)


def _worded(random: Random, phrases: Sequence[str], plain: float) -> str:
    """The first and plainest, or any."""
    return phrases[0] if random.random() < plain else random.choice(phrases)


def _times(random: Random, mean: float) -> int:
    return int(mean) + (random.random() < mean % 1)


def _some_time(random: Random) -> float:
    return BEGIN + random.uniform(0, DAYS) * DAY


def _noise(random: Random, text: str, speaker: str | None = None) -> Event:
    return Event(0, _some_time(random), "noise", speaker or random.choice(PEOPLE), text)


def _questions(random: Random, events: Sequence[Event]) -> Iterator[Question]:
    for person in PEOPLE:
        for name, attribute in ATTRIBUTES.items():
            own = [
                each
                for each in events
                if each.kind in OWN and (each.person, each.attribute) == (person, name)
            ]
            final = told(own, person, name, own[-1].at)
            ask = _worded(random, attribute.asks, PLAINLY_ASKED).format(p=person)
            yield Question("now", ask, person, name, final.now, final.now)
            day = (own[0].at + own[1].at) / 2
            month = datetime.fromtimestamp(day, UTC).strftime("%B %Y")
            yield Question(
                "then",
                attribute.asked_then.format(p=person, month=month),
                person,
                name,
                told(own, person, name, day).now,
                final.at(day),
                day,
            )
        for text in random.sample(NEVER, 8):
            yield Question("never", text.format(p=person), person)
