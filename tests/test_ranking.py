import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollectx.claims import Status
from recollectx.instants import to_micros
from recollectx.query import Query, Weights
from recollectx.ranking import Ranked, Row, ScopeIndex
from recollectx.relevance import K1, B
from recollectx.text import query_tokens, tokens

NOW = 1_000_000.0
PLAIN = Weights(neighbours=0, session=0, speaker=0, date=0)


def row(claim: int, text: str = "tea", **changes: object) -> Row:
    """A row as stored; changes in seconds, tuples and dicts."""
    base = Row(
        claim=claim,
        tokens=" ".join(tokens(text)),
        type="semantic",
        category=None,
        status="active",
        confidence=0.5,
        importance=0.5,
        created_at=100_000_000,
        valid_from=None,
        valid_to=None,
        session=None,
        position=None,
    )
    for name in {"created_at", "valid_from", "valid_to"} & changes.keys():
        changes[name] = to_micros(changes[name])
    for name in {"entities", "metadata"} & changes.keys():
        changes[name] = json.dumps(changes[name])
    return base._replace(**changes)


def index(*rows: Row) -> ScopeIndex:
    made = ScopeIndex()
    for each in rows:
        made.put(each)
    return made


def found(made: ScopeIndex, text: str | None = "tea", **query: object) -> list[int]:
    return [hit.claim for hit in made.search(Query(text, **query), NOW)]


def keywords(rows: dict[int, Row], text: str) -> tuple[dict[int, float], dict[str, float]]:
    """BM25 by claim and IDF by word, the plainest way."""
    bags = {claim: words_said(each) for claim, each in rows.items()}
    average = sum(map(len, bags.values())) / max(len(bags), 1)
    df = {word: sum(word in bag for bag in bags.values()) for word in query_tokens(text)}
    idf = {word: math.log(1 + (len(bags) - n + 0.5) / (n + 0.5)) for word, n in df.items()}
    keyword = {}
    for claim, bag in bags.items():
        norm = K1 * (1 - B + B * len(bag) / average) if average else K1
        keyword[claim] = sum(idf[w] * bag.count(w) / (bag.count(w) + norm) for w in idf)
    return keyword, idf


def named(source: str) -> list[str]:
    """The words of a source that is a name."""
    plain = source.replace(" ", "").replace(".", "")
    return tokens(source) if plain.isalpha() and not source[0].islower() else []


def words_said(each: Row) -> list[str]:
    """The words of a row and the names of its sources."""
    words = each.tokens.split()
    names = [name for source in each.sources for name in named(source)]
    return words + list(dict.fromkeys(name for name in names if name not in words))


def spread(values: list[float]) -> float:
    """The standard deviation, with four more values at a distance of .2 from the mean."""
    if not values:
        return 0.2
    mean = sum(values) / len(values)
    return math.sqrt((sum((value - mean) ** 2 for value in values) + 4 * 0.2**2) / (len(values) + 4))


def speaks(rows: dict[int, Row], text: str) -> set[int]:
    """The claims of the one source that the question names."""
    words = set(query_tokens(text))
    sources = {source for each in rows.values() for source in each.sources}
    met = {source: (len(words & set(named(source))), set(named(source)) <= words) for source in sources}
    best = max((count for count in met.values() if count[0]), default=None)
    fitting = [source for source, count in met.items() if count == best]
    return {claim for claim, each in rows.items() if len(fitting) == 1 and fitting[0] in each.sources}


def around(rows: dict[int, Row], own: dict[int, float], weights: Weights) -> dict[int, tuple[float, float]]:
    """claim -> what the turns beside it and the best of its session lend it, of the claims that have a value."""
    result = {}
    for claim, value in own.items():
        here = rows[claim]
        lent = 0.0
        for distance, share in ((1, weights.neighbours), (2, weights.neighbours / 2)):
            beside = [
                own[other]
                for other in own
                if None not in (here.session, here.position, rows[other].position)
                and rows[other].session == here.session
                and abs(rows[other].position - here.position) == distance
            ]
            lent += share * max(beside, default=0.0)
        fellows = [own[other] for other in own if rows[other].session == here.session]
        best = value if here.session is None else max(fellows)
        session = weights.session * best if any(rows[other].session for other in own) else 0.0
        result[claim] = lent, session
    return result


