"""0.2.7's names and methods over our own store."""

import copy
import pickle
from dataclasses import replace

import pytest

import recollectx
from recollectx import (
    AgentState,
    ConfidenceChangeEvent,
    ConfidencePropagator,
    EpisodicClaim,
    LogOdds,
    Memory,
    MemoryStore,
    PropagationConfig,
    SemanticClaim,
)
from recollectx.db import SessionLocal, create_tables, reset_engine
from recollectx.errors import InvalidClaim, NotFound, ScopeError
from recollectx.graph import BeliefEdge, BeliefGraph, TraversalNode
from recollectx.storage import belief_to_text

DAY = 86_400.0


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("RECOLLECTX_DB", raising=False)
    yield
    reset_engine()


@pytest.fixture
def store():
    create_tables(":memory:")
    return MemoryStore(SessionLocal(":memory:"), rule=PropagationConfig())


def semantic(id="tea", thing="tea", confidence=0.6, **more):
    return SemanticClaim(
        id=id, subject="Mara", predicate="drinks", object=thing, confidence=confidence, **more
    )


def episodic(id="pot", words="Mara bought a teapot", confidence=0.9, **more):
    return EpisodicClaim(id=id, summary=words, confidence=confidence, **more)


class TestClaims:
    def test_put_get_query_count(self, store):
        store.put(semantic(evidence=("said so",)))
        store.put(episodic())
        store.put(semantic("again", confidence=0.8))
        assert [claim.id for claim in store.query()] == ["tea", "pot", "again"]
        assert [claim.id for claim in store.query(type="semantic", min_confidence=0.7)] == ["again"]
        assert (store.count(), store.count("semantic"), store.count(type="episodic")) == (3, 2, 1)
        assert store.get("tea").evidence == ("said so",)
        assert store.get("nobody") is None
        assert belief_to_text(store.get("tea")) == "Mara drinks tea"

    def test_putting_again_replaces_and_counts_nothing_twice(self, store):
        store.put(semantic(evidence=("a",), support_count=2))
        store.put(semantic(evidence=("a",), support_count=2))
        assert store.get("tea").support_count == 2
        store.update(semantic(thing="oolong", confidence=0.3, evidence=("b",), importance=0.9))
        claim = store.get("tea")
        assert (claim.object, claim.confidence, claim.evidence, claim.importance) == (
            "oolong",
            0.3,
            ("b",),
            0.9,
        )
        assert claim.support_count == 1

    def test_a_claim_read_back_and_put_again_changes_nothing(self, store):
        store.put(semantic())
        store.put(episodic())
        store.put_edge(BeliefEdge("pot", "tea", "supports"))
        before = store.get("tea")
        store.update(before)
        store.update(replace(before, importance=0.9))
        after = store.get("tea")
        assert (after.confidence, after.prior, after.importance) == (before.confidence, 0.6, 0.9)

    def test_another_confidence_is_what_its_source_asserts_from_now_on(self, store):
        store.put(semantic())
        store.put(episodic())
        store.put_edge(BeliefEdge("pot", "tea", "supports"))
        store.update(replace(store.get("tea"), confidence=0.4))
        assert store.get("tea").prior == 0.4
        assert store.get("tea").confidence == pytest.approx(0.5)

    def test_another_source_adds_its_own_word(self, store):
        store.put(semantic(source="Ines", evidence=("a",)))
        store.put(semantic(source="Bo", evidence=("b",), confidence=0.5))
        assert store.get("tea").evidence == ("a", "b")
        assert store.get("tea").confidence == pytest.approx(0.7)

    def test_deleting_takes_out_of_use_and_putting_brings_back(self, store):
        store.put(semantic())
        store.put(episodic())
        store.put_edge(BeliefEdge("pot", "tea", "supports"))
        assert store.delete("pot") is True
        assert store.delete("pot") is False
        assert store.delete("nobody") is False
        assert store.get("pot") is None
        assert store.count() == 1
        assert store.get("tea").confidence == pytest.approx(0.6)
        assert store.get_all_edges() == []
        store.put(episodic())
        assert store.get("tea").confidence == pytest.approx(0.7)

    def test_an_id_keeps_its_type_and_scope(self, store):
        store.put(semantic())
        with pytest.raises(InvalidClaim, match="is semantic"):
            store.put(episodic("tea"))
        with pytest.raises(ScopeError):
            store.put(semantic(scope="Mara"))


