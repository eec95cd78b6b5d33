from itertools import pairwise

import pytest
from conftest import event, fact

from recollectx import Edge, LogOdds, Memory, PropagationConfig, Relation, Status
from recollectx.changes import Link
from recollectx.errors import InvalidClaim, InvalidQuery, NotFound, ScopeError
from recollectx.graph.explanation import MAX_NODES


def many(memory: Memory, names: str, **more) -> dict[str, str]:
    """One fact per word, each from a source of its own; ids by word."""
    words = names.split()
    results = memory.store_many([fact(word, f"source of {word}", **more) for word in words])
    return dict(zip(words, [result.claim_id for result in results], strict=True))


def chain(memory: Memory, ids: list[str], relation: str = "supports") -> None:
    links = [Link(Edge(src, dst, relation)) for src, dst in pairwise(ids)]
    memory.storage.apply(links, cause="chain")


def shape(node) -> tuple:
    """A tree without its claims' contents."""
    return node.belief.id, node.depth, node.relation, node.repeated, tuple(map(shape, node.children))


@pytest.mark.parametrize("symmetric", [True, False])
def test_documented_numbers_of_the_default_rule(path, symmetric):
    with Memory.open(path, rule=LogOdds(symmetric_contradiction=symmetric)) as memory:
        ids = many(memory, "a b", confidence=0.9)
        low = memory.store(fact("low", "z", confidence=0.6)).claim_id
        memory.add_support(ids["a"], low)
        assert memory.get(low).confidence == pytest.approx(0.707, abs=5e-4)
        memory.add_contradiction(ids["a"], ids["b"])
        pressed, rival = memory.get(ids["b"]).confidence, memory.get(ids["a"]).confidence
    assert rival == (pytest.approx(pressed, abs=1e-9) if symmetric else 0.9)
    assert symmetric or pressed == pytest.approx(0.767, abs=5e-4)


def test_a_change_travels_through_derivations(memory):
    ids = many(memory, "a b c rival", confidence=0.6)
    memory.relate(ids["a"], ids["b"], "derives")
    memory.relate(ids["b"], ids["c"], "derives")
    before = {name: memory.get(ids[name]).confidence for name in "abc"}
    memory.add_contradiction(ids["rival"], ids["a"])
    after = {name: memory.get(ids[name]).confidence for name in "abc"}
    assert all(after[name] < before[name] for name in "abc")
    memory.unrelate(ids["rival"], ids["a"], "contradicts")
    assert {name: memory.get(ids[name]).confidence for name in "abc"} == pytest.approx(before, abs=1e-9)


def test_an_edge_said_twice_is_one_edge(memory):
    ids = many(memory, "a b", confidence=0.6)
    memory.add_support(ids["a"], ids["b"])
    once = memory.get(ids["b"]).confidence
    memory.add_support(ids["a"], ids["b"])
    assert memory.get(ids["b"]).confidence == once
    assert memory.explain(ids["b"])["supported_by"] == [ids["a"]]
    memory.add_support(ids["a"], ids["b"], strength=0.5)
    assert 0.6 < memory.get(ids["b"]).confidence < once
    assert memory.explain(ids["b"])["supported_by"] == [ids["a"]]


def test_a_contradiction_is_the_same_from_either_side(memory):
    ids = many(memory, "a b", confidence=0.6)
    memory.add_contradiction(ids["a"], ids["b"])
    memory.add_contradiction(ids["b"], ids["a"])
    assert memory.explain(ids["a"])["contradicted_by"] == [ids["b"]]
    memory.unrelate(ids["b"], ids["a"], "contradicts")
    assert memory.explain(ids["a"])["contradicted_by"] == []
    assert memory.get(ids["a"]).confidence == pytest.approx(0.6, abs=1e-9)


