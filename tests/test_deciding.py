import pytest
from conftest import DAY, NOW, START, event, fact, home

from recollectx import Action, Memory, RuleDecider, Status, WriteDecision
from recollectx.errors import InvalidClaim, InvalidSetting, NotFound


def disputes(memory: Memory) -> set[frozenset[str]]:
    """The pairs of current claims that contradict each other, by object."""
    names = {claim.id: claim.object for claim in memory.retrieve(type="semantic")}
    hits = memory.storage.recall(memory._query(k=None, type="semantic"))
    return {frozenset((names[hit.claim.id], names[other])) for hit in hits for other in hit.disputed_by}


def now_true(memory: Memory) -> list[str]:
    return sorted(claim.object for claim in memory.retrieve(type="semantic"))


@pytest.mark.parametrize(
    "again",
    [
        fact("A green leaf"),
        fact("the green leaf."),
        fact("GREEN LEAF"),
        fact("green  leaf!"),
        fact("green leaf", subject="The Tea", predicate="Tastes"),
    ],
    ids=lambda claim: claim.text,
)
def test_the_same_in_other_words_reinforces(memory, again):
    first = memory.store(fact("green leaf", evidence="one")).claim_id
    result = memory.store(again)
    assert (result.action, result.claim_id) == (Action.UPDATE, first)
    assert memory.count() == 1
    assert memory.get(first).support_count == 2


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("of 5 herbs", "of 6 herbs"),
        ("1.5 grams", "15 grams"),
        ("of -5 degrees", "of 5 degrees"),
        ("of mint", "not of mint"),
        ("good with milk", "good without milk"),
        ("like Anna's", "like Anne's"),
        ("good", "good?"),
        ("like C", "like C++"),
    ],
)
def test_a_number_a_name_or_a_negation_apart_is_never_the_same(memory, one, two):
    results = memory.store_many([fact(one), fact(two)])
    assert [result.action for result in results] == [Action.ADD, Action.ADD]
    assert memory.count() == 2


def test_a_merged_id_stays_a_handle(memory):
    kept = memory.store(fact("sweet", "ana"))
    merged = fact("Sweet!", "bob")
    assert memory.store(merged).claim_id == kept.claim_id
    other = memory.store(fact("bitter")).claim_id
    assert memory.get(merged.id).id == kept.claim_id
    assert memory.explain(merged.id)["belief"].id == kept.claim_id
    assert memory.explain_deep(merged.id).root.belief.id == kept.claim_id
    assert memory.add_support(merged.id, other).claim_id == other
    assert memory.explain(other)["supported_by"] == [kept.claim_id]
    assert memory.explain_confidence_history(merged.id)[0].claim_id == kept.claim_id
    assert memory.update(merged.id, importance=0.9).claim_id == kept.claim_id
    assert memory.forget(merged.id).claim_id == kept.claim_id
    assert memory.get(kept.claim_id).status == Status.RETIRED


def test_a_merge_unites_what_both_knew(memory):
    first = memory.store(
        fact("sweet", "ana", evidence="one", entities="tea", metadata={"a": 1, "b": 1}, importance=0.2)
    ).claim_id
    memory.store(
        fact(
            "sweet",
            "ana",
            evidence=("one", "two"),
            entities="leaf",
            metadata={"b": 2},
            importance=0.6,
            confidence=0.9,
        )
    )
    memory.store(fact("sweet", "ana", evidence="three", category="preferences", confidence=0.1))
    claim = memory.get(first)
    assert (claim.evidence, claim.entities) == (("one", "two", "three"), ("tea", "leaf"))
    assert (dict(claim.metadata), claim.importance) == ({"a": 1, "b": 2}, 0.6)
    assert (claim.confidence, claim.prior, claim.support_count, claim.category) == (
        0.9,
        0.9,
        3,
        "preferences",
    )


def test_another_source_supports_and_the_same_one_does_not(memory):
    first = memory.store(fact("sweet", "ana", confidence=0.6)).claim_id
    for _ in range(5):
        memory.store(fact("sweet", "ana", confidence=0.6))
    assert memory.get(first).confidence == pytest.approx(0.6, abs=1e-12)
    memory.store(fact("sweet", "bob", confidence=0.6))
    raised = memory.get(first).confidence
    assert raised > 0.6
    memory.store(fact("sweet", "bob", confidence=0.6))
    assert memory.get(first).confidence == pytest.approx(raised, abs=1e-12)
    assert {said.source for said in memory.explain(first)["assertions"]} == {"ana", "bob"}


