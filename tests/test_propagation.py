"""Belief: the two rules, the solver over a lazily loaded graph, and which derived claims stand."""

import json
from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import permutations
from math import exp, log

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import root

from recollectx.errors import InvalidSetting
from recollectx.propagation import (
    Arrow,
    LogOdds,
    Neighbours,
    Node,
    Peer,
    PropagationConfig,
    Voice,
    held,
    rule_from,
    settle,
    strongest,
)
from recollectx.solving import COARSE, EXACT_REGION
from recollectx.weighing import HOPS, group_of

RULE = LogOdds()
STEPS = PropagationConfig()
EXAMPLES = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@dataclass
class World:
    """A small graph kept in dicts; it refuses to show a claim that was not loaded."""

    voices: dict[int, tuple[Voice, ...]]
    edges: list[tuple[int, Arrow]] = field(default_factory=list)  # (dst, arrow)
    derived: frozenset[int] = frozenset()
    dead: frozenset[int] = frozenset()
    one_way: bool = False
    kept: dict[int, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self):
        self.loaded, self.loads = set(), []
        self.arrows, self.onward = defaultdict(list), defaultdict(list)
        for dst, arrow in self.edges:
            self.arrows[dst].append(arrow)
            self.onward[arrow.src].append(dst)
            if arrow.relation == "contradicts" and not self.one_way:
                self.arrows[arrow.src].append(Arrow(dst, "contradicts", arrow.strength, mirrored=True))
                self.onward[dst].append(arrow.src)

    def load(self, pks):
        assert pks
        self.loads.append(list(pks))
        self.loaded |= set(pks)

    def node(self, pk):
        assert pk in self.loaded, f"claim {pk} was never loaded"
        return Node(pk, self.voices[pk], tuple(self.arrows[pk]), pk in self.derived, pk not in self.dead)

    def strength(self, pk):
        return self.kept.get(pk, (0.5, 0.5))[0]

    def confidence(self, pk):
        return self.kept.get(pk, (0.5, 0.5))[1]

    def dependents(self, pk):
        return self.onward[pk]

    def keep(self, settled):
        """Store what was settled, as a memory would."""
        self.kept = self.kept | {pk: (b.strength, b.confidence) for pk, (b, _) in settled.moved.items()}
        return self

    def solved(self, rule=RULE):
        """All confidences, solved from scratch."""
        fresh = replace(self, kept={})
        fresh.keep(settle(rule, fresh, dict.fromkeys(self.voices, "all")))
        return {pk: fresh.confidence(pk) for pk in self.voices}


def said(confidence, source=None, trust=1.0):
    return (Voice(source, confidence, trust),)


def supports(src, strength=1.0):
    return Arrow(src, "supports", strength)


def contradicts(src, strength=1.0):
    return Arrow(src, "contradicts", strength)


def derives(src, derivation=None, strength=1.0):
    return Arrow(src, "derives", strength, derivation)


def read(world, pk, rule=RULE):
    return world.solved(rule)[pk]


# -- examples by hand ------------------------------------------------------------------------------------------


def test_one_claim_reads_what_its_source_said():
    for confidence in (0.0, 0.004, 0.37, 0.6, 0.9, 1.0):
        assert read(World({1: said(confidence)}), 1) == confidence


def test_one_support_from_another_source():
    world = World({1: said(0.6, "ann"), 2: said(0.9, "ben")}, [(1, supports(2))])
    lam = log((1 + 0.36) / (1 - 0.36))
    x = log(0.6 / 0.4) + 1.3 * lam / (1.3 + lam)
    assert read(world, 1) == pytest.approx(1 / (1 + exp(-x)), abs=1e-12)
    assert read(world, 1) == pytest.approx(0.707, abs=5e-4)
    assert read(world, 2) == 0.9