def test_where_contradictions_act_one_way_both_ways_can_be_said(path):
    with Memory.open(path, rule=LogOdds(symmetric_contradiction=False)) as memory:
        ids = many(memory, "a b", confidence=0.6)
        memory.add_contradiction(ids["a"], ids["b"])
        assert memory.get(ids["a"]).confidence == pytest.approx(0.6, abs=1e-9)
        memory.add_contradiction(ids["b"], ids["a"])
        assert memory.get(ids["a"]).confidence < 0.6
        assert memory.get(ids["b"]).confidence < 0.6


def test_a_plain_relation_moves_nothing_and_is_shown(memory):
    ids = many(memory, "a b", confidence=0.6)
    memory.relate(ids["a"], ids["b"], "caused")
    assert memory.get(ids["b"]).confidence == 0.6
    root = memory.explain_deep(ids["b"]).root
    assert [(child.relation, child.belief.id) for child in root.children] == [("caused", ids["a"])]
    memory.unrelate(ids["a"], ids["b"], "caused")
    assert memory.explain_deep(ids["b"]).root.children == ()


@pytest.mark.parametrize("relation", ["similar", "", "x" * 101, "\ud800"])
def test_a_relation_that_cannot_be_is_refused(memory, relation):
    ids = many(memory, "a b")
    with pytest.raises(InvalidClaim):
        memory.relate(ids["a"], ids["b"], relation)


def test_a_claim_does_not_bear_on_itself_under_any_of_its_names(memory):
    first = memory.store(fact("sweet", "ana")).claim_id
    alias = fact("Sweet", "bob")
    memory.store(alias)
    for src in (first, alias.id):
        with pytest.raises(InvalidClaim):
            memory.add_support(src, first)


def test_unknown_ids_are_named(memory):
    first = memory.store(fact("sweet")).claim_id
    for call in (
        lambda: memory.add_support("nowhere", first),
        lambda: memory.add_support(first, "nowhere"),
        lambda: memory.unrelate(first, "nowhere", "supports"),
        lambda: memory.explain_confidence_history("nowhere"),
    ):
        with pytest.raises(NotFound, match="nowhere"):
            call()
    assert memory.explain("nowhere") is None
    assert memory.explain_deep("nowhere") is None


def test_joint_premises_fall_together(memory):
    ids = many(memory, "a b", confidence=0.9)
    made = memory.store(fact("made", confidence=0.5, basis="derived")).claim_id
    assert memory.get(made).status == Status.UNSUPPORTED
    memory.relate(ids["a"], made, "derives", derivation="both")
    memory.relate(ids["b"], made, "derives", derivation="both")
    assert memory.get(made).status == Status.ACTIVE
    held = memory.get(made).confidence
    assert held > 0.5
    memory.retract("source of b")
    assert memory.get(made).status == Status.UNSUPPORTED
    assert made not in {claim.id for claim in memory.retrieve()}
    memory.store(fact("b", "source of b", confidence=0.9))
    assert (memory.get(made).status, memory.get(made).confidence) == (
        Status.ACTIVE,
        pytest.approx(held, abs=1e-9),
    )


def test_derivations_in_a_circle_hold_nothing_up(memory):
    ground = memory.store(fact("ground", "ana")).claim_id
    one, two = (memory.store(fact(word, basis="derived")).claim_id for word in ("one", "two"))
    memory.relate(ground, one, "derives")
    memory.relate(one, two, "derives")
    memory.relate(two, one, "derives")
    assert {memory.get(one).status, memory.get(two).status} == {Status.ACTIVE}
    memory.forget(ground)
    assert {memory.get(one).status, memory.get(two).status} == {Status.UNSUPPORTED}


def test_a_forgotten_claim_weighs_nothing_and_is_no_longer_listed(memory):
    ids = many(memory, "a b c", confidence=0.6)
    memory.add_support(ids["a"], ids["b"])
    memory.add_contradiction(ids["c"], ids["b"])
    memory.forget(ids["a"])
    memory.forget(ids["c"])
    assert memory.get(ids["b"]).confidence == pytest.approx(0.6, abs=1e-9)
    found = memory.explain(ids["b"])
    assert (found["supported_by"], found["contradicted_by"]) == ([], [])