def test_episodes_merge_only_at_the_same_place_and_time(memory):
    results = memory.store_many(
        [
            event("we had tea"),
            event("we had tea", created_at=START + DAY),
            event("we had tea", session="s", position=1),
            event("we had tea", session="s", position=2),
            event("we had tea"),
        ]
    )
    assert [result.action for result in results] == [Action.ADD] * 4 + [Action.NONE]
    assert results[4].claim_id == results[0].claim_id
    assert memory.count() == 4


def test_a_fact_and_an_episode_never_merge(memory):
    results = memory.store_many([event("tea tastes sweet"), fact("sweet")])
    assert [result.action for result in results] == [Action.ADD, Action.ADD]


def test_the_same_id_with_the_same_words_is_reinforcement(memory):
    claim = fact("sweet", "ana")
    first = memory.store(claim)
    again = memory.store(claim)
    assert (again.action, again.claim_id) == (Action.UPDATE, first.claim_id)
    with pytest.raises(InvalidClaim, match="taken"):
        memory.store(fact("bitter", id=claim.id))
    merged = fact("Sweet", "bob")
    memory.store(merged)
    assert memory.store(merged).claim_id == claim.id
    with pytest.raises(InvalidClaim, match="taken"):
        memory.store(fact("bitter", id=merged.id))


def test_an_id_of_another_scope_is_refused(memory):
    claim = fact("sweet")
    memory.store(claim)
    other = Memory(memory.storage, scope="other")
    with pytest.raises(InvalidClaim, match="taken"):
        other.store(claim)
    assert other.count() == 0


# -- values of single-valued predicates ------------------------------------------------------------------------


def test_a_newer_value_from_the_same_source_takes_the_place(memory):
    old = memory.store(home("Rome", "ana")).claim_id
    result = memory.store(home("Oslo", "ana", created_at=START + DAY))
    assert result.action == Action.DELETE
    assert now_true(memory) == ["Oslo"]
    assert (memory.get(old).status, memory.get(old).valid_to) == (Status.SUPERSEDED, START + DAY)
    assert memory.explain(old)["superseded_by"] == [result.claim_id]
    assert memory.explain(result.claim_id)["supersedes"] == [old]
    assert memory.get(result.claim_id).confidence == pytest.approx(0.8, abs=1e-12)
    assert [claim.object for claim in memory.retrieve(valid_at=START + 1)] == ["Rome"]


def test_sources_that_nobody_named_are_one_source(memory):
    memory.store(home("Rome"))
    assert memory.store(home("Oslo")).action == Action.DELETE


def test_a_more_trusted_source_takes_the_place_and_an_equal_one_contradicts(memory):
    memory.trust("bob", 0.4)
    memory.store(home("Rome", "bob"))
    assert memory.store(home("Oslo", "carl")).action == Action.DELETE
    result = memory.store(home("Bern", "dora"))
    assert (result.action, now_true(memory)) == (Action.ADD, ["Bern", "Oslo"])
    assert disputes(memory) == {frozenset(("Bern", "Oslo"))}
    assert memory.store(home("Rome", "bob", created_at=START + DAY)).action == Action.ADD
    assert len(disputes(memory)) == 3


def test_an_older_value_takes_its_place_before_the_one_known(memory):
    oslo = memory.store(home("Oslo", "ana", valid_from=START)).claim_id
    result = memory.store(home("Rome", "ana", valid_from=START - DAY))
    assert (result.action, disputes(memory), now_true(memory)) == (Action.ADD, set(), ["Oslo"])
    late = memory.get(result.claim_id)
    assert (late.status, late.valid_to) == (Status.SUPERSEDED, START)
    assert memory.explain(late.id)["superseded_by"] == [oslo]
    assert [claim.object for claim in memory.retrieve(valid_at=START - DAY / 2)] == ["Rome"]
    other = memory.store(home("Bern", "bob", valid_from=START - DAY)).claim_id
    assert disputes(memory) == {frozenset(("Oslo", "Bern"))}
    assert memory.get(other).status == Status.ACTIVE


def test_a_value_told_late_parts_the_time_of_the_one_before(memory):
    for place, day in (("Rome", 0), ("Oslo", 10), ("Bern", 4), ("Rome", 7), ("Oslo", 8), ("Rome", 2)):
        memory.store(home(place, "ana", valid_from=START + day * DAY))
    held = {
        day: [claim.object for claim in memory.retrieve(valid_at=START + (day + 0.5) * DAY)]
        for day in (0, 2, 4, 7, 8, 10)
    }
    assert held == {0: ["Rome"], 2: ["Rome"], 4: ["Bern"], 7: ["Rome"], 8: ["Oslo"], 10: ["Oslo"]}
    assert now_true(memory) == ["Oslo"]


