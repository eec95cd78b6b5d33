import random

import pytest
from behind import content, reading, rows
from conftest import START, event, fact, home

from recollectx import Memory
from recollectx.changes import Assert, Reinforce
from recollectx.claims import Assertion
from recollectx.errors import InvalidClaim, NotFound


def traces(path, words) -> list[str]:
    """Those of `words` that still stand in the file, or in some row on a server."""
    held = content(path)
    return [word for word in words if word.encode() in held]


def test_no_word_of_an_erased_claim_is_left_in_the_file(memory, path):
    words = [
        "zebrafinch",
        "quokkaevid",
        "pangolspan",
        "okapisubj",
        "oldwording",
        "metaverse9",
        "entitwelve",
        "srcseven",
    ]
    claim = fact(
        "oldwording",
        "srcseven",
        subject="okapisubj",
        evidence="quokkaevid",
        metadata={"key": "metaverse9"},
        entities="entitwelve",
        session="sessfourteen",
    )
    said = Assertion("srcseven", 0.8, START, ("quokkaevid",), span="pangolspan")
    memory.storage.apply([Assert(claim, said)], cause="test")
    memory.store(fact("oldwording", "srceight", subject="okapisubj", evidence="furtherevid"))
    memory.update(claim.id, object="zebrafinch")
    memory.retract("srcseven", claim.id)
    memory.recall("okapisubj zebrafinch")
    words += ["srceight", "furtherevid", "sessfourteen"]
    assert set(traces(path, words)) == set(words)
    receipt = memory.erase(claim.id)
    assert receipt.pending is False
    assert traces(path, words) == []
    assert memory.recall("okapisubj zebrafinch").hits == ()


@pytest.mark.parametrize("seed", range(3))
def test_erasing_some_of_many_leaves_the_others_whole(memory, path, seed):
    chance = random.Random(seed)
    words = {f"unique{seed}word{number:03}": chance.randint(1, 4000) for number in range(60)}
    claims = {
        word: fact(f"{word} {'pad ' * (size // 4)}", f"{word}source", evidence=f"{word} seen")
        for word, size in words.items()
    }
    memory.store_many(claims.values())
    gone = chance.sample(sorted(words), 30)
    for word in gone:
        memory.erase(claims[word].id)
    assert traces(path, gone) == []
    kept = sorted(set(words) - set(gone))
    assert traces(path, kept) == kept
    for word in kept:
        assert memory.get(claims[word].id).object == claims[word].object


def test_the_receipt_says_what_went_and_never_what_it_said(memory):
    claim_id = memory.store(fact("marzipan", "ana")).claim_id
    receipt = memory.erase(claim_id)
    assert receipt.ids == (claim_id,)
    assert receipt.rows >= 4
    assert receipt.at == pytest.approx(memory.storage.clock(), abs=60)
    assert "marzipan" not in str(receipt)


def test_an_erased_claim_is_gone_for_every_call(memory, path):
    claim, merged = fact("sweet", "ana"), fact("Sweet", "bob")
    memory.store_many([claim, merged])
    other = memory.store(fact("bitter")).claim_id
    memory.add_support(claim.id, other)
    memory.erase(merged.id)
    for known in (claim.id, merged.id):
        assert memory.get(known) is None
        assert memory.explain(known) is None
        assert memory.explain_deep(known) is None
        for call in (
            lambda k=known: memory.forget(k),
            lambda k=known: memory.erase(k),
            lambda k=known: memory.update(k, importance=0.1),
            lambda k=known: memory.add_support(k, other),
            lambda k=known: memory.explain_confidence_history(k),
        ):
            with pytest.raises(NotFound):
                call()
    assert memory.explain(other)["supported_by"] == []
    with pytest.raises(InvalidClaim):
        memory.store(claim)
    assert memory.store(fact("sweet", "ana")).action == "ADD"
    assert rows(path, "SELECT id FROM rx_claims WHERE erased IS NOT NULL") == [(claim.id,)]


def test_nothing_refers_to_an_erased_row(memory, file):
    gone, kept = memory.store_many([fact("sweet", "ana"), fact("bitter")])
    memory.add_support(gone.claim_id, kept.claim_id)
    memory.erase(gone.claim_id)
    assert rows(file, "PRAGMA foreign_key_check") == []


def test_what_quotes_an_erased_turn_goes_with_it(memory, path):
    memory.remember(
        [
            {"speaker": "Ana", "text": "I live in Vaduzville.", "session": "s"},
            {"speaker": "Ana", "text": "Lovely."},
        ]
    )
    turn = next(claim for claim in memory.retrieve(type="episodic") if claim.session == "s")
    assert memory.count(type="semantic") == 1
    receipt = memory.erase(turn.id)
    assert len(receipt.ids) == 2
    assert traces(path, ["Vaduzville"]) == []
    assert [claim.text for claim in memory.retrieve()] == ["Ana: Lovely."]


