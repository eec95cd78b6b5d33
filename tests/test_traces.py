"""Recorded answers: kept, found again, compared with today, and free of what was erased."""

import pytest
from behind import content
from conftest import DAY, START, event, fact, home

from recollectx import Memory
from recollectx.errors import InvalidClaim, InvalidQuery, NotFound

SECRET = "marzipan-7731"


def test_an_answer_is_kept_with_what_it_rested_on(memory):
    claim = memory.store(fact("sweet", "ana")).claim_id
    found = memory.recall("how does tea taste")
    trace_id = memory.traces.record(found, "It is sweet.", {"model": "m", "turn": 3})
    (trace,) = memory.traces.list()
    assert (trace.id, trace.question, trace.response) == (trace_id, "how does tea taste", "It is sweet.")
    assert (trace.metadata, trace.claim_ids, trace.erased) == ({"model": "m", "turn": 3}, (claim,), False)
    (used,) = memory.traces.explain(trace_id).used
    assert (used.rank, used.score, used.parts) == (1, found.hits[0].score, found.hits[0].parts)
    assert (used.text, used.confidence, used.changed, used.since) == ("tea tastes sweet", 0.8, False, ())


def test_it_says_what_changed_since(memory):
    claim = memory.store(fact("sweet", "ana")).claim_id
    other = memory.store(fact("bitter", "bob")).claim_id
    trace_id = memory.traces.record(memory.recall("sweet"), "Sweet.")
    memory.add_contradiction(other, claim)
    memory.update(claim, object="very sweet")
    (used,) = memory.traces.explain(trace_id).used
    assert (used.text, used.claim.text) == ("tea tastes sweet", "tea tastes very sweet")
    assert (used.confidence, used.claim.confidence) == (0.8, memory.get(claim).confidence)
    assert used.claim.confidence < used.confidence
    assert [(move.reason, move.caused_by_id) for move in used.since] == [("contradicts added", other)]
    memory.forget(claim)
    (used,) = memory.traces.explain(trace_id).used
    assert (used.status, used.claim.status, used.changed) == ("active", "retired", True)


def test_moves_before_the_answer_are_not_among_them(memory):
    claim = memory.store(fact("sweet", "ana")).claim_id
    memory.store(fact("sweet", "bob"))
    trace_id = memory.traces.record(memory.recall("sweet"), "Sweet.")
    memory.trust("bob", 0.6)
    (used,) = memory.traces.explain(trace_id).used
    assert len(memory.explain_confidence_history(claim)) == 2
    assert [move.reason for move in used.since] == ["trust in a source changed"]


def test_pages_newest_first_and_by_claim(memory):
    sweet, bitter = (memory.store(fact(word, word)).claim_id for word in ("sweet", "bitter"))
    ids = [memory.traces.record(memory.recall(word), word) for word in ("sweet", "bitter", "sweet")]
    assert [trace.id for trace in memory.traces.list()] == ids[::-1]
    assert [trace.id for trace in memory.traces.list(1, 1)] == [ids[1]]
    assert [trace.id for trace in memory.traces.using(sweet)] == [ids[2], ids[0]]
    assert [trace.id for trace in memory.traces.using(bitter)] == [ids[1]]
    for bad in ({"limit": 0}, {"offset": -1}, {"limit": True}):
        with pytest.raises(InvalidQuery):
            memory.traces.list(**bad)


def test_an_answer_on_nothing_is_kept_too(memory):
    trace_id = memory.traces.record(memory.recall("zebra"), "I do not know.")
    explained = memory.traces.explain(trace_id)
    assert (explained.used, explained.trace.claim_ids) == ((), ())


def test_recording_moves_no_number_and_no_order(memory):
    claim = memory.store(fact("sweet", "ana")).claim_id
    before = memory.recall("sweet").hits
    memory.traces.record(memory.recall("sweet"), "Sweet.")
    assert memory.recall("sweet").hits == before
    assert memory.explain_confidence_history(claim) == []


def test_what_cannot_be_recorded_is_refused(memory, tmp_path):
    memory.store(fact("sweet"))
    found = memory.recall("sweet")
    for bad in ({"response": None}, {"response": "x", "metadata": {"a": object()}}):
        with pytest.raises(InvalidClaim):
            memory.traces.record(found, **bad)
    with Memory.open(tmp_path / "other.db") as other:
        with pytest.raises(NotFound):
            other.traces.record(found, "Sweet.")
        assert other.traces.list() == []
    with pytest.raises(NotFound, match="nowhere"):
        memory.traces.explain("nowhere")
    with pytest.raises(NotFound, match="nowhere"):
        memory.traces.using("nowhere")


def test_no_scope_sees_the_answers_or_claims_of_another(path):
    with Memory.open(path, scope="mine") as mine:
        other = Memory(mine.storage, scope="other")
        own, their = mine.store(fact("sweet", "ana")).claim_id, other.store(fact("sweet", "bob")).claim_id
        trace_id = mine.traces.record(mine.recall("sweet", scopes=["mine", "other"]), "Sweet.")
        assert other.traces.list() == []
        assert other.traces.using(their) == []
        with pytest.raises(NotFound):
            other.traces.explain(trace_id)
        with pytest.raises(NotFound):
            mine.traces.using(their)
        assert mine.traces.list()[0].claim_ids == (own,)
        assert their not in repr(mine.traces.explain(trace_id))
        # What was answered on it loses its words with it all the same.
        other.erase(their)
        assert mine.traces.list()[0].response is None
        assert mine.traces.list()[0].claim_ids == (own,)