def reference(
    rows: dict[int, Row], text: str, weights: Weights
) -> dict[int, tuple[float, float, float, float]]:
    """claim -> (own BM25, share, lent, score), the plainest way."""
    keyword, idf = keywords(rows, text)
    most = sum(idf.values()) or 1.0
    unit = spread([value / most for value in keyword.values()])
    said = speaks(rows, text)
    gain = weights.speaker * unit
    own = {claim: value / most + gain * (claim in said) for claim, value in keyword.items() if value > 0}
    placed = any(rows[claim].session is not None and rows[claim].position is not None for claim in own)
    reach = (
        1 + 1.5 * weights.neighbours * placed + weights.session * any(rows[claim].session for claim in own)
    )
    reach *= 1 + gain * bool(said)
    result = {}
    for claim, (lent, session) in around(rows, own, weights).items():
        share = sum(idf[w] for w in idf if w in words_said(rows[claim])) / most
        result[claim] = keyword[claim], share, lent, (own[claim] + lent + session) / reach
    return result


WORDS = st.lists(st.sampled_from(["tea", "milk", "sugar", "cup", "pot"]), min_size=1, max_size=6).map(
    " ".join
)
WEIGHTS = st.sampled_from(
    [
        Weights(),
        Weights(neighbours=0, session=0, speaker=0, date=0),
        Weights(neighbours=2.0),
        Weights(session=3, speaker=0.5),
    ]
)
SOURCES = st.sampled_from([(), (), ("Sugar Pot",), ("Ann",), ("Ann", "tea"), ("milk://cup",), ("cup 7",)])
PLACES = st.tuples(st.sampled_from(["s", "s", "t", None]), st.sampled_from([0, 1, 1, 2, 3, None]))
STEPS = st.lists(st.tuples(st.integers(0, 12), st.none() | st.tuples(WORDS, PLACES, SOURCES)), max_size=40)


@given(steps=STEPS, text=WORDS, weights=WEIGHTS, repeats=st.sampled_from([0, 70]))
@settings(deadline=None)
def test_scores_equal_the_plainest_bm25_after_any_puts_replacements_and_drops(
    steps: list[tuple[int, tuple[str, tuple[str | None, int | None], tuple[str, ...]] | None]],
    text: str,
    weights: Weights,
    repeats: int,
) -> None:
    made, rows = ScopeIndex(), {}
    for turn in range(repeats):  # enough dead rows to have the index compacted
        made.put(row(99, "tea milk", session="s", position=turn % 7))
    made.drop(99)
    for claim, content in steps:
        if content is None:
            made.drop(claim)
            rows.pop(claim, None)
        else:
            words, (session, position), sources = content
            rows[claim] = row(claim, words, session=session, position=position, sources=sources)
            made.put(rows[claim])
    assert len(made) == len(rows)
    hits = made.search(Query(text, k=None, weights=weights), NOW)
    expected = reference(rows, text, weights)
    assert {hit.claim for hit in hits} == set(expected)
    for hit in hits:
        own, share, lent, score = expected[hit.claim]
        assert (hit.parts.keyword, hit.parts.share) == (pytest.approx(own), pytest.approx(share))
        assert (hit.parts.neighbours or 0.0) == pytest.approx(lent)
        assert hit.score == pytest.approx(score)
        assert 0 < hit.score <= 1
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@given(steps=st.lists(st.integers(0, 30), max_size=200), k=st.integers(1, 5), offset=st.integers(0, 5))
@settings(deadline=None)
def test_a_cut_is_the_head_of_the_uncut_answer(steps: list[int], k: int, offset: int) -> None:
    made = ScopeIndex()
    for step in steps:
        made.put(row(step, "tea " * (step % 3) + "milk", confidence=step % 2, created_at=float(step % 5)))
    for text in ("tea milk", None):
        whole = made.search(Query(text, k=None), NOW)
        assert made.search(Query(text, k=k, offset=offset), NOW) == whole[: k + offset]


