"""Values told late, again, by others, or taken back: each takes its place in time by the word of whoever knows best."""

from functools import lru_cache
from itertools import count

import pytest
from conftest import DAY, START, home, scratch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollectx import Memory, Status
from recollectx.claims import Assertion, Claim


@pytest.fixture
def trusted(memory: Memory) -> Memory:
    """A memory in which ana is trusted most, a friend less, and a rumour hardly."""
    memory.trust("a friend", 0.7)
    memory.trust("a rumour", 0.2)
    return memory


def say(memory: Memory, place: str, day: float, source: str = "ana") -> str:
    return str(memory.store(home(place, source, valid_from=START + day * DAY)).claim_id)


def on(memory: Memory, *days: float) -> list[list[str]]:
    """The values on each day, the most certain first."""
    found = [memory.retrieve(valid_at=START + day * DAY) for day in days]
    return [[each.object for each in sorted(claims, key=lambda claim: -claim.confidence)] for claims in found]


def disputes(memory: Memory) -> set[frozenset[str]]:
    return {
        frozenset((hit.claim.object, memory.get(rival).object))
        for hit in memory.recall("Ana lives", k=50).hits
        for rival in hit.disputed_by
    }


def test_what_is_said_again_after_another_value_holds_from_then_on(memory):
    say(memory, "Oslo", 0)
    for day in (6, 9, 3):
        say(memory, "Oslo", day)
    say(memory, "Rome", 5)
    assert on(memory, 1, 4, 5, 6, 20) == [["Oslo"], ["Oslo"], ["Rome"], ["Oslo"], ["Oslo"]]
    say(memory, "Bern", 7)
    assert on(memory, 6, 7, 8, 9) == [["Oslo"], ["Bern"], ["Bern"], ["Oslo"]]
    told = [assertion for claim in memory.retrieve(status=list(Status)) for assertion in said(memory, claim)]
    assert sum(assertion.times for assertion in told) == 6


def said(memory: Memory, claim: Claim) -> list[Assertion]:
    return memory.explain(claim.id)["assertions"]


def test_dates_are_kept_through_undo(memory):
    say(memory, "Oslo", 0)
    say(memory, "Oslo", 6)
    say(memory, "Rome", 3)
    memory.undo(memory.last_tx())
    assert on(memory, 1, 4, 7) == [["Oslo"]] * 3
    say(memory, "Bern", 4)
    assert on(memory, 1, 3, 4, 7) == [["Oslo"], ["Oslo"], ["Bern"], ["Oslo"]]


def test_what_is_taken_back_and_said_of_later_holds_from_then_on(memory):
    rome = say(memory, "Rome", 0)
    memory.retract("ana", rome)
    assert say(memory, "Rome", 5) == rome
    assert on(memory, 2, 6) == [[], ["Rome"]]


def test_a_value_told_late_is_one_with_the_same_value_after_it(memory):
    rome = say(memory, "Rome", 4)
    say(memory, "Oslo", 8)
    assert say(memory, "Rome", 2) == rome
    assert on(memory, 1, 2, 5, 9) == [[], ["Rome"], ["Rome"], ["Oslo"]]


def test_a_value_told_late_lasts_when_what_came_after_it_is_taken_back(memory):
    oslo = say(memory, "Oslo", 5)
    say(memory, "Rome", 0)
    memory.retract("ana", oslo)
    assert on(memory, 2, 9) == [["Rome"], ["Rome"]]
    assert [claim.object for claim in memory.retrieve()] == ["Rome"]


def test_a_correction_of_what_was_superseded_lasts_when_its_successor_is_taken_back(memory):
    rome = say(memory, "Rome", 0)
    bern = say(memory, "Bern", 5)
    memory.correct(rome, "Faro")
    memory.retract("ana", bern)
    assert on(memory, 2, 9) == [["Faro"], ["Faro"]]


def test_a_rumour_that_comes_true_was_a_rumour_until_then(trusted):
    say(trusted, "Oslo", 0)
    say(trusted, "Rome", 3, "a rumour")
    assert on(trusted, 4) == [["Oslo", "Rome"]]
    say(trusted, "Rome", 6)
    assert on(trusted, 1, 4, 7) == [["Oslo"], ["Oslo", "Rome"], ["Rome"]]
    say(trusted, "Bern", 5)
    assert on(trusted, 4, 5, 7) == [["Oslo", "Rome"], ["Bern"], ["Rome"]]


def test_a_rumour_does_not_end_what_is_told_after_it(trusted):
    say(trusted, "Oslo", 0)
    say(trusted, "Rome", 5, "a rumour")
    say(trusted, "Bern", 3)
    assert on(trusted, 4, 6) == [["Bern"], ["Bern", "Rome"]]
    assert disputes(trusted) == {frozenset(("Bern", "Rome"))}