def test_explain_has_the_documented_shape(memory):
    ids = many(memory, "claim ground support rival", confidence=0.7)
    memory.relate(ids["ground"], ids["claim"], "derives")
    memory.add_support(ids["support"], ids["claim"])
    memory.add_contradiction(ids["claim"], ids["rival"])
    found = memory.explain(ids["claim"])
    assert found["belief"] == memory.get(ids["claim"])
    assert found["derived_from"] == [ids["ground"]]
    assert found["supported_by"] == [ids["support"]]
    assert found["contradicted_by"] == [ids["rival"]]
    assert [said.source for said in found["assertions"]] == ["source of claim"]


def test_explain_deep_lays_the_graph_out_as_a_tree(memory):
    ids = many(memory, "top left right ground rival")
    for middle in ("left", "right"):
        memory.add_support(ids[middle], ids["top"])
        memory.relate(ids["ground"], ids[middle], "derives")
    memory.add_contradiction(ids["rival"], ids["left"])
    found = memory.explain_deep(ids["top"])
    assert (found.max_depth_reached, found.total_nodes) == (2, 5)
    assert found.cycle_detected is False
    assert found.truncated is False
    left, right = found.root.supported_by
    assert (found.root.depth, found.root.relation) == (0, None)
    assert (left.depth, left.relation, left.belief.id) == (1, "supports", ids["left"])
    assert [node.belief.id for node in left.derived_from] == [ids["ground"]]
    assert [node.belief.id for node in left.contradicted_by] == [ids["rival"]]
    assert sorted(
        (node.belief.id, node.repeated) for side in (left, right) for node in side.derived_from
    ) == [
        (ids["ground"], False),
        (ids["ground"], True),
    ]


@pytest.mark.parametrize("relation", ["supports", "derives"])
def test_a_real_cycle_is_reported(memory, relation):
    ids = many(memory, "a b c d")
    chain(memory, [ids[name] for name in "abca"], relation)
    memory.add_support(ids["a"], ids["d"])
    assert memory.explain_deep(ids["d"], max_depth=5).cycle_detected is True


def test_contradicting_each_other_is_no_cycle(memory):
    ids = many(memory, "a b c")
    memory.add_contradiction(ids["a"], ids["b"])
    memory.add_contradiction(ids["b"], ids["a"])
    memory.add_contradiction(ids["c"], ids["b"])
    found = memory.explain_deep(ids["a"])
    assert (found.cycle_detected, found.total_nodes, found.max_depth_reached) == (False, 3, 2)


def test_depth_is_kept_to(memory):
    ids = list(many(memory, "e d c b a").values())
    chain(memory, ids)
    for depth in range(5):
        found = memory.explain_deep(ids[-1], max_depth=depth)
        assert (found.max_depth_reached, found.total_nodes) == (depth, depth + 1)
        assert found.truncated is (depth < 4)
    for bad in (-1, 1.5, True, None):
        with pytest.raises(InvalidQuery):
            memory.explain_deep(ids[-1], max_depth=bad)


def test_the_longest_chain_that_fits_is_explained(memory):
    results = memory.store_many([event(f"step {number}") for number in range(MAX_NODES)])
    ids = [result.claim_id for result in results]
    chain(memory, ids)
    assert memory.explain_deep(ids[-1], max_depth=MAX_NODES).total_nodes == MAX_NODES


def test_what_lies_behind_an_erased_claim_is_neither_shown_nor_counted(memory):
    ids = many(memory, "far middle near")
    chain(memory, list(ids.values()))
    memory.forget(ids["middle"])
    assert memory.explain_deep(ids["near"]).total_nodes == 3
    memory.erase(ids["middle"])
    found = memory.explain_deep(ids["near"])
    assert (found.total_nodes, found.root.children) == (1, ())


def test_an_explanation_is_the_same_after_reopening(path):
    with Memory.open(path) as memory:
        ids = many(memory, "a b c d")
        memory.add_support(ids["a"], ids["b"])
        memory.add_contradiction(ids["b"], ids["c"])
        memory.relate(ids["c"], ids["d"], "derives")
        before = memory.explain_deep(ids["d"])
    with Memory.open(path) as memory:
        after = memory.explain_deep(ids["d"])
    assert shape(after.root) == shape(before.root)
    assert (after.total_nodes, after.cycle_detected) == (before.total_nodes, before.cycle_detected)


