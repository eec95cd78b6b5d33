"""Disputes, their queue and how they end; confirmations, corrections and calibration."""

import runpy
from pathlib import Path

import pytest
from conftest import DAY, NOW, START, event, fact, home

from recollectx import Memory, Status
from recollectx.calibration import FEWEST, judged
from recollectx.changes import Restore
from recollectx.doubt import Dispute, disputed, gap
from recollectx.errors import InvalidClaim, InvalidQuery, NotFound


def rivals(memory: Memory, one: float, other: float) -> tuple[str, str]:
    ids = tuple(
        memory.store(fact(word, f"source of {word}", confidence=level)).claim_id
        for word, level in (("sweet", one), ("bitter", other))
    )
    memory.add_contradiction(*ids)
    return ids


@pytest.mark.parametrize(
    ("one", "other", "open_"),
    [
        (0.5, 0.5, True),
        (0.75, 0.5, True),
        (0.76, 0.5, False),
        (0.9, 0.7, False),
        (1.0, 1.0, True),
        (1.0, 0.9, False),
    ],
)
def test_three_times_the_odds_decide(one, other, open_):
    assert disputed(one, other) is disputed(other, one) is open_


def test_the_gap_is_in_log_odds():
    assert gap(0.75, 0.5) == pytest.approx(1.0986, abs=1e-4)
    assert gap(0.5, 0.5) == 0
    assert gap(1.0, 0.0) < 30


def test_recall_marks_a_pair_that_neither_wins(memory):
    one, other = rivals(memory, 0.8, 0.75)
    hits = {hit.claim.id: hit for hit in memory.recall("tea")}
    levels = {claim_id: memory.get(claim_id).confidence for claim_id in (one, other)}
    assert hits[one].disputes == (Dispute(one, levels[one], other, levels[other]),)
    assert hits[other].disputes == (Dispute(other, levels[other], one, levels[one]),)
    assert hits[one].disputed_by == (other,)


def test_a_clear_winner_is_contradicted_but_not_disputed(memory):
    one, other = rivals(memory, 0.95, 0.3)
    hits = {hit.claim.id: hit for hit in memory.recall("tea")}
    assert (hits[one].disputed_by, hits[one].disputes) == ((other,), ())
    assert hits[other].disputes == ()
    assert memory.disputes() == []


def test_the_queue_has_the_most_even_first(memory, clock):
    rivals(memory, 0.8, 0.7)
    even = [
        memory.store(fact(word, word, subject="cup", confidence=0.8)).claim_id for word in ("red", "blue")
    ]
    asked = clock.now
    memory.add_contradiction(*even)
    first, second = memory.disputes()
    assert {first.claim.id, first.rival.id} == set(even)
    assert first.gap == pytest.approx(0)
    assert asked <= first.since <= clock.now
    assert second.claim.confidence > second.rival.confidence
    assert second.gap > 0
    assert len(memory.disputes(limit=1)) == 1


def test_a_pair_said_both_ways_is_in_the_queue_once(path):
    from recollectx import LogOdds

    with Memory.open(path, rule=LogOdds(symmetric_contradiction=False)) as memory:
        one, other = rivals(memory, 0.8, 0.8)
        memory.add_contradiction(other, one)
        assert len(memory.disputes()) == 1


def test_what_is_out_of_use_or_over_is_not_in_the_queue(memory, clock):
    one, other = rivals(memory, 0.8, 0.8)
    memory.update(one, valid_to=clock.now + 10)
    assert len(memory.disputes()) == 1
    clock.now += DAY
    assert memory.disputes() == []
    memory.update(one, valid_to=clock.now + DAY)
    memory.forget(other)
    assert memory.disputes() == []