def test_back_and_forth_and_back_is_remembered(memory):
    ids = [
        memory.store(home(place, "ana", created_at=START + day * DAY)).claim_id
        for day, place in enumerate(["Rome", "Oslo", "Rome"])
    ]
    assert len(set(ids)) == 3
    assert now_true(memory) == ["Rome"]
    assert [memory.get(each).status for each in ids] == ["superseded", "superseded", "active"]
    again = memory.store(home("Rome", "ana", created_at=START + 3 * DAY))
    assert (again.action, again.claim_id) == (Action.UPDATE, ids[2])


@pytest.mark.parametrize(
    "predicate", ["favorite_colour", "Favourite colour", "current job", "preferred seat", "works_as", "age"]
)
def test_documented_predicates_have_one_value(memory, predicate):
    memory.store(fact("blue", "ana", predicate=predicate))
    assert memory.store(fact("green", "ana", predicate=predicate)).action == Action.DELETE


def test_users_name_further_single_valued_predicates(path):
    with Memory.open(path, decider=RuleDecider(["Drinks_from"])) as memory:
        memory.store(fact("a cup", "ana", predicate="drinks from"))
        assert memory.store(fact("a mug", "ana", predicate="drinks from")).action == Action.DELETE
        memory.store(home("Rome", "ana"))
        assert memory.store(home("Oslo", "ana")).action == Action.DELETE
        memory.store(fact("sweet", "ana"))
        assert memory.store(fact("bitter", "ana")).action == Action.ADD
    with pytest.raises(InvalidSetting):
        RuleDecider("drinks from")


def test_a_value_that_begins_later_leaves_the_old_one_until_then(path, clock):
    clock.step = 0
    with Memory.open(path, clock=clock) as memory:
        memory.store(home("Rome", "ana"))
        memory.store(home("Oslo", "ana", valid_from=NOW + 10 * DAY))
        assert [claim.object for claim in memory.retrieve(valid_at=NOW + DAY)] == ["Rome"]
        assert "Rome" in now_true(memory)
        clock.now = NOW + 11 * DAY
        assert now_true(memory) == ["Oslo"]


def test_superseding_never_makes_the_old_value_hold_longer(memory):
    old = memory.store(home("Rome", "ana", valid_from=START, valid_to=START + DAY)).claim_id
    memory.store(home("Oslo", "ana", valid_from=START + 9 * DAY))
    assert memory.get(old).valid_to == START + DAY
    assert memory.retrieve(valid_at=START + 5 * DAY) == []


def test_a_source_that_comes_round_to_anothers_value_gives_up_its_own(memory):
    memory.store(home("Rome", "ana"))
    memory.store(home("Oslo", "bob"))
    memory.store(home("Oslo", "ana", created_at=START + DAY))
    assert now_true(memory) == ["Oslo"]
    assert disputes(memory) == set()


def test_a_value_said_again_after_it_was_withdrawn_meets_its_rivals(memory):
    memory.store(home("Rome", "ana"))
    memory.retract("ana")
    memory.store(home("Oslo", "bob"))
    memory.store(home("Rome", "ana"))
    assert disputes(memory) == {frozenset(("Rome", "Oslo"))}


# -- saying again what is out of use ---------------------------------------------------------------------------


def test_what_was_withdrawn_comes_back_under_its_own_id(memory):
    claim = fact("sweet", "ana")
    first = memory.store(claim).claim_id
    assert memory.retract("ana") == [first]
    assert memory.count() == 0
    assert memory.store(fact("sweet", "bob")).claim_id == first
    assert [each.id for each in memory.retrieve()] == [first]


def test_what_was_forgotten_is_a_new_claim_and_its_id_stays_taken(memory):
    claim = fact("sweet", "ana")
    memory.store(claim)
    memory.forget(claim.id)
    with pytest.raises(InvalidClaim, match="out of use"):
        memory.store(claim)
    assert memory.store(fact("sweet", "ana")).claim_id != claim.id
    assert memory.count() == 1


def test_a_forgotten_claim_does_not_come_back_beside_the_one_that_replaced_it(memory):
    forgotten = memory.store(fact("sweet", "ana")).claim_id
    memory.forget(forgotten)
    kept = memory.store(fact("sweet", "bob")).claim_id
    memory.retract("ana", forgotten)
    assert memory.store(fact("sweet", "carl")).claim_id == kept
    assert [claim.id for claim in memory.retrieve()] == [kept]


def test_an_unsupported_claim_that_somebody_asserts_stands_again_as_itself(memory):
    premise = memory.store(fact("sweet", "ana")).claim_id
    conclusion = memory.store(fact("good", basis="derived")).claim_id
    memory.relate(premise, conclusion, "derives")
    memory.retract("ana")
    assert memory.get(conclusion).status == Status.UNSUPPORTED
    assert memory.store(fact("good", "bob")).claim_id == conclusion
    memory.store(fact("sweet", "ana"))
    assert now_true(memory) == ["good", "sweet"]


