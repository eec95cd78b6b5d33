"""What a model must not be able to do: lose a claim, end one it was not asked about, or raise to the user.

The memory knows three things of the user. The new claim adds detail to the first; the second is shown beside it and has
nothing to do with it; the third is not shown. Whatever the reply, all three stay as they are and the new one is kept.
"""

import json
import math

import pytest
from conftest import START, Clock
from deciding_models import decision, edge, reply, scripted, state, texts, user
from hypothesis import event, given, settings
from hypothesis import strategies as st

from recollectx import Action, EpisodicClaim, Memory, RuleDecider
from recollectx.errors import ModelRefused
from recollectx.llm import LLMResponse
from recollectx.testing import ScriptedProvider

COFFEE, JAZZ, NUTS = "user likes coffee", "user likes jazz", "user is allergic to peanuts"
KNOWN = {COFFEE: 1, JAZZ: 2}
NEW = "user likes coffee with oat milk"
UPDATE = "coffee with oat milk"

NO_DECISION = {
    "prose": "I would add this, it sounds nice!",
    "nothing": "",
    "only thoughts": "<think>Perhaps UPDATE 1?</think>",
    "a thought without end": "<think>Perhaps UPDATE 1",
    "a number": "42",
    "null": "null",
    "true": "true",
    "cut off in the first decision": '{"decisions": [{"reasoning": "it adds det',
    "decisions is text": {"decisions": "UPDATE 1"},
    "decisions is a number": {"decisions": 1},
    "decisions is null": {"decisions": None},
    "another key": {"actions": [decision("UPDATE", 1, UPDATE)]},
    "an error of the service": {"error": {"message": "overloaded"}},
    "deep nesting": "[" * 50_000,
    "single quotes": "{'decisions': [{'action': 'NONE', 'candidate': 1}]}",
    "a refusal": LLMResponse("", refusal="I cannot help with personal data."),
    "the client refuses": ModelRefused("declined"),
    "the line is dead": ConnectionError("no route"),
    "a time-out": TimeoutError("60 s"),
    "a fault without words": RuntimeError(),
    "cut off at the limit": LLMResponse("Let me think about", truncated=True),
}
NOT_CARRIED_OUT = {
    "a list of words": ["UPDATE", "coffee"],
    "no decisions": reply(),
    "a decision on another claim": reply(decision("NONE", 1, new=2)),
    "a decision on claim true": reply(decision("NONE", 1, new=True)),
    "a decision on claim '1'": reply(decision("NONE", 1, new="1")),
    "decisions that are no objects": reply("UPDATE", 1, None),
    "two different decisions": reply(decision("NONE", 1), decision("DELETE", 1)),
    "an unknown action": reply(decision("MERGE", 1, UPDATE)),
    "an action in another language": reply(decision("LÖSCHEN", 1)),
    "no action": reply({"new": 1, "candidate": 1}),
    "action null": reply(decision(None, 1)),
    "action a list": reply(decision(["UPDATE"], 1, UPDATE)),
    "two actions in one": reply(decision("UPDATE|DELETE", 1, UPDATE)),
    "a number out of range": reply(decision("DELETE", 7)),
    "number 0": reply(decision("NONE", 0)),
    "a negative number": reply(decision("DELETE", -1)),
    "no target": reply(decision("UPDATE", None, UPDATE)),
    "NONE without a target": reply(decision("NONE")),
    "several targets": reply(decision("DELETE", [1, 2])),
    "a target that is an id": reply(decision("DELETE", "0f6b1a52-0000-4000-8000-000000000000")),
    "a target in words": reply(decision("DELETE", "the allergy")),
    "a number as text": reply(decision("DELETE", "1")),
    "a target that is true": reply(decision("DELETE", True)),
    "a number of 401 digits": reply(decision("DELETE", 10**400)),
    "a fraction": reply(decision("DELETE", 1.5)),
    "infinity": '{"decisions": [{"new": 1, "action": "DELETE", "candidate": 1e999}]}',
    "a target that is an object": reply(decision("DELETE", {"number": 1})),
    "ending what has nothing to do with it": reply(decision("DELETE", 2)),
    "joining what has nothing to do with it": reply(decision("NONE", 2)),
    "updating without saying how": reply(decision("UPDATE", 1)),
    "updating with nothing": reply(decision("UPDATE", 1, "  ")),
    "updating with a list": reply(decision("UPDATE", 1, [UPDATE])),
    "updating what has nothing to do with it": reply(decision("UPDATE", 2, UPDATE)),
    "a merge that drops the old": reply(decision("UPDATE", 1, "oat milk")),
    "a merge that drops the new": reply(decision("UPDATE", 1, "coffee")),
    "a merge that makes something up": reply(decision("UPDATE", 1, "coffee with oat milk every Monday")),
    "a merge that denies": reply(decision("UPDATE", 1, "not coffee with oat milk")),
    "a merge in another language": reply(decision("UPDATE", 1, "Kaffee mit Hafermilch")),
    "a merge with a NUL": reply(decision("UPDATE", 1, "coffee with oat milk\0")),
    "a merge with half a character": '{"decisions": [{"new": 1, "action": "UPDATE", "candidate": 1, '
    '"merged_content": "coffee with oat milk \\ud83d"}]}',
    "a merge of a megabyte": reply(decision("UPDATE", 1, "coffee with oat milk " * 50_000)),
    "NONE where the new says more": reply(decision("NONE", 1)),
}
LEFT_OUT = {
    "relationships is text": "supports 1",
    "relationships is an object": {"supports": 1},
    "a relationship is text": ["supports"],
    "an unknown relation": [edge("similar", 1)],
    "no relation": [{"candidate": 1}],
    "relation null": [edge(None, 1)],
    "a claim that was not shown": [edge("contradicts", 9)],
    "a claim by its id": [edge("contradicts", "x")],
    "contradicting something else": [edge("contradicts", 2)],
    "two relations with one claim": [edge("supports", 1), edge("contradicts", 1)],
}


