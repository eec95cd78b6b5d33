"""What the phrase extractor finds, and what it must leave alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollectx.claims import Category
from recollectx.errors import InvalidClaim
from recollectx.extractors import Extractor, Finding, PhraseExtractor, Turn

SAID_AT = 1_700_000_000.0


def find(text: str, speaker: str | None = "Ana", role: str | None = None) -> list[Finding]:
    return PhraseExtractor().find(Turn(text, speaker, SAID_AT, "s1", 3, role))


def facts(text: str, speaker: str | None = "Ana") -> list[tuple[str, str, str]]:
    return [
        (found.claim.subject, found.claim.predicate, found.claim.object)
        for found in find(text, speaker)
        if not found.denied
    ]


@pytest.mark.parametrize(
    ("text", "predicate", "value"),
    [
        ("I live in Porto", "lives_in", "Porto"),
        ("Well, I'm currently living in New York with two cats.", "lives_in", "New York"),
        ("I live in a small town near Braga!", "lives_in", "a small town near Braga"),
        ("I've moved to Porto, but I miss the sea", "lives_in", "Porto"),
        ("I just moved back to São Paulo last year", "lives_in", "São Paulo"),
        ("I moved from Lisbon to Porto", "lives_in", "Porto"),
        ("I work as a nurse at the clinic", "works_as", "a nurse"),
        ("I'm now a software engineer", "works_as", "a software engineer"),
        ("I work at Initech as a tester", "works_at", "Initech"),
        ("I work for a small startup in Porto", "works_at", "a small startup"),
        ("I prefer tea to coffee", "prefers", "tea to coffee"),
        ("I really enjoy early swims these days", "likes", "early swims"),
        ("I like plums, figs and pears.", "likes", "plums, figs and pears"),
        ("I love people who are honest", "likes", "people who are honest"),
        ('I love "The Red Barn"', "likes", "The Red Barn"),
        ("That's why I love sailing so much", "likes", "sailing"),
        ("I'm passionate about old maps and it shows", "likes", "old maps"),
        ("I love my job", "likes", "Ana's job"),
        ("I love running my own bakery", "likes", "running their own bakery"),
        ("I don’t like olives", "dislikes", "olives"),
        ("I can't stand loud music", "dislikes", "loud music"),
        ("I'm not a fan of jazz", "dislikes", "jazz"),
        ("I'm severely allergic to peanuts.", "allergic_to", "peanuts"),
        ("My favourite colour is blue", "favorite_color", "blue"),
        ("My sister's name is Bea", "sister_name", "Bea"),
        ("My birthday is on 3 May", "birthday", "3 May"),
        ("My goal is to run a marathon", "goal", "to run a marathon"),
        ("My phone number is now 555-0123", "phone_number", "555-0123"),
        ("My new phone number is 555-0123", "phone_number", "555-0123"),
        ("My favourite colour has changed to teal", "favorite_color", "teal"),
        ("My employer is Initech", "works_at", "Initech"),
        ("My home is Porto again", "lives_in", "Porto"),
        ("I've started working at Initech this week", "works_at", "Initech"),
        ("I got a new job at Initech!", "works_at", "Initech"),
        ("I went back to being a nurse", "works_as", "a nurse"),
        ("I've become a nurse", "works_as", "a nurse"),
        ("I said Faro, but I live in Braga", "lives_in", "Braga"),
        ("Sorry, I told you blue but my favourite colour is teal", "favorite_color", "teal"),
    ],
)
def test_first_person(text: str, predicate: str, value: str) -> None:
    assert facts(text) == [("Ana", predicate, value)]


@pytest.mark.parametrize(
    ("text", "predicate", "value"),
    [
        ("Ana lives in Lisbon", "lives_in", "Lisbon"),
        ("Yesterday Ana moved to Porto", "lives_in", "Porto"),
        ("Ana works as a nurse", "works_as", "a nurse"),
        ("Ana's allergic to peanuts", "allergic_to", "peanuts"),
        ("Ana does not like fish", "dislikes", "fish"),
        ("Ana's birthday is 3 May", "birthday", "3 May"),
        ("Ana's sister's name is Bea", "sister_name", "Bea"),
    ],
)
@pytest.mark.parametrize("speaker", ["Ana", None])
def test_third_person(text: str, predicate: str, value: str, speaker: str | None) -> None:
    assert facts(text, speaker) == [("Ana", predicate, value)]


def test_anonymous_speaker_is_the_user() -> None:
    assert facts("I live in Porto", None) == [("user", "lives_in", "Porto")]


def test_speaker_by_first_name_keeps_the_full_name() -> None:
    assert facts("Ana likes figs", "Ana Silva") == [("Ana Silva", "likes", "figs")]


def test_one_subject_carries_over_and() -> None:
    assert facts("Ana lives in Lisbon and works as a nurse.", None) == [
        ("Ana", "lives_in", "Lisbon"),
        ("Ana", "works_as", "a nurse"),
    ]
    assert facts("I moved to Porto ages ago but now live in Faro") == [("Ana", "lives_in", "Faro")]


@pytest.mark.parametrize(
    "text",
    [
        # questions
        "Do I like tea?",
        "I live in Porto, right?",
        # other people's words and titles
        "She said I live in Rome",
        "Bob says he likes tea",
        "Bob says Ana likes tea",
        "They played “I live in Rome” again",
        '"I hate Mondays" is a song',
        "I love jazz, said Bob.",
        "Bob lives in Rome",
        # conditions, wishes, the past, jokes
        "I said yes, but I would live in Rome",
        "I said I live in Rome, but Bob laughed",
        "Bob said no, but I live in Rome",
        "My home is my castle",
        "My new favourite is here",
        "I went back to being happy",
        "If I live in Rome, I save money",
        "I could live in Rome",
        "I wish I lived in Rome",
        "Imagine I live in Rome",
        "I'd like a coffee",
        "I would love to swim",
        "I used to live in Rome",
        "I lived in Rome",
        "I moved to Rome when I was five",
        "I like swimming if the sun is out",
        "I live in Rome. Just kidding!",
        "I love Mondays, not!",
        # negation
        "I don't live in Rome",
        "I no longer work at Initech",
        "I never liked tea",
        "I'm not allergic to nuts",
        "I don't just like tea",
        # "like" that is no verb of taste, places and jobs that are none
        "It's like a dream",
        "I feel like I live in Rome",
        "I live in fear",
        "I was moved to tears",
        "I moved to the next step",
        "I work as part of a team",
        "I work at night",
        "I'm a former teacher",
        "I'm allergic to mornings",
        # objects that mean nothing on their own
        "I love it",
        "I like that",
        "I love this so much",
        "I love the colours",
        "I love how you paint",
        "I love to",
        "I hate to say it",
        "I love the soup and love theme",
        "the place I love most",
        "I love walking by the old grey river near the far green hills",
        "My team is great",
        "My birthday is next week",
        "My boss is American",
        "I love it [shares a mug that says I live in Rome]",
    ],
)
@pytest.mark.parametrize("lead", ["", "Hi there! "])
def test_left_alone(text: str, lead: str) -> None:
    assert facts(lead + text) == []


def test_quoted_lines_are_left_alone() -> None:
    assert facts("> I live in Rome\nI live in Faro") == [("Ana", "lives_in", "Faro")]


@pytest.mark.parametrize("role", ["assistant", "system", "tool"])
def test_machines_say_nothing_of_the_user(role: str) -> None:
    assert find("I live in Porto", None, role) == []
    assert len(find("I live in Porto", None, "user")) == 1


def test_claim_carries_who_when_and_where() -> None:
    (found,) = find("Oh, I'm allergic to Brazil nuts [shares a plate]")
    claim = found.claim
    assert found.span == "I'm allergic to Brazil nuts"
    assert claim.evidence == (found.span,)
    assert (claim.confidence, claim.importance, claim.category) == (0.8, 0.9, Category.CONSTRAINTS)
    assert claim.created_at == claim.last_reinforced_at == claim.valid_from == SAID_AT
    assert (claim.source, claim.session, claim.entities) == ("Ana", "s1", ("Ana", "Brazil"))


def test_confidence_is_the_callers() -> None:
    extractor: Extractor = PhraseExtractor(confidence=0.6)
    (found,) = extractor.find(Turn("I like figs", None, SAID_AT, None, None))
    assert found.claim.confidence == 0.6
    with pytest.raises(InvalidClaim, match="confidence"):
        PhraseExtractor(confidence=2)


def test_said_twice_is_found_once() -> None:
    assert facts("I like figs. Yes, I like figs!") == [("Ana", "likes", "figs")]


def test_blank_speaker_is_refused() -> None:
    with pytest.raises(InvalidClaim, match="speaker"):
        Turn("hello", " ", SAID_AT, None, None)


PIECES = st.sampled_from(
    (
        "I",
        "my",
        "Ana",
        "'s",
        "n't",
        " love",
        " live in",
        " moved to",
        " is",
        " name",
        " and",
        " but",
        " tea",
        " it",
        " Porto",
        ", ",
        ". ",
        "?",
        '"',
        "'",
        "\n> ",
        " - ",
        " the",
        " a",
        " works as",
        " allergic to",
        "'m",
        " if",
        "[shares ",
        "]",
        "“",
        "”",
        "…",
        "é",
        " said",
        "❤",
        "1",
    )
)


@given(st.lists(PIECES, max_size=40).map("".join), st.sampled_from([None, "Ana", "A. (b"]))
def test_any_text_gives_sound_findings(text: str, speaker: str | None) -> None:
    for found in find(text, speaker):
        assert found.span and found.span in text
        assert found.claim.source == speaker
        assert speaker is None or found.claim.subject == speaker
        assert 1 <= len(found.claim.object.split()) <= 12


@given(st.text(max_size=300))
def test_a_question_mark_silences_a_sentence(text: str) -> None:
    asked = "I live in Porto " + "".join(letter for letter in text if letter.isalpha() and letter.isascii())
    assert facts(asked + "?") == []


@pytest.mark.parametrize(
    ("text", "predicate", "value"),
    [
        ("Running a marathon is my main goal.", "goal", "Running a marathon"),
        ("Emma is my favourite novel!", "favorite_novel", "Emma"),
        ("Fig tart is now my favourite food these days.", "favorite_food", "Fig tart"),
        ("Initech is my new employer", "works_at", "Initech"),
        ("Atlas is my current project again", "current_project", "Atlas"),
        ("Yeah! Opening a bakery is my number one goal.", "goal", "Opening a bakery"),
    ],
)
def test_a_value_may_come_before_its_attribute(text: str, predicate: str, value: str) -> None:
    found = PhraseExtractor().find(Turn(text, "Ana", 0.0, None, None))
    assert [(each.claim.predicate, each.claim.object) for each in found] == [(predicate, value)]
    assert found[0].span in text


@pytest.mark.parametrize(
    "text",
    [
        "It is my goal.",
        "Is bread my goal?",
        "If bread is my goal, tell me.",
        "She says opening a bakery is my goal.",
        "This is my sister.",
        "What matters is my goal.",
    ],
)
def test_what_only_looks_like_a_value_before_its_attribute(text: str) -> None:
    assert PhraseExtractor().find(Turn(text, "Ana", 0.0, None, None)) == []


@pytest.mark.parametrize(
    ("text", "predicate", "value"),
    [
        ("I never lived in Rome.", "lives_in", "Rome"),
        ("Sorry, I've never actually worked for Initech", "works_at", "Initech"),
        ("I was never a nurse.", "works_as", "a nurse"),
        ("It's not true that I live in Rome!", "lives_in", "Rome"),
        ("Please forget what I said about working as a nurse.", "works_as", "a nurse"),
        ("Forget what I said about teal being my favourite colour", "favorite_color", "teal"),
        ("My phone number was never 555-0123", "phone_number", "555-0123"),
    ],
)
def test_what_was_never_so_is_taken_back(text: str, predicate: str, value: str) -> None:
    (found,) = find(f"Hi! {text}")
    claim = found.claim
    assert (claim.subject, claim.predicate, claim.object) == ("Ana", predicate, value)
    assert found.denied and found.span == text.rstrip(".!")


@pytest.mark.parametrize(
    "text",
    [
        "I no longer live in Rome",
        "I have not been to Rome",
        "Was I never a nurse?",
        '"I never lived in Rome" is a song',
        "I was never happy",
        "If it is not true that I live in Rome, I worry",
        "Forget what I said about the soup",
        "Bob never lived in Rome",
    ],
)
def test_what_takes_nothing_back(text: str) -> None:
    assert find(text) == []