def test_one_contradiction_read_one_way_and_both():
    voices, edges = {1: said(0.9), 2: said(0.9)}, [(1, contradicts(2))]
    one_way = World(voices, edges, one_way=True).solved()
    assert one_way[1] == pytest.approx(0.767, abs=5e-4)
    assert one_way[2] == 0.9
    both = World(voices, edges).solved()
    assert both[1] == pytest.approx(both[2], abs=1e-11)
    assert both[1] == pytest.approx(0.79, abs=5e-3)
    assert World(voices, edges).solved(LogOdds(symmetric_contradiction=False)) == one_way


def test_a_second_source_saying_the_same_weighs_as_a_support():
    together = World({1: (Voice("ann", 0.6, 1.0), Voice("ben", 0.9, 1.0))})
    apart = World({1: said(0.9, "ben"), 2: said(0.6, "ann")}, [(1, supports(2))])
    assert read(together, 1) == pytest.approx(read(apart, 1), abs=1e-12)


def test_the_base_is_the_assertion_that_makes_most_of_the_claim():
    weak_but_backed = (Voice("ann", 0.80, 1.0), Voice("ben", 0.79, 1.0))
    world = World({1: weak_but_backed, 2: said(0.99, "ann")}, [(1, supports(2))])
    alone = World({1: said(0.79, "ben"), 2: said(0.99, "ann")}, [(1, supports(2))])
    assert read(world, 1) == pytest.approx(read(alone, 1), abs=1e-12)


def test_trust_discounts_towards_one_half_from_above_only():
    assert read(World({1: said(0.9, "ann", 0.5)}), 1) == pytest.approx(0.7)
    assert read(World({1: said(0.9, "ann", 0.0)}), 1) == 0.5
    assert read(World({1: said(0.2, "ann", 0.5)}), 1) == 0.2


def test_the_base_sources_own_premises_add_nothing_but_its_contradictions_count():
    voices = {1: said(0.6, "ann"), 2: said(0.9, "ann")}
    assert read(World(voices, [(1, supports(2))]), 1) == 0.6
    assert read(World(voices, [(1, contradicts(2))], one_way=True), 1) < 0.4


def test_a_joint_derivation_weighs_as_its_weakest_premise():
    voices = {1: (), 2: said(0.9, "ann"), 3: said(0.6, "ben")}
    joint = World(voices, [(1, derives(2, "d")), (1, derives(3, "d"))])
    weakest = World(voices, [(1, derives(3))])
    assert read(joint, 1) == read(weakest, 1) > 0.5
    fallen = replace(joint, dead=frozenset({2}))
    assert read(fallen, 1) == 0.5
    alternative = replace(fallen, edges=[*joint.edges, (1, derives(3, "e"))])
    assert read(alternative, 1) == read(weakest, 1)


def test_an_unused_claim_weighs_nothing_yet_keeps_its_own_strength():
    world = World({1: said(0.6), 2: said(0.9), 3: said(0.8)}, [(1, supports(2)), (2, supports(3))])
    dead = replace(world, dead=frozenset({2}))
    assert read(dead, 1) == 0.6
    assert read(dead, 2) == read(world, 2) > 0.9


def test_other_relations_do_not_move_confidence():
    edges = [(1, Arrow(2, "corrects")), (1, Arrow(2, "owns"))]
    assert read(World({1: said(0.6), 2: said(0.9)}, edges), 1) == 0.6


def test_strength_and_trust_of_an_edge_scale_it():
    def lifted(strength, trust):
        voices = {1: said(0.5), 2: said(0.2, "ann", trust)}
        return read(World(voices, [(1, supports(2, strength))]), 1)

    assert lifted(0.5, 1.0) == lifted(1.0, 0.5) < lifted(1.0, 1.0)
    assert lifted(0.0, 1.0) == lifted(1.0, 0.0) == 0.5


# -- groups ----------------------------------------------------------------------------------------------------


def group_in(world, pk):
    world.loaded |= world.voices.keys()
    return group_of(pk, world.node, RULE.low_trust)


def test_the_strongest_assertion_names_the_group_whatever_the_order():
    voices = [Voice("ann", 0.9, 0.6), Voice("ben", 0.8, 1.0), Voice("cem", 0.8, 1.0), Voice(None, 0.8, 1.0)]
    for order in permutations(voices):
        assert strongest(order).source == "ben"
        assert group_in(World({1: order}), 1) == "ben"
    assert strongest([]) is None
    assert group_in(World({7: said(0.9)}), 7) == group_in(World({7: ()}), 7) == 7


