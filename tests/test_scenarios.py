"""Twenty seeded lives, told in bits and out of order: what the memory answers is what an independent oracle says."""

import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from math import inf
from pathlib import Path
from random import Random

import pytest
from conftest import DAY, Clock
from scenarios import FRIEND, PEOPLE, RUMOUR, VALUES, Event, runs, scenario, truth

from recollectx import Claim, Memory, SemanticClaim, Status

SEEDS = range(int(os.environ.get("RECOLLECTX_SCENARIOS", "20")))
SURE = {FRIEND: 0.8, RUMOUR: 0.8}
SHOWN = [Status.ACTIVE, Status.SUPERSEDED]
SLOTS = [(person, attribute) for person in PEOPLE for attribute in VALUES]


def dated(event: Event) -> dict:
    """The date of a statement, given in one of six ways: as when it was said, or as what it says of the past."""
    zone = timezone(timedelta(hours=-9 + 5 * (event.number % 4)))
    here = datetime.fromtimestamp(event.date, zone)
    return [
        {"created_at": event.date},
        {"created_at": here},
        {"created_at": event.told, "valid_from": event.date},
        {
            "created_at": event.told,
            "valid_from": datetime.fromtimestamp(event.date, UTC).replace(tzinfo=None),
        },
        {"created_at": event.told, "valid_from": here},
        {"created_at": event.told, "valid_from": here.isoformat()},
    ][event.style]


class Teller:
    """Tells a memory the events of a scenario, each at its time."""

    def __init__(self, memory: Memory, clock: Clock) -> None:
        self.memory, self.clock = memory, clock
        self.said: dict[int, Event] = {}
        memory.trust(FRIEND, 0.7)
        memory.trust(RUMOUR, 0.2)

    def tell(self, event: Event) -> None:
        self.clock.now = event.told
        if event.kind == "said":
            claim = SemanticClaim(
                subject=event.person,
                predicate=event.attribute,
                object=event.value,
                source=event.source,
                confidence=SURE.get(event.source, 0.9),
                **dated(event),
            )
            self.said[event.number] = event
            self.memory.store(claim)
        elif event.kind == "retracted":
            assert self.memory.retract(event.person, self.claim(self.said[event.of]))
        else:
            self.memory.correct(self.claim(self.said[event.of]), event.value, source=event.person)

    def claim(self, event: Event) -> str:
        """The id of what the person says that it was true then."""
        found = [
            claim.id
            for claim in self.memory.retrieve(valid_at=event.date)
            if claim.text == f"{event.person} {event.attribute} {event.value}"
            and claim.source == event.person
        ]
        assert len(found) == 1, f"{len(found)} claims for {event}"
        return found[0]


def answer(claims: Iterable[Claim]) -> str | None:
    """The most certain of the claims of one slot that the person stands behind."""
    own = [claim for claim in claims if isinstance(claim, SemanticClaim) and claim.source == claim.subject]
    return max(own, key=lambda claim: claim.confidence).object if own else None


def by_slot(claims: Iterable[Claim]) -> dict[tuple[str, str], list[Claim]]:
    found: dict[tuple[str, str], list[Claim]] = {slot: [] for slot in SLOTS}
    for claim in claims:
        assert isinstance(claim, SemanticClaim)
        found[claim.subject, claim.predicate].append(claim)
    return found


def moments(times: Iterable[float]) -> list[float]:
    """Each time, the middle between two, and a day before and after all."""
    known = sorted(set(times))
    middles = [(one + two) / 2 for one, two in pairwise(known)]
    return sorted([known[0] - DAY, *known, *middles, known[-1] + DAY])


