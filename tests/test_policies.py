import pytest
from conftest import event, fact

from recollectx import Action, Claim, Memory
from recollectx.errors import InvalidSetting
from recollectx.policies import Decision, MinConfidence, MinEvidence, Policy

ACCEPT, REJECT = Decision.ACCEPT, Decision.REJECT


def says(answer):
    """A plain callable with a fixed answer."""

    def policy(claim, memory):
        return answer

    return policy


class NotByBob:
    """A policy of somebody else's that knows nothing of ours."""

    def __call__(self, claim, memory):
        return ACCEPT if claim.source != "bob" else REJECT


@pytest.mark.parametrize(
    ("policy", "episodic", "semantic"),
    [
        (MinConfidence(), 0.3, 0.6),
        (MinConfidence(0.9), 0.9, 0.9),
        (MinConfidence(semantic=0.2), 0.3, 0.2),
        (MinConfidence(0.5, episodic=0.1), 0.1, 0.5),
        (MinConfidence(0), 0.0, 0.0),
    ],
)
def test_min_confidence_asks_what_it_was_told(policy, episodic, semantic):
    assert policy.thresholds == {"episodic": episodic, "semantic": semantic}
    for claim, bound in ((event, episodic), (fact, semantic)):
        assert policy(claim("x", confidence=bound), None) is ACCEPT
        if bound:
            assert policy(claim("x", confidence=bound - 0.01), None) is REJECT


def test_a_claim_of_no_known_type_is_rejected():
    assert MinConfidence(0)(Claim(confidence=1.0), None) is REJECT


@pytest.mark.parametrize("bad", [float("nan"), -0.1, 1.1, "high", True])
def test_a_threshold_that_is_no_share_is_refused(bad):
    with pytest.raises(InvalidSetting):
        MinConfidence(bad)


@pytest.mark.parametrize("bad", [-1, 1.5, "2", True])
def test_a_number_of_evidence_must_be_whole(bad):
    with pytest.raises(InvalidSetting):
        MinEvidence(bad)


def test_min_evidence_counts_distinct_pieces():
    policy = MinEvidence(2)
    assert policy(fact("x", evidence="abc"), None) is REJECT
    assert policy(fact("x", evidence=("a", "a")), None) is REJECT
    assert policy(fact("x", evidence=("a", "b")), None) is ACCEPT


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_and_or_not_work_with_plain_callables_on_either_side(first, second):
    claim = fact("x", evidence="e" if first else ())
    ours, plain = MinEvidence(1), says(Decision(second))
    assert (ours & plain)(claim, None) == (plain & ours)(claim, None) == (first and second)
    assert (ours | plain)(claim, None) == (plain | ours)(claim, None) == (first or second)
    assert (~ours)(claim, None) == (not first)
    assert (~(ours & plain) | ours)(claim, None) == (not (first and second) or first)


def test_and_does_not_ask_further_once_one_rejects():
    def never(claim, memory):
        raise AssertionError("asked although the answer was known")

    assert (MinEvidence(1) & never)(fact("x"), None) is REJECT
    assert (MinEvidence(0) | never)(fact("x"), None) is ACCEPT


@pytest.mark.parametrize("combine", [lambda p: p & MinEvidence(0), lambda p: MinEvidence(0) & p, lambda p: p])
def test_a_class_without_our_base_decides_and_combines(path, combine):
    with Memory.open(path, write_policy=combine(NotByBob())) as memory:
        results = memory.store_many([fact("sweet", "ana"), fact("sour", "bob")])
    assert [result.action for result in results] == [Action.ADD, Action.REJECT]
    assert "NotByBob" in results[1].reason


def test_a_rejection_is_visible_and_writes_nothing(path):
    with Memory.open(path, write_policy=MinEvidence(2) & MinConfidence(0.5)) as memory:
        refused = memory.store(fact("sweet", evidence="one"))
        assert (refused.action, refused.claim_id, refused.changes) == (Action.REJECT, None, ())
        assert "MinEvidence(2)" in refused.reason
        assert memory.count() == 0
        kept = memory.store(fact("sweet", evidence=("one", "two")))
        assert kept.action == Action.ADD
        assert [claim.id for claim in memory.retrieve()] == [kept.claim_id]


def test_remembered_text_passes_the_policy_too(path):
    with Memory.open(path, write_policy=~MinConfidence(0.0)) as memory:
        results = memory.remember([{"role": "user", "content": "I live in Lisbon."}])
        assert {result.action for result in results} == {Action.REJECT}
        assert memory.count() == 0


def test_a_policy_sees_the_memory(path):
    def at_most_two(claim, memory):
        return memory.count() < 2

    with Memory.open(path, write_policy=at_most_two) as memory:
        assert [memory.store(fact(word)).action for word in ("a b", "c d", "e f")] == ["ADD", "ADD", "REJECT"]


@pytest.mark.parametrize("answer", [None, 1, 2, "yes", 0.0])
def test_an_answer_that_is_no_decision_is_an_error_and_nothing_is_written(path, answer):
    with Memory.open(path, write_policy=says(answer)) as memory:
        with pytest.raises(TypeError, match="policy"):
            memory.store(fact("sweet"))
        with pytest.raises(TypeError, match="policy"):
            (says(answer) & Policy())(fact("sweet"), memory)
        assert memory.count() == 0


def test_an_error_inside_a_policy_reaches_the_caller(path):
    def broken(claim, memory):
        raise ZeroDivisionError("the policy itself is wrong")

    with Memory.open(path, write_policy=broken) as memory:
        with pytest.raises(ZeroDivisionError):
            memory.store(fact("sweet"))
        assert memory.count() == 0


def test_a_base_policy_that_answers_nothing_says_what_is_missing():
    with pytest.raises(TypeError, match="__call__"):
        Policy()(fact("x"), None)