@pytest.fixture
def memory(path):
    memory = scripted(path, [])
    memory.decider, asking = RuleDecider(), memory.decider
    memory.store_many([user("coffee"), user("jazz"), user("peanuts", "is allergic to")])
    memory.decider = asking
    yield memory
    memory.close()


def said(memory: Memory, said: object) -> None:
    """Let the model say this whenever it is asked, its answers about 1 and 2 meaning coffee and jazz."""

    def answer(prompt: str) -> object:
        shown = (
            [each["claim"] for each in json.loads(prompt.splitlines()[2])["known"]]
            if "<DATA>" in prompt
            else []
        )
        assert shown == list(KNOWN)
        return said

    memory.decider.llm = ScriptedProvider(answer)


def kept(memory: Memory) -> dict[str, float]:
    """Confidence by text of what is in use."""
    return {claim.text: claim.confidence for claim in memory.retrieve()}


def store_despite(memory: Memory, bad: object) -> str:
    """Store the new claim; everything known must be as it was. The reason."""
    said(memory, bad)
    before, whole = kept(memory), state(memory)
    result = memory.store(user(UPDATE, evidence="e2"))
    assert kept(memory) == {**before, NEW: pytest.approx(0.8)}
    assert (result.action, memory.get(result.claim_id).evidence) == (Action.ADD, ("e2",))
    assert result.calls == len(memory.decider.llm.asked)
    assert memory.disputes() == []
    memory.undo(result.tx)
    assert state(memory) == whole
    return result.reason


@pytest.mark.parametrize("name", NO_DECISION)
def test_no_decision(memory, name):
    reason = store_despite(memory, NO_DECISION[name])
    assert reason.startswith("new; decided by rule, the model gave no decision: "), name


@pytest.mark.parametrize("name", NOT_CARRIED_OUT)
def test_a_decision_that_is_not_carried_out(memory, name):
    reason = store_despite(memory, NOT_CARRIED_OUT[name])
    assert reason.startswith("new; decided by rule, the model"), name
    assert len(reason) < 700


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_relationship_that_is_left_out(memory, name):
    reason = store_despite(memory, reply(decision("ADD", relationships=LEFT_OUT[name])))
    assert reason.startswith("so it seems; left out: "), name


@pytest.mark.parametrize("action", ["update", " Update ", "UPDATE\n"])
def test_case_and_blanks_do_not_matter(memory, action):
    said(memory, reply(decision(action, 1, UPDATE)))
    assert memory.store(user(UPDATE)).action == Action.UPDATE


def test_a_reply_in_0_2_7s_shape_adds(memory):
    """Its replies name no claim by number; one that only adds is understood."""
    said(memory, {"decisions": [{"new_memory": "x", "action": "ADD", "reason": "new"}], "relationships": []})
    result = memory.store(user(UPDATE))
    assert (result.action, result.reason) == (Action.ADD, "the model says ADD")


def test_an_event_is_not_joined_to_one_of_another_day(path):
    memory = scripted(path, [reply(decision("NONE", 1)), reply(decision("NONE", 1))])
    memory.store(EpisodicClaim(summary="Went for a run in the rain", confidence=0.9, created_at=START))
    later = EpisodicClaim(summary="Went for a run", confidence=0.9, created_at=START + 3 * 86_400)
    assert "happened at another time" in memory.store(later).reason
    assert len(memory.retrieve()) == 2