def test_a_replaced_row_answers_only_by_its_new_words() -> None:
    made = index(row(1, "green tea"), row(2, "milk"))
    made.put(row(1, "coffee"))
    assert (found(made, "tea"), found(made, "coffee"), len(made)) == ([], [1], 2)


def test_compaction_keeps_answers_and_frees_memory() -> None:
    keep = [
        row(n, "tea pot", session="s", position=n, entities=("Ann",), metadata={"n": n}, category="goals")
        for n in range(5)
    ]
    made = index(*(row(n, f"word{n}") for n in range(100, 400)), *keep)
    before, alone = made.nbytes, index(*keep)
    for n in range(100, 400):
        made.drop(n)
    question = Query("tea", entities=("ann",), category="goals", k=None)
    assert made.search(question, NOW) == alone.search(question, NOW)
    assert found(made, metadata={"n": 3}) == [3]
    assert made.nbytes < before / 4
    made.put(row(9, "tea"))
    assert len(made) == 6
    assert 9 in found(made)


def test_emptied_index_answers_and_fills_again() -> None:
    made = index(*(row(n) for n in range(100)))
    for n in range(100):
        made.drop(n)
    made.drop(7)
    assert (found(made), found(made, None), len(made)) == ([], [], 0)
    made.put(row(1))
    assert found(made) == [1]


@pytest.mark.parametrize("text", ["", "  ", "?!", "coffee"])
def test_a_question_that_matches_no_word_has_no_hits(text: str) -> None:
    assert found(index(row(1, session="s", position=0)), text) == []


def test_without_text_everything_comes_newest_first_with_score_one() -> None:
    made = index(row(1, created_at=5.0), row(2, created_at=9.0, confidence=0.1), row(3, created_at=5.0))
    hits = made.search(Query(k=None), NOW)
    assert [(hit.claim, hit.score) for hit in hits] == [(2, 1.0), (3, 1.0), (1, 1.0)]
    assert hits[0].parts.keyword is hits[0].parts.share is None
    assert found(made, None, k=2) == [2, 3]


FILTERS = [
    ({"type": "semantic"}, {"type": "episodic"}),
    ({"category": "goals"}, {"category": "finance"}),
    ({"category": "goals"}, {"category": None}),
    ({"status": "completed"}, {"status": "active"}),
    ({"entities": ("ann", "BOB")}, {"entities": ("Ann",)}),
    ({"metadata": {"a": 1, "b": [2]}}, {"metadata": {"a": 1, "b": [3]}}),
    ({"metadata": {"a": None}}, {"metadata": {}}),
    ({"session": "s"}, {"session": "t"}),
    ({"session": "s"}, {"session": None}),
    ({"min_confidence": 0.5}, {"confidence": 0.49}),
    ({"since": 100.0}, {"created_at": 99.0}),
    ({"until": 100.0}, {"created_at": 101.0}),
    ({"valid_at": 100.0}, {"valid_from": 101.0}),
    ({"valid_at": 150.0}, {"valid_to": 150.0}),
    ({"valid_at": 150.0}, {"status": "retired"}),
    ({}, {"status": "superseded"}),
    ({}, {"status": "unsupported"}),
    ({}, {"valid_to": NOW}),
]
PASSES = {
    "category": {"category": "goals"},
    "status": {"status": "completed"},
    "entities": {"entities": ("Ann", "Bob", "Cy")},
    "session": {"session": "s"},
}


@pytest.mark.parametrize(("wanted", "fails"), FILTERS)
@pytest.mark.parametrize("text", ["tea", None])
def test_filters_hold_and_never_starve_k(text: str | None, wanted: dict, fails: dict) -> None:
    passing: dict = {"metadata": wanted["metadata"]} if "metadata" in wanted else {}
    for name in wanted.keys() & PASSES.keys():
        passing |= PASSES[name]
    # What fails would lead: it is newer or has more of the word.
    good = [row(n, "some tea with a lot of other words", **passing) for n in range(3)]
    bad = [row(n, "tea tea", **({"created_at": 100.5} | passing | fails)) for n in range(10, 60)]
    made = index(*good, *bad)
    assert found(made, text, k=3, **wanted) == [2, 1, 0]
    assert sorted(found(made, text, k=50, **wanted)) == [0, 1, 2]