def test_a_rumour_does_not_put_back_when_a_better_known_value_began(trusted):
    say(trusted, "Oslo", 0)
    say(trusted, "Rome", 6)
    say(trusted, "Rome", 3, "a rumour")
    assert on(trusted, 4, 7) == [["Oslo", "Rome"], ["Rome"]]


def test_whoever_only_confirmed_what_others_know_better_cannot_end_it(trusted):
    say(trusted, "Oslo", 0)
    say(trusted, "Oslo", 1, "a friend")
    say(trusted, "Rome", 2, "a friend")
    assert on(trusted, 3) == [["Oslo", "Rome"]]
    assert disputes(trusted) == {frozenset(("Oslo", "Rome"))}


@pytest.mark.parametrize("confirmed", [2, 3])
def test_what_is_left_of_a_value_that_was_taken_back_is_only_what_others_say(trusted, confirmed):
    say(trusted, "Rome", 0)
    oslo = say(trusted, "Oslo", 2)
    say(trusted, "Oslo", confirmed, "a friend")
    trusted.retract("ana", oslo)
    assert on(trusted, 1, 4) == [["Rome"], ["Rome", "Oslo"]]
    assert disputes(trusted) == {frozenset(("Rome", "Oslo"))}
    say(trusted, "Oslo", 2)
    assert on(trusted, 1, 4) == [["Rome"], ["Oslo"]]


def test_a_value_that_comes_back_by_a_rumour_takes_nobodys_place(trusted):
    say(trusted, "Oslo", 0)
    rome = say(trusted, "Rome", 5)
    trusted.retract("ana", rome)
    say(trusted, "Rome", 3, "a rumour")
    assert on(trusted, 1, 4, 6) == [["Oslo"], ["Oslo", "Rome"], ["Oslo", "Rome"]]


def test_a_rumour_that_brings_back_a_value_of_the_same_date_takes_nobodys_place_either(trusted):
    say(trusted, "Oslo", 0)
    rome = say(trusted, "Rome", 5)
    trusted.retract("ana", rome)
    assert say(trusted, "Rome", 5, "a rumour") == rome
    assert on(trusted, 4, 6) == [["Oslo"], ["Oslo", "Rome"]]
    assert disputes(trusted) == {frozenset(("Oslo", "Rome"))}


def test_what_others_say_keeps_its_words_when_a_source_takes_its_own_back(memory):
    rome = say(memory, "Rome", 0)
    oslo = say(memory, "Oslo", 2)
    turn = {"speaker": "Ana", "text": "Well, I live in Oslo.", "time": START + 3 * DAY, "session": "tea"}
    memory.remember([turn])
    memory.retract("ana", oslo)
    (left,) = said(memory, memory.get(oslo))
    assert (left.source, left.span, left.session) == ("Ana", "I live in Oslo", "tea")
    assert memory.get(rome).status == Status.ACTIVE


def test_taking_back_a_word_among_others_retracts_only_that(memory):
    rome = say(memory, "Rome", 0)
    say(memory, "Rome", 3, "bob")
    memory.retract("ana", rome)
    assert on(memory, 1, 4) == [[], ["Rome"]]
    assert [event.kind for event in memory.history.timeline()].count("retract") == 1


def test_what_was_said_very_often_comes_back_after_a_value_told_late(memory):
    for day in range(150):
        say(memory, "Oslo", day)
    say(memory, "Rome", 20)
    assert on(memory, 1, 20, 149) == [["Oslo"], ["Rome"], ["Oslo"]]


def test_a_date_set_by_hand_is_when_its_source_says_that_it_began(memory):
    oslo = say(memory, "Oslo", 5)
    say(memory, "Oslo", 1, "bob")
    memory.update(oslo, valid_from=START)
    say(memory, "Rome", 3)
    assert {each.source for each in said(memory, memory.get(oslo))} == {"ana", "bob"}


def test_all_that_was_said_can_be_said_again_under_its_old_ids(trusted):
    told = [
        home("Rome", "ana", valid_from=START + 2 * DAY),
        home("Rome", "a rumour", valid_from=START + 3 * DAY),
        home("Oslo", "ana", valid_from=START + 6 * DAY),
    ]
    trusted.store_many(told)
    trusted.retract("ana")
    results = trusted.store_many(told)
    assert [trusted.get(each.claim_id).object for each in results] == ["Rome", "Rome", "Oslo"]
    assert on(trusted, 2.5, 5, 7) == [["Rome"], ["Rome"], ["Oslo"]]