def test_what_another_source_also_says_stays_without_the_quotation(memory, path):
    turn, claim = memory.remember("I live in Lisbon and it rains", source="ana", at=START)[:2]
    found = memory.get(claim.claim_id)
    memory.store(
        fact(
            found.object,
            "bob",
            subject=found.subject,
            predicate=found.predicate,
            evidence="a letter from Bob",
        )
    )
    memory.erase(turn.claim_id)
    left = memory.get(claim.claim_id)
    assert (left.source, left.evidence) == ("bob", ("a letter from Bob",))
    assert traces(path, ["it rains"]) == []


def test_a_claim_that_another_turn_also_says_stays(memory):
    first = memory.remember("I live in Lisbon", source="ana", at=START)
    memory.remember("I live in Lisbon", source="ana", at=START + 60)
    memory.erase(first[0].claim_id)
    assert [claim.text for claim in memory.retrieve(type="semantic")] == ["ana lives in Lisbon"]


def test_a_whole_scope_is_erased_and_no_other(memory, path):
    mine, other = (Memory(memory.storage, scope=name) for name in ("team_a", "team-a"))
    mine.store_many([fact("secretone", "ana"), event("secrettwo")])
    mine.forget(mine.store(fact("secretthree")).claim_id)
    kept = other.store(fact("keptwords")).claim_id
    receipt = memory.erase(scope="team_a")
    assert (len(receipt.ids), mine.count(), receipt.pending) == (3, 0, False)
    assert traces(path, ["secretone", "secrettwo", "secretthree"]) == []
    assert other.get(kept) is not None
    assert memory.erase(scope="nobody").ids == ()
    assert traces(path, ["nobody"]) == []
    for bad in ({}, {"claim_id": kept, "scope": "team-a"}):
        with pytest.raises(InvalidClaim):
            memory.erase(**bad)


def test_the_receipt_is_pending_while_somebody_still_reads_the_old_pages(memory, path):
    claim_id = memory.store(fact("marzipan")).claim_id
    with reading(path) as other:
        assert memory.erase(claim_id).pending is True
        assert other.exec_driver_sql("SELECT object FROM rx_texts").scalar() == "marzipan"
        assert memory.storage.database.truncate_log() is False
    assert memory.storage.database.truncate_log() is True
    assert traces(path, ["marzipan"]) == []


@pytest.mark.parametrize("how", ["write", "close"])
def test_a_pending_erasure_is_finished_by_the_next_write_and_at_closing(file, how):
    with Memory.open(file) as memory:
        gone = memory.store(fact("marzipan")).claim_id
        with reading(file):
            assert memory.erase(gone).pending is True
        assert traces(file, ["marzipan"]) == ["marzipan"]
        if how == "close":
            memory.close()
        else:
            memory.store(fact("sweet"))
        assert traces(file, ["marzipan"]) == []


def test_numbers_afterwards_are_those_of_a_memory_that_never_knew_it(memory):
    def fill(target: Memory, *, with_it: bool) -> dict[str, float]:
        claims = {word: fact(word, f"by {word}", confidence=0.7) for word in ("a b", "c d", "e f", "g h")}
        gone = fact("the erased", "by nobody", confidence=0.95)
        target.store_many([*claims.values(), *([gone] if with_it else [])])
        ids = [claim.id for claim in claims.values()]
        target.relate(ids[0], ids[1], "derives")
        target.add_contradiction(ids[1], ids[2])
        if with_it:
            target.add_contradiction(gone.id, ids[0])
            target.add_support(gone.id, ids[2])
            target.relate(gone.id, ids[3], "derives")
            target.erase(gone.id)
        return {claim.object: claim.confidence for claim in target.retrieve()}

    with Memory.open(":memory:") as fresh:
        expected = fill(fresh, with_it=False)
    assert fill(memory, with_it=True) == pytest.approx(expected, abs=1e-9)
    history = memory.explain_confidence_history(next(c.id for c in memory.retrieve() if c.object == "g h"))
    assert history[0].change_type == "manual"


def test_the_search_tokens_of_others_are_untouched(memory):
    memory.store_many([fact("alpha beta"), fact("alpha gamma")])
    gone = memory.store(fact("alpha delta")).claim_id
    memory.erase(gone)
    with Memory.open(":memory:") as fresh:
        fresh.store_many([fact("alpha beta"), fact("alpha gamma")])
        expected = [(hit.claim.text, hit.score) for hit in fresh.recall("alpha gamma")]
    assert [(hit.claim.text, hit.score) for hit in memory.recall("alpha gamma")] == expected


