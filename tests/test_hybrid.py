import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_ranking import NOW, PLACES, PLAIN, SOURCES, WORDS, around, keywords, row, speaks, spread

from recollectx.errors import InvalidQuery
from recollectx.query import Query, Weights
from recollectx.ranking import Ranked, Row, ScopeIndex

EAST, NORTH, UP = np.eye(3, dtype=np.float32)


def index(*rows: tuple[Row, object]) -> ScopeIndex:
    made = ScopeIndex()
    for each, vector in rows:
        made.put(each, None if vector is None else np.array(vector, np.float32))
    return made


def asked(made: ScopeIndex, text: str, vector: object, **query: object) -> dict[int, Ranked]:
    given = None if vector is None else np.array(vector, np.float32)
    return {hit.claim: hit for hit in made.search(Query(text, **({"k": None} | query)), NOW, given)}


def standing(values: dict[int, float]) -> dict[int, float]:
    """z of each value."""
    mean, unit = sum(values.values()) / max(len(values), 1), spread(list(values.values()))
    return {claim: (value - mean) / unit for claim, value in values.items()}


def reference(
    rows: dict[int, tuple[Row, tuple[int, ...] | None]], text: str, vector: tuple[int, ...], weights: Weights
) -> dict[int, tuple[float | None, float, float, float]]:
    """claim -> (cosine, BM25, lent, score), the plainest way; some row must have a vector."""
    stored = {claim: each for claim, (each, _) in rows.items()}
    keyword, idf = keywords(stored, text)
    cosine = {
        claim: sum(a * b for a, b in zip(own, vector, strict=True)) / math.hypot(*own) / math.hypot(*vector)
        for claim, (_, own) in rows.items()
        if own is not None
    }
    dense = standing(cosine)
    matched = standing({claim: value / sum(idf.values()) for claim, value in keyword.items()})
    said = speaks(stored, text)
    own = {
        claim: weights.dense * dense.get(claim, 0.0)
        + weights.keyword * matched[claim]
        + weights.speaker * (claim in said)
        for claim in rows
        if claim in cosine or keyword[claim] > 0
    }
    result = {}
    for claim, (lent, session) in around(stored, own, weights).items():
        above = own[claim] + lent + session - 8
        result[claim] = cosine.get(claim), keyword[claim], lent, (1 + above / (4 + abs(above))) / 2
    return result


VECTORS = st.tuples(*[st.integers(-3, 3)] * 3).filter(any)
STEPS = st.lists(
    st.tuples(
        st.integers(0, 12), st.none() | VECTORS | st.tuples(WORDS, PLACES, SOURCES, st.none() | VECTORS)
    ),
    max_size=40,
)
WEIGHTS = st.sampled_from([Weights(), PLAIN, Weights(dense=0.5, keyword=2.0, neighbours=1.5, session=0)])


@given(steps=STEPS, text=WORDS, vector=VECTORS, weights=WEIGHTS, repeats=st.sampled_from([0, 70]))
@settings(deadline=None)
def test_scores_equal_the_plainest_sum_after_any_puts_drops_and_late_vectors(
    steps: list[tuple[int, object]],
    text: str,
    vector: tuple[int, ...],
    weights: Weights,
    repeats: int,
) -> None:
    made, rows = ScopeIndex(), {}
    for turn in range(repeats):  # enough dead rows to have the index compacted
        made.put(row(99, "tea milk", session="s", position=turn % 7), UP)
    made.drop(99)
    for claim, content in steps:
        if content is None:
            made.drop(claim)
            rows.pop(claim, None)
        elif isinstance(content[0], int):
            if claim in rows:
                rows[claim] = rows[claim][0], content
                made.put(rows[claim][0], np.array(content, np.float32))
        else:
            words, (session, position), sources, own = content
            rows[claim] = row(claim, words, session=session, position=position, sources=sources), own
            made.put(rows[claim][0], None if own is None else np.array(own, np.float32))
    hits = asked(made, text, vector, weights=weights)
    if all(own is None for _, own in rows.values()):
        assert hits == asked(made, text, None, weights=weights)
        return
    expected = reference(rows, text, vector, weights)
    assert set(hits) == set(expected)
    for claim, (cosine, keyword, lent, score) in expected.items():
        hit = hits[claim]
        assert hit.parts.cosine == (None if cosine is None else pytest.approx(cosine, abs=2e-6))
        assert hit.parts.keyword == pytest.approx(keyword)
        assert (hit.parts.neighbours or 0.0) == pytest.approx(lent, abs=1e-4)
        assert hit.score == pytest.approx(score, abs=1e-4)
        assert 0 < hit.score < 1
    assert [hit.score for hit in hits.values()] == sorted((hit.score for hit in hits.values()), reverse=True)


