"""Whatever is done to a memory: every past reads as it was recorded, every number follows from its graph, all can be undone.

One machine does everything that can be done to claims, with times told in every form, and after each operation looks
at a past moment. RECOLLECTX_OPERATIONS=20000 makes it do as many, at random; `--hypothesis-seed` says which.
"""

import os
import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta, timezone
from itertools import count
from typing import Any

import pytest
from conftest import DAY, NOW, START, Clock, fact, home, scratch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from recollectx import LogOdds, Memory
from recollectx.claims import Claim, Status
from recollectx.errors import CannotUndo, RecollectxError
from recollectx.instants import Instant
from recollectx.solving import settle
from recollectx.storage.belief import StoredGraph

STEPS = 25
OPERATIONS = int(os.environ.get("RECOLLECTX_OPERATIONS", "0"))
EVERY = list(Status)
NAMED = ["ana", "bob", "carl"]
QUESTION = "tea sweet Ana lives conclusion"
BEARING = {"supports", "contradicts", "derives"}
FORMS: list[Callable[[float], Instant]] = [
    float,
    lambda at: datetime.fromtimestamp(at, UTC),
    lambda at: datetime.fromtimestamp(at, UTC).replace(tzinfo=None),
    lambda at: datetime.fromtimestamp(at, timezone(timedelta(hours=5, minutes=45))),
    lambda at: datetime.fromtimestamp(at, timezone(-timedelta(hours=9, minutes=30))).isoformat(),
    lambda at: datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z"),
    lambda at: datetime.fromtimestamp(at, timezone(timedelta(hours=14))).isoformat(sep=" "),
]
clock = Clock(NOW, step=0)
world = Memory.open(scratch(), embedder=None, clock=clock)
fresh_names = count()

sources = st.sampled_from([None, *NAMED])
shares = st.sampled_from([0.05, 0.3, 0.5, 0.7, 0.99, 1.0])
objects = st.sampled_from(["sweet", "bitter", "sour", "mild"])
towns = st.sampled_from(["Rome", "Oslo", "Bonn"])
relations = st.sampled_from(["supports", "contradicts", "derives", "corrects", "caused"])
picks = st.integers(0, 50)
instants = st.builds(lambda day, form: form(START + day * DAY), st.integers(0, 5), st.sampled_from(FORMS))


def unsolved(memory: Memory, as_of: float | None = None) -> dict[str, tuple[float, float]]:
    """Where the numbers kept for a moment are not those of a fresh solution of the graph of that moment."""
    with memory.storage.reader(as_of) as reader:
        graph = StoredGraph(reader)
        ids = {known.pk: known.id for known in reader.in_scope(memory.scope)}
        solved = settle(reader.rule() or LogOdds(), graph, dict.fromkeys(ids, 0)).moved
        return {
            ids[pk]: (belief.confidence, graph.confidence(pk))
            for pk, (belief, _) in solved.items()
            if abs(belief.strength - graph.strength(pk)) > 1e-9
            or abs(belief.confidence - graph.confidence(pk)) > 1e-9
        }