class TestSemanticQuery:
    def test_filters_come_before_the_cut(self, store):
        for n in range(40):
            store.put(episodic(f"e{n}", f"tea time number {n}"))
        store.put(semantic(thing="a pot of tea that is nearly always green"))
        assert [claim.id for claim in store.semantic_query("tea", type="semantic", k=1)] == ["tea"]
        assert store.semantic_query("tea", type="semantic", min_confidence=0.7) == []

    def test_blank_questions_and_no_room_give_nothing(self, store):
        store.put(semantic())
        assert store.semantic_query("  ") == store.semantic_query("tea", k=0) == []

    def test_old_episodes_are_dropped_by_importance_and_do_not_starve_the_rest(self, store):
        now = store.clock()
        for n in range(30):
            store.put(episodic(f"old{n}", "tea", created_at=now - 31 * DAY, importance=0.0))
        store.put(episodic("kept", "a long and winding tea party", created_at=now - 31 * DAY, importance=0.5))
        store.put(semantic(created_at=now - 900 * DAY))
        found = store.semantic_query("tea", k=2, episodic_ttl_days=30)
        assert {claim.id for claim in found} == {"kept", "tea"}
        assert len(store.semantic_query("tea", k=2)) == 2

    def test_recency_bias_lets_old_claims_sink(self, store):
        now = store.clock()
        store.put(episodic("old", "tea at noon", created_at=now - 300 * DAY, importance=0.1))
        store.put(episodic("new", "tea at noon with several guests", created_at=now, importance=0.1))
        assert [claim.id for claim in store.semantic_query("tea")] == ["old", "new"]
        assert [claim.id for claim in store.semantic_query("tea", recency_bias=1.0)] == ["new", "old"]


class TestEdges:
    @pytest.fixture
    def joined(self, store):
        for claim in (semantic(), semantic("cup", "coffee"), episodic()):
            store.put(claim)
        store.put_edge(BeliefEdge("pot", "tea", "supports"))
        store.put_edge(BeliefEdge("cup", "tea", "contradicts"))
        return store

    def test_edges_are_found_by_any_part(self, joined):
        assert joined.get_edges(src_id="pot") == [BeliefEdge("pot", "tea", "supports")]
        assert joined.get_edges(dst_id="tea", relation="contradicts") == [
            BeliefEdge("cup", "tea", "contradicts")
        ]
        assert len(joined.get_all_edges()) == 2
        assert joined.get_edges(dst_id="nobody") == []

    def test_an_edge_is_stored_once(self, joined):
        joined.put_edge(BeliefEdge("pot", "tea", "supports"))
        joined.put_edge(BeliefEdge("tea", "cup", "contradicts"))
        assert len(joined.get_all_edges()) == 2
        assert joined.get("tea").confidence == pytest.approx(0.55)

    def test_putting_an_edge_leaves_the_strength_it_was_given_elsewhere(self, joined):
        memory = Memory(storage=joined)
        memory.relate("cup", "tea", "contradicts", strength=0.5)
        joined.put_edge(BeliefEdge("tea", "cup", "contradicts"))
        with joined.reader() as reader:
            assert [edge.strength for edge in reader.edges_in([1])] == [1.0, 0.5]

    def test_deleting_an_edge_gives_the_confidence_back(self, joined):
        assert joined.delete_edge("cup", "tea", "contradicts") is True
        assert joined.delete_edge("cup", "tea", "contradicts") is False
        assert joined.delete_edge("tea", "pot", "supports") is False
        assert joined.get("tea").confidence == pytest.approx(0.7)

    def test_unknown_ends_and_self_support_are_refused(self, joined):
        with pytest.raises(NotFound):
            joined.put_edge(BeliefEdge("pot", "nobody", "supports"))
        with pytest.raises(InvalidClaim):
            joined.put_edge(BeliefEdge("tea", "tea", "supports"))

    def test_similar_is_asked_for_not_stored(self, joined):
        with pytest.warns(DeprecationWarning, match="get_connections"):
            joined.put_edge(BeliefEdge("pot", "tea", "similar"))
        assert len(joined.get_all_edges()) == 2

    def test_connections_are_what_is_close(self, joined):
        joined.put(semantic("same", "tea"))
        assert [claim.id for claim in joined.get_connections("tea")] == ["same"]
        joined.max_connections = 0
        assert joined.get_connections("tea") == joined.get_connections("nobody") == []

    def test_history_is_derived_and_newest_first(self, joined):
        with pytest.warns(DeprecationWarning, match="writes nothing"):
            joined.put_confidence_event(ConfidenceChangeEvent("tea", 0.1, 0.2, "by hand", "manual"))
        told = joined.get_confidence_history("tea")
        assert [(event.change_type, event.caused_by_id) for event in told] == [
            ("contradiction", "cup"),
            ("support", "pot"),
        ]
        assert joined.get_confidence_history("cup")[0].reason == "contradicts added"
        assert joined.get_confidence_history("nobody") == []