def test_a_derived_claim_without_a_source_takes_the_group_its_premises_share():
    voices = {1: (), 2: (), 3: said(0.9, "ann"), 4: said(0.7, "ann"), 5: said(0.7, "ben")}
    edges = [(1, derives(2)), (2, derives(3, "d")), (2, derives(4, "d"))]
    world = World(voices, edges, derived=frozenset({1, 2}))
    assert group_in(world, 1) == group_in(world, 2) == "ann"
    mixed = replace(world, edges=[*edges, (2, derives(5, "d"))])
    assert group_in(mixed, 1) == group_in(mixed, 2) == 2
    fallen = replace(mixed, edges=[*edges, (2, derives(5, "e"))], dead=frozenset({5}))
    assert group_in(fallen, 1) == "ann"
    own_words = replace(world, voices=voices | {1: said(0.6, "cem")})
    assert group_in(own_words, 1) == "cem"


def test_circular_and_bottomless_derivations_are_groups_of_their_own():
    circle = World({1: (), 2: (), 3: ()}, [(1, derives(2)), (2, derives(1)), (3, derives(2))])
    circle.derived = frozenset({1, 2, 3})
    assert [group_in(circle, pk) for pk in (1, 2, 3)] == [1, 2, 3]
    n = HOPS + 2
    chain = World(dict.fromkeys(range(1, n), ()) | {n: said(0.9, "ann")}, derived=frozenset(range(1, n)))
    chain = replace(chain, edges=[(pk, derives(pk + 1)) for pk in range(1, n)])
    assert group_in(chain, 1) == HOPS + 1
    assert group_in(chain, 2) == "ann"


def test_what_one_source_says_in_many_claims_counts_once():
    voices = {1: said(0.5), 2: said(0.9, "ann"), 3: said(0.7, "ann"), 4: (), 5: said(0.8, "ben")}
    once = World(voices, [(1, supports(2)), (4, derives(3))], derived=frozenset({4}))
    many = replace(
        once, edges=[*once.edges, (1, supports(3)), (1, supports(4)), (1, derives(3, strength=0.1))]
    )
    assert read(many, 1) == read(once, 1)
    assert read(replace(many, edges=[*many.edges, (1, supports(5))]), 1) > read(once, 1)


def test_a_low_trust_flood_weighs_no_more_than_one_of_them():
    def flooded(n, trust):
        crowd = {pk: said(0.99, f"bot {pk}", trust) for pk in range(2, n + 2)}
        return read(World({1: said(0.3, "ann")} | crowd, [(1, supports(pk)) for pk in crowd]), 1)

    assert flooded(500, 0.49) == flooded(1, 0.49)
    assert flooded(500, 0.5) > flooded(1, 0.5)
    assert flooded(500, 1.0) < 1 / (1 + exp(-(log(0.3 / 0.7) + 1.3)))


def test_a_group_that_changes_without_strength_moving_is_felt_down_the_derivations():
    def world(source):
        voices = {1: said(0.5, "ann"), 2: said(0.6, "ben"), 3: (), 4: (), 5: said(0.9, source)}
        edges = [(1, supports(2)), (1, supports(3)), (3, derives(4)), (4, derives(5))]
        return World(voices, edges, derived=frozenset({3, 4}))

    kept = world("cem")
    kept.keep(settle(RULE, kept, dict.fromkeys(kept.voices)))
    changed = replace(world("ann"), kept=kept.kept)
    changed.keep(settle(RULE, changed, {5: "renamed"}))
    assert changed.confidence(1) == pytest.approx(read(world("ann"), 1), abs=1e-12)
    assert changed.confidence(1) < kept.confidence(1)


# -- random graphs ---------------------------------------------------------------------------------------------