class Comparison:
    """A memory that was told a scenario, beside the oracle."""

    def __init__(self, events: list[Event]) -> None:
        self.events = events
        self.wrong: list[str] = []
        self.compared = 0
        self.days = {
            slot: moments(event.date for event in events if (event.person, event.attribute) == slot)
            for slot in SLOTS
        }

    def now(self, claims: Iterable[Claim], day: float, known: float) -> None:
        """What the memory returns for one day."""
        for slot, held in by_slot(claims).items():
            self._same(slot, held, truth(self.events, *slot, day, known), day, known)

    def whole(self, claims: Iterable[Claim], known: float) -> None:
        """What the memory knows of every day, by the validity that it gives its claims."""
        for slot, told in by_slot(claims).items():
            lasting = [(run[0].date, run[0].value) for run in runs(self.events, *slot, known)]
            for day in self.days[slot]:
                held = [each for each in told if each.since <= day < (each.valid_to or inf)]
                want = next((value for date, value in reversed(lasting) if date <= day), None)
                self._same(slot, held, want, day, known)

    def _same(
        self, slot: tuple[str, str], held: Iterable[Claim], want: str | None, day: float, known: float
    ) -> None:
        self.compared += 1
        got = answer(held)
        if got != want:
            self.wrong.append(f"{slot} at {day} as known at {known}: {got}, and {want} is true")


def compare(path: Path, seed: int) -> Comparison:
    events = scenario(seed)
    result = Comparison(events)
    clock = Clock(events[0].told - DAY, step=0)
    random = Random(seed)
    with Memory.open(path, clock=clock) as memory:
        teller = Teller(memory, clock)
        for event in events:
            teller.tell(event)
            result.now(memory.retrieve(), event.told, event.told)
        end = clock.now
        for day in moments(event.date for event in events):
            result.now(memory.retrieve(valid_at=day), day, end)
        pasts = moments(event.told for event in events)
        for known in pasts:
            result.whole(memory.retrieve(as_of=known, status=SHOWN), known)
        for known in random.sample(pasts, 30):
            day = random.uniform(events[0].date, end)
            result.now(memory.retrieve(valid_at=day, as_of=known), day, known)
            result.now(memory.history.snapshot(known, valid_at=day), day, known)
    return result


@pytest.mark.parametrize("seed", SEEDS)
def test_every_answer_for_now_and_for_any_past_is_right(path, seed):
    result = compare(path, seed)
    assert result.wrong == []
    assert result.compared > 10_000


def test_a_scenario_has_all_that_it_should():
    """Else the comparison would show nothing."""
    events = [event for seed in range(20) for event in scenario(seed)]
    own = [event for event in events if event.own and event.kind == "said"]
    assert 0.15 < sum(event.late for event in own) / len(own) < 0.25
    assert {event.style for event in own} == set(range(6))
    assert all(sum(event.kind == kind for event in events) > 100 for kind in ("retracted", "corrected"))
    assert all(sum(event.source == source for event in events) > 300 for source in (FRIEND, RUMOUR))
    assert all(event.told > event.date for event in events)
    assert [event.told for event in scenario(3)] == sorted({event.told for event in scenario(3)})
    assert scenario(3) == scenario(3) != scenario(4)


def test_what_the_oracle_says_of_a_life_told_by_hand():
    def said(number: int, told: float, value: str, date: float, kind: str = "said", of: int = -1) -> Event:
        return Event(number, kind, told, "Ana", "lives in", "Ana", value, date, of)

    events = [
        said(0, 10, "Porto", 1),
        said(1, 20, "Faro", 15),
        said(2, 30, "Porto", 25),
        said(3, 40, "Braga", 5),
        said(4, 50, "", 0, "retracted", 1),
        said(5, 60, "Lagos", 0, "corrected", 3),
    ]

    def life(known: float) -> list[str | None]:
        return [truth(events, "Ana", "lives in", day, known) for day in (0, 1, 5, 15, 25)]

    assert life(9) == [None] * 5
    assert life(30) == [None, "Porto", "Porto", "Faro", "Porto"]
    assert life(40) == [None, "Porto", "Braga", "Faro", "Porto"]
    assert life(50) == [None, "Porto", "Braga", "Braga", "Porto"]
    assert life(60) == [None, "Porto", "Lagos", "Lagos", "Porto"]
