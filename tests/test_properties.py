"""The belief core as a whole, on random small memories: order, repeats and retractions leave no trace.

Claims are facts about distinct things, so that the decider only ever adds or reinforces; what a new value does to an
old one depends on the order by design and is tested elsewhere. Each example has a scope of its own in one memory per
rule, so every property also holds beside all that the other examples left.
"""

from functools import lru_cache
from itertools import count, pairwise

import pytest
from conftest import fact, scratch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollectx import Edge, LogOdds, Memory, PropagationConfig
from recollectx.changes import Link
from recollectx.solving import settle
from recollectx.storage.belief import StoredGraph

SIZE = 5
RULES = [LogOdds(), LogOdds(symmetric_contradiction=False), PropagationConfig()]
fresh_names = count()
few = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))

places = st.integers(0, SIZE - 1)
sources = st.sampled_from([None, "ana", "bob", "carl"])
shares = st.sampled_from([0.0, 0.05, 0.3, 0.5, 0.6, 0.8, 0.99, 1.0])
assertions = st.lists(st.tuples(places, sources, shares), min_size=SIZE, max_size=3 * SIZE)
relations = st.sampled_from(["supports", "contradicts", "derives", "corrects", "caused"])
edges = st.lists(
    st.tuples(places, places, relations, st.sampled_from([0.25, 1.0])).filter(
        lambda edge: edge[0] != edge[1]
    ),
    max_size=8,
    # A contradiction is one edge from either side.
    unique_by=lambda edge: (
        (frozenset(edge[:2]), edge[2]) if edge[2] == "contradicts" else (edge[0], edge[1], edge[2])
    ),
)
trusts = st.dictionaries(st.sampled_from(["ana", "bob", "carl"]), shares, max_size=2)


@lru_cache
def world(rule) -> Memory:
    """The memory that all examples with this rule share."""
    return Memory.open(scratch(), rule=rule)


def fresh(rule) -> Memory:
    """A memory with nothing in its scope."""
    return Memory(world(rule).storage, scope=f"example {next(fresh_names)}")


def name(place: int) -> str:
    return f"thing{place}"


def store(memory: Memory, place: int, source: str | None, confidence: float) -> str:
    """Whatever was said of this place before is said again under the same id."""
    return memory.store(fact(name(place), source, subject=name(place), confidence=confidence)).claim_id


def numbers(memory: Memory) -> dict[str, float]:
    return {
        claim.object: claim.confidence
        for claim in memory.retrieve(status=["active", "retired", "unsupported"])
    }


def build(rule, said, joined, levels, *, first: str) -> dict[str, float]:
    """The confidences of a memory told the same in one of two orders."""
    memory = fresh(rule)
    if first == "trust":
        for source, level in levels.items():
            memory.trust(source, level)
    ids = {}
    waiting = list(joined)
    for place, source, confidence in said:
        ids[place] = store(memory, place, source, confidence)
        if first == "edges":
            ready = [edge for edge in waiting if edge[0] in ids and edge[1] in ids]
            waiting = [edge for edge in waiting if edge not in ready]
            for src, dst, relation, strength in ready:
                memory.relate(ids[src], ids[dst], relation, strength=strength)
    for src, dst, relation, strength in waiting:
        if src in ids and dst in ids:
            memory.relate(ids[src], ids[dst], relation, strength=strength)
    if first != "trust":
        for source, level in levels.items():
            memory.trust(source, level)
    return numbers(memory)


@few
@given(st.sampled_from(RULES), assertions, edges, trusts, st.randoms(use_true_random=False))
def test_the_order_of_events_changes_no_number(rule, said, joined, levels, chance):
    one = build(rule, said, joined, levels, first="edges")
    shuffled, joined_otherwise = list(said), list(joined)
    chance.shuffle(shuffled)
    chance.shuffle(joined_otherwise)
    two = build(rule, shuffled, joined_otherwise, levels, first="trust")
    assert two == pytest.approx(one, abs=1e-9)


def fill(memory: Memory, said, joined, levels) -> dict[int, str]:
    """A memory of every place; ids by place."""
    ids = {place: store(memory, place, f"own source {place}", 0.6) for place in range(SIZE)}
    for place, source, confidence in said:
        store(memory, place, source, confidence)
    links = [Link(Edge(ids[src], ids[dst], relation, strength)) for src, dst, relation, strength in joined]
    memory.storage.apply(links, cause="fill")
    for source, level in levels.items():
        memory.trust(source, level)
    return ids


@few
@given(st.sampled_from(RULES), assertions, edges, trusts, places, places, relations, shares)
def test_what_is_taken_back_leaves_no_trace(rule, said, joined, levels, src, dst, relation, share):
    memory = fresh(rule)
    ids = fill(memory, said, joined, levels)
    before = numbers(memory)
    store(memory, src, "a newcomer", share)
    store(memory, dst, "a newcomer", share)
    memory.retract("a newcomer")
    assert numbers(memory) == pytest.approx(before, abs=1e-9)
    taken = {(edge[0], edge[1], edge[2]) for edge in joined} | {
        (edge[1], edge[0], edge[2]) for edge in joined
    }
    if src != dst and (src, dst, relation) not in taken:
        memory.relate(ids[src], ids[dst], relation)
        memory.unrelate(ids[src], ids[dst], relation)
        assert numbers(memory) == pytest.approx(before, abs=1e-9)
    memory.trust("own source 0", 0.3)
    memory.trust("own source 0", 1.0)
    assert numbers(memory) == pytest.approx(before, abs=1e-9)
    extra = store(memory, SIZE, "a newcomer", 0.9)
    memory.add_contradiction(extra, ids[src])
    memory.relate(extra, ids[dst], "derives")
    memory.forget(extra)
    left = {key: value for key, value in numbers(memory).items() if key != name(SIZE)}
    assert left == pytest.approx(before, abs=1e-9)