class TestPropagator:
    def test_support_and_contradiction_move_once_and_say_so(self, store):
        for claim in (semantic(), semantic("cup", "coffee", 0.8), episodic()):
            store.put(claim)
        told = []
        propagator = ConfidencePropagator(store, on_event=told.append)
        assert propagator.on_support(episodic(), semantic()).confidence == pytest.approx(0.7)
        assert propagator.on_support(episodic(), semantic()).confidence == pytest.approx(0.7)
        cup, tea = propagator.on_contradiction(store.get("cup"), store.get("tea"))
        assert (cup.confidence, tea.confidence) == (pytest.approx(0.65), pytest.approx(0.55))
        assert [(event.claim_id, event.change_type) for event in told] == [
            ("tea", "support"),
            ("tea", "contradiction"),
            ("cup", "contradiction"),
        ]

    def test_a_config_is_the_rule_of_the_file(self, store):
        one_way = PropagationConfig(symmetric_contradiction=False, contradiction_decay=0.2)
        propagator = ConfidencePropagator(store, one_way)
        store.put(semantic())
        store.put(semantic("cup", "coffee"))
        cup, tea = propagator.on_contradiction(semantic("cup", "coffee"), semantic())
        assert (cup.confidence, tea.confidence) == (0.6, pytest.approx(0.4))
        assert propagator.config == store.rule() == one_way

    def test_claims_that_are_not_stored_are_refused(self, store):
        store.put(semantic())
        with pytest.raises(NotFound):
            ConfidencePropagator(store).on_support(episodic(), semantic())

    def test_it_is_found_where_it_was(self):
        from recollectx import propagation

        assert propagation.ConfidencePropagator is ConfidencePropagator is recollectx.ConfidencePropagator
        assert propagation.ConfidenceChangeEvent is ConfidenceChangeEvent
        with pytest.raises(AttributeError):
            _ = propagation.Nothing

    def test_the_documented_number_holds(self, store):
        memory = Memory(storage=store, propagation_config=PropagationConfig(support_boost=0.10))
        memory.store(semantic(id="fact", confidence=0.60))
        memory.store(episodic(id="seen"))
        memory.add_support(src_id="seen", dst_id="fact")
        memory.add_support(src_id="seen", dst_id="fact")
        assert memory.storage.get("fact").confidence == pytest.approx(0.70, abs=1e-9)

    def test_a_memory_without_a_config_leaves_the_rule_of_the_file(self, store):
        Memory(storage=store)
        assert store.rule() == PropagationConfig()
        Memory(storage=store, propagation_config=LogOdds())
        assert store.rule() == LogOdds()