def test_a_filter_value_unknown_to_the_scope_passes_nothing() -> None:
    made = index(row(1, session="s", category="goals"))
    for wanted in (
        {"session": "u"},
        {"category": "finance"},
        {"entities": ("Eve",)},
        {"status": frozenset()},
    ):
        assert found(made, **wanted) == []


def test_asking_for_a_status_includes_what_no_longer_holds() -> None:
    made = index(row(1, status="superseded", valid_to=200.0), row(2, valid_to=200.0))
    assert found(made) == []
    assert found(made, status={Status.SUPERSEDED}) == [1]
    assert sorted(found(made, valid_at=150.0)) == [1, 2]
    assert found(made, valid_at=200.0) == []


def test_filters_do_not_move_scores() -> None:
    made = index(*(row(n, "tea milk" if n % 2 else "tea", created_at=float(n)) for n in range(10)))
    scores = {hit.claim: hit.score for hit in made.search(Query("tea milk", k=None), NOW)}
    part = made.search(Query("tea milk", since=5.0, k=None), NOW)
    assert {hit.claim: hit.score for hit in part} == {claim: scores[claim] for claim in range(5, 10)}


def test_share_counts_words_the_scope_has_never_seen() -> None:
    (hit,) = index(row(1, "green tea")).search(Query("green tea zeppelin"), NOW)
    known, unknown = math.log(1 + 0.5 / 1.5), math.log(1 + 1.5 / 0.5)
    assert hit.parts.share == pytest.approx(2 * known / (2 * known + unknown))


def attainable(rows: list[Row], text: str) -> float:
    """The most that BM25 could reach."""
    return sum(keywords({each.claim: each for each in rows}, text)[1].values())


def conversation(*texts: str, session: str = "s") -> list[Row]:
    return [row(n, text, session=session, position=n) for n, text in enumerate(texts)]


def test_a_turn_gains_by_the_turns_beside_it_and_they_bring_no_turn_in_alone() -> None:
    rows = [*conversation("tea", "x", "tea", "green tea", "y"), row(9, "tea", session="t", position=4)]
    made = index(*rows)
    hits = {hit.claim: hit for hit in made.search(Query("green tea"), NOW)}
    assert set(hits) == {0, 2, 3, 9}
    tea, green_tea = hits[0].parts.keyword, hits[3].parts.keyword
    most = attainable(rows, "green tea")
    assert hits[2].parts.neighbours == pytest.approx((0.4 * green_tea + 0.2 * tea) / most)
    assert hits[3].parts.neighbours == pytest.approx(0.4 * tea / most)
    assert hits[0].parts.neighbours == pytest.approx(0.2 * tea / most)
    assert hits[9].parts.neighbours is None
    plain = {hit.claim: hit for hit in made.search(Query("green tea", weights=PLAIN), NOW)}
    assert all(hit.parts.neighbours is None for hit in plain.values())
    assert plain[0].score == plain[2].score


def test_the_best_of_a_session_lifts_all_of_it_and_a_claim_of_none_itself() -> None:
    rows = [
        row(1, "tea", session="s", position=0),
        row(2, "green tea", session="s", position=9),
        row(3, "tea", session="t", position=0),
        row(4, "tea"),
    ]
    parts = {hit.claim: hit.parts for hit in index(*rows).search(Query("green tea"), NOW)}
    tea, green_tea = (parts[claim].keyword / attainable(rows, "green tea") for claim in (1, 2))
    assert [parts[claim].session for claim in (1, 2, 3, 4)] == pytest.approx(
        [0.3 * green_tea, 0.3 * green_tea, 0.3 * tea, 0.3 * tea]
    )
    assert found(index(*rows), "green tea") == [2, 1, 4, 3]
    assert {hit.parts.session for hit in index(rows[3]).search(Query("tea"), NOW)} == {None}