shared = lru_cache(lambda: Memory.open(scratch()))
scopes = count()
PLACES, SOURCES = ("Oslo", "Rome", "Bern"), ("ana", "bob", "a rumour")


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(PLACES), st.integers(0, 9), st.sampled_from(SOURCES)),
        min_size=2,
        max_size=7,
    ),
    st.sampled_from(SOURCES),
)
@example(
    [
        ("Oslo", 2, "bob"),
        ("Bern", 4, "a rumour"),
        ("Rome", 6, "a rumour"),
        ("Bern", 0, "ana"),
        ("Bern", 0, "bob"),
        ("Oslo", 2, "a rumour"),
        ("Rome", 2, "bob"),
    ],
    "a rumour",
)
def test_whatever_several_sources_say_can_be_taken_back_and_said_again(told, source):
    memory = Memory(shared().storage, scope=f"example {next(scopes)}")
    memory.trust("a rumour", 0.2)
    claims = [home(place, who, valid_from=START + day * DAY) for place, day, who in told]
    memory.store_many(claims)
    memory.retract(source)
    left = [voice for claim in memory.retrieve(status=list(Status)) for voice in said(memory, claim)]
    assert all(voice.source != source for voice in left)
    results = memory.store_many(claims)
    assert [memory.get(each.claim_id).object for each in results] == [place for place, _, _ in told]


def test_taking_back_what_was_between_two_values_leaves_their_order(trusted):
    say(trusted, "Rome", 0)
    oslo = say(trusted, "Oslo", 2)
    say(trusted, "Oslo", 3, "a friend")
    say(trusted, "Bern", 5)
    trusted.retract("ana", oslo)
    assert on(trusted, 1, 2.5, 4, 6) == [["Rome"], ["Rome"], ["Rome", "Oslo"], ["Bern"]]


def test_the_order_in_which_the_same_things_are_told_does_not_matter(path):
    told = [
        ("Oslo", 0, "ana"),
        ("Oslo", 6, "ana"),
        ("Rome", 3, "ana"),
        ("Rome", 8, "ana"),
        ("Bern", 9, "ana"),
    ]
    seen = set()
    with Memory.open(path) as opened:
        for first in range(len(told)):
            for step in (1, 2, 3, 4):
                memory = Memory(opened.storage, scope=f"order {next(scopes)}")
                for at in range(len(told)):
                    say(memory, *told[(first + at * step) % len(told)])
                seen.add(str(on(memory, -1, 1, 4, 7, 8.5, 9)))
    assert seen == {str([[], ["Oslo"], ["Rome"], ["Oslo"], ["Rome"], ["Bern"]])}


def told(memory: Memory, text: str, day: float, source: str = "Ana") -> str:
    return str(memory.remember(text, source=source, at=START + day * DAY)[-1].claim_id)


def homes(memory: Memory) -> list[tuple[str, str]]:
    return [(claim.object, claim.source) for claim in memory.retrieve(type="semantic")]


def test_a_sentence_that_takes_back_ends_what_was_read_in_its_speakers_turns(memory):
    told(memory, "I live in Porto", 1)
    braga = told(memory, "I moved to Braga", 2)
    assert homes(memory) == [("Braga", "Ana")]
    done = memory.remember("I never lived in Braga", source="Ana", at=START + 3 * DAY)[-1]
    assert (done.action, done.claim_id, done.reason) == ("DELETE", braga, "taken back by its source")
    assert homes(memory) == [("Porto", "Ana")]
    assert memory.get(braga).status == Status.RETIRED
    memory.undo(done.tx)
    assert homes(memory) == [("Braga", "Ana")]


def test_what_others_say_stays_when_a_speaker_takes_it_back(memory):
    told(memory, "I live in Porto", 1)
    told(memory, "Ana lives in Porto", 2, source="Ben")
    told(memory, "I never lived in Porto", 3)
    assert homes(memory) == [("Porto", "Ben")]
    memory.remember("It is not true that Ana lives in Porto", source="Ben", at=START + 4 * DAY)
    assert homes(memory) == []


def test_taking_back_what_was_never_said_changes_no_claim(memory):
    told(memory, "I live in Porto", 1)
    done = memory.remember("I never lived in Rome", source="Ana", at=START + 2 * DAY)
    assert [each.action for each in done] == ["ADD"]
    assert homes(memory) == [("Porto", "Ana")]


def test_retracting_what_was_read_in_a_turn_takes_it_out_of_use(memory):
    porto = told(memory, "I live in Porto", 1)
    assert memory.retract("Ana", porto) == [porto]
    assert memory.get(porto).status == Status.RETIRED
    again = told(memory, "I live in Porto", 2)
    assert homes(memory) == [("Porto", "Ana")] and memory.get(again).status == Status.ACTIVE