@few
@given(st.sampled_from(RULES), assertions, edges, trusts)
def test_repeats_of_one_source_change_nothing(rule, said, joined, levels):
    memory = fresh(rule)
    ids = fill(memory, said, joined, levels)
    before = numbers(memory)
    for place, source, confidence in said:
        store(memory, place, source, confidence)
    for src, dst, relation, strength in joined:
        memory.relate(ids[src], ids[dst], relation, strength=strength)
    assert numbers(memory) == pytest.approx(before, abs=1e-9)


operations = st.lists(
    st.one_of(
        st.tuples(st.just("store"), places, sources, shares),
        st.tuples(st.just("relate"), places, places, relations),
        st.tuples(st.just("unrelate"), places, places, relations),
        st.tuples(st.just("retract"), sources),
        st.tuples(st.just("forget"), places),
        st.tuples(st.just("erase"), places),
        st.tuples(st.just("trust"), st.sampled_from(["ana", "bob"]), shares),
        st.tuples(st.just("derive"), places, places),
    ),
    min_size=5,
    max_size=20,
)
many = settings(few, max_examples=25)


def carry_out(memory: Memory, ids: dict[int, str], operation: tuple) -> None:
    """One random operation; those that make no sense at the moment are refused and change nothing."""
    kind, *rest = operation
    here = [ids[place] for place in rest if isinstance(place, int) and place in ids]
    if kind == "store":
        ids[rest[0]] = store(memory, *rest)
    elif kind == "retract":
        memory.retract(rest[0])
    elif kind == "trust":
        memory.trust(*rest)
    elif kind in ("forget", "erase") and here:
        getattr(memory, kind)(here[0])
        if kind == "erase":
            del ids[rest[0]]
    elif kind == "derive" and len(here) == 2 and here[0] != here[1]:
        made = fact(f"of {rest[0]}", subject=f"conclusion {rest[1]}", basis="derived", confidence=0.4)
        conclusion = memory.store(made).claim_id
        memory.relate(here[0], conclusion, "derives", derivation="joint")
        memory.relate(here[1], conclusion, "derives", derivation="joint")
    elif kind in ("relate", "unrelate") and len(here) == 2 and here[0] != here[1]:
        known = {
            child.belief.id
            for child in memory.explain_deep(here[1], 1).root.children
            if child.relation == rest[2]
        }
        if kind == "relate":
            memory.relate(*here, rest[2])
        elif here[0] in known and rest[2] != "contradicts":
            memory.unrelate(*here, rest[2])


def unsolved(memory: Memory) -> dict[int, tuple[float, float]]:
    """Where the stored numbers are not those of a fresh solution of the whole graph."""
    with memory.storage.reader() as reader:
        graph = StoredGraph(reader)
        everything = {known.pk: 0 for known in reader.in_scope(memory.scope)}
        moved = settle(reader.rule() or LogOdds(), graph, everything).moved
        return {
            pk: (belief.strength, graph.strength(pk))
            for pk, (belief, _) in moved.items()
            if max(abs(belief.strength - graph.strength(pk)), abs(belief.confidence - graph.confidence(pk)))
            > 1e-9
        }


@many
@given(st.sampled_from(RULES), operations)
def test_stored_numbers_are_those_of_a_fresh_solution(rule, steps):
    memory = fresh(rule)
    ids = fill(memory, [], [], {})
    for step in steps:
        carry_out(memory, ids, step)
    assert unsolved(memory) == {}


@many
@given(operations)
def test_history_ends_in_the_present_and_has_no_gaps(steps):
    memory = fresh(RULES[0])
    ids = fill(memory, [], [], {})
    for step in steps:
        carry_out(memory, ids, step)
    for claim_id in ids.values():
        events = memory.explain_confidence_history(claim_id)
        for newer, older in pairwise(events):
            assert newer.old_confidence == older.new_confidence
        if events:
            assert events[0].new_confidence == memory.get(claim_id).confidence


@many
@given(operations, operations)
def test_another_scope_changes_no_order_and_no_number(steps, others):
    def run(*, disturbed: bool) -> list[tuple]:
        mine, other = fresh(RULES[0]), fresh(RULES[0])
        ids, theirs = fill(mine, [], [], {}), fill(other, [], [], {})
        for number, step in enumerate(steps):
            if disturbed and number < len(others):
                carry_out(other, theirs, others[number])
            carry_out(mine, ids, step)
        if disturbed:
            other.store_many([fact(f"{name(each)} thing0", subject="thing1") for each in range(SIZE)])
        hits = mine.recall("thing0 thing1 conclusion", k=100).hits
        return [(hit.claim.text, hit.score, hit.claim.confidence, len(hit.disputed_by)) for hit in hits]

    assert run(disturbed=True) == run(disturbed=False)