def test_what_the_one_named_by_the_question_said_leads() -> None:
    rows = [row(n, "likes tea", sources=(name,)) for n, name in enumerate(("Ann Lee", "Bob Lee", "doc:42"))]
    made = index(*rows, row(9, "likes tea"))
    assert found(made, "What tea does Bob like?")[0] == 1
    assert found(made, "Ann's tea?")[0] == 0
    for nobody_alone in ("tea?", "Bob and Ann: tea?", "the tea of Lee?", "doc 42 on tea?"):
        assert {hit.parts.speaker for hit in made.search(Query(nobody_alone), NOW)} == {None}
    gains = {hit.claim: hit.parts.speaker for hit in made.search(Query("Bob's tea"), NOW)}
    assert gains[1] > 0
    assert {gains[claim] for claim in (0, 2, 9)} == {None}
    made.drop(1)
    assert {hit.parts.speaker for hit in made.search(Query("Bob's tea"), NOW)} == {None}
    assert found(made, "the tea of Lee?")[0] == 0


def test_a_fact_about_the_one_named_gains_as_what_that_one_said_does() -> None:
    made = index(
        row(1, "Ann lives in Oslo", sources=("Ann",), subject="Ann"),
        row(2, "Ann allergic to nuts", sources=("Dr. Fry",), subject="ann"),
        row(3, "Bob lives in Oslo", sources=("Dr. Fry",), subject="Bob"),
    )
    gains = {hit.claim: hit.parts.speaker for hit in made.search(Query("Which nuts, Ann?"), NOW)}
    assert gains[1] > gains[2] == pytest.approx(0.5 * gains[1])
    assert found(made, "Is Ann allergic to nuts?")[0] == 2
    assert {hit.parts.speaker for hit in made.search(Query("Where does Bob live?"), NOW)} == {None}


def test_what_began_when_the_question_asks_about_leads() -> None:
    days = [
        "2023-05-07T23:00Z",
        "2023-05-08T09:00Z",
        "2023-05-09T09:00Z",
        "2023-05-10T00:00Z",
        "2022-05-08T12:00Z",
    ]
    rows = [row(n, "tea", created_at=day, type="episodic") for n, day in enumerate(days)]
    made = index(*rows, row(9, "tea", created_at=days[0], valid_from=days[1], type="episodic"))

    def gain(text: str) -> set[int]:
        return {hit.claim for hit in made.search(Query(text), 2e9) if hit.parts.date}

    assert gain("tea before 8 May 2023") == gain("tea since May 2022") == set()

    assert gain("tea on 8 May 2023") == {1, 2, 9}
    assert gain("tea on May 8") == {1, 2, 4, 9}
    assert gain("tea in 2022") == {4}
    assert gain("tea in April 2023") == gain("tea") == set()
    hits = made.search(Query("tea on 8 May 2023"), 2e9)
    assert {hit.claim for hit in hits[:3]} == {1, 2, 9}
    assert all(0 < hit.score <= 1 for hit in hits)
    hits = made.search(Query("tea on 8 May 2023", weights=Weights(date=0)), 2e9)
    assert {hit.parts.date for hit in hits} == {None}


def test_whose_name_a_source_is_counts_as_said() -> None:
    made = index(row(1, "home is Faro", sources=("Ann Lee",)), row(2, "Ann: home is Porto", sources=("Ann",)))
    hits = {hit.claim: hit.parts for hit in made.search(Query("Ann"), NOW)}
    assert set(hits) == {1, 2}
    assert found(index(row(1, "home is Faro", sources=("doc:ann",))), "Ann") == []


def test_a_turn_of_which_nothing_holds_any_more_comes_after_others() -> None:
    made = index(
        row(1, "tea tea", until=0), row(2, "tea tea", until=150_000_000), row(3, "tea and milk and more")
    )
    hits = {hit.claim: hit for hit in made.search(Query("tea"), NOW)}
    assert list(hits) == [3, 2, 1]
    assert [hits[claim].parts.ended for claim in (1, 2, 3)] == [pytest.approx(0.2), pytest.approx(0.2), None]
    assert found(made, valid_at=120.0)[0] == 2
    assert found(made, weights=Weights(ended=0)) == [2, 1, 3]
    assert {hit.score for hit in made.search(Query(), NOW)} == {1.0}