def test_denial_is_never_joined(path):
    memory = scripted(path, [reply(decision("NONE", 1))])
    memory.store(user("not married to anybody", "is"))
    assert "does not say all of it" in memory.store(user("married to anybody", "is")).reason
    assert len(memory.retrieve()) == 2


def test_who_did_it_to_whom_is_kept(path):
    memory = scripted(path, [reply(decision("NONE", 1))])
    memory.store(user("that Tom told Ana", "knows"))
    assert memory.store(user("that Ana told Tom", "knows")).action == Action.ADD
    assert len(texts(memory)) == 2


odd_numbers = st.sampled_from([None, True, "1", 1.0, 1.5, [1], math.inf, 10**30, -1, 0])
numbers = st.one_of(*4 * [st.integers(1, 3)], st.integers(1, 9), odd_numbers)
liking = [
    "coffee with oat milk",
    "coffee with warm milk",
    "black coffee",
    "old jazz",
    "old black coffee",
    "jazz",
]
merged = st.sampled_from(
    [*liking, "coffee with oat milk and jazz", "old black coffee with oat milk", "black jazz"]
)
odd_contents = st.sampled_from([None, "", 5, "\ud83d", "coffee\0", "coffee " * 3000])
contents = st.one_of(st.just("<new>"), st.just("<new>"), merged, odd_contents)
"""<new> stands for the words of the new claim."""
actions = st.sampled_from(["ADD", *3 * ["UPDATE", "DELETE", "NONE"], "delete", "MERGE", None, 3])
relations = st.sampled_from(["supports", "contradicts", "derives", "similar", None, "supersedes"])
edges = st.builds(edge, relations, numbers)
decisions = st.builds(
    decision,
    actions,
    numbers,
    contents,
    relationships=st.one_of(st.lists(edges, max_size=3), st.none(), st.text(max_size=5)),
    reasoning=st.one_of(st.text(max_size=30), st.none(), st.integers()),
)
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["decisions", "action", "candidate", "new", "x"]), inner, max_size=3),
    ),
    max_leaves=5,
)
orders = st.sampled_from([*4 * [(1, 2, 3)], (1, 1, 2), (3, 1), (None, "1"), (2, 3, 4)])
well_formed = st.tuples(st.lists(decisions, min_size=3, max_size=3), orders).map(
    lambda both: {"decisions": [{**item, "new": new} for item, new in zip(*both, strict=False)]}
)
ill_formed = st.one_of(
    st.lists(anything, max_size=2).map(lambda items: {"decisions": items}), anything, st.text(max_size=60)
)
replies = st.integers(0, 4).flatmap(lambda dice: ill_formed if dice == 0 else well_formed)


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    memory = scripted(tmp_path_factory.mktemp("lasting") / "memory.db", [], Clock())
    memory.decider, asking = RuleDecider(), memory.decider
    memory.store_many(
        [user("coffee", evidence="e1"), user("jazz"), user("coffee with milk"), user("nuts", "avoids")]
    )
    memory.decider = asking
    yield memory
    memory.close()


@settings(max_examples=150, deadline=None)
@given(
    replies,
    st.one_of(
        *2 * [st.lists(st.sampled_from(liking), min_size=1, max_size=1)],
        st.lists(st.sampled_from(liking), max_size=3, min_size=2),
    ),
)
def test_whatever_the_reply(lasting, answer, liked):
    """Every old claim is still there or named in the result, each new one is stored or joined, undo takes it all back."""
    said = json.dumps(answer) if isinstance(answer, dict | list) else str(answer)
    lasting.decider.llm = ScriptedProvider(lambda prompt: said.replace("<new>", liked[0]))
    before, whole = {claim.id for claim in lasting.retrieve()}, state(lasting)
    new = [user(each, evidence=f"e{at}") for at, each in enumerate(liked)]
    results = lasting.store_many(new)
    now = {claim.id for claim in lasting.retrieve()}
    for each in results:
        event(f"{each.action}, {each.reason[:40]}")
    named = repr([each.changes for each in results if each.action == Action.DELETE])
    assert all(gone in named for gone in before - now)
    for claim, result in zip(new, results, strict=True):
        held = lasting.get(claim.id)
        assert held.id == result.claim_id
        assert held.id in now or held.id in named
        assert set(claim.object.split()) - {"with"} <= set(held.object.split())
        assert claim.evidence[0] in held.evidence
        assert result.reason
    lasting.undo(results[0].tx)
    assert state(lasting) == whole
