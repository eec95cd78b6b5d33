import pytest
import snowballstemmer
from hypothesis import example, given
from hypothesis import strategies as st

from recollectx.claims import EpisodicClaim, SemanticClaim
from recollectx.errors import InvalidClaim
from recollectx.text import fold, fold_claim, indexed, query_tokens, slot, tokens

SAME = [
    ("The cat  sat.", "cat sat"),
    ("I fed the dog", "I fed a dog!"),
    ("He’s late", "he's late"),
    ("lives_in", "lives in"),
    ("well-known", "Well known"),
    ("Ｔokyo", "tokyo"),
    ("cafe\u0301", "café"),
    ("5 %", "5%"),
    ("$ 5", "$5"),
    ("Really ?", "really??"),
    ("pages 10–12", "pages 10-12"),
    ("−5 °C", "-5 °C"),
    ('"An apple"', "apple"),
    ("soft\u00adware", "software"),
    ("...", "…"),
    ("Straße", "STRASSE"),
    ("vitamin-A is", "Vitamin A is"),
    ("is_a_friend", "is a friend"),
]
DIFFERENT = [
    ("3.5", "35"),
    ("1,5", "15"),
    ("3.5", "3 5"),
    (".5", "5"),
    ("-5", "5"),
    ("x - 5", "x 5"),
    ("-$5", "$5"),
    ("+5", "5"),
    ("3/5", "35"),
    ("12:30", "1230"),
    ("2024-05-01", "20240501"),
    ("5%", "5"),
    ("5‰", "5%"),
    ("$5", "5"),
    ("€5", "$5"),
    ("10²", "102"),
    ("5½", "51/2"),
    ("C++", "C"),
    ("C#", "C"),
    ("C#", "C++"),
    ("#5", "5"),
    ("R&D", "R D"),
    ("@sam", "sam"),
    ("we're", "were"),
    ("it is true?", "it is true"),
    ("a != b", "a = b"),
    ("!ready", "ready"),
    ("grade A-", "grade A"),
    ("blood group AB-", "blood group AB"),
    ("at 5 a.m.", "at 5 m"),
    ("Vitamin A", "vitamin"),
    ("Plan A", "plan"),
    ("Team A won", "Team won"),
    ("The A team won", "The team won"),
    ("the a/c broke", "the c broke"),
    ("I ♥ it", "I it"),
    ("sad 😀", "sad 😢"),
    ("he does not", "he does"),
    ("!!!", "???"),
    ("", "..."),
]
AWKWARD = st.lists(
    st.sampled_from(
        [*"aA-'.,?!#+$%5_1/^:()²½é\u0301\u0345ŉ’–\u200b\"", " ", "the ", "The ", " A ", "an", "–"]
    )
).map("".join)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_wordings_of_the_same_fold_together(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_a_differing_number_name_symbol_or_negation_never_folds_together(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@given(st.text() | AWKWARD)
@example("A_0")
@example("A:\u0345")
@example("The A team is a team")
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(st.text() | AWKWARD)
def test_case_of_all_words_but_articles_and_outer_space_do_not_matter(text: str) -> None:
    assert fold(f" \t{text}\n") == fold(text)


NUMBERS = st.integers() | st.decimals(allow_nan=False, allow_infinity=False, places=2)


@given(
    NUMBERS, NUMBERS, st.sampled_from(["{}", "it costs {}.", "the {} of them", "(x: {})", "a,{}!", "x {} y"])
)
def test_differing_numbers_never_fold_together(one: object, other: object, sentence: str) -> None:
    same = fold(sentence.format(one)) == fold(sentence.format(other))
    assert same == (str(one) == str(other))


def test_a_long_run_of_punctuation_is_folded_in_linear_steps() -> None:
    assert fold("-" * 50_000 + "5" + "a." * 20_000 + "_" * 50_000).startswith("-")


def test_a_fact_is_equal_field_by_field() -> None:
    fact = SemanticClaim(subject="The user", predicate="lives_in", object="Oslo.")
    assert fold_claim(fact) == fold_claim(SemanticClaim(subject="user", predicate="lives in", object="oslo"))
    assert fold_claim(fact) != fold_claim(SemanticClaim(subject="user lives", predicate="in", object="oslo"))
    assert fold_claim(fact).startswith(slot(fact))


def test_slot_ignores_the_value_only() -> None:
    one = SemanticClaim(subject="Ann", predicate="age", object="41")
    assert slot(one) == slot(SemanticClaim(subject="ann", predicate="Age", object="42"))
    assert slot(one) != slot(SemanticClaim(subject="Bob", predicate="age", object="41"))


@pytest.mark.parametrize(
    "other",
    [
        {"summary": "we met"},
        {"session": "t"},
        {"session": None},
        {"position": 2},
        {"position": None},
        {"created_at": 6.0},
        {"summary": "We met\x1f's'", "session": None},
    ],
)
def test_an_episode_is_equal_only_word_for_word_at_one_place_and_time(other: dict[str, object]) -> None:
    fields = {"summary": "We met", "session": "s", "position": 1, "created_at": 5.0}
    assert fold_claim(EpisodicClaim(**fields)) == fold_claim(EpisodicClaim(**fields))
    assert fold_claim(EpisodicClaim(**fields)) != fold_claim(EpisodicClaim(**fields | other))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ann's café, running", ["ann", "cafe", "run"]),
        ("ANN’S CAFE\u0301 ran", ["ann", "cafe", "ran"]),
        ("The dogs' bowls", ["the", "dog", "bowl"]),
        ("don't we’re o'brien", ["dont", "were", "obrien"]),
        ("3.5 2,000 1,2 2023-05-07 mp3", ["3.5", "2000", "1", "2", "2023", "05", "07", "mp3"]),
        ("C++ and C#", ["c++", "and", "c#"]),
        ("snake_case x-ray", ["snake", "case", "x", "ray"]),
        ("東京都 猫 ABC東京", ["東京", "京都", "猫", "abc", "東京"]),
        ("タワーへ", ["タワ", "ワー", "ーへ"]),
        ("กขค", ["กข", "ขค"]),
        ("हिन्दी भाषा।", ["हिन्दी", "भाषा"]),
        ("Ёлка ΆΛΦΑ straße", ["елка", "αλφα", "strass"]),
        ("?! ...", []),
    ],
)
def test_search_tokens(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@given(st.text())
def test_tokens_survive_being_joined_by_spaces(text: str) -> None:
    found = tokens(text)
    assert " ".join(found).split() == found
    assert set(query_tokens(text)) <= set(found)


ENDINGS = """
    s es ies ied us ss sses ed eed eedly edly ing ingly y ly li e l ll al er or ic ant ent ism ion sion tion ate iti ous
    ive ize able ible ance ence ment ement ful ness ative icate iciti ical alize ogi bli abli enci anci izer ator alism
    i iti aliti alli entli fulli iviti lessli li ousli biliti
"""


@given(st.from_regex("[a-z]{1,7}", fullmatch=True), st.sampled_from(["", *ENDINGS.split()]))
@example("howe", "")
@example("sky", "")
@example("y", "")
def test_leaving_words_without_an_english_ending_alone_changes_no_stem(word: str, ending: str) -> None:
    whole = snowballstemmer.stemmer("english").stemWord(word + ending)
    assert tokens(word + ending) == [whole]


@given(st.text("abcAThe 12,.3'`_-#+!?:/*$%\t\n") | st.text(st.characters(max_codepoint=127)))
def test_plain_english_is_read_like_any_other_text(text: str) -> None:
    # A letter with marks sends the whole text the long way.
    assert tokens(f"{text} \u00e9") == [*tokens(text), "e"]
    assert fold(f"\u00e9 x {text} x") == f"\u00e9 {fold(f'x {text} x')}"


NAMES = st.text("aAThe x_'s-.,5é\u0301日 \x1c", min_size=1) | st.text(min_size=1)


@given(NAMES, NAMES, NAMES)
@example("", "states", "the zebra's")
@example("Ana", "lives_in", "'s")
def test_what_a_claim_is_found_by_is_its_words_taken_together(
    subject: str, predicate: str, value: str
) -> None:
    try:
        fact = SemanticClaim(subject=subject, predicate=predicate, object=value)
    except InvalidClaim:
        return
    assert indexed(fact) == (slot(fact) if subject else "", fold_claim(fact), " ".join(tokens(fact.text)))


def test_a_question_keeps_what_it_is_about_once_and_in_order() -> None:
    assert query_tokens("When did Zoe's sister visit Zoe, and what was the visit for?") == [
        "zoe",
        "sister",
        "visit",
    ]


def test_a_question_of_function_words_keeps_them_all() -> None:
    assert query_tokens("Who are you?") == ["who", "are", "you"]
    assert query_tokens("  ?") == []