def test_what_is_more_likely_false_than_true_comes_after_others_and_so_does_the_turn_it_was_read_from() -> (
    None
):
    made = index(
        row(1, "tea tea", confidence=0.1),
        row(2, "tea tea", confidence=1.0, belief=0.1, type="episodic"),
        row(3, "tea and milk and more", confidence=0.5),
        row(4, "tea and milk and more", confidence=0.3, belief=0.9),
    )
    hits = {hit.claim: hit for hit in made.search(Query("tea"), NOW)}
    assert [hits[claim].parts.doubted for claim in (1, 2, 3, 4)] == [
        pytest.approx(0.52),
        pytest.approx(0.52),
        None,
        pytest.approx(0.76),
    ]
    assert list(hits) == [3, 2, 1, 4]
    plain = {hit.claim: hit.score for hit in made.search(Query("tea", weights=Weights(doubted=0)), NOW)}
    assert list(plain) == [2, 1, 3, 4]
    unsaid = index(row(1, "tea tea", confidence=0.0), row(2, "tea and milk and more"))
    assert {hit.parts.doubted for hit in unsaid.search(Query("tea"), NOW)} == {None}
    weighed = made.search(Query("tea", weights=Weights(confidence=1)), NOW)
    assert {hit.parts.doubted for hit in weighed} == {None}
    assert {claim: hit.score for claim, hit in hits.items()} == pytest.approx(
        {1: 0.52 * plain[1], 2: 0.52 * plain[2], 3: plain[3], 4: 0.76 * plain[4]}
    )
    assert {hit.score for hit in made.search(Query(), NOW)} == {1.0}


def test_a_fact_gains_by_every_period_in_which_it_held() -> None:
    made = index(
        row(1, "home is Oslo", created_at="2022-01-01", valid_to="2023-02-01"),
        row(2, "home is Rome", created_at="2023-02-01"),
        row(3, "home is nice", created_at="2022-01-05", type="episodic", until=to_micros("2023-02-01")),
    )

    def gain(text: str) -> set[int]:
        return {hit.claim for hit in made.search(Query(text, valid_at="2023-01-15"), 2e9) if hit.parts.date}

    assert gain("home in June 2022?") == {1}
    assert {hit.claim for hit in made.search(Query("home in March 2024?"), 2e9) if hit.parts.date} == {2}
    ended = {hit.claim: hit.parts.ended for hit in made.search(Query("home in January 2022?"), 2e9)}
    assert ended[3] is None
    assert {hit.claim: hit.parts.ended for hit in made.search(Query("home?"), 2e9)}[3] == pytest.approx(0.2)


def test_a_period_alone_finds_what_was_said_in_it() -> None:
    made = index(
        row(1, "rain", created_at="2023-07-03", type="episodic"),
        row(2, "sun", created_at="2023-08-01", type="episodic"),
    )
    assert [hit.claim for hit in made.search(Query("What happened in July 2023?"), 2e9)] == [1]


def test_the_longest_name_wins_and_a_common_noun_is_none() -> None:
    made = index(
        row(1, "bought a boat", sources=("Ana",)),
        row(2, "bought a bike", sources=("Ana Silva",)),
        row(3, "Ana's email is here", sources=("crm",)),
        row(4, "email is slow", sources=("email",)),
        row(5, "the dog sank", sources=("Will",)),
    )
    assert found(made, "What did Ana Silva buy?")[0] == 2
    assert found(made, "what was bought by ana?")[0] == 1
    assert found(made, "What is Ana's email?")[0] != 4
    assert {hit.parts.speaker for hit in made.search(Query("Will the dog chew?"), NOW)} == {None}
    assert {hit.parts.speaker for hit in made.search(Query("Did the dog of Will sink?"), NOW)} != {None}