class Note:
    """What a memory read at one moment.

    unsure: claims whose numbers nobody can compute again, as an erased one weighed in them.
    """

    def __init__(self, memory: Memory, as_of: Instant | None = None) -> None:
        given: dict[str, Any] = {} if as_of is None else {"as_of": as_of}
        self.all = {claim.id: claim for claim in memory.retrieve(status=EVERY, **given)}
        self.current = [claim.id for claim in memory.retrieve(**given)]
        hits = memory.recall(QUESTION, k=100, **given)
        self.recalled = {hit.claim.id: hit.claim for hit in hits}
        self.hits: Any = [(hit.claim.id, hit.score, hit.parts, hit.disputed_by) for hit in hits]
        self.unsure: set[str] = set()
        at = None if as_of is None else memory.history.snapshot(as_of).as_of
        with memory.storage.reader(at) as reader:
            known = {each.pk: each.id for each in reader.in_scope(memory.scope)}
            self.edges = {
                (known[e.src], known[e.dst], e.relation, e.strength, e.derivation, e.at)
                for e in reader.edges_in(known)
            }
            self.said = {
                (known[pk], voice) for pk, voices in reader.assertions(known).items() for _, voice in voices
            }
            self.trusts = reader.trusts({(source, memory.scope) for source in NAMED})

    def erase(self, gone: Iterable[str]) -> None:
        """Leave out what erased claims take along: themselves, their edges, and their say in the order of hits."""
        for each in gone:
            self.unsure |= self.component(each)
            self.all.pop(each, None)
            self.recalled.pop(each, None)
            self.current = [known for known in self.current if known != each]
            self.edges = {edge for edge in self.edges if each not in edge[:2]}
            self.said = {pair for pair in self.said if pair[0] != each}
        self.hits = None

    def component(self, start: str) -> set[str]:
        """The claims that a claim bears on, or that bear on it, however far off."""
        found, frontier = {start}, {start}
        while frontier:
            near = {
                end
                for edge in self.edges
                if edge[2] in BEARING and frontier & set(edge[:2])
                for end in edge[:2]
            }
            frontier = near - found
            found |= frontier
        return found

    def exactly(self, other: "Note") -> None:
        assert [whole(claim) for claim in self.all.values()] == [whole(claim) for claim in other.all.values()]
        assert self.current == other.current
        assert {id: whole(claim) for id, claim in self.recalled.items()} == {
            id: whole(claim) for id, claim in other.recalled.items()
        }
        assert (self.edges, self.said, self.trusts) == (other.edges, other.said, other.trusts)
        if other.hits is not None:
            assert self.hits == other.hits

    def equally(self, other: "Note") -> None:
        """The same again, to 1e-9, after something was taken back."""
        assert (self.edges, self.said, self.trusts) == (other.edges, other.said, other.trusts)
        assert list(self.all) == list(other.all)
        assert self.current == other.current
        for id, claim in other.all.items():
            assert without_numbers(self.all[id]) == without_numbers(claim)
            assert self.all[id].confidence == pytest.approx(claim.confidence, abs=1e-9)


def whole(claim: Claim) -> tuple[Claim, float | None]:
    """A claim with the one field that comparing claims leaves out."""
    return claim, claim.prior


def without_numbers(claim: Claim) -> dict[str, Any]:
    """The fields of a claim; evidence counts as a set, as it is united in the order of coming."""
    kept = {name: getattr(claim, name) for name in claim.__dataclass_fields__ if name != "confidence"}
    return {**kept, "evidence": set(claim.evidence)}