def test_recall_and_the_queue_agree_on_what_is_current(memory, clock):
    sources = {"over": {"valid_from": START, "valid_to": START + DAY}, "to come": {"valid_from": NOW + DAY}}
    sweet = memory.store(fact("sweet", "ana")).claim_id
    for source, times in sources.items():
        memory.add_contradiction(memory.store(fact(source, source, **times)).claim_id, sweet)
    assert (memory.disputes(), memory.recall("sweet tea").hits[0].disputes) == ([], ())
    with pytest.raises(InvalidClaim, match="no open dispute"):
        memory.resolve(sweet)
    # What is asked about on purpose is in no dispute of today either.
    assert all(not hit.disputes for hit in memory.recall("tea", status=list(Status)))
    then = {hit.claim.object: hit.disputes for hit in memory.recall("tea", valid_at=START + DAY / 2)}
    assert [len(then[each]) for each in ("sweet", "over")] == [1, 1]
    clock.now = NOW + 2 * DAY
    (dispute,) = memory.disputes()
    assert {dispute.claim.object, dispute.rival.object} == {"sweet", "to come"}
    assert all(len(hit.disputes) == 1 for hit in memory.recall("tea"))


@pytest.mark.parametrize("source", ["source of bitter", "carl"])
def test_what_was_dropped_and_is_said_again_is_in_dispute_again(memory, source):
    one, _ = rivals(memory, 0.8, 0.8)
    memory.resolve(keep=one)
    again = memory.store(fact("bitter", source)).claim_id
    assert memory.get(again).status == Status.ACTIVE
    (dispute,) = memory.disputes()
    assert {dispute.claim.id, dispute.rival.id} == {one, again}
    memory.resolve(keep=one)
    assert memory.disputes() == []
    assert memory.get(one).confidence == pytest.approx(0.8, abs=1e-9)


def test_what_was_dropped_contradicts_no_claim_that_is_over_or_out_of_use(memory, clock):
    one, _ = rivals(memory, 0.8, 0.8)
    memory.resolve(keep=one)
    memory.update(one, valid_to=clock.now)
    again = memory.store(fact("bitter", "carl", created_at=clock.now + 1)).claim_id
    assert memory.explain(again)["contradicted_by"] == []


def test_a_dispute_is_closed_and_can_be_opened_again(memory):
    one, other = rivals(memory, 0.8, 0.8)
    pressed = memory.get(one).confidence
    result = memory.resolve(keep=one, reason="asked Ana")
    assert result.claim_id == one
    assert memory.get(other).status == Status.RETIRED
    assert memory.get(one).confidence == pytest.approx(0.8, abs=1e-9)
    assert memory.disputes() == []
    assert memory.recall("tea").hits[0].disputes == ()
    assert memory.explain_confidence_history(one)[0].reason == "a dispute was resolved"
    assert memory.explain_confidence_history(one)[0].caused_by_id == other
    memory.storage.apply([Restore(other)], cause="restore")
    assert len(memory.disputes()) == 1
    assert memory.get(one).confidence == pytest.approx(pressed, abs=1e-9)


def test_the_reason_is_kept_and_goes_with_an_erased_claim(memory):
    one, other = rivals(memory, 0.8, 0.8)
    memory.resolve(one, other, reason="bitter was a joke")

    def causes() -> list[str]:
        with memory.storage.reader() as reader:
            return [row[0] for row in reader.conn.exec_driver_sql("SELECT cause FROM rx_tx")]

    assert "resolve: bitter was a joke" in causes()
    memory.erase(other)
    assert "resolve" in causes()
    assert not any("joke" in cause for cause in causes())


def test_what_cannot_be_resolved_is_refused(memory):
    one, other = rivals(memory, 0.8, 0.8)
    alone = memory.store(fact("green", "dora")).claim_id
    with pytest.raises(InvalidClaim, match="no open dispute"):
        memory.resolve(alone)
    with pytest.raises(InvalidClaim, match="does not contradict"):
        memory.resolve(one, alone)
    with pytest.raises(InvalidClaim, match="does not contradict"):
        memory.resolve(one, one)
    with pytest.raises(NotFound):
        memory.resolve("nowhere", one)
    third = memory.store(fact("salty", "carl")).claim_id
    memory.add_contradiction(third, one)
    with pytest.raises(InvalidQuery, match="name one"):
        memory.resolve(one)
    memory.resolve(one, third)
    memory.resolve(one)
    assert memory.get(other).status == Status.RETIRED
    with pytest.raises(InvalidClaim):
        memory.resolve(other, one)