def test_filters_do_not_reach_the_neighbour_that_lends() -> None:
    made = index(*conversation("tea", "green tea"))
    made.put(row(1, "green tea", session="s", position=1, type="episodic"))
    (hit,) = made.search(Query("green tea", type="semantic"), NOW)
    assert hit.claim == 0
    assert hit.parts.neighbours


def test_between_two_turns_the_greater_one_lends() -> None:
    rows = conversation("green tea", "tea", "green green tea")
    made = index(*rows)
    hits = {hit.claim: hit.parts for hit in made.search(Query("green tea"), NOW)}
    most = attainable(rows, "green tea")
    assert hits[2].keyword > hits[0].keyword
    assert hits[1].neighbours == pytest.approx(0.4 * hits[2].keyword / most)


@pytest.mark.parametrize("order", [1, -1])
def test_two_claims_of_one_turn_lend_the_greater_and_dropping_it_leaves_the_other(order: int) -> None:
    pair = [row(5, "green green tea", session="s", position=1), row(6, "tea", session="s", position=1)]
    rows = [row(0, "tea", session="s", position=0), *pair[::order]]
    made = index(*rows)
    for lender in (5, 6):
        most = attainable(rows, "green tea")
        hits = {hit.claim: hit.parts for hit in made.search(Query("green tea"), NOW)}
        assert hits[0].neighbours == pytest.approx(0.4 * hits[lender].keyword / most)
        made.drop(lender)
        rows = [each for each in rows if each.claim != lender]


def test_alone_the_words_have_the_same_scores_at_any_weight() -> None:
    made = index(row(1, "green tea"), row(2, "tea milk"))
    light, heavy = (
        made.search(Query("green tea", weights=Weights(keyword=weight)), NOW) for weight in (0.1, 5.0)
    )
    assert light == heavy
    assert {hit.parts.cosine for hit in light} == {None}


@pytest.mark.parametrize("name", ["confidence", "importance"])
def test_the_claims_own_numbers_order_only_when_weighed(name: str) -> None:
    made = index(row(1, "tea tea", **{name: 0.5}), row(2, "tea milk", **{name: 1.0}))
    assert found(made) == [1, 2]
    assert found(made, weights=Weights(**{name: 5.0})) == [2, 1]


def test_recency_fades_by_type_and_importance_and_is_neutral_at_zero() -> None:
    hour = 3600.0
    made = index(
        row(1, created_at=NOW - 100 * hour, type="episodic", importance=0.0),
        row(2, created_at=NOW - 100 * hour, importance=0.0),
        row(3, created_at=NOW - 100 * hour, type="episodic", importance=1.0),
        row(4, created_at=NOW + hour, type="episodic", importance=0.0),
    )
    plain = {hit.claim: hit for hit in made.search(Query("tea"), NOW)}
    assert {hit.parts.recency for hit in plain.values()} == {None}
    assert len({hit.score for hit in plain.values()}) == 1
    biased = {hit.claim: hit for hit in made.search(Query("tea", weights=Weights(recency_bias=2.0)), NOW)}
    expected = {1: math.exp(-0.2), 2: math.exp(-0.02), 3: 1.0, 4: 1.0}
    for claim, factor in expected.items():
        assert biased[claim].parts.recency == pytest.approx(factor)
        assert biased[claim].score == pytest.approx(plain[claim].score * factor)


def test_ties_go_to_the_more_confident_then_the_newer_then_the_larger_key() -> None:
    rows = [
        row(1, confidence=0.9, created_at=1.0),
        row(2, confidence=0.9, created_at=2.0),
        row(3, confidence=0.5, created_at=9.0),
        row(4, confidence=0.9, created_at=2.0),
    ]
    for order in (rows, rows[::-1]):
        assert found(index(*order)) == [4, 2, 1, 3]
        assert found(index(*order), k=2) == [4, 2]


def test_a_hit_names_its_claim_and_confidence() -> None:
    (hit,) = index(row(2**40, confidence=0.25)).search(Query("tea"), NOW)
    assert isinstance(hit, Ranked)
    assert (hit.claim, hit.parts.confidence) == (2**40, 0.25)
