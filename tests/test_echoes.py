"""Echoes: what a memory has shown does not come back as what somebody said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollectx import EpisodicClaim, Memory, SemanticClaim
from recollectx.echoes import Shown, Words
from recollectx.errors import InvalidQuery
from recollectx.extractors import LLMExtractor, PhraseExtractor
from recollectx.llm.prompts import EXTRACTION_EXAMPLE
from recollectx.passages import places, sentences
from recollectx.testing import ScriptedProvider


def fact(subject, predicate, value, **shared):
    return SemanticClaim(subject=subject, predicate=predicate, object=value, **shared)


OOLONG = fact("user", "likes", "smoked oolong", source="user", evidence=("I like smoked oolong",))
TURN = EpisodicClaim(summary="Tom: We met in Ghent. The rain was awful.", source="Tom")


# -- words and passages ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("passage", "text", "found"),
    [
        ("I live in Ghent", "Well, i LIVE in\nGhent!", ["i LIVE in\nGhent"]),
        ("like tea", "I like tea; you like tea too", ["like tea", "like tea"]),
        ("like tea", "I like teapots", []),
        ("根特", "我住在根特。", ["根特"]),
        ("...", "I like tea...", []),
        ("", "I like tea", []),
    ],
)
def test_places(passage, text, found):
    assert [text[begin:end] for begin, end in places(passage, text)] == found


@given(st.text(max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_a_piece_of_a_text_is_found_in_it_and_its_place_is_in_the_text(text, begin, end):
    for first, last in places(text[begin:end], text):
        assert 0 <= first < last <= len(text)
    assert all(sentence in text for sentence in sentences(text))
    assert not text.isalpha() or next(places(text, f"«{text}», they said")) == (1, 1 + len(text))


def test_sentences():
    assert sentences("Hi! I'm 3.5 m away…\n- see you?! 好。再见") == [
        "Hi!",
        "I'm 3.5 m away…",
        "- see you?!",
        "好。",
        "再见",
    ]


@pytest.mark.parametrize(
    ("said", "word", "held"),
    [
        ("I was hiking", "hikes", True),
        ("в Москве", "москва", True),
        ("w Krakowie", "Kraków", True),
        ("my team won", "tea", False),
        ("room 1234", "1235", False),
        ("in Ghent", "Bruges", False),
        ("我喜欢茶", "茶", True),
    ],
)
def test_words_are_held_in_any_inflection(said, word, held):
    assert (Words([said]).missing(word) == []) == held


# -- the rules -------------------------------------------------------------------------------------------------


def echo(shown, claim, said, *, machine=False, speaker="user"):
    seen = Shown.of(shown)
    own = seen.own_words([said], speaker)
    return seen.echo(claim, own, machine=machine) or (not machine and seen.retold(claim, own))


MORE = fact("user", "lives_in", "Ghent")


@pytest.mark.parametrize(
    ("claim", "said", "expected"),
    [
        (OOLONG, "What do I like to drink?", True),
        (OOLONG, "I like smoked oolong", False),
        (OOLONG, "As you know: user likes smoked oolong. And now?", True),
        (OOLONG, "Where is smoked oolong sold?", True),
        (fact("user", "sells", "smoked oolong"), "I sell smoked oolong", False),
        (fact("user", "likes", "smoked mackerel"), "I like mackerel", True),
        (MORE, "I live in Ghent", False),
        (MORE, "We met in Ghent. The rain was awful. Where do I live?", True),
        (EpisodicClaim(summary="user met somebody in Ghent"), "Somebody called", True),
        (EpisodicClaim(summary="somebody called user"), "Somebody called", False),
    ],
)
def test_a_person_is_taken_at_their_own_word(claim, said, expected):
    assert echo([OOLONG, TURN], claim, said) == expected


def test_ones_own_sentence_may_be_said_again_but_a_pasted_talk_is_a_quotation():
    old = [
        EpisodicClaim(summary="I live in Ghent now", source="user"),
        EpisodicClaim(summary="I like tea", source="user"),
    ]
    back = fact("user", "lives_in", "Ghent")
    assert not echo(old, back, "I live in Ghent now, again!")
    assert echo(old, back, "- I live in Ghent now\n- I like tea\nWho am I?")
    assert echo(old, back, "I live in Ghent now", speaker="Tom")


def test_a_superseded_claim_may_come_back_in_other_words():
    back = fact("user", "lives_in", "Ghent", status="superseded")
    assert not echo(back, back, "We moved back to Ghent")
    assert echo(fact("user", "lives_in", "Ghent"), back, "Ghent is nice")


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        (fact("user", "likes", "oolong"), True),
        (fact("user", "enjoys", "oolong, smoked"), True),
        (fact("user", "plans", "a trip to Taipei"), False),
        (fact("user", "met", "Tom in Ghent"), True),
        (fact("user", "likes", "no smoked oolong"), False),
    ],
)
def test_what_a_machine_says_counts_only_if_it_was_not_shown(claim, expected):
    assert echo([OOLONG, TURN], claim, claim.object, machine=True) == expected


def test_what_can_be_shown():
    persona = {"favourite tea": "smoked oolong", "age": 40}
    for shown in ("She likes smoked oolong.", persona, [persona, None], [OOLONG], OOLONG):
        assert echo(shown, OOLONG, "What do I drink?"), shown
    assert not echo(None, OOLONG, "What do I drink?")
    for wrong in (7, [7], object()):
        with pytest.raises(InvalidQuery, match="shown is"):
            Shown.of(wrong)


@given(st.text(max_size=80), st.text(max_size=80))
def test_own_words_keep_their_places_and_nothing_shown_leaves_all(text, shown):
    own = Shown.of(shown).own(text, "user")
    assert len(own) == len(text)
    assert all(here in (there, " ") for here, there in zip(own, text, strict=True))
    assert Shown().own(text, "user") == text
    assert Shown().own_words([text], "user").missing(text) == []


# -- ten rounds ------------------------------------------------------------------------------------------------

CANARY, PERSONA, EXAMPLE = "zinc-blue kazoo", "vermilion theremin", EXTRACTION_EXAMPLE[1]["object"]


def parrot(prompt):
    """A model that claims everything it may have seen, in every form, and quotes whatever it can."""
    talk = prompt.split("one a line")[1]
    things = (CANARY, PERSONA, EXAMPLE, "kazoo", "kazoo that is zinc-blue", "theremin")
    quotes = [
        "What do I like to play?",
        f"user likes {CANARY}",
        f"I like {CANARY}",
        "I sold a stove",
        talk,
        "",
        None,
    ]
    items = [
        {
            "turn": turn,
            "quote": quote,
            "type": "semantic",
            "subject": subject,
            "predicate": predicate,
            "object": thing,
        }
        | {"content": None, "when": None, "since": None, "until": None, "confidence": 1.0}
        for thing in things
        for quote in quotes
        for turn, subject, predicate in ((1, "user", "likes"), (2, "Odalys", "teaches"), (1, "user", "plays"))
    ]
    events = [
        {
            "turn": 1,
            "quote": quote,
            "type": "episodic",
            "content": f"user plays {thing} today",
            "confidence": 1.0,
        }
        for thing in things
        for quote in quotes
    ]
    own = {"turn": 1, "quote": "I sold a stove", "subject": "user", "predicate": "sold", "object": "a stove"}
    return {"memories": [*items, *events, {**own, "type": "semantic", "confidence": 0.9}]}


def block_of(recall, style):
    # Whole prompts that were remembered would grow tenfold with every round.
    lines = [hit.claim.text for hit in recall if len(hit.claim.text) < 100]
    if style == "quoted":
        lines += [piece for hit in recall for piece in hit.claim.evidence]
    return "<memory>\n" + "\n".join(f"- {line} (known)" for line in lines) + "\n</memory>"


EXTRACTORS = {
    "model": lambda: LLMExtractor(ScriptedProvider(parrot), max_claims_per_text=500),
    "model that fails": lambda: LLMExtractor(ScriptedProvider([]), fallback=PhraseExtractor()),
    "phrases": PhraseExtractor,
}


@pytest.mark.parametrize("extractor", EXTRACTORS.values(), ids=EXTRACTORS)
@pytest.mark.parametrize("where", ["system", "user", "quoted"])
@pytest.mark.parametrize("form", ["messages", "texts"])
def test_ten_rounds_of_recall_prompt_reply_and_remembering_feed_nothing_back(extractor, where, form):
    persona = {"plays": PERSONA}
    with Memory.open(":memory:", embedder=None, extractor=extractor()) as memory:
        canary = memory.store(
            fact("user", "likes", CANARY, confidence=0.6, source="Tom", evidence=(f"user likes {CANARY}",))
        )
        memory.store(fact("user", "plays", PERSONA, confidence=0.7, source="profile", category="persona"))
        memory.remember([{"speaker": "Tom", "text": f"I hear they own a {CANARY}."}])
        before = {claim.id: claim.confidence for claim in memory.retrieve(type="semantic")}
        for number in range(10):
            question = f"What do I like to play? I sold a stove number {number}."
            recall = memory.recall(question, k=12)
            assert CANARY in str(recall.claims)
            block = f"{block_of(recall, where)}\nPersona: {persona}"
            asked = question if where == "system" else f"{block}\n\n{question}"
            answer = f"You like {CANARY}! user likes {CANARY}. I like {CANARY} as well, and your {PERSONA}. My name is Kazoo."
            shown = [recall, persona]
            if form == "messages":
                talk = [("system", f"Be kind.\n{block}"), ("user", asked), ("assistant", answer)]
                result = memory.remember(
                    [{"role": role, "content": text} for role, text in talk], shown=shown
                )
                assert memory.get(result[-1].claim_id).metadata == {"recall": recall.id}
            else:
                memory.remember(asked, shown=shown)
                memory.remember(answer, source="assistant", shown=shown)
        after = {claim.id: claim for claim in memory.retrieve(type="semantic")}
        new = [claim.text for id, claim in after.items() if id not in before]
        assert [
            text for text in new if any(word in text.lower() for word in ("kazoo", "theremin", "ocarina"))
        ] == []
        assert {id: after[id].confidence for id in before} == before
        assert memory.get(canary.claim_id).support_count == 1
        events = [
            claim
            for claim in memory.retrieve(type="episodic")
            if claim.position is None and form == "messages"
        ]
        assert events == []
        if isinstance(memory.extractor, LLMExtractor) and memory.extractor.fallback is None:
            assert "user sold a stove" in new


def test_a_person_who_says_again_what_was_shown_is_heard():
    with Memory.open(":memory:", embedder=None) as memory:
        memory.remember([{"speaker": "Ana", "text": "I live in Ghent."}])
        recall = memory.recall("Where does Ana live?")
        result = memory.remember([{"speaker": "Ana", "text": "I live in Ghent."}], shown=recall)
        assert [each.action for each in result] == ["ADD", "UPDATE"]
        assert result.problems == ()
        assert memory.retrieve(type="semantic")[0].support_count == 2


def test_a_person_may_put_right_what_was_shown():
    with Memory.open(":memory:", embedder=None) as memory:
        memory.remember([{"speaker": "Ana", "text": "I'm a nurse. I live in Ghent."}])
        recall = memory.recall("What does Ana do, and where?")
        said = "I was never a nurse. I've never lived in Ghent."
        result = memory.remember([{"speaker": "Ana", "text": said}], shown=[recall, "Ana works as a nurse."])
        assert result.problems == ()
        assert memory.retrieve(type="semantic") == []


def test_what_was_left_out_is_told_and_a_reply_is_no_fact():
    with Memory.open(":memory:", embedder=None) as memory:
        memory.store(OOLONG)
        recall = memory.recall("tea oolong")
        result = memory.remember("user likes smoked oolong.", source="notes", shown=recall)
        assert [memory.get(each.claim_id).type for each in result] == ["episodic"]
        assert memory.count(type="semantic") == 1
        ana = Memory(memory.storage, scope="other", extractor=PhraseExtractor())
        told = ana.remember(
            "Ana likes smoked oolong.", source="notes", shown=[recall, "Ana likes smoked oolong"]
        )
        assert "it repeats what the memory had shown" in told.problems[0]