def test_erasing_a_claim_takes_its_words_out_of_every_answer(path):
    with Memory.open(path) as memory:
        gone = memory.store(fact(SECRET, "ana", subject="safe", predicate="has code")).claim_id
        kept = memory.store(fact("sweet", "bob")).claim_id
        used = memory.traces.record(memory.recall("safe code"), f"It is {SECRET}.", {"note": SECRET})
        quoting = memory.traces.record(memory.recall("sweet"), f"Sweet as {SECRET.upper()}!")
        asked = memory.traces.record(memory.recall(f"who knows {SECRET}?"), "Nobody.")
        clean = memory.traces.record(memory.recall("sweet"), "Sweet.")
        assert SECRET.encode() in content(path)
        receipt = memory.erase(gone)
        assert receipt.pending is False
        found = {trace.id: trace for trace in memory.traces.list()}
        for trace_id in (used, quoting, asked):
            trace = found[trace_id]
            assert (trace.question, trace.response, trace.metadata, trace.erased) == (None, None, {}, True)
        assert (found[clean].response, found[clean].erased) == ("Sweet.", False)
        assert found[used].claim_ids == ()
        assert found[quoting].claim_ids == (kept,)
        assert memory.traces.explain(used).used == ()
        with pytest.raises(NotFound):
            memory.traces.using(gone)
        assert SECRET.encode() not in content(path)
        assert SECRET.upper().encode() not in content(path)


def test_an_answer_on_what_was_erased_meanwhile_keeps_no_words(path):
    with Memory.open(path) as memory:
        gone = memory.store(fact(SECRET, "ana")).claim_id
        found = memory.recall(SECRET)
        memory.erase(gone)
        trace_id = memory.traces.record(found, f"It is {SECRET}.", {"note": SECRET})
        trace = memory.traces.explain(trace_id).trace
        assert (trace.question, trace.response, trace.metadata, trace.erased) == (None, None, {}, True)
    assert SECRET.encode() not in content(path)


def test_erasing_a_scope_leaves_no_answer_of_it(path):
    with Memory.open(path, scope="mine") as memory:
        other = Memory(memory.storage, scope="other")
        memory.store(fact("sweet"))
        other.store(fact("sweet"))
        memory.traces.record(memory.recall("zebra"), f"Never heard of {SECRET}.")
        memory.traces.record(memory.recall("sweet"), "Sweet.")
        other.traces.record(other.recall("sweet"), "Sweet.")
        memory.erase(scope="mine")
        assert memory.traces.list() == []
        assert len(other.traces.list()) == 1
    assert SECRET.encode() not in content(path)


def test_a_superseded_value_is_told_as_it_was(memory):
    memory.store(home("Bergen", "ana"))
    trace_id = memory.traces.record(memory.recall("where does Ana live"), "In Bergen.")
    memory.store(home("Oslo", "ana", created_at=START + DAY))
    (used,) = memory.traces.explain(trace_id).used
    assert (used.text, used.status, used.claim.status) == ("Ana lives in Bergen", "active", "superseded")


def test_derived_claims_that_only_quoted_take_their_answers_along(path):
    with Memory.open(path) as memory:
        turn = memory.store(event(f"the code is {SECRET}", "ana")).claim_id
        quoting = fact(
            SECRET, "ana", subject="safe", predicate="has code", evidence=(f"the code is {SECRET}",)
        )
        made = memory.store(quoting).claim_id
        memory.relate(turn, made, "derives")
        memory.traces.record(memory.recall("safe"), f"{SECRET}, I think.")
        receipt = memory.erase(turn)
        assert set(receipt.ids) == {turn, made}
        assert memory.traces.list()[0].response is None


@pytest.mark.parametrize(
    ("gone", "question", "response", "wiped"),
    [
        (fact("no", subject="door", predicate="is"), "cat", "There is no cat on the mat, I think", False),
        (fact("tea", subject="Ana", predicate="likes"), "cat", "The cat spilled Bob's tea", False),
        (fact("tea", subject="Ana", predicate="likes"), "cat", "Ana drank the tea; the cat did not", True),
        (fact("Lisbon", subject="Ana", predicate="lives in"), "where is Ana, cat?", "In Lisbon.", True),
        (fact("the house by the old mill"), "cat", "It is in the House by the old mill", True),
        (event("Yes"), "cat", "Yes, on the mat", False),
        (event("we met at noon"), "cat", "As you said: We met at noon!", True),
    ],
)
def test_only_answers_that_tell_of_the_erased_lose_their_words(memory, gone, question, response, wiped):
    memory.store(event("the cat sat"))
    erased = memory.store(gone).claim_id
    found = memory.recall(question, scopes=("elsewhere",))
    memory.traces.record(found, response)
    assert found.hits == ()
    receipt = memory.erase(erased)
    (trace,) = memory.traces.list()
    assert (trace.erased, trace.response is None) == (wiped, wiped)
    assert receipt.answers == int(wiped)


def test_the_receipt_counts_the_answers_that_lost_their_words(memory):
    gone = memory.store(fact("sweet", "ana")).claim_id
    memory.store(event("the cat sat"))
    for text in ("how does tea taste", "how sweet is tea", "cat"):
        memory.traces.record(memory.recall(text), "Well.")
    assert memory.erase(gone).answers == 2
