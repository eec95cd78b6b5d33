from datetime import UTC, datetime

import pytest
from conftest import DAY, NOW, START, event, fact, home

from recollectx import ALL_SCOPES, Action, Memory, MemoryStore, Status
from recollectx.errors import (
    InvalidClaim,
    InvalidQuery,
    InvalidSetting,
    NotFound,
    RecollectxError,
    ScopeError,
    StorageError,
    TranscriptError,
)

HOSTILE = [
    "team_a",
    "team-a",
    "team%a",
    "TEAM_A",
    "100%",
    "x' OR 1=1 --",
    'a"b',
    "téam",
    "te\u0301am",
    "*",
    "global ",
]


def found(memory: Memory, text: str, **filters) -> list[str]:
    return [hit.claim.text for hit in memory.recall(text, **filters)]


# -- remember --------------------------------------------------------------------------------------------------


def test_a_plain_text_is_kept_with_the_claims_in_it(memory):
    results = memory.remember("I live in Lisbon", source="ana", at="2024-05-31", metadata={"app": "x"})
    turn, claim = (memory.get(result.claim_id) for result in results)
    assert (turn.type, turn.text, turn.source) == ("episodic", "I live in Lisbon", "ana")
    assert turn.created_at == datetime(2024, 5, 31, tzinfo=UTC).timestamp()
    assert dict(turn.metadata) == {"app": "x"}
    assert (claim.subject, claim.object, claim.source) == ("ana", "Lisbon", "ana")
    seen = memory.explain(claim.id)
    assert seen["derived_from"] == [turn.id]
    assert [said.span for said in seen["assertions"]] == ["I live in Lisbon"]


def test_a_text_without_a_known_phrase_is_kept_as_it_is(memory):
    (result,) = memory.remember("the boiler needs a new valve")
    claim = memory.get(result.claim_id)
    assert (claim.text, claim.source, claim.evidence) == (
        "the boiler needs a new valve",
        "user",
        ("the boiler needs a new valve",),
    )
    assert found(memory, "boiler valve") == ["the boiler needs a new valve"]


def test_messages_become_turns_of_one_session_in_order(memory):
    memory.remember(
        [
            {"role": "user", "content": "I live in Lisbon.", "time": START},
            {"role": "assistant", "content": "Noted!"},
            {"speaker": "Bob", "text": "I live in Porto.", "timestamp": "2024-01-01T00:00:00Z"},
            {"role": "user", "name": "Cleo", "content": "Good morning.", "metadata": {"mood": "fine"}},
        ],
        at=START + 5,
        metadata={"app": "x"},
    )
    turns = sorted(memory.retrieve(type="episodic"), key=lambda turn: turn.position)
    assert [turn.position for turn in turns] == [0, 1, 2, 3]
    assert len({turn.session for turn in turns}) == 1
    assert [turn.source for turn in turns] == ["user", "assistant", "Bob", "Cleo"]
    assert [turn.summary for turn in turns] == [
        "I live in Lisbon.",
        "assistant: Noted!",
        "Bob: I live in Porto.",
        "Cleo: Good morning.",
    ]
    assert [turn.created_at for turn in turns[:2]] == [START, START + 5]
    assert dict(turns[3].metadata) == {"app": "x", "mood": "fine"}
    assert {(claim.subject, claim.source) for claim in memory.retrieve(type="semantic")} == {
        ("user", "user"),
        ("Bob", "Bob"),
    }


@pytest.mark.parametrize(
    "message",
    [
        "a bare string",
        {"role": "user"},
        {"role": "user", "content": 5},
        {"role": "user", "content": [{"type": "text", "text": 5}]},
        {"role": "user", "content": [5]},
        {"role": "user", "content": "hi", "colour": "red"},
        {"role": "user", "content": "hi", "time": "yesterday"},
        {"role": "user", "content": "hi", "position": "first"},
        {"role": "user", "content": "hi", "position": -1},
        {"role": "user", "content": "hi", "metadata": ["a"]},
        {"role": "user", "content": "half \ud83d"},
        {"speaker": " ", "text": "hi"},
    ],
    ids=str,
)
def test_a_message_that_cannot_be_read_is_named_and_nothing_is_kept(memory, message):
    with pytest.raises(TranscriptError, match="message 2"):
        memory.remember([{"role": "user", "content": "fine"}, message])
    assert memory.count() == 0