def scope(size: int, seed: int = 0) -> ScopeIndex:
    """Turns of one session, every third without a vector, of 8 dimensions."""
    chance = np.random.default_rng(seed)
    made = ScopeIndex()
    for n in range(size):
        words = " ".join(chance.choice(["tea", "milk", "sugar", "cup", "pot"], 3))
        vector = chance.standard_normal(8).astype(np.float32)
        kind = "episodic" if n % 2 else "semantic"
        each = row(n, words, session="s", position=n, created_at=float(n), type=kind, confidence=n / size)
        made.put(each, vector if n % 3 else None)
    return made


QUESTION = np.arange(8, dtype=np.float32) - 3


@pytest.mark.parametrize(
    "filters", [{"type": "semantic"}, {"since": 20.0, "until": 40.0}, {"min_confidence": 0.7}]
)
def test_filters_change_no_score_and_starve_no_k(filters: dict) -> None:
    made = scope(100)
    whole = asked(made, "tea milk", QUESTION)
    part = asked(made, "tea milk", QUESTION, **filters)
    assert 0 < len(part) < len(whole)
    assert part == {claim: hit for claim, hit in whole.items() if claim in part}
    assert list(part) == [claim for claim in whole if claim in part]
    assert list(asked(made, "tea milk", QUESTION, k=7, **filters)) == list(part)[:7]


@pytest.mark.parametrize(("k", "offset"), [(1, 0), (5, 0), (10, 7)])
def test_a_cut_is_the_head_of_the_uncut_answer(k: int, offset: int) -> None:
    made = scope(100)
    whole = list(asked(made, "tea milk", QUESTION).values())
    assert made.search(Query("tea milk", k=k, offset=offset), NOW, QUESTION) == whole[: k + offset]


def test_without_the_questions_vector_or_the_rows_words_alone_decide() -> None:
    texts = ["green tea", "tea milk", "pot", "milk cup"]
    rows = [row(n, text, session="s", position=n) for n, text in enumerate(texts)]
    with_vectors = index(*((each, EAST + each.claim * UP) for each in rows))
    without = index(*((each, None) for each in rows))
    by_words = asked(without, "green tea", None)
    assert set(by_words) == {0, 1}
    assert asked(with_vectors, "green tea", None) == by_words
    assert asked(with_vectors, "green tea", EAST, weights=Weights(dense=0)) == by_words
    assert asked(without, "green tea", EAST) == by_words
    assert {hit.parts.cosine for hit in by_words.values()} == {None}
    made = index((row(9, "green"), EAST), *((each, None) for each in rows))
    made.drop(9)
    assert asked(made, "green tea", EAST) == by_words


def test_a_question_without_a_known_word_is_answered_by_meaning() -> None:
    made = index((row(1), EAST), (row(2), EAST + NORTH), (row(3), NORTH), (row(4), None))
    for text in ("zeppelin", "?!"):
        hits = asked(made, text, NORTH)
        assert list(hits) == [3, 2, 1]
        assert [round(hit.parts.cosine, 3) for hit in hits.values()] == [1.0, 0.707, 0.0]
        assert {hit.parts.keyword or 0.0 for hit in hits.values()} == {0.0}
    assert hits[1].parts.keyword is hits[1].parts.share is None


def test_a_weight_of_zero_switches_the_words_off_and_both_at_zero_is_refused() -> None:
    made = index((row(1, "tea tea"), EAST), (row(2, "milk"), NORTH), (row(3, "tea"), None))
    hits = asked(made, "tea", NORTH, weights=Weights(keyword=0))
    assert list(hits) == [2, 1]
    assert hits[2].parts.keyword is None
    assert asked(made, "tea", None, weights=Weights(keyword=0)) == {}
    with pytest.raises(InvalidQuery, match="both 0"):
        Weights(dense=0, keyword=0)


def test_a_row_without_vector_is_average_in_meaning_and_needs_a_word_to_be_found() -> None:
    made = index(*((row(n, "milk"), (1, y, 0)) for n, y in enumerate((-1, 0, 1))), (row(7, "milk"), None))
    made.put(row(8, "pot"), None)
    hits = asked(made, "milk", (0, 1, 0), weights=PLAIN)
    assert set(hits) == {0, 1, 2, 7}
    assert hits[7].parts.cosine is None
    assert hits[7].score == pytest.approx(hits[1].score)
    assert hits[0].score < hits[7].score < hits[2].score