unit = st.floats(0, 1)
voice = st.builds(
    Voice, st.sampled_from([None, "ann", "ben", "cem", "dee"]), unit, st.sampled_from([1.0, 0.7, 0.2])
)
relation = st.sampled_from(["supports", "contradicts", "derives"])


@st.composite
def worlds(draw, most=9):
    n = draw(st.integers(2, most))
    pks = st.integers(1, n)
    voices = {
        pk: tuple(draw(st.lists(voice, max_size=2, unique_by=lambda v: v.source))) for pk in range(1, n + 1)
    }
    edges = []
    for src, dst, kind, strength, name in draw(
        st.lists(st.tuples(pks, pks, relation, unit, st.sampled_from([None, "d", "e"])), max_size=3 * n)
    ):
        if src != dst:
            edges.append((dst, Arrow(src, kind, strength, name if kind == "derives" else None)))
    subset = st.frozensets(pks, max_size=2)
    return World(voices, edges, draw(subset), draw(subset), draw(st.booleans()))


def near(one, other, tolerance=1e-9):
    return max((abs(one[pk] - other[pk]) for pk in one), default=0) <= tolerance


@EXAMPLES
@given(worlds(), st.randoms())
def test_order_of_arrival_does_not_matter(world, chance):
    edges, order = list(world.edges), list(world.voices)
    chance.shuffle(edges)
    chance.shuffle(order)
    shuffled = replace(world, edges=edges, voices={pk: world.voices[pk][::-1] for pk in order})
    for rule in (RULE, STEPS):
        assert near(world.solved(rule), shuffled.solved(rule), 1e-10)


@EXAMPLES
@given(worlds(), st.data())
def test_step_by_step_equals_a_fresh_solve_and_retraction_restores(world, data):
    rule = data.draw(st.sampled_from([RULE, STEPS]))
    before = world.solved(rule)
    now = replace(world, kept={})
    now.keep(settle(rule, now, dict.fromkeys(now.voices)))
    dst, src = data.draw(st.permutations(list(world.voices)))[:2]
    kind = data.draw(relation)
    grown = replace(now, edges=[*world.edges, (dst, Arrow(src, kind))], dead=frozenset())
    touched = {dst, *({src} if kind == "contradicts" else ()), *world.dead}
    grown.keep(settle(rule, grown, dict.fromkeys(touched)))
    assert near({pk: grown.confidence(pk) for pk in world.voices}, grown.solved(rule))
    back = replace(grown, edges=world.edges, dead=world.dead)
    back.keep(settle(rule, back, dict.fromkeys(touched)))
    assert near({pk: back.confidence(pk) for pk in world.voices}, before)


@EXAMPLES
@given(worlds(), st.data())
def test_circles_converge_to_one_point_from_any_start(world, data):
    fresh = world.solved()
    start = {pk: (data.draw(st.floats(0.01, 0.99)), 0.5) for pk in world.voices}
    elsewhere = replace(world, kept=start)
    elsewhere.keep(settle(RULE, elsewhere, dict.fromkeys(world.voices)))
    assert near(fresh, {pk: elsewhere.confidence(pk) for pk in world.voices})


@EXAMPLES
@given(worlds(), st.data())
def test_a_repeat_by_the_same_source_changes_nothing(world, data):
    pk = data.draw(st.sampled_from(sorted(world.voices)))
    before = world.solved()
    repeated = replace(world, edges=world.edges + [e for e in world.edges if e[0] == pk])
    repeated.voices = world.voices | {pk: world.voices[pk] * 3}
    assert near(before, repeated.solved(), 1e-11)


@EXAMPLES
@given(worlds(), st.data())
def test_more_belief_in_a_source_never_lowers_what_it_supports(world, data):
    peers = {pk: Peer(data.draw(st.floats(0.01, 0.99)), 1.0, pk % 4, True) for pk in world.voices}
    world.loaded |= world.voices.keys()
    for pk in world.voices:
        node = world.node(pk)
        low = RULE.local(node, peers.__getitem__)
        if not node.arrows:
            continue
        src = data.draw(st.sampled_from(node.arrows)).src
        raised = peers | {src: peers[src]._replace(strength=data.draw(st.floats(peers[src].strength, 0.99)))}
        kinds = {arrow.relation for arrow in node.arrows if arrow.src == src}
        high = RULE.local(node, raised.__getitem__)
        if "contradicts" not in kinds:
            assert high.x >= low.x - 1e-12
        if kinds == {"contradicts"}:
            assert high.x <= low.x + 1e-12