def test_disputes_stay_in_their_scope(path):
    with Memory.open(path) as common:
        mine = Memory(common.storage, scope="mine")
        one, other = rivals(mine, 0.8, 0.8)
        assert common.disputes() == []
        with pytest.raises(NotFound):
            common.resolve(one, other)
        law = common.store(fact("law", "state", confidence=0.6)).claim_id
        mine.add_contradiction(law, one)
        assert common.disputes() == []
        assert len(mine.disputes()) == 2
        with pytest.raises(NotFound):
            mine.resolve(one, law)
        mine.resolve(law, one)
        assert mine.get(one).status == Status.RETIRED


def test_a_confirmation_taken_back_is_no_outcome(memory):
    claim = memory.store(fact("sweet", "ana")).claim_id
    confirmed = memory.confirm(claim).tx
    undone = memory.undo(confirmed).tx
    assert memory.calibration().outcomes == 0
    memory.undo(undone)
    assert memory.calibration().confirmed == 1


def test_a_confirmation_is_kept_and_moves_nothing(memory):
    claim = memory.store(fact("sweet", "ana", confidence=0.7)).claim_id
    memory.confirm(claim)
    assert memory.get(claim).confidence == 0.7
    found = memory.calibration()
    assert (found.confirmed, found.corrected) == (1, 0)
    assert found.brier == pytest.approx(0.09)
    assert found.enough is False
    with memory.storage.reader() as reader:
        assert "confirm" in [row[0] for row in reader.conn.exec_driver_sql("SELECT cause FROM rx_tx")]
    with pytest.raises(NotFound):
        memory.confirm("nowhere")
    memory.forget(claim)
    with pytest.raises(InvalidClaim, match="retired"):
        memory.confirm(claim)


def test_corrections_count_against_and_supersession_does_not(memory):
    one, other = rivals(memory, 0.8, 0.6)
    before = memory.get(other).confidence
    memory.resolve(one, other)
    memory.store(home("Bergen", "ana"))
    memory.store(home("Oslo", "ana", created_at=START + DAY))
    forgotten = memory.store(fact("green", "dora")).claim_id
    memory.forget(forgotten)
    memory.store(fact("blue", "emil"))
    memory.retract("emil")
    found = memory.calibration()
    assert (found.confirmed, found.corrected) == (0, 1)
    assert found.brier == pytest.approx(before**2)
    wrong, right = (memory.store(fact(word, word, subject="cup")).claim_id for word in ("red", "rose"))
    memory.relate(right, wrong, "corrects")
    assert memory.calibration().corrected == 2
    memory.unrelate(right, wrong, "corrects")
    memory.storage.apply([Restore(other)], cause="restore")
    assert memory.calibration().outcomes == 0


def test_a_claim_counts_once_by_its_latest_outcome(memory):
    one, other = rivals(memory, 0.8, 0.7)
    for _ in range(3):
        memory.confirm(other)
    assert memory.calibration().confirmed == 1
    memory.resolve(one, other)
    assert (memory.calibration().confirmed, memory.calibration().corrected) == (0, 1)


def test_past_confidence_is_that_of_the_moment_before(memory):
    claim = memory.store(fact("sweet", "ana", confidence=0.6)).claim_id
    memory.confirm(claim)
    memory.store(fact("sweet", "bob", confidence=0.9))
    assert memory.get(claim).confidence > 0.6
    assert memory.calibration().brier == pytest.approx(0.16)


def test_other_scopes_and_erased_claims_do_not_count(path):
    with Memory.open(path, scope="mine") as mine:
        other = Memory(mine.storage, scope="other")
        claim = mine.store(fact("sweet")).claim_id
        mine.confirm(claim)
        assert other.calibration().outcomes == 0
        mine.erase(claim)
        assert mine.calibration().outcomes == 0


def test_the_table_and_the_score_are_those_of_the_pairs():
    found = judged([(0.1, False), (0.15, True), (0.9, True), (1.0, True), (0.2, False)])
    assert [each.count for each in found.bins] == [2, 1, 0, 0, 2]
    assert found.bins[0].confidence == pytest.approx(0.125)
    assert found.bins[0].right == 0.5
    assert (found.bins[2].confidence, found.bins[2].right) == (None, None)
    assert found.brier == pytest.approx((0.01 + 0.7225 + 0.01 + 0 + 0.04) / 5)
    assert judged([]).brier is None
    assert judged([(0.5, True)] * (FEWEST - 1)).enough is False
    assert judged([(0.5, True)] * FEWEST).enough is True


