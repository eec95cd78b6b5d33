"""Whatever happens later, every past reads as it was recorded; erased claims alone are gone from it.

A machine does random things to a memory and notes after each what it reads. Later it asks for those moments again.
"""

from itertools import count
from typing import Any

from conftest import NOW, START, Clock, fact, home
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from recollectx import LogOdds, Memory
from recollectx.claims import Claim, Status
from recollectx.errors import RecollectxError
from recollectx.solving import settle
from recollectx.storage.belief import StoredGraph

EVERY = list(Status)
QUESTION = "tea sweet Ana lives conclusion"
clock = Clock(NOW, step=0)
world = Memory.open(":memory:", embedder=None, clock=clock)
fresh_names = count()

sources = st.sampled_from([None, "ana", "bob", "carl"])
shares = st.sampled_from([0.05, 0.3, 0.5, 0.7, 0.99, 1.0])
objects = st.sampled_from(["sweet", "bitter", "sour", "mild"])
towns = st.sampled_from(["Rome", "Oslo", "Bonn"])
relations = st.sampled_from(["supports", "contradicts", "derives", "corrects", "caused"])
picks = st.integers(0, 50)


def whole(claim: Claim) -> tuple[Claim, float | None]:
    """A claim with the one field that comparing claims leaves out."""
    return claim, claim.prior


def unsolved(memory: Memory, as_of: float) -> dict[int, tuple[float, float]]:
    """Where the numbers kept for a moment are not those of a fresh solution of the graph of that moment."""
    with memory.storage.reader(as_of) as reader:
        graph = StoredGraph(reader)
        everything = {known.pk: 0 for known in reader.in_scope(memory.scope)}
        solved = settle(reader.rule() or LogOdds(), graph, everything).moved
        return {
            pk: (belief.strength, graph.strength(pk))
            for pk, (belief, _) in solved.items()
            if abs(belief.strength - graph.strength(pk)) > 1e-9
            or abs(belief.confidence - graph.confidence(pk)) > 1e-9
        }


class Note:
    """What a memory read at one moment."""

    def __init__(self, memory: Memory, as_of: float | None = None) -> None:
        given: dict[str, Any] = {} if as_of is None else {"as_of": as_of}
        self.all = [whole(claim) for claim in memory.retrieve(status=EVERY, **given)]
        self.current = [whole(claim) for claim in memory.retrieve(**given)]
        with memory.storage.reader(as_of) as reader:
            known = {each.pk: each.id for each in reader.in_scope(memory.scope)}
            self.edges = [
                (known[edge.src], known[edge.dst], edge.relation) for edge in reader.edges_in(known)
            ]
        self.hits: list[Any] | None = [
            (hit.claim.id, hit.score, hit.parts, hit.disputed_by)
            for hit in memory.recall(QUESTION, k=100, **given)
        ]

    def erase(self, claim_id: str) -> None:
        """Leave out what an erased claim must take along: itself, its edges, and its say in the order of hits."""
        self.all = [pair for pair in self.all if pair[0].id != claim_id]
        self.current = [pair for pair in self.current if pair[0].id != claim_id]
        self.edges = [edge for edge in self.edges if claim_id not in edge[:2]]
        self.hits = None


class PastMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.memory = Memory(world.storage, scope=f"example {next(fresh_names)}")
        clock.now = round(clock.now + 100, 6)
        self.began = clock.now
        self.ids: list[str] = []
        self.notes: dict[float, Note] = {}
        self.erased_at = self.began

    def pick(self, number: int) -> str:
        return self.ids[number % len(self.ids)]

    def do(self, action: Any, *args: Any, **more: Any) -> Any:
        """Whatever makes no sense at the moment is refused and must change nothing."""
        try:
            return action(*args, **more)
        except RecollectxError:
            return None

    def keep(self, result: Any) -> None:
        if result is not None and result.claim_id is not None and result.claim_id not in self.ids:
            self.ids.append(result.claim_id)

    @rule(step=st.sampled_from([0.000001, 0.5, 60.0]))
    def wait(self, step: float) -> None:
        clock.now = round(clock.now + step, 6)  # two floats may be one microsecond

    @rule(object=objects, source=sources, share=shares, tagged=st.booleans())
    def say(self, object: str, source: str | None, share: float, tagged: bool) -> None:
        names = ("Assam",) if tagged else ()
        self.keep(self.do(self.memory.store, fact(object, source, confidence=share, entities=names)))

    @rule(town=towns, source=sources, share=shares, days=st.integers(0, 3))
    def move_house(self, town: str, source: str | None, share: float, days: int) -> None:
        at = START + days * 86_400
        self.keep(self.do(self.memory.store, home(town, source, confidence=share, created_at=at)))

    @precondition(lambda self: self.ids)
    @rule(
        which=picks,
        change=st.sampled_from(
            [
                {"importance": 0.9},
                {"object": "strong"},
                {"confidence": 0.35},
                {"valid_to": NOW + 10**6},
                {"valid_to": START + 1},
                {"metadata": {"a": 1}},
                {"entities": ["Darjeeling"]},
            ]
        ),
    )
    def update(self, which: int, change: dict[str, Any]) -> None:
        self.do(self.memory.update, self.pick(which), **change)

    @precondition(lambda self: self.ids)
    @rule(src=picks, dst=picks, relation=relations, strength=shares)
    def relate(self, src: int, dst: int, relation: str, strength: float) -> None:
        self.do(self.memory.relate, self.pick(src), self.pick(dst), relation, strength=strength)

    @precondition(lambda self: self.ids)
    @rule(src=picks, dst=picks, relation=relations)
    def unrelate(self, src: int, dst: int, relation: str) -> None:
        self.do(self.memory.unrelate, self.pick(src), self.pick(dst), relation)

    @precondition(lambda self: self.ids)
    @rule(premise=picks, number=st.integers(0, 2))
    def conclude(self, premise: int, number: int) -> None:
        made = fact(f"{number}", subject="conclusion", basis="derived", confidence=0.4)
        result = self.do(self.memory.store, made)
        self.keep(result)
        if result is not None and result.claim_id is not None:
            self.do(self.memory.relate, self.pick(premise), result.claim_id, "derives")

    @rule(source=sources)
    def retract(self, source: str | None) -> None:
        self.do(self.memory.retract, source)

    @precondition(lambda self: self.ids)
    @rule(which=picks)
    def forget(self, which: int) -> None:
        self.do(self.memory.forget, self.pick(which))

    @rule(source=st.sampled_from(["ana", "bob"]), level=shares)
    def trust(self, source: str, level: float) -> None:
        self.memory.trust(source, level)

    @precondition(lambda self: len(self.ids) > 2)
    @rule(which=picks)
    def erase(self, which: int) -> None:
        gone = self.pick(which)
        if self.do(self.memory.erase, gone) is not None:
            self.ids.remove(gone)
            self.erased_at = clock.now
            for note in self.notes.values():
                note.erase(gone)

    @invariant()
    def note(self) -> None:
        # Of several transactions at one instant the last one counts.
        self.notes[clock.now] = Note(self.memory)

    def teardown(self) -> None:
        before = world.storage.clock()
        moments = sorted(self.notes)
        for at in moments:
            self.compare(at, self.notes[at])
        assert Note(self.memory, before + 10**5).all == self.notes[moments[-1]].all
        assert list(self.memory.history.snapshot(self.began - 50, status=EVERY)) == []

    def compare(self, at: float, noted: Note) -> None:
        history, found = self.memory.history, Note(self.memory, at)
        assert found.all == noted.all
        assert found.current == noted.current
        assert sorted(found.edges) == sorted(noted.edges)
        if noted.hits is not None:
            assert found.hits == noted.hits
        snapshot = history.snapshot(at, status=EVERY)
        assert [whole(claim) for claim in snapshot] == noted.all
        assert sorted((edge.src, edge.dst, edge.relation) for edge in snapshot.edges) == sorted(noted.edges)
        assert [whole(claim) for claim in history.snapshot(at)] == noted.current
        streamed = {claim.id: whole(claim) for claim in history.iter_claims(at, status=EVERY)}
        assert streamed == {pair[0].id: pair for pair in noted.all}
        if at >= self.erased_at:
            assert unsolved(self.memory, at) == {}


PastMachine.TestCase.settings = settings(
    max_examples=25, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestEveryPastReadsAsItWasRecorded = PastMachine.TestCase