@EXAMPLES
@given(worlds())
def test_every_number_stays_in_its_range(world):
    for rule in (RULE, STEPS):
        for pk, (belief, _) in settle(rule, world, dict.fromkeys(world.voices)).moved.items():
            assert 0.01 <= belief.strength <= 0.99
            assert 0 <= belief.confidence <= 1
            start = log(min(max(belief.base, 0.01), 0.99) / (1 - min(max(belief.base, 0.01), 0.99)))
            assert rule is STEPS or -2.6 < belief.x - start < 1.3
            assert pk in world.voices


@EXAMPLES
@given(worlds())
def test_contributions_sum_to_the_belief(world):
    for rule in (RULE, STEPS):
        solved = replace(world, kept={})
        solved.keep(settle(rule, solved, dict.fromkeys(world.voices)))
        neighbours = Neighbours(solved, rule.low_trust)
        neighbours.load(world.voices)
        for pk in world.voices:
            node = solved.node(pk)
            belief, parts = rule.local(node, neighbours), rule.attribute(node, neighbours)
            base = min(max(belief.base, 0.01), 0.99)
            assert sum(part.amount for part in parts) == pytest.approx(
                belief.x - log(base / (1 - base)), abs=1e-12
            )
            assert len(parts) == max(len(node.voices) - 1, 0) + len(node.arrows)
            assert all(
                part.counted == (part.reason == "") and (part.counted or not part.amount) for part in parts
            )


def test_contributions_of_a_dense_graph_sum_to_the_belief():
    world = random_world(5)
    world.keep(settle(RULE, world, dict.fromkeys(world.voices)))
    neighbours = Neighbours(world, RULE.low_trust)
    neighbours.load(world.voices)
    for pk in world.voices:
        belief = RULE.local(world.node(pk), neighbours)
        base = min(max(belief.base, 0.01), 0.99)
        total = sum(part.amount for part in RULE.attribute(world.node(pk), neighbours))
        assert total == pytest.approx(belief.x - log(base / (1 - base)), abs=1e-12)


def test_attribution_names_what_was_not_counted_and_why():
    voices = {
        1: said(0.6, "ann"),
        2: said(0.9, "ben"),
        3: said(0.7, "ben"),
        4: said(0.8, "ann"),
        5: said(0.8),
    }
    edges = [(1, supports(pk)) for pk in (2, 3, 4)] + [(1, contradicts(5)), (1, Arrow(2, "corrects"))]
    world = World(voices | {6: said(0.9)}, [*edges, (1, supports(6))], dead=frozenset({6}))
    neighbours = Neighbours(world, RULE.low_trust)
    neighbours.load([1])
    parts = {(part.src, part.relation): part for part in RULE.attribute(world.node(1), neighbours)}
    assert parts[2, "supports"].counted and parts[2, "supports"].amount > 0
    assert parts[2, "supports"].source == "ben"
    assert parts[5, "contradicts"].counted and parts[5, "contradicts"].amount < 0
    assert parts[3, "supports"].reason == "same source as a stronger one"
    assert parts[3, "supports"].instead == 2
    assert parts[4, "supports"].reason == "own source"
    assert parts[6, "supports"].reason == "no longer in force"
    assert parts[2, "corrects"].reason == "corrects does not move confidence"


# -- an independent solution -----------------------------------------------------------------------------------