def test_a_conversation_can_be_told_again_after_its_source_was_retracted(memory):
    told = [{"speaker": "Ana", "text": "I live in Lisbon.", "time": START, "session": "s", "position": 0}]
    first = memory.remember(told)
    known = {claim.id for claim in memory.retrieve()}
    memory.retract("Ana")
    assert memory.count() == 0
    assert [result.claim_id for result in memory.remember(told)] == [result.claim_id for result in first]
    assert {claim.id for claim in memory.retrieve()} == known


def test_what_has_expired_and_is_said_again_is_found_again(memory):
    memory.store(fact("sweet", "ana", valid_to=START + DAY))
    assert memory.count() == 0
    again = memory.store(fact("sweet", "ana", created_at=START + 9 * DAY))
    assert [claim.id for claim in memory.retrieve()] == [again.claim_id]
    assert [hit.claim.id for hit in memory.recall("sweet tea")] == [again.claim_id]


def test_what_has_expired_and_was_withdrawn_is_found_when_said_again(memory):
    memory.store(fact("sweet", "ana", valid_to=START + DAY))
    memory.retract("ana")
    again = memory.store(fact("sweet", "ana", created_at=START + 9 * DAY))
    assert [claim.id for claim in memory.retrieve()] == [again.claim_id]
    assert [claim.id for claim in memory.retrieve(valid_at=START + 5 * DAY)] == []


def test_a_value_that_has_expired_is_no_rival(memory):
    memory.store(home("Rome", "ana", valid_to=START + DAY))
    result = memory.store(home("Oslo", "bob", created_at=START + 9 * DAY))
    assert (result.action, memory.get(result.claim_id).confidence) == (Action.ADD, 0.8)


# -- deciders of others ----------------------------------------------------------------------------------------


def test_a_decider_may_only_choose_among_what_it_was_shown(path):
    def guess(claim, candidates, trust):
        return WriteDecision(Action.UPDATE, "a guess", target="some id from nowhere")

    with Memory.open(path, decider=guess) as memory:
        with pytest.raises(KeyError):
            memory.store(fact("sweet"))
        assert memory.count() == 0


def test_a_decider_that_answers_something_else_is_told_what_to_return(path):
    with Memory.open(path, decider=lambda claim, candidates, trust: None) as memory:
        with pytest.raises(InvalidSetting, match="WriteDecision"):
            memory.store(fact("sweet"))
        assert memory.count() == 0


def test_a_relation_to_an_unknown_claim_writes_nothing(path):
    def guess(claim, candidates, trust):
        return WriteDecision(Action.ADD, "a guess", relations=(("supports", "nowhere"),))

    with Memory.open(path, decider=guess) as memory:
        with pytest.raises((KeyError, NotFound)):
            memory.store(fact("sweet"))
        assert memory.count() == 0


def test_another_source_of_the_very_same_episode_stands_behind_it_too(memory):
    first = memory.store(event("the server went down", "probe 1")).claim_id
    second = memory.store(event("the server went down", "probe 2"))
    assert (second.action, second.claim_id) == (Action.UPDATE, first)
    assert [each.source for each in memory.explain(first)["assertions"]] == ["probe 1", "probe 2"]
    assert memory.store(event("the server went down", "probe 2")).action == Action.NONE


def test_what_is_known_to_have_held_then_disputes_nothing(memory):
    for place, month in (("Lisbon", 1), ("Porto", 5)):
        memory.store(home(place, "ana", created_at=START + month * 30 * DAY))
    late = memory.store(home("Lisbon", "ana", created_at=START + 90 * DAY))
    assert late.action == Action.UPDATE
    assert disputes(memory) == set()
    assert now_true(memory) == ["Porto"]


def test_a_store_looks_at_no_more_claims_when_many_share_a_subject(memory):
    shown = []

    class Watching(RuleDecider):
        def __call__(self, claim, candidates, trust):
            shown.append(len(candidates))
            return super().__call__(claim, candidates, trust)

    watched = Memory(memory.storage, decider=Watching())
    watched.store_many([fact(f"of {number}", "ana") for number in range(50)])
    for number in range(30):
        watched.store(home(f"place {number}", "ana", created_at=START + number * DAY))
    assert max(shown) <= 1


def test_what_is_said_to_begin_later_is_not_recalled_before(memory, clock):
    memory.store(fact("sweet", "ana", valid_from=clock.now + 9 * DAY))
    assert memory.retrieve() == list(memory.history.snapshot(clock.now)) == []
    clock.now += 10 * DAY
    assert memory.count() == 1
