"""Twenty seeded lives, told in bits and out of order: what the memory answers is what an independent oracle says."""

import os
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from conftest import Clock
from scenarios import DAY, FRIEND, PEOPLE, RUMOUR, VALUES, Event, scenario, truth

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
        {"created_at": event.told, "valid_from": datetime.fromtimestamp(event.date, UTC).replace(tzinfo=None)},
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
            self.memory.correct(self.claim(self.said[event.of]), event.value)

    def claim(self, event: Event) -> str:
        """The id of what the person says that it was true then."""
        found = [
            claim.id
            for claim in self.memory.retrieve(valid_at=event.date)
            if claim.text == f"{event.person} {event.attribute} {event.value}" and claim.source == event.person
        ]
        assert len(found) == 1, f"{len(found)} claims for {event}"
        return found[0]


def answers(claims: Iterable[Claim]) -> dict[tuple[str, str], str]:
    """The value of each slot: of the claims that the person stands behind, the most certain."""
    found: dict[tuple[str, str], SemanticClaim] = {}
    for claim in claims:
        assert isinstance(claim, SemanticClaim)
        slot = (claim.subject, claim.predicate)
        if claim.source == claim.subject and (
            slot not in found or claim.confidence > found[slot].confidence
        ):
            found[slot] = claim
    return {slot: claim.object for slot, claim in found.items()}


def moments(times: Iterable[float]) -> list[float]:
    """Each time and the middle between two."""
    known = sorted(set(times))
    return sorted([*known, *((one + two) / 2 for one, two in pairwise(known))])


def expected(events: list[Event], day: float, known: float) -> dict[tuple[str, str], str]:
    return {slot: value for slot in SLOTS if (value := truth(events, *slot, day, known)) is not None}


def differences(path, seed: int, *, late: float = 0.2) -> list[str]:
    """Where the memory and the oracle part."""
    events = scenario(seed, late=late)
    clock = Clock(events[0].told - DAY, step=0)
    wrong = []

    def compare(where: str, claims: Iterable[Claim], day: float, known: float) -> None:
        got, want = answers(claims), expected(events, day, known)
        wrong.extend(
            f"{where} {slot}: got {got.get(slot)}, want {want.get(slot)}"
            for slot in SLOTS
            if got.get(slot) != want.get(slot)
        )

    with Memory.open(path, clock=clock) as memory:
        teller = Teller(memory, clock)
        for event in events:
            teller.tell(event)
            compare(f"seed {seed} after {event.number}", memory.retrieve(), event.told, event.told)
        end = clock.now
        days = moments(event.date for event in events)
        for day in days:
            compare(f"seed {seed} valid {day}", memory.retrieve(valid_at=day), day, end)
    return wrong