def random_world(seed, n=30):
    """Several sources, circles, joint derivations, contradictions read both ways; one source per claim."""
    rng = np.random.default_rng(seed)
    sources = [None, "ann", "ben", "cem", "dee", "eve"]
    voices = {
        pk: said(float(rng.uniform(0, 1)), sources[rng.integers(6)], float(rng.choice([1.0, 0.8, 0.3])))
        for pk in range(n)
    }
    edges = set()
    while len(edges) < 4 * n:
        src, dst = rng.integers(n, size=2)
        if src != dst:
            kind = ["supports", "contradicts", "derives"][rng.integers(3)]
            edges.add((int(dst), int(src), kind, float(rng.uniform(0.2, 1)), [None, "d"][rng.integers(2)]))
    arrows = [
        (d, Arrow(s, k, e, name if k == "derives" else None)) for d, s, k, e, name in sorted(edges, key=str)
    ]
    return World(voices, arrows)


def dense_solution(world):
    """The equations of the rule as one residual over all claims, written from the formula, solved by scipy."""
    n = len(world.voices)
    b = np.array([world.voices[i][0].confidence for i in range(n)])
    r = np.array([world.voices[i][0].trust for i in range(n)])
    names = [
        (world.voices[i][0].source if r[i] >= 0.5 else "pool") if world.voices[i][0].source else i
        for i in range(n)
    ]
    base = np.clip(np.where(b >= 0.5, 0.5 + r * (b - 0.5), b), 0.01, 0.99)
    start = np.log(base) - np.log1p(-base)
    members = []  # (dst, side, group, weight, [(src, strength), ...])
    joint = defaultdict(list)
    for dst, arrow in world.edges:
        if arrow.relation == "contradicts":
            members.append((dst, 1, names[arrow.src], 0.75, [(arrow.src, arrow.strength)]))
            members.append((arrow.src, 1, names[dst], 0.75, [(dst, arrow.strength)]))
        elif arrow.derivation:
            joint[dst].append((arrow.src, arrow.strength))
        else:
            weight = 0.4 if arrow.relation == "supports" else 0.6
            members.append((dst, 0, names[arrow.src], weight, [(arrow.src, arrow.strength)]))
    for dst, premises in joint.items():
        shared = {names[src] for src, _ in premises}
        members.append((dst, 0, shared.pop() if len(shared) == 1 else "joint", 0.6, premises))

    def image(x):
        s = np.clip(1 / (1 + np.exp(-x)), 0.01, 0.99)
        tops = [[defaultdict(float), defaultdict(float)] for _ in range(n)]
        for dst, side, group, weight, premises in members:
            if side == 0 and group == names[dst]:
                continue
            p = weight * min(e * r[src] * s[src] for src, e in premises)
            tops[dst][side][group] = max(tops[dst][side][group], np.log1p(p) - np.log1p(-p))
        up = np.array([sum(pro.values()) for pro, _ in tops])
        down = np.array([sum(con.values()) for _, con in tops])
        return start + 1.3 * up / (1.3 + up) - 2.6 * down / (2.6 + down)

    found = root(lambda x: image(x) - x, start, tol=1e-13)
    assert np.abs(image(found.x) - found.x).max() < 1e-10
    return np.clip(1 / (1 + np.exp(-found.x)), 0.01, 0.99)


@pytest.mark.parametrize("seed", range(8))
def test_an_independent_dense_solution_agrees(seed):
    world = random_world(seed)
    world.keep(settle(RULE, world, dict.fromkeys(world.voices)))
    ours = np.array([world.strength(pk) for pk in world.voices])
    assert np.abs(ours - dense_solution(world)).max() < 1e-8


# -- the solver ------------------------------------------------------------------------------------------------


def test_causes_are_inherited_and_claims_out_of_reach_stay_out():
    voices = {pk: said(0.6) for pk in range(1, 7)}
    world = World(voices, [(2, supports(1)), (3, supports(2)), (5, supports(4))])
    world.keep(settle(RULE, world, dict.fromkeys(voices)))
    changed = replace(world, voices=voices | {1: said(0.9), 4: said(0.8)})
    settled = settle(RULE, changed, {4: "b", 1: "a"})
    assert {pk: cause for pk, (_, cause) in settled.moved.items()} == {1: "a", 2: "a", 3: "a", 4: "b", 5: "b"}
    assert changed.loaded == {1, 2, 3, 4, 5}
    assert settled.evaluations == 5
    assert settle(RULE, changed.keep(settled), {1: "a"}).moved == {}