def test_meaning_finds_what_words_do_not_and_words_decide_between_equals_in_meaning() -> None:
    made = index(
        (row(1, "she adores felines"), (5, 1, 0)),
        (row(2, "the cat tax"), (0, 1, 5)),
        (row(3, "his cats sleep"), (5, 1, 0)),
        *((row(n, f"word{n}"), (0, 1, n)) for n in range(10, 40)),
    )
    assert list(asked(made, "cat love", (5, 0, 0)))[:3] == [3, 1, 2]


@pytest.mark.parametrize("words", ["tea", "milk"])
def test_a_lone_row_and_equal_rows_score_alike_and_ties_are_settled(words: str) -> None:
    (lone,) = asked(index((row(1), EAST)), words, NORTH).values()
    assert lone.score == pytest.approx((1 - 8 / 12) / 2)
    equal = index(*((row(n, confidence=0.5 + n % 2 / 2), EAST) for n in range(5)))
    hits = asked(equal, words, EAST)
    (score,) = {hit.score for hit in hits.values()}
    assert score == pytest.approx(lone.score)
    assert list(hits) == [3, 1, 4, 2, 0]


@pytest.mark.parametrize("others", [1, 2, 3, 4])
@pytest.mark.parametrize("cosine", [0.0, 0.1, None])
def test_in_a_tiny_scope_a_match_outranks_what_has_nothing_in_common(others: int, cosine: float) -> None:
    match = (row(1, "the dentist moved to friday"), None if cosine is None else (cosine, 1, 0))
    rest = [(row(10 + n, f"word{n} and more"), (0.05 - 0.02 * n, 0, 1)) for n in range(others)]
    hits = asked(index(*rest, match), "when is the dentist", (1, 0, 0))
    assert next(iter(hits)) == 1
    assert all(math.isfinite(hit.score) for hit in hits.values())


def test_a_word_only_few_of_many_claims_have_leaves_scores_apart_and_below_one() -> None:
    made = index(*((row(n, "milk"), (1, n % 7, 0)) for n in range(3000)))
    made.put(row(5000, "zeppelin"), UP)
    made.put(row(5001, "zeppelin airship"), UP)
    first, second, third = list(asked(made, "zeppelin airship", EAST).values())[:3]
    assert (first.claim, second.claim) == (5001, 5000)
    assert 1 > first.score > second.score > third.score


def test_the_turns_beside_lend_the_greater_of_their_sums() -> None:
    turns = [(5, 1, 0), (1, 5, 0), (0, 1, 5), (0, 2, 1), (0, 3, 1)]
    made = index(*((row(n, "x", session="s", position=n), v) for n, v in enumerate(turns)))
    made.put(row(9, "x", session="t", position=2), np.array((0, 1, 5), np.float32))
    plain = asked(made, "y", (1, 0, 0), weights=PLAIN)
    hits = asked(made, "y", (1, 0, 0))
    cosines = standing({claim: hit.parts.cosine for claim, hit in plain.items()})
    assert hits[1].parts.neighbours == pytest.approx(0.4 * max(cosines[0], cosines[2]) + 0.2 * cosines[3])
    assert hits[2].parts.neighbours == pytest.approx(
        0.4 * max(cosines[1], cosines[3]) + 0.2 * max(cosines[0], cosines[4])
    )
    assert hits[4].parts.neighbours == pytest.approx(0.4 * cosines[3] + 0.2 * cosines[2])
    assert hits[4].parts.neighbours < 0
    assert hits[9].parts.neighbours is None
    assert {hit.parts.neighbours for hit in plain.values()} == {None}


def test_a_turn_that_is_no_hit_lends_nothing() -> None:
    made = index(
        (row(0, "tea", session="s", position=0), EAST),
        (row(1, "pot", session="s", position=1), None),
        (row(2, "milk", session="u", position=0), NORTH),
    )
    assert asked(made, "tea", EAST)[0].parts.neighbours is None


def test_the_length_of_a_vector_does_not_matter() -> None:
    rows = [(row(n), np.array((1, n, 0), np.float32)) for n in range(6)]
    longer = [(each, vector * 1000) for each, vector in rows]
    expected = asked(index(*rows), "tea", (0, 1, 0))
    found = asked(index(*longer), "tea", (0, 0.001, 0))
    assert list(found) == list(expected)
    assert [hit.score for hit in found.values()] == pytest.approx([hit.score for hit in expected.values()])


BAD = [(0, 0, 0), (math.nan, 0, 1), (math.inf, 0, 1), (1, 2), (1, 2, 3, 4), ((1, 2, 3),), ()]