def test_recall_says_when_nothing_fits_by_words(memory):
    memory.store_many([fact("sweet"), home("Bergen"), fact("bitter", subject="coffee")])
    assert memory.recall("zebra").relevance == 0.0
    assert memory.recall("zebra").nothing_fits
    known = memory.recall("how does coffee taste")
    assert known.relevance == max(hit.parts.share for hit in known) == 1.0
    assert known.nothing_fits is False
    vague = memory.recall("coffee machine warranty invoice")
    assert len(vague.hits) == 1
    assert 0 < vague.relevance < 0.5
    assert vague.nothing_fits


def test_recall_says_when_nothing_fits_by_meaning(path):
    directions = {"north": [1.0, 0.0], "nearly north": [0.9, 0.436], "east": [0.0, 1.0]}

    def embed(text: str) -> list[float]:
        return directions.get(text, [1.0, 1.0])

    with Memory.open(path, embedder=embed, extractor=None) as memory:
        memory.remember("north")
        near, far = memory.recall("nearly north"), memory.recall("east")
        assert near.relevance == pytest.approx(0.9, abs=1e-3)
        assert near.nothing_fits is False
        assert far.hits[0].parts.cosine == pytest.approx(0, abs=1e-6)
        assert (far.relevance, far.nothing_fits) == (pytest.approx(0, abs=1e-6), True)


def test_without_a_question_all_that_is_held_fits(memory):
    from recollectx import Query

    assert memory.storage.recall(Query()).nothing_fits
    memory.store(fact("sweet"))
    assert memory.storage.recall(Query()).relevance == 1.0


def test_the_benchmark_counts_what_it_says():
    at = Path(__file__).parent.parent / "benchmarks" / "abstention.py"
    benchmark = runpy.run_path(str(at))
    facts, asked, unanswerable = benchmark["material"]()
    assert (len(facts), len(set(facts)), len(asked), len(unanswerable)) == (200, 200, 400, 360)
    assert not {question for question, _ in asked} & {question for _, question in unanswerable}
    assert benchmark["auroc"]([3, 2], [1, 2]) == 0.875


def test_a_rumour_that_is_outweighed_comes_later_with_its_turn_and_only_as_long_as_it_is(path):
    today = [START]
    with Memory.open(path, clock=lambda: today[0]) as memory:
        memory.remember("I heard that Noor lives in Faro.", source="Ivo")
        today[0] += 2 * DAY
        own = memory.remember("I live in Braga.", source="Noor")

        def left(**when):
            return {
                hit.claim.text: hit.parts.doubted for hit in memory.recall("Where does Noor live?", **when)
            }

        rumour, turn = "Noor lives in Faro", "I heard that Noor lives in Faro."
        now = left()
        assert list(now)[-2:] == [rumour, turn]
        assert now[rumour] == now[turn] == pytest.approx(1 - 0.6 * (1 - 2 * confidence(memory, rumour)))
        assert {now[text] for text in now if text not in (rumour, turn)} == {None}
        alone = {rumour: pytest.approx(0.88), turn: pytest.approx(0.88)}
        assert now[rumour] < 0.7
        assert left(as_of=START + DAY) == alone
        memory.undo(own[-1].tx)
        assert left() == alone


def confidence(memory: Memory, text: str) -> float:
    return next(claim.confidence for claim in memory.retrieve() if claim.text == text)


def test_an_observation_does_not_suffer_from_a_conclusion_that_falls(memory):
    seen = memory.store(event("the lamp in the hall was on")).claim_id
    concluded = memory.derive(fact("at home", subject="Noor", predicate="is"), [seen]).claim_id
    memory.add_contradiction(memory.store(fact("in Oslo", "Ivo", confidence=0.95)).claim_id, concluded)
    for retire in (False, True):
        if retire:
            memory.forget(concluded)
        (hit,) = (hit for hit in memory.recall("lamp in the hall") if hit.claim.id == seen)
        assert (hit.parts.doubted, hit.parts.ended) == (None, None)