def test_a_new_reading_at_the_same_strength_is_reported():
    world = World({1: said(1.0)})
    world.keep(settle(RULE, world, {1: None}))
    changed = replace(world, voices={1: said(0.99)})
    assert settle(RULE, changed, {1: None}).moved[1][0].confidence == 0.99


def test_the_stronger_push_names_the_cause():
    voices = {1: said(0.5), 2: said(0.5), 3: said(0.5)}
    world = World(voices, [(3, supports(1)), (3, supports(2))])
    world.keep(settle(RULE, world, dict.fromkeys(voices)))
    changed = replace(world, voices=voices | {1: said(0.51), 2: said(0.95)})
    assert settle(RULE, changed, {1: "slight", 2: "strong"}).moved[3][1] == "strong"


@EXAMPLES
@given(worlds(), st.randoms())
def test_the_order_of_the_dirty_does_not_matter_to_the_last_bit(world, chance):
    order = list(world.voices)
    chance.shuffle(order)
    one = settle(RULE, world, {pk: pk for pk in world.voices})
    other = settle(RULE, replace(world), {pk: pk for pk in order})
    assert one == other


def test_a_round_is_two_loads():
    n = 12
    world = World({pk: said(0.6) for pk in range(n)}, [(pk + 1, supports(pk)) for pk in range(n - 1)])
    world = replace(world, edges=[*world.edges, *((pk, contradicts(n - 1 - pk)) for pk in range(n // 2))])
    rounds = n  # the change travels one claim a round at most
    settle(RULE, world, {0: None})
    assert len(world.loads) <= 2 * rounds
    assert len({pk for batch in world.loads for pk in batch}) == sum(map(len, world.loads)), "loaded twice"


def big_world(seed=1, n=3_000):
    rng = np.random.default_rng(seed)
    voices = {pk: said(float(rng.uniform(0.3, 0.95))) for pk in range(n)}
    edges = []
    for dst in range(n):
        for src in rng.integers(n, size=3):
            if src != dst:
                edges.append((dst, supports(int(src)) if rng.random() < 0.8 else contradicts(int(src))))
    return World(voices, edges)


def test_a_large_region_is_settled_coarsely_without_drift():
    world = big_world()
    world.keep(settle(RULE, world, dict.fromkeys(world.voices)))
    for level in (0.9, 0.1, 0.9, 0.1):
        for pk in range(2):
            world.voices[pk] = said(level)
            settled = settle(RULE, world, {pk: None})
            assert settled.evaluations < 2 * EXACT_REGION
            others = [(world.strength(k), b.strength) for k, (b, _) in settled.moved.items() if k != pk]
            assert others and all(abs(new - old) >= COARSE for old, new in others)
            world.keep(settled)
    fresh = world.solved()
    assert near({pk: world.confidence(pk) for pk in world.voices}, fresh, 1e-3)


# -- fixed steps -----------------------------------------------------------------------------------------------


def test_fixed_steps_give_their_documented_numbers():
    voices = {1: said(0.6, "ann"), 2: said(0.9, "ben"), 3: said(0.1, "ben"), 4: said(0.2, "cem")}
    assert read(World(voices, [(1, supports(2))]), 1, STEPS) == pytest.approx(0.70)
    assert read(World(voices, [(1, supports(2)), (1, supports(3))]), 1, STEPS) == pytest.approx(0.70)
    assert read(World(voices, [(1, supports(2)), (1, derives(4))]), 1, STEPS) == pytest.approx(0.80)
    both = World({1: said(0.9), 2: said(0.9)}, [(1, contradicts(2))])
    assert both.solved(STEPS) == pytest.approx({1: 0.75, 2: 0.75})
    one_way = PropagationConfig(symmetric_contradiction=False)
    assert both.solved(one_way) == pytest.approx({1: 0.75, 2: 0.9})


def test_fixed_steps_do_not_depend_on_order_and_undo():
    voices = {1: said(0.9), **{pk: said(0.5) for pk in range(2, 8)}}
    edges = [(1, supports(pk)) for pk in (2, 3, 4)] + [(1, contradicts(pk)) for pk in (5, 6, 7)]
    orders = list(permutations(edges))[::60]
    values = {World(voices, list(order), one_way=True).solved(STEPS)[1] for order in orders}
    assert list(values) == pytest.approx([0.9 + 0.3 - 0.45])


def test_fixed_steps_stop_at_the_bounds_which_the_base_may_widen():
    crowd = {pk: said(0.5) for pk in range(2, 30)}
    lifted = [(1, supports(pk)) for pk in crowd]
    pressed = [(1, contradicts(pk)) for pk in crowd]
    assert read(World({1: said(0.6)} | crowd, lifted), 1, STEPS) == 0.99
    assert read(World({1: said(1.0)} | crowd, lifted), 1, STEPS) == 1.0
    assert read(World({1: said(0.6)} | crowd, pressed), 1, STEPS) == 0.01
    assert read(World({1: said(0.0)} | crowd, pressed), 1, STEPS) == 0.0
    assert read(World({1: ()}), 1, STEPS) == 0.5


# -- settings --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule", [LogOdds(), LogOdds(supports=0.3, low_trust=0.2), PropagationConfig(support_boost=0.2)]
)
def test_a_rule_survives_json(rule):
    assert rule_from(json.loads(json.dumps(rule.settings()))) == rule


@pytest.mark.parametrize(
    "settings",
    [
        {"rule": "magic"},
        {},
        {"rule": "log_odds", "speed": 1},
        {"rule": "log_odds", "supports": 1.1},
        {"rule": "log_odds", "derives": float("nan")},
        {"rule": "log_odds", "contradicts": "much"},
        {"rule": "log_odds", "support_cap": 1.4},
        {"rule": "log_odds", "support_cap": True},
        {"rule": "log_odds", "symmetric_contradiction": 1},
        {"rule": "fixed_steps", "support_boost": -0.1},
        {"rule": "fixed_steps", "min_confidence": 0.9, "max_confidence": 0.8},
    ],
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(InvalidSetting):
        rule_from(settings)


# -- which derived claims stand --------------------------------------------------------------------------------


def sets(*premises):
    return [frozenset(each) for each in premises]


def test_chains_stand_on_their_ground_and_fall_with_it():
    chain = {2: sets({1}), 3: sets({2}), 4: sets({3})}
    assert held(chain, {1}) == {2, 3, 4}
    assert held(chain, set()) == set()
    assert held(chain, {3}) == {3, 4}


def test_joint_premises_are_all_needed_and_one_alternative_is_enough():
    diamond = {2: sets({1}), 3: sets({1}), 4: sets({2, 3})}
    assert held(diamond, {1}) == {2, 3, 4}
    assert held({**diamond, 3: sets({9})}, {1}) == {2}
    assert held({**diamond, 3: sets({9}, {1})}, {1}) == {2, 3, 4}


def test_a_circle_holds_nothing_up_unless_it_touches_ground():
    circle = {1: sets({2}), 2: sets({3}), 3: sets({1})}
    assert held(circle, set()) == set()
    assert held({**circle, 2: sets({3}, {9})}, {9}) == {1, 2, 3}
    assert held({1: sets({1})}, set()) == set()
    assert held({1: [], 2: sets(())}, {9}) == set()


@EXAMPLES
@given(
    st.dictionaries(
        st.integers(0, 7), st.lists(st.frozensets(st.integers(0, 9), min_size=1, max_size=3), max_size=3)
    ),
    st.frozensets(st.integers(0, 9), max_size=3),
)
def test_held_is_the_least_fixed_point(derivations, grounded):
    standing, before = set(grounded), None
    while standing != before:
        before = set(standing)
        standing |= {pk for pk, options in derivations.items() if any(option <= before for option in options)}
    assert held(derivations, grounded) == standing & derivations.keys()