QUOTE = "the zebra is in room twelve"


@pytest.mark.parametrize(
    ("quoting", "deep", "gone"),
    [
        (event("mid", evidence=(QUOTE,)), 1, True),
        (event("end", evidence=(QUOTE,)), 3, True),
        (event("end", evidence=(QUOTE, "a note of mine")), 2, False),
        (event(f"Notes: {QUOTE}", "bot"), 1, True),
        (event(f"Notes: {QUOTE}"), 2, True),
        (fact(QUOTE, subject="note", predicate="says"), 2, True),
        (event("x", metadata={"q": QUOTE, "kept": 1}), 1, False),
        (event("x", metadata={"deep": {"list": [1, {QUOTE: 2}]}}), 2, False),
        (event("x", entities=(QUOTE, "Ana")), 1, False),
        (event("y", evidence=("The ZEBRA is in room twelve",)), 1, True),
        (event("y", evidence=("he said 'the zebra is in room' roughly",)), 1, True),
        (event("Whoever asks: zebra is in room something"), 1, True),
    ],
)
def test_quotations_go_through_any_depth_and_wherever_they_stand(memory, path, quoting, deep, gone):
    root = last = str(memory.store(event(QUOTE, "ana")).claim_id)
    for step in range(deep - 1):
        last = str(memory.derive(event(f"step {step}"), [last]).claim_id)
    memory.derive(quoting, [last])
    receipt = memory.erase(root)
    memory.close()
    assert b"zebra is in room" not in content(path).lower()
    with Memory.open(path) as again:
        assert (again.get(quoting.id) is None) is gone
        assert receipt.ids == ((root, quoting.id) if gone else (root,))
        assert receipt.cut == (() if gone else (quoting.id,))
        if quoting.metadata.get("kept"):
            assert again.get(quoting.id).metadata == {"kept": 1}
        if quoting.entities:
            assert again.get(quoting.id).entities == ("Ana",)
        if not gone and quoting.evidence:
            assert again.get(quoting.id).evidence == ("a note of mine",)


def test_an_old_wording_that_quoted_goes_too(memory, path):
    root = memory.store(event(QUOTE, "ana")).claim_id
    made = memory.derive(event(f"It is said that {QUOTE}"), [root]).claim_id
    memory.update(made, summary="It is said that somebody is somewhere")
    assert set(memory.erase(root).ids) == {root, made}
    assert traces(path, ["zebra"]) == []


def test_what_only_shares_common_words_with_the_erased_stays(memory):
    root = memory.store(event("Ana has moved to the coast of Portugal in spring", "ana")).claim_id
    kept = [
        event("Ana likes the sea", evidence=("she told us in the kitchen",), metadata={"place": "Portugal"}),
        event("It was in the spring", "bob"),
    ]
    for claim in kept:
        memory.derive(claim, [root])
    receipt = memory.erase(root)
    assert (receipt.ids, receipt.cut) == ((root,), ())
    assert memory.get(kept[0].id).evidence == ("she told us in the kitchen",)
    assert memory.get(kept[0].id).metadata == {"place": "Portugal"}


def test_a_summary_keeps_what_its_other_turns_say(memory):
    same = [memory.store(event(QUOTE, "ana", created_at=START + n)).claim_id for n in range(2)]
    other = memory.store(event("the lion has left its cage again", "ana")).claim_id
    both = memory.derive(event(f"Today: {QUOTE}", evidence=(QUOTE,)), same).claim_id
    mixed = memory.derive(
        event(f"Today: {QUOTE}; the lion has left its cage again"), [same[0], other]
    ).claim_id
    memory.erase(same[0])
    assert memory.get(both).evidence == (QUOTE,)
    assert memory.get(mixed) is None


def test_erasing_a_scope_leaves_no_name_of_a_source(path):
    with Memory.open(path, scope="mine") as memory:
        other = Memory(memory.storage, scope="other")
        memory.trust("srcseven", 0.2)
        memory.trust("srceight", 0.2)
        memory.store(fact("sweet", "srcseven"))
        other.trust("srcnine", 0.3)
        assert len(traces(path, ["srcseven", "srceight"])) == 2
        memory.erase(scope="mine")
        assert traces(path, ["srcseven", "srceight", "srcnine"]) == ["srcnine"]
        assert memory.store(fact("sweet", "srcseven")).tx
        assert memory.retrieve()[0].confidence == 0.8


XANADU = "Ana lives in Xanadu"