@pytest.mark.parametrize("vector", BAD)
def test_a_vector_that_cannot_be_compared_is_refused_and_changes_nothing(vector: tuple) -> None:
    made, bad = index((row(1), EAST), (row(2, "milk"), NORTH)), np.array(vector, np.float32)
    before = asked(made, "tea", EAST)
    for attempt in (
        lambda: made.put(row(1, "milk"), bad),
        lambda: made.put(row(3, "tea"), bad),
        lambda: made.search(Query("tea"), NOW, bad),
    ):
        with pytest.raises(ValueError, match="a vector must"):
            attempt()
    assert asked(made, "tea", EAST) == before
    assert len(made) == 2


@pytest.mark.parametrize("vector", [(0, 0, 0), (math.nan, 0, 1), ((1, 2, 3),)])
def test_the_first_vector_is_checked_too(vector: tuple) -> None:
    made = ScopeIndex()
    with pytest.raises(ValueError, match="a vector must"):
        made.put(row(1), np.array(vector, np.float32))
    made.put(row(1), np.ones(5, np.float32))
    assert len(made) == 1


def test_a_vector_can_come_late_be_replaced_and_go_with_its_row() -> None:
    made = index((row(1, "a"), None), (row(2, "b"), NORTH), (row(3, "c"), EAST))
    made.put(row(1, "a"), EAST)
    made.put(row(3, "c"), NORTH)
    cosines = {claim: hit.parts.cosine for claim, hit in asked(made, "x", EAST).items()}
    assert cosines == {1: 1.0, 2: 0.0, 3: 0.0}
    made.put(row(1, "a"))
    made.drop(2)
    assert set(asked(made, "x", EAST)) == {3}


def test_vectors_survive_growth_and_compaction_and_are_counted_as_memory() -> None:
    chance = np.random.default_rng(1)
    vectors = chance.standard_normal((500, 64)).astype(np.float32)
    made, words = ScopeIndex(), ScopeIndex()
    for n, vector in enumerate(vectors):
        made.put(row(n, "tea", session="s", position=n), vector if n % 2 else None)
        words.put(row(n, "tea", session="s", position=n))
    grown = made.nbytes
    assert grown - words.nbytes >= 500 * 64 * 4
    for n in range(400):
        made.drop(n)
    assert made.nbytes < grown / 2
    alone = index(
        *((row(n, "tea", session="s", position=n), vectors[n] if n % 2 else None) for n in range(400, 500))
    )
    expected, found = asked(alone, "tea", vectors[450]), asked(made, "tea", vectors[450])
    assert list(found) == list(expected)
    assert found[451].parts.cosine == pytest.approx(
        vectors[451] @ vectors[450] / np.prod(np.linalg.norm(vectors[[450, 451]], axis=1)), abs=2e-6
    )


def test_equal_vectors_tie_wherever_their_rows_stand() -> None:
    chance = np.random.default_rng(2)
    one, question = chance.standard_normal((2, 387)).astype(np.float32)
    made = ScopeIndex()
    for n in range(203):
        made.put(row(n, "tea"), one if n % 5 == 0 else chance.standard_normal(387).astype(np.float32))
    hits = asked(made, "x", question)
    equal = [claim for claim in hits if claim % 5 == 0]
    assert len({hits[claim].score for claim in equal}) == 1
    assert equal == sorted(equal, reverse=True)


def test_the_same_steps_give_the_same_answer_and_another_order_the_same_ranking() -> None:
    first, second = (asked(scope(90), "tea milk", QUESTION) for _ in range(2))
    assert first == second
    chance = np.random.default_rng(3)
    rows = [(row(n, "tea" * (n % 3)), chance.standard_normal(16)) for n in range(80)]
    question = chance.standard_normal(16)
    assert list(asked(index(*rows), "tea", question)) == list(asked(index(*rows[::-1]), "tea", question))


def test_without_text_a_vector_has_no_say() -> None:
    made = index((row(1), EAST), (row(2), NORTH))
    assert made.search(Query(), NOW, EAST) == made.search(Query(), NOW)


@pytest.mark.parametrize("name", ["confidence", "importance"])
def test_the_claims_own_numbers_do_not_lift_what_is_unrelated_over_a_clear_match(name: str) -> None:
    made = index(*((row(n, f"word{n}", **{name: 1.0}), (0, 1, n)) for n in range(60)))
    made.put(row(99, "green tea", **{name: 0.0}), EAST)
    assert next(iter(asked(made, "green tea", EAST, weights=Weights(**{name: 1.0})))) == 99