class TestGraphs:
    EDGES = (
        BeliefEdge("left", "top", "supports"),
        BeliefEdge("right", "top", "derives"),
        BeliefEdge("base", "left", "supports"),
        BeliefEdge("base", "right", "supports"),
        BeliefEdge("foe", "top", "contradicts"),
    )

    @pytest.fixture(params=["alone", "live"])
    def graph(self, request, store):
        graph = BeliefGraph()
        if request.param == "live":
            for name in ("top", "left", "right", "base", "foe"):
                store.put(episodic(name, f"{name} was seen"))
            graph = Memory(storage=store).graph
        for edge in self.EDGES:
            graph.add(edge)
        return graph

    def test_what_bears_on_a_claim(self, graph):
        assert graph.supports("top") == ["left"]
        assert graph.derives("top") == ["right"]
        assert graph.contradictions("top") == ["foe"]
        assert graph.similar("base") == graph.supports("nobody") == []
        assert graph.incoming_edges("left") == [self.EDGES[2]]
        assert graph.outgoing_edges("base") == [self.EDGES[2], self.EDGES[3]]
        assert graph.all_edges() == list(self.EDGES)

    def test_an_edge_added_again_is_there_once(self, graph):
        graph.add(self.EDGES[0])
        assert len(graph.all_edges()) == 5

    def test_a_walk_meets_each_claim_once_and_a_diamond_is_no_circle(self, graph):
        nodes, circle = graph.traverse_recursive("top")
        assert nodes[0] == TraversalNode("top", 0, None, None)
        assert {(node.belief_id, node.depth) for node in nodes} == {
            ("top", 0),
            ("left", 1),
            ("right", 1),
            ("foe", 1),
            ("base", 2),
        }
        assert circle is False
        assert len(graph.traverse_recursive("top", max_depth=1)[0]) == 4
        assert graph.traverse_recursive("top", max_depth=0) == ([TraversalNode("top", 0, None, None)], False)

    def test_a_circle_is_one(self, graph):
        graph.add(BeliefEdge("top", "base", "supports"))
        nodes, circle = graph.traverse_recursive("top")
        assert circle is True
        assert len(nodes) == 5

    def test_similar_claims_are_no_circle(self):
        graph = BeliefGraph()
        graph.add(BeliefEdge("a", "b", "similar"))
        graph.add(BeliefEdge("b", "a", "similar"))
        assert graph.similar("a") == ["b"]
        assert graph.traverse_recursive("a") == (
            [TraversalNode("a", 0, None, None), TraversalNode("b", 1, "similar", "a")],
            False,
        )

    def test_two_memories_see_each_others_edges_and_both_ends_of_a_contradiction(self, store):
        one, other = Memory(storage=store), Memory(storage=store)
        store.put(semantic())
        store.put(semantic("cup", "coffee"))
        one.add_contradiction("tea", "cup")
        assert other.graph.contradictions("tea") == ["cup"]
        assert other.graph.contradictions("cup") == ["tea"]
        assert other.graph.traverse_recursive("tea") == (
            [TraversalNode("tea", 0, None, None), TraversalNode("cup", 1, "contradicts", "tea")],
            False,
        )

    def test_a_graph_keeps_to_its_scope(self, store):
        store.put(semantic(scope="Mara"))
        store.put(semantic("cup", "coffee", scope="Mara"))
        mine, other = Memory(storage=store, scope="Mara"), Memory(storage=store)
        mine.graph.add(BeliefEdge("cup", "tea", "supports"))
        assert len(mine.graph.all_edges()) == 1
        assert other.graph.all_edges() == other.graph.supports("tea") == []
        with pytest.raises(NotFound):
            other.graph.add(BeliefEdge("tea", "cup", "supports"))


class TestAgentState:
    def test_free_attributes(self):
        state = AgentState()
        state.goal, state.steps = "rest", [1]
        state.update({"mood": "calm"})
        assert (state.goal, state.mood) == ("rest", "calm")
        copied = state.snapshot()
        copied["more"] = 1
        assert state.snapshot() == {"goal": "rest", "steps": [1], "mood": "calm"}
        del state.goal
        with pytest.raises(AttributeError, match="goal"):
            _ = state.goal
        with pytest.raises(AttributeError, match="goal"):
            del state.goal
        state.clear()
        assert state.snapshot() == {}

    def test_its_own_names_cannot_be_taken(self):
        with pytest.raises(AttributeError, match="snapshot"):
            AgentState().snapshot = 1
        with pytest.raises(AttributeError, match="clear"):
            AgentState().update({"clear": 1})

    def test_update_takes_pairs_too(self):
        state = AgentState()
        state.update([("goal", "rest")])
        assert state.goal == "rest"

    def test_it_can_be_copied_and_pickled(self):
        state = AgentState()
        state.goal = "rest"
        for other in (copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
            assert other.snapshot() == {"goal": "rest"}
        assert "rest" in repr(state)