def test_every_move_is_recorded_with_its_cause_newest_first(memory):
    ids = many(memory, "a b c", confidence=0.6)
    memory.add_support(ids["a"], ids["b"])
    memory.add_contradiction(ids["c"], ids["b"])
    memory.store(fact("b", "another source", confidence=0.6))
    memory.forget(ids["a"])
    memory.trust("source of c", 0.2)
    events = memory.explain_confidence_history(ids["b"])
    assert [(event.change_type, event.caused_by_id) for event in events] == [
        ("manual", None),
        ("manual", ids["a"]),
        ("support", None),
        ("contradiction", ids["c"]),
        ("support", ids["a"]),
    ]
    assert events[0].new_confidence == memory.get(ids["b"]).confidence
    assert events[-1].old_confidence == 0.6
    for newer, older in pairwise(events):
        assert newer.old_confidence == older.new_confidence
        assert newer.timestamp > older.timestamp


def test_a_move_further_down_names_the_claim_whose_change_moved_it(memory):
    ids = many(memory, "a b c rival", confidence=0.6)
    memory.relate(ids["a"], ids["b"], "derives")
    memory.relate(ids["b"], ids["c"], "derives")
    memory.add_contradiction(ids["rival"], ids["a"])
    newest = memory.explain_confidence_history(ids["c"])[0]
    assert (newest.change_type, newest.caused_by_id) == ("contradiction", ids["a"])


def test_the_rule_lives_in_the_file_and_another_one_resolves_all(path):
    with Memory.open(path, rule=PropagationConfig()) as memory:
        ids = many(memory, "a b", confidence=0.6)
        memory.add_support(ids["a"], ids["b"])
        assert memory.get(ids["b"]).confidence == pytest.approx(0.7)
    with Memory.open(path) as memory:
        assert memory.storage.rule() == PropagationConfig()
    with Memory.open(path, rule=LogOdds()) as memory:
        assert memory.get(ids["b"]).confidence == pytest.approx(0.6756, abs=2e-2)
        assert memory.get(ids["b"]).confidence != pytest.approx(0.7, abs=1e-3)
        assert memory.explain_confidence_history(ids["b"])[0].reason == "another rule of belief"


# -- scopes ----------------------------------------------------------------------------------------------------


def test_edges_join_one_scope_or_start_in_global(memory):
    mine = Memory(memory.storage, scope="mine")
    other = Memory(memory.storage, scope="other")
    common = memory.store(fact("common", "g", confidence=0.9)).claim_id
    here = mine.store(fact("here", "m", confidence=0.6)).claim_id
    there = other.store(fact("there", "o", confidence=0.6)).claim_id
    mine.add_contradiction(common, here)
    assert mine.get(here).confidence < 0.6
    assert memory.get(common).confidence == 0.9
    for src, dst in ((here, common), (there, here), (here, there)):
        with pytest.raises(NotFound):
            mine.add_support(src, dst)
    with pytest.raises(ScopeError):
        memory.storage.apply([Link(Edge(there, here, Relation.SUPPORTS))], cause="test")


def test_an_explanation_never_shows_a_claim_of_another_scope(memory):
    mine = Memory(memory.storage, scope="mine")
    other = Memory(memory.storage, scope="other")
    common = memory.store(fact("common", "g")).claim_id
    here = mine.store(fact("here", "m")).claim_id
    there = other.store(fact("there", "o")).claim_id
    mine.add_contradiction(common, here)
    other.add_contradiction(common, there)
    assert mine.explain(here)["contradicted_by"] == [common]
    assert memory.explain(common)["contradicted_by"] == []
    assert there not in str(mine.explain_deep(here))
    found = str(memory.explain_deep(common))
    assert here not in found
    assert there not in found