@pytest.mark.parametrize(
    "quoting",
    [
        {"evidence": ("Ana: I live in Braga, I never lived in Xanadu", "a note of mine")},
        {"evidence": ("no, not XANADU",)},
        {"metadata": {"before": "Xanadu", "kept": 1}},
        {"metadata": {"deep": [{XANADU: 2}], "kept": 1}},
        {"entities": ("Ana", "Xanadu")},
    ],
)
def test_what_a_correction_quotes_goes_with_what_it_corrects(memory, path, quoting):
    old = memory.store(home("Xanadu", "Ben")).claim_id
    new = memory.correct(old, home("Braga", "Cara", **quoting), reason="not Xanadu").claim_id
    said = Assertion("Dora", 0.7, START, span="Braga it is, and Xanadu never was")
    memory.storage.apply([Reinforce(new, said)], cause="test")
    memory.update(new, importance=0.9)
    before = memory.get(new)
    receipt = memory.erase(old)
    after = memory.get(new)
    assert (receipt.ids, receipt.cut) == ((old,), (new,))
    assert (after.text, after.source, after.status) == ("Ana lives in Braga", "Cara", before.status)
    assert after.confidence == before.confidence
    assert after.evidence == tuple(piece for piece in before.evidence if piece == "a note of mine")
    assert after.entities == tuple(name for name in before.entities if name == "Ana")
    assert dict(after.metadata) == {key: 1 for key in before.metadata if key == "kept"}
    memory.close()
    assert b"xanadu" not in content(path).lower()


def test_a_correction_keeps_its_own_words_and_what_they_say(memory):
    old = memory.store(event("I moved to Xanadu in the spring of last year", "ana")).claim_id
    own = ("it was in the spring of last year, she says",)
    said = "I moved to Braga in the spring of last year"
    new = memory.correct(old, event(said, evidence=("I moved to Xanadu in the spring", *own))).claim_id
    lie = event("It is a lie that I moved to Xanadu in the spring", evidence=(f"not so: {said}",))
    memory.correct(new, lie)
    receipt = memory.erase(old)
    assert (receipt.ids, receipt.cut, memory.get(new).evidence) == ((old,), (new,), own)
    assert (memory.get(lie.id).text, memory.get(lie.id).evidence) == (lie.text, lie.evidence)


def test_the_words_of_what_was_corrected_are_sought_along_the_whole_chain(memory, path):
    first = memory.store(home("Xanadu", "Ben")).claim_id
    second = memory.correct(first, home("Braga", "Cara")).claim_id
    said = ("neither Xanadu", "nor Braga", "but Porto")
    third = memory.correct(second, home("Porto", "Dora", evidence=said)).claim_id
    assert memory.erase(first).cut == (third,)
    assert memory.get(third).evidence == said[1:]
    assert memory.erase(second).cut == (third,)
    assert memory.get(third).evidence == said[2:]
    assert memory.erase(third).ids == (third,)
    assert traces(path, ["Xanadu", "Braga", "Porto"]) == []


def test_the_chain_holds_where_a_link_of_it_was_erased_or_taken_back(memory):
    ids = [str(memory.store(home("Xanadu", "Ben")).claim_id)]
    for place in ("Braga", "Porto", "Faro"):
        ids.append(str(memory.correct(ids[-1], home(place, "Cara", evidence=("never Xanadu",))).claim_id))
    memory.restore(ids[2])
    memory.erase(ids[1])
    assert set(memory.erase(ids[0]).cut) == set(ids[2:])
    assert [memory.get(each).evidence for each in ids[2:]] == [(), ()]


def test_what_derives_from_a_correction_may_say_what_that_one_says(memory):
    old = memory.store(event("the zebra is in room twelve", "ana")).claim_id
    new = memory.correct(old, event("the lion is in room seven again", "ben")).claim_id
    kept = memory.derive(event("Beware: the lion is in room seven again"), [new]).claim_id
    told = memory.derive(event("First they said the zebra is in room twelve"), [new]).claim_id
    assert set(memory.erase(old).ids) == {old, told}
    assert memory.get(kept) is not None


def test_what_derives_from_a_claim_goes_also_if_it_corrects_it(memory):
    old = memory.store(event(QUOTE, "ana")).claim_id
    made = memory.derive(event(f"It is not so that {QUOTE}"), [old]).claim_id
    memory.relate(made, old, "corrects")
    assert set(memory.erase(old).ids) == {old, made}


def test_another_reader_no_longer_finds_a_claim_by_what_it_quoted(memory, path):
    old = memory.store(home("Xanadu", "Ben")).claim_id
    new = memory.correct(old, home("Braga", "Cara", metadata={"before": "Xanadu"})).claim_id
    with Memory.open(path) as other:
        assert [claim.id for claim in other.retrieve(metadata={"before": "Xanadu"})] == [new]
        memory.erase(old)
        assert other.retrieve(metadata={"before": "Xanadu"}) == []
        assert other.recall("Braga", metadata={"before": "Xanadu"}).hits == ()