class Machine(RuleBasedStateMachine):
    """A memory, what it read at each moment (`notes`), and what it was before each transaction (`past`)."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = Memory(world.storage, scope=f"example {next(fresh_names)}")
        clock.now = round(clock.now + 100, 6)
        self.began = clock.now - 50
        self.now = Note(self.memory)
        self.notes: dict[float, Note] = {}
        self.past: list[tuple[int, Note]] = []
        self.erasures: set[int] = set()
        self.chance = random.Random(0)

    @initialize(seed=st.integers(0, 10**6))
    def begin(self, seed: int) -> None:
        self.chance.seed(seed)

    # -- operations ------------------------------------------------------------------------------------------

    def do(self, action: Callable[..., Any], *args: Any, **more: Any) -> Any:
        """Whatever makes no sense at the moment is refused and changes nothing."""
        before, last = self.now, self.memory.last_tx()
        result = None
        try:
            result = action(*args, **more)
        except RecollectxError:
            assert self.memory.last_tx() == last
        self.now = Note(self.memory)
        if self.memory.last_tx() > last:
            self.past.append((self.memory.last_tx(), before))
        else:
            self.now.exactly(before)
        return result

    def pick(self, number: int) -> str:
        return list(self.now.all)[number % len(self.now.all)]

    def pick_current(self, number: int) -> str:
        """One in use, where there is one."""
        current = self.now.current or list(self.now.all)
        return current[number % len(current)]

    def some(self) -> bool:
        return bool(self.now.all)

    def out_of_use(self) -> list[str]:
        return [id for id in self.now.all if id not in self.now.current]

    def edges(self, *relations: str) -> list[tuple[str, str, str]]:
        """In an order that does not go by ids, which are new at each run."""
        place = {id: at for at, id in enumerate(self.now.all)}
        found = {edge[:3] for edge in self.now.edges if not relations or edge[2] in relations}
        return sorted(found, key=lambda edge: (place[edge[0]], place[edge[1]], edge[2]))

    def voices(self) -> list[tuple[str, str | None]]:
        place = {id: at for at, id in enumerate(self.now.all)}
        found = {(claim, voice.source) for claim, voice in self.now.said}
        return sorted(found, key=lambda pair: (place[pair[0]], pair[1] or ""))

    def contradicting(self) -> list[tuple[str, str, str]]:
        return self.edges("contradicts")

    def undoable(self) -> bool:
        return bool(self.past) and self.past[-1][0] not in self.erasures

    @rule(step=st.sampled_from([0.000001, 0.5, 60.0]))
    def wait(self, step: float) -> None:
        clock.now = round(clock.now + step, 6)  # two floats may be one microsecond

    @rule(object=objects, source=sources, share=shares, tagged=st.booleans())
    def say(self, object: str, source: str | None, share: float, tagged: bool) -> None:
        names, evidence = (("Assam",), ("page 7",)) if tagged else ((), ())
        self.do(self.memory.store, fact(object, source, confidence=share, entities=names, evidence=evidence))

    @rule(told=st.lists(st.tuples(objects, sources), min_size=2, max_size=3), share=shares)
    def say_several(self, told: list[tuple[str, str | None]], share: float) -> None:
        self.do(self.memory.store_many, [fact(object, source, confidence=share) for object, source in told])

    @rule(town=towns, source=sources, share=shares, since=instants, until=st.none() | instants)
    def move_house(
        self, town: str, source: str | None, share: float, since: Instant, until: Instant | None
    ) -> None:
        """Told late or early: its place is in valid time."""
        self.do(
            lambda: self.memory.store(home(town, source, confidence=share, created_at=since, valid_to=until))
        )

    @rule(town=towns, source=sources, at=instants)
    def tell(self, town: str, source: str | None, at: Instant) -> None:
        self.do(self.memory.remember, f"I live in {town}. I like tea.", source=source, at=at)

    @precondition(some)
    @rule(
        which=picks,
        change=st.sampled_from(
            [
                {"importance": 0.9},
                {"object": "strong"},
                {"confidence": 0.35},
                {"valid_to": NOW + 10**6},
                {"valid_to": FORMS[3](START + 1)},
                {"metadata": {"a": 1}},
                {"entities": ["Darjeeling"]},
            ]
        ),
    )
    def update(self, which: int, change: dict[str, Any]) -> None:
        self.do(self.memory.update, self.pick(which), **change)

    @precondition(some)
    @rule(src=picks, dst=picks, relation=relations, strength=shares)
    def relate(self, src: int, dst: int, relation: str, strength: float) -> None:
        self.do(self.memory.relate, self.pick(src), self.pick(dst), relation, strength=strength)

    @precondition(lambda self: self.now.edges)
    @rule(which=picks)
    def unrelate(self, which: int) -> None:
        edges = self.edges()
        self.do(self.memory.unrelate, *edges[which % len(edges)])

    @precondition(some)
    @rule(one=picks, two=picks, number=st.integers(0, 2), strength=shares)
    def derive(self, one: int, two: int, number: int, strength: float) -> None:
        premises = [self.pick(one), self.pick(two)]
        made = fact(f"{number}", subject="conclusion", confidence=0)
        self.do(self.memory.derive, made, premises, strength=strength)

    @precondition(some)
    @rule(which=picks, premise=picks)
    def argue_in_a_circle(self, which: int, premise: int) -> None:
        derived = [id for id, claim in self.now.all.items() if claim.basis == "derived"]
        if derived:
            self.do(self.memory.relate, self.pick(premise), derived[which % len(derived)], "derives")

    @precondition(lambda self: self.now.said)
    @rule(which=picks, whole=st.booleans())
    def retract(self, which: int, whole: bool) -> None:
        """Of one claim, or whatever a source said."""
        said = self.voices()
        claim, source = said[which % len(said)]
        self.do(self.memory.retract, source, None if whole else claim)

    @precondition(some)
    @rule(which=picks)
    def forget(self, which: int) -> None:
        self.do(self.memory.forget, self.pick_current(which))

    @precondition(out_of_use)
    @rule(which=picks)
    def restore(self, which: int) -> None:
        gone = self.out_of_use()
        self.do(self.memory.restore, gone[which % len(gone)])

    @precondition(some)
    @rule(which=picks, new=objects | towns)
    def correct(self, which: int, new: str) -> None:
        self.do(self.memory.correct, self.pick_current(which), new, reason="misheard")

    @precondition(some)
    @rule(which=picks, new=objects | towns, at=st.none() | instants)
    def supersede(self, which: int, new: str, at: Instant | None) -> None:
        self.do(self.memory.supersede, self.pick_current(which), new, at=at)

    @rule(source=st.sampled_from(NAMED), level=shares)
    def trust(self, source: str, level: float) -> None:
        self.do(self.memory.trust, source, level)

    @precondition(some)
    @rule(which=picks)
    def confirm(self, which: int) -> None:
        self.do(self.memory.confirm, self.pick_current(which))

    @precondition(contradicting)
    @rule(which=picks, second=st.booleans())
    def settle_a_dispute(self, which: int, second: bool) -> None:
        pairs = self.contradicting()
        keep, drop = pairs[which % len(pairs)][1::-1] if second else pairs[which % len(pairs)][:2]
        self.do(self.memory.resolve, keep, drop, reason="asked")

    @precondition(lambda self: len(self.now.all) > 2)
    @rule(which=picks)
    def erase(self, which: int) -> None:
        receipt = self.do(self.memory.erase, self.pick(which))
        if receipt is not None:
            self.erasures.add(self.memory.last_tx())
            for note in {*self.notes.values(), *(before for _, before in self.past)}:
                note.erase(receipt.ids)

    @precondition(undoable)
    @rule(steps=st.integers(1, 3))
    def undo_the_last(self, steps: int) -> None:
        """The state of so many steps before; what was undone is forgotten here."""
        for _ in range(steps):
            if self.undoable():
                tx, before = self.past.pop()
                self.memory.undo(tx)
                self.now = Note(self.memory)
                self.now.equally(before)

    @precondition(lambda self: self.past)
    @rule(back=picks)
    def undo_any(self, back: int) -> None:
        """Whatever it does or refuses, it is one more step."""
        self.do(self.memory.undo, self.past[-1 - back % len(self.past)][0])

    @precondition(undoable)
    @rule()
    def undo_and_redo(self) -> None:
        tx, before = self.past[-1]
        after = self.now
        undone = self.memory.undo(tx).tx
        Note(self.memory).equally(before)
        self.past[-1] = (self.memory.undo(undone).tx, before)
        self.now = Note(self.memory)
        self.now.equally(after)

    # -- what must hold --------------------------------------------------------------------------------------

    @invariant()
    def every_number_follows(self) -> None:
        assert unsolved(self.memory) == {}

    @invariant()
    def a_past_moment_reads_as_it_was_recorded(self) -> None:
        # Of several transactions at one instant the last one counts.
        self.notes[clock.now] = self.now
        self.look_back(self.chance.choice(list(self.notes)))

    def look_back(self, at: float) -> None:
        noted, asked = self.notes[at], self.chance.choice(FORMS)(at)
        Note(self.memory, asked).exactly(noted)
        snapshot = self.memory.history.snapshot(asked, status=EVERY)
        assert [whole(claim) for claim in snapshot] == [whole(claim) for claim in noted.all.values()]
        assert sorted(
            (e.src, e.dst, e.relation, e.strength, e.derivation or "") for e in snapshot.edges
        ) == sorted(
            (src, dst, relation, strength, derivation or "")
            for src, dst, relation, strength, derivation, _ in noted.edges
        )
        assert [claim.id for claim in self.memory.history.snapshot(asked)] == noted.current
        streamed = {claim.id: whole(claim) for claim in self.memory.history.iter_claims(asked, status=EVERY)}
        assert streamed == {id: whole(claim) for id, claim in noted.all.items()}
        assert unsolved(self.memory, at).keys() <= noted.unsure

    def teardown(self) -> None:
        """Back to the very beginning, through every state there was, and every past reads as before."""
        assert not list(self.memory.history.snapshot(self.began, status=EVERY))
        refused = False
        clock.now = round(clock.now + 1, 6)
        while self.past:
            tx, before = self.past.pop()
            try:
                self.memory.undo(tx)
            except CannotUndo:
                assert self.erasures, "only what was erased cannot be taken back"
                refused = True
            else:
                if all(tx > erased for erased in self.erasures):
                    Note(self.memory).equally(before)
        assert unsolved(self.memory) == {}
        assert refused or Note(self.memory).all == {}
        for at in self.notes:
            self.look_back(at)


TestEverything = Machine.TestCase
TestEverything.settings = settings(
    max_examples=(OPERATIONS or 2_000) // STEPS,
    stateful_step_count=STEPS,
    derandomize=not OPERATIONS,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