def test_a_chat_log_is_read_with_its_parts_and_without_what_says_nothing(memory):
    call = {"id": "1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    picture = {"type": "image_url", "image_url": {"url": "data:"}}
    told = memory.remember(
        [
            {"role": "user", "content": [{"type": "text", "text": "I live in Ghent."}, picture]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": "sunny"},
            {"role": "user", "content": " "},
            {"role": "user", "content": [picture]},
            {"role": "user", "content": ["I like tea.", {"type": "text", "text": "I like figs."}]},
        ]
    )
    turns = sorted(memory.retrieve(type="episodic"), key=lambda turn: turn.position)
    assert [turn.summary for turn in turns] == [
        "I live in Ghent.",
        "tool: sunny",
        "I like tea.\nI like figs.",
    ]
    assert [turn.position for turn in turns] == [0, 1, 2]
    assert {claim.text for claim in memory.retrieve(type="semantic")} == {
        "user lives in Ghent",
        "user likes tea",
        "user likes figs",
    }
    assert told.problems == tuple(f"message {at} was left out: it says nothing" for at in (2, 4, 5))


@pytest.mark.parametrize(
    "role", ["ai", "model", "bot", "developer", "function", "Assistant", "SYSTEM", " tool"]
)
def test_what_a_machine_says_is_no_fact(memory, role):
    memory.remember([{"role": role, "content": "I live in Rome."}])
    (turn,) = memory.retrieve()
    assert (turn.source, turn.summary) == (role.strip().lower(), f"{role.strip().lower()}: I live in Rome.")


def test_a_human_is_the_user_and_ai_is_also_a_name(memory):
    memory.remember(
        [{"role": "human", "content": "I live in Rome."}, {"speaker": "Ai", "text": "I like figs."}]
    )
    facts = memory.retrieve(type="semantic")
    assert {(fact.text, fact.source) for fact in facts} == {
        ("user lives in Rome", "user"),
        ("Ai likes figs", "Ai"),
    }


@pytest.mark.parametrize("text", ["", "  ", "nul \0", "half \ud83d", "x" * 100_001])
def test_a_text_that_cannot_be_kept_is_refused(memory, text):
    with pytest.raises(InvalidClaim):
        memory.remember(text)
    assert memory.count() == 0


@pytest.mark.parametrize(
    "given", [{"at": "yesterday"}, {"at": float("nan")}, {"metadata": [1]}, {"scope": ""}]
)
def test_an_argument_that_makes_no_sense_is_refused(memory, given):
    with pytest.raises(RecollectxError):
        memory.remember("the boiler needs a valve", **given)


def test_a_session_goes_on_where_it_stopped(memory):
    memory.remember([{"speaker": "Ana", "text": f"turn {n}", "session": "s"} for n in "ab"])
    memory.remember([{"speaker": "Ana", "text": "turn c", "session": "s"}])
    memory.remember([{"speaker": "Ana", "text": "turn z", "session": "s", "position": 9}])
    memory.remember([{"speaker": "Ana", "text": "turn k", "session": "s"}])
    memory.remember([{"speaker": "Ana", "text": "elsewhere", "session": "t"}])
    turns = {turn.summary[-1]: turn.position for turn in memory.retrieve(session="s")}
    assert turns == {"a": 0, "b": 1, "c": 2, "z": 9, "k": 10}
    assert memory.retrieve(session="t")[0].position == 0


def test_a_known_turn_is_not_read_twice(memory):
    told = [
        {"speaker": "Ana", "text": "I live in Lisbon.", "time": START, "session": "s", "position": 0},
        {"speaker": "Ana", "text": "I like tea.", "time": START, "session": "s", "position": 1},
    ]
    memory.remember(told)
    before = memory.retrieve()
    again = memory.remember(told)
    assert {result.action for result in again} == {Action.NONE}
    assert memory.retrieve() == before


def test_without_extractor_only_turns_are_kept(path):
    with Memory.open(path, extractor=None) as memory:
        memory.remember([{"role": "user", "content": "I live in Lisbon."}])
        assert [claim.type for claim in memory.retrieve()] == ["episodic"]
    with pytest.raises(InvalidQuery):
        Memory.open(path, extractor="oracle")


# -- scopes ----------------------------------------------------------------------------------------------------


@pytest.fixture
def store():
    with Memory.open(":memory:") as memory:
        yield memory.storage


@pytest.mark.parametrize("name", HOSTILE)
def test_no_scope_sees_or_touches_another(store, name):
    mine = Memory(store, scope=name)
    strangers = [Memory(store, scope=other) for other in [*HOSTILE, "global"] if other != name]
    own = mine.store(home("Lisbon", "ana")).claim_id
    theirs = [stranger.store(home("Porto", "bob")).claim_id for stranger in strangers]
    assert len({own, *theirs}) == len(theirs) + 1
    assert [claim.id for claim in mine.retrieve()] == [own]
    assert [hit.claim.id for hit in mine.recall("where does Ana live")] == [own]
    assert mine.recall("Ana").hits[0].disputed_by == ()
    assert mine.get(own).confidence == 0.8
    for stranger in strangers:
        assert own not in {claim.id for claim in stranger.retrieve()} | {
            hit.claim.id for hit in stranger.recall("where does Ana live in Lisbon")
        }
        assert stranger.get(own) is None
        assert stranger.explain(own) is None
        assert stranger.explain_deep(own) is None
        here = stranger.retrieve()[0].id
        for call in (
            lambda s=stranger, h=here: s.add_support(own, h),
            lambda s=stranger, h=here: s.relate(h, own, "caused"),
            lambda s=stranger, h=here: s.unrelate(own, h, "supports"),
            lambda s=stranger: s.forget(own),
            lambda s=stranger: s.erase(own),
            lambda s=stranger: s.update(own, importance=0.9),
            lambda s=stranger: s.retract("ana", own),
            lambda s=stranger: s.explain_confidence_history(own),
        ):
            with pytest.raises(NotFound):
                call()
        assert stranger.retract("ana") == []
        stranger.trust("ana", 0.0)
    assert mine.get(own).confidence == 0.8
    assert mine.get(own).status == Status.ACTIVE


def test_a_claim_for_another_scope_is_refused(memory):
    mine = Memory(memory.storage, scope="mine")
    with pytest.raises(ScopeError):
        mine.store(fact("sweet", scope="other"))
    with pytest.raises(ScopeError):
        memory.store(fact("sweet", scope="mine"))
    assert mine.get(mine.store(fact("sweet")).claim_id).scope == "mine"
    for bad in ("", "  ", 5, "a\0"):
        with pytest.raises(InvalidClaim):
            Memory(memory.storage, scope=bad)


def test_other_scopes_are_reached_only_by_name_or_the_sentinel(memory):
    a, b = (Memory(memory.storage, scope=name) for name in "ab")
    memory.store(fact("sweet"))
    a.store(fact("bitter"))
    b.store(fact("sour"))
    assert found(a, "tea", scopes="b") == ["tea tastes sour"]
    assert set(found(a, "tea", scopes=("a", "b"))) == {"tea tastes bitter", "tea tastes sour"}
    assert len(found(a, "tea", scopes=ALL_SCOPES)) == 3
    assert len(a.retrieve(scopes=ALL_SCOPES, k=2, offset=2)) == 1
    for fake in ("*", "all", "all scopes", "ALL_SCOPES", "%"):
        assert found(a, "tea", scopes=fake) == []
    a.remember("the kettle whistles", scope="b")
    assert found(a, "kettle") == []
    assert found(b, "kettle") == ["the kettle whistles"]


def test_retracting_and_forgetting_stay_in_their_scope(memory):
    a, b = (Memory(memory.storage, scope=name) for name in "ab")
    ids = {each.scope: each.store(fact("sweet", "ana")).claim_id for each in (a, b)}
    assert a.retract("ana") == [ids["a"]]
    assert (a.count(), b.count()) == (0, 1)
    b.store(fact("sweet", "carl"))
    assert a.count() == 0


# -- reading ---------------------------------------------------------------------------------------------------


def test_filters_come_before_the_cut(memory):
    memory.store_many([event(f"tea party number {number}") for number in range(40)])
    rare = memory.store(
        fact(
            "like hay",
            "ana",
            confidence=0.2,
            category="goals",
            entities="Hay",
            metadata={"k": 1},
            session="s",
        )
    ).claim_id
    for filters in (
        {"type": "semantic"},
        {"category": "goals"},
        {"entities": "hay"},
        {"metadata": {"k": 1}},
        {"session": "s"},
    ):
        assert [hit.claim.id for hit in memory.recall("tea party", k=1, **filters)] == [rare]
        assert [claim.id for claim in memory.list(limit=1, **filters)] == [rare]
    assert len(memory.recall("tea party hay", k=1, min_confidence=0.5)) == 1
    assert memory.count(min_confidence=0.5) == 40


def test_pages_follow_each_other_newest_first(memory):
    memory.store_many([event(f"event {number}", created_at=START + number) for number in range(7)])
    pages = [[claim.text for claim in memory.list(limit=3, offset=at)] for at in (0, 3, 6, 9)]
    assert pages == [
        ["event 6", "event 5", "event 4"],
        ["event 3", "event 2", "event 1"],
        ["event 0"],
        [],
    ]
    assert len(memory.list()) == 7


@pytest.mark.parametrize("key", ["a.b", "$.a", "a'b", 'a"b', "x' OR 1=1 --", "", "ключ", "a[0]", "%", "k\n"])
def test_metadata_keys_are_only_names(memory, key):
    kept = memory.store(fact("sweet", metadata={key: "v"})).claim_id
    memory.store(fact("bitter", metadata={"a": {"b": "v"}, "other": "v"}))
    assert [claim.id for claim in memory.retrieve(metadata={key: "v"})] == [kept]
    assert memory.retrieve(metadata={key: "w"}) == []
    assert memory.retrieve(metadata={key: "v", "more": 1}) == []


def test_metadata_values_are_compared_as_json(memory):
    kept = memory.store(fact("sweet", metadata={"list": [1, {"a": None}], "none": None})).claim_id
    memory.store(fact("bitter"))
    assert [claim.id for claim in memory.retrieve(metadata={"list": [1, {"a": None}]})] == [kept]
    assert [claim.id for claim in memory.retrieve(metadata={"none": None})] == [kept]


@pytest.mark.parametrize(
    "filters",
    [
        {"colour": "red"},
        {"k": 0},
        {"k": True},
        {"offset": -1},
        {"type": "rumour"},
        {"status": "lost"},
        {"category": "weather"},
        {"min_confidence": 2},
        {"min_confidence": float("nan")},
        {"since": "yesterday"},
        {"scopes": ()},
        {"scopes": ("",)},
        {"scopes": ("\ud800",)},
    ],
    ids=str,
)
def test_a_filter_that_makes_no_sense_is_an_error(memory, filters):
    with pytest.raises(InvalidQuery):
        memory.retrieve(**filters)


def test_ids_that_could_not_be_stored_name_nothing(memory):
    for odd in ("\ud800", "nul\0", "x" * 5000):
        with pytest.raises((InvalidClaim, NotFound)):
            memory.forget(odd)
        try:
            assert memory.get(odd) is None
        except InvalidClaim:
            continue


@pytest.mark.parametrize(
    "text", ["", "   ", "?!", "\ud800", "the of and", "zzz", "x' OR 1=1 --", '"tea*" NEAR(', "é" * 9]
)
def test_a_question_without_an_answer_finds_nothing(memory, text):
    memory.store(home("Lisbon"))
    assert found(memory, text) == []


def test_what_is_out_of_use_is_left_out_unless_asked_for(memory):
    kept, gone, over = (memory.store(fact(word, "ana")).claim_id for word in ("sweet", "bitter", "sour"))
    memory.forget(gone)
    memory.update(over, valid_to=NOW - DAY)
    assert [claim.id for claim in memory.retrieve()] == [kept]
    assert [hit.claim.id for hit in memory.recall("tea")] == [kept]
    assert [claim.id for claim in memory.retrieve(status="retired")] == [gone]
    assert {claim.id for claim in memory.retrieve(valid_at=START + 1)} == {kept, over}


# -- changing --------------------------------------------------------------------------------------------------


def test_update_keeps_the_id_and_the_rest(memory):
    claim = fact("sweet", "ana", evidence="one", metadata={"a": 1}, entities="tea")
    memory.store(claim)
    result = memory.update(claim.id, object="very sweet", importance=0.9)
    read = memory.get(claim.id)
    assert (result.action, result.claim_id) == (Action.UPDATE, claim.id)
    assert (read.object, read.importance, dict(read.metadata), read.evidence) == (
        "very sweet",
        0.9,
        {"a": 1},
        ("one",),
    )
    assert (read.created_at, read.confidence, read.source) == (START, 0.8, "ana")
    assert found(memory, "very") == ["tea tastes very sweet"]
    assert memory.store(fact("very sweet", "ana")).claim_id == claim.id
    assert memory.store(fact("sweet", "ana")).action == Action.ADD


def test_update_replaces_what_the_source_asserted_and_nothing_else(memory):
    claim = fact("sweet", "ana", evidence="from ana")
    memory.store_many(
        [claim, fact("sweet", "ana"), fact("sweet", "bob", evidence="from bob", confidence=0.5)]
    )
    memory.update(claim.id, confidence=0.6)
    said = {each.source: each for each in memory.explain(claim.id)["assertions"]}
    assert (said["ana"].confidence, said["bob"].confidence) == (0.6, 0.5)
    assert (said["ana"].evidence, said["bob"].evidence) == (("from ana",), ("from bob",))
    assert memory.get(claim.id).support_count == 3
    assert memory.explain_confidence_history(claim.id)[0].new_confidence < 0.8
    memory.retract("bob")
    assert memory.get(claim.id).evidence == ("from ana",)


def test_update_refuses_what_it_cannot_do(memory):
    one, two = (memory.store(fact(word)).claim_id for word in ("sweet", "bitter"))
    turn = memory.store(event("we had tea")).claim_id
    for claim_id, changes in (
        (one, {"subject": "coffee"}),
        (one, {"id": "other"}),
        (one, {"scope": "other"}),
        (one, {"status": "retired"}),
        (one, {"summary": "text"}),
        (turn, {"object": "text"}),
        (one, {"object": "The Bitter!"}),
        (one, {"object": ""}),
        (one, {"confidence": float("nan")}),
        (one, {"valid_to": START - DAY}),
    ):
        with pytest.raises(InvalidClaim):
            memory.update(claim_id, **changes)
    with pytest.raises(NotFound):
        memory.update("nowhere", importance=0.1)
    assert (memory.get(one).object, memory.get(two).object) == ("sweet", "bitter")
    assert memory.get(one).importance == 0.5


def test_forgetting_twice_is_forgetting_once(memory):
    claim_id = memory.store(fact("sweet")).claim_id
    assert memory.forget(claim_id).action == Action.DELETE
    history = memory.explain_confidence_history(claim_id)
    again = memory.forget(claim_id)
    assert (again.action, again.claim_id, again.changes) == (Action.NONE, claim_id, ())
    assert memory.explain_confidence_history(claim_id) == history
    assert (memory.count(), memory.get(claim_id).object) == (0, "sweet")


def test_retracting_takes_back_one_source_only(memory):
    both = memory.store_many([fact("sweet", "ana", confidence=0.7), fact("sweet", "bob", confidence=0.6)])[
        0
    ].claim_id
    alone = memory.store(fact("bitter", "ana")).claim_id
    unnamed = memory.store(fact("sour")).claim_id
    raised = memory.get(both).confidence
    assert memory.retract("ana") == [both, alone]
    assert (memory.get(both).confidence, memory.get(both).source) == (pytest.approx(0.6, abs=1e-9), "bob")
    assert memory.get(alone).status == Status.RETIRED
    assert memory.retract("ana") == []
    assert memory.retract(None) == [unnamed]
    memory.store(fact("sweet", "ana", confidence=0.7))
    assert memory.get(both).confidence == pytest.approx(raised, abs=1e-9)


def test_trust_reweighs_what_a_source_said(memory):
    claim_id = memory.store(fact("sweet", "ana", confidence=0.9)).claim_id
    memory.trust("ana", 0.5)
    assert memory.get(claim_id).confidence == pytest.approx(0.7, abs=1e-9)
    assert memory.store(fact("bitter", "ana", confidence=0.9)).action == Action.ADD
    assert memory.retrieve()[0].confidence == pytest.approx(0.7, abs=1e-9)
    memory.trust("ana", 1.0)
    assert memory.get(claim_id).confidence == pytest.approx(0.9, abs=1e-9)
    for bad in (-0.1, 1.1, float("nan")):
        with pytest.raises(InvalidClaim):
            memory.trust("ana", bad)


# -- opening ---------------------------------------------------------------------------------------------------


def test_two_memories_on_one_file_see_each_others_writes_at_once(path):
    with Memory.open(path) as one, Memory.open(str(path)) as two:
        first = one.store(fact("sweet", "ana", confidence=0.6)).claim_id
        assert found(two, "tea") == ["tea tastes sweet"]
        second = two.store(fact("bitter", "bob", confidence=0.6)).claim_id
        assert len(found(one, "tea")) == 2
        two.add_support(second, first)
        assert one.explain(first)["supported_by"] == [second]
        assert one.recall("sweet").hits[0].claim.confidence == two.get(first).confidence > 0.6
        one.forget(second)
        assert found(two, "tea") == ["tea tastes sweet"]


def test_files_and_memory_databases_are_kept_apart(path, tmp_path):
    with (
        Memory.open(path) as one,
        Memory.open(tmp_path / "other.db") as two,
        Memory.open(":memory:") as three,
    ):
        one.store(fact("sweet"))
        two.store(fact("bitter"))
        with Memory.open(":memory:") as four:
            three.store(fact("sour"))
            assert four.count() == 0
        assert [found(each, "tea") for each in (one, two, three)] == [
            ["tea tastes sweet"],
            ["tea tastes bitter"],
            ["tea tastes sour"],
        ]


def test_everything_is_there_after_reopening(path):
    with Memory.open(path) as memory:
        ids = [result.claim_id for result in memory.store_many([fact("sweet", "ana"), fact("bitter", "bob")])]
        memory.add_contradiction(*ids)
        before = memory.retrieve()
    with Memory.open(path) as memory:
        assert memory.retrieve() == before
        assert memory.recall("sweet").hits[0].disputed_by == (ids[1],)


def test_the_environment_names_the_file_when_nobody_else_does(tmp_path, monkeypatch):
    monkeypatch.setenv("RECOLLECTX_DB", str(tmp_path / "deep" / "er" / "m.db"))
    with Memory.open() as memory:
        memory.store(fact("sweet"))
    assert (tmp_path / "deep" / "er" / "m.db").exists()


def test_a_path_that_is_no_database_says_so(tmp_path):
    wrong = tmp_path / "letter.txt"
    wrong.write_bytes(b"Dear reader, " * 500)
    with pytest.raises(StorageError, match="letter"):
        Memory.open(wrong)
    assert wrong.read_bytes() == b"Dear reader, " * 500
    for bad in (tmp_path, "", "mysql://host/db"):
        with pytest.raises((InvalidSetting, StorageError)):
            MemoryStore(bad)


def test_a_closed_memory_says_so(path):
    memory = Memory.open(path)
    memory.store(fact("sweet"))
    memory.close()
    memory.close()
    for use in (memory.retrieve, lambda: memory.recall("tea"), lambda: memory.store(fact("bitter"))):
        with pytest.raises(StorageError, match="closed"):
            use()


def test_counts_too_large_to_add_are_kept_at_the_bound(memory):
    most = 2**31 - 1
    memory.store(fact("sweet", "ana", support_count=most))
    memory.store(fact("sweet", "bob"))
    memory.store(fact("sweet", "bob", support_count=most))
    assert [hit.claim.support_count for hit in memory.recall("sweet tea")] == [most]


def test_the_evidence_of_one_source_is_bounded(memory):
    for number in range(150):
        claim_id = memory.store(fact("sweet", "ana", evidence=f"said {number}")).claim_id
    evidence = memory.get(claim_id).evidence
    assert (len(evidence), evidence[-1]) == (100, "said 149")


WRONG = [
    lambda memory, claim: memory.undo(2**70),
    lambda memory, claim: memory.traces.list(limit=10**30),
    lambda memory, claim: memory.traces.list(offset=2**64),
    lambda memory, claim: memory.traces.record("x", "y"),
    lambda memory, claim: memory.what_if(relate=("a", "b", "supports")),
    lambda memory, claim: memory.what_if(trust=["p"]),
    lambda memory, claim: memory.what_if(trust="p"),
    lambda memory, claim: memory.what_if(withdraw=5),
    lambda memory, claim: memory.what_if(withdraw=[claim, 5]),
    lambda memory, claim: memory.what_if(retract=5),
    lambda memory, claim: memory.what_if(assert_="tea"),
    lambda memory, claim: memory.derive(fact("loved"), 5),
    lambda memory, claim: memory.derive(fact("loved"), [5]),
    lambda memory, claim: memory.history.snapshot(START, scope=5),
    lambda memory, claim: memory.history.iter_claims(START, 5),
    lambda memory, claim: memory.history.timeline(scope=5),
    lambda memory, claim: memory.history.diff(START, START, scope=5),
    lambda memory, claim: memory.retrieve(scopes=5),
    lambda memory, claim: memory.retrieve(status=5),
    lambda memory, claim: memory.retrieve(entities=5),
    lambda memory, claim: memory.list(offset=2**64),
    lambda memory, claim: memory.retract(["p"]),
    lambda memory, claim: memory.retract("p", 5),
    lambda memory, claim: memory.disputes(-1),
    lambda memory, claim: memory.disputes(0),
    lambda memory, claim: memory.disputes(True),
    lambda memory, claim: memory.disputes(["global"]),
    lambda memory, claim: memory.disputes("global", 10**30),
    lambda memory, claim: memory.calibration(5),
    lambda memory, claim: memory.trust("ana", 0.5, 5),
    lambda memory, claim: memory.trust("ana", "much"),
    lambda memory, claim: memory.erase(scope=5),
    lambda memory, claim: memory.impact(5),
    lambda memory, claim: memory.confirm(5),
]


@pytest.mark.parametrize("call", WRONG, ids=range(len(WRONG)))
def test_what_cannot_be_meant_is_refused_by_an_error_of_ours(memory, call):
    claim = memory.store(fact("sweet", "ana")).claim_id
    before = memory.last_tx()
    with pytest.raises((InvalidClaim, InvalidQuery)) as refused:
        call(memory, claim)
    assert str(refused.value)
    assert memory.last_tx() == before


def test_another_scope_is_named_where_one_is_asked_about(path, clock):
    with Memory.open(path, clock=clock) as memory:
        team = Memory(memory.storage, scope="team")
        one, two = (team.store(fact(word, word)).claim_id for word in ("sweet", "bitter"))
        team.add_contradiction(one, two)
        team.confirm(one)
        now = NOW + DAY
        assert memory.history.snapshot(now, "team") == team.history.snapshot(now)
        assert memory.history.snapshot(now, "team", now) == team.history.snapshot(now, valid_at=now)
        assert memory.history.snapshot(now, "global").claims == ()
        assert memory.history.diff(START, now, "team") == team.history.diff(START, now)
        assert [each.gap for each in memory.disputes("team")] == [each.gap for each in team.disputes()]
        assert len(memory.disputes(scope="team", limit=1)) == len(team.disputes(1)) == 1
        assert memory.disputes("global") == memory.disputes() == []
        assert memory.calibration("team").confirmed == memory.calibration(scope="team").confirmed == 1
        assert memory.calibration().confirmed == 0
        before = team.get(one).confidence
        memory.trust("sweet", 0.3)
        assert team.get(one).confidence == before
        tx = memory.trust("sweet", 0.3, scope="team").tx
        assert team.get(one).confidence < before
        team.undo(tx)
        assert team.get(one).confidence == pytest.approx(before, abs=1e-9)


def test_what_is_said_of_sources_names_its_transaction(memory):
    claim = memory.store(fact("sweet", "ana")).claim_id
    before = memory.get(claim).confidence
    for step in (lambda: memory.trust("ana", 0.2), lambda: memory.retract("ana")):
        done = step()
        assert done.tx == memory.last_tx()
        memory.undo(done.tx)
        assert memory.get(claim).confidence == pytest.approx(before, abs=1e-9)
    taken = memory.retract("nobody")
    assert (taken, taken.tx) == ([], 0)


def test_only_as_many_scopes_stay_in_memory_as_fit(path):
    with Memory.open(path) as memory:
        for name in "abcdef":
            memory.in_scope(name).store(fact(f"of {name}", scope=name))
            memory.recall("of", scopes=(name,))
        held = memory.storage.retriever._held
        assert [scope for scope, _ in held] == list("abcdef")
        one = held["f", None].nbytes
    with Memory.open(path, cache_bytes=3 * one) as memory:
        for name in "abcdefab":
            assert [claim.object for claim in memory.recall("of", scopes=(name,)).claims] == [f"of {name}"]
        assert [scope for scope, _ in memory.storage.retriever._held] == list("fab")
        memory.recall("of", scopes=("f",))
        memory.recall("of", scopes=("c",))
        assert [scope for scope, _ in memory.storage.retriever._held] == list("bfc")
