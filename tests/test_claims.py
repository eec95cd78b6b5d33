import copy
import dataclasses
import pickle
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from conftest import START, event, fact

from recollectx import Assertion, Basis, Category, Claim, Edge, EpisodicClaim, Memory, SemanticClaim, Status
from recollectx.claims import MAX_NAME, MAX_TEXT
from recollectx.errors import InvalidClaim, InvalidSetting

NOON = datetime(2024, 5, 31, 12, tzinfo=UTC).timestamp()


def test_a_claim_has_the_documented_defaults():
    one, two = EpisodicClaim(summary="it rained"), EpisodicClaim(summary="it rained")
    assert one.id != two.id
    assert (one.type, one.confidence, one.importance, one.evidence, one.support_count) == (
        "episodic",
        0.0,
        0.5,
        (),
        1,
    )
    assert (one.scope, one.status, one.basis, one.source, one.session) == (
        "global",
        Status.ACTIVE,
        Basis.ASSERTED,
        None,
        None,
    )
    assert one.last_reinforced_at == one.created_at == one.since
    assert Claim().type == ""
    assert dict(one.metadata) == {}


@pytest.mark.parametrize("name", ["confidence", "importance"])
@pytest.mark.parametrize(
    "value", [float("nan"), -float("inf"), -0.001, 1.001, True, np.True_, "0.5", None, 1j, np.ones(2)]
)
def test_a_share_outside_zero_to_one_is_refused(name, value):
    with pytest.raises(InvalidClaim, match=name):
        fact("sweet", **{name: value})


@pytest.mark.parametrize("name", ["confidence", "created_at"])
def test_a_number_too_large_for_a_float_is_refused_as_any_other(name):
    with pytest.raises(InvalidClaim, match=name):
        fact("sweet", **{name: 10**400})


@pytest.mark.parametrize("value", [0, 1, 0.5, np.float64(0.25), np.float32(0.25), np.int64(1)])
def test_numbers_of_other_libraries_become_floats(value):
    claim = fact("sweet", confidence=value)
    assert type(claim.confidence) is float
    assert claim.confidence == float(value)


@pytest.mark.parametrize(
    "given",
    [
        {"object": ""},
        {"object": "  \n"},
        {"object": None},
        {"predicate": ""},
        {"subject": ""},
        {"id": ""},
        {"id": "x" * (MAX_NAME + 1)},
        {"scope": " "},
        {"source": ""},
        {"session": 5},
        {"object": "x" * (MAX_TEXT + 1)},
        {"evidence": ("fine", "x" * (MAX_TEXT + 1))},
        {"object": "half \ud83d of a pair"},
        {"evidence": "\udc00"},
        {"object": "nul \0 inside"},
        {"subject": "nul\0"},
        {"evidence": ("",)},
        {"evidence": b"bytes"},
        {"evidence": None},
        {"entities": 3},
        {"type": "episodic"},
        {"type": "rumour"},
        {"status": "lost"},
        {"category": "weather"},
        {"basis": "guessed"},
        {"support_count": -1},
        {"support_count": 1.5},
        {"support_count": True},
        {"position": -1},
        {"position": "3"},
        {"metadata": {"when": datetime(2024, 1, 1)}},
        {"metadata": {"ratio": float("nan")}},
        {"metadata": {1: "one"}},
        {"metadata": [("a", 1)]},
        {"metadata": {"text": "\ud800"}},
        {"metadata": {"text": "x" * MAX_TEXT}},
        {"created_at": "yesterday"},
        {"created_at": float("nan")},
        {"created_at": 1e15},
        {"valid_from": True},
        {"valid_from": NOON, "valid_to": NOON - 1},
        {"valid_to": START - 1},
    ],
    ids="-".join,
)
def test_what_could_not_be_stored_is_refused_when_it_is_built(given):
    with pytest.raises(InvalidClaim):
        fact(**{"object": "sweet", **given})


def test_a_fact_without_object_is_refused():
    with pytest.raises(InvalidClaim, match="object"):
        SemanticClaim(subject="tea", predicate="is")


def test_texts_of_exactly_the_bound_are_kept(memory):
    long = fact("x" * MAX_TEXT, evidence="y" * MAX_TEXT, subject="s" * MAX_NAME)
    read = memory.get(memory.store(long).claim_id)
    assert (read.object, read.evidence, read.subject) == (long.object, long.evidence, long.subject)


def test_free_text_needs_no_subject():
    claim = SemanticClaim.from_text("the shop closes at noon", confidence=0.7)
    assert (claim.subject, claim.text, claim.confidence) == ("", "the shop closes at noon", 0.7)


def test_a_bare_string_is_one_piece_of_evidence_and_repeats_are_one():
    assert fact("sweet", evidence="I tasted it").evidence == ("I tasted it",)
    assert fact("sweet", evidence=["b", "a", "b"]).evidence == ("b", "a")


@pytest.mark.parametrize(
    "when",
    [
        NOON,
        datetime(2024, 5, 31, 12),
        datetime(2024, 5, 31, 14, tzinfo=timezone(timedelta(hours=2))),
        "2024-05-31T12:00:00",
        "2024-05-31T12:00:00Z",
        "2024-05-31T07:00:00-05:00",
        "2024-05-31 12:00",
    ],
)
def test_every_way_to_write_a_time_means_the_same_and_no_zone_is_utc(when):
    claim = fact("sweet", created_at=when, valid_from=when)
    assert (claim.created_at, claim.valid_from, claim.since) == (NOON, NOON, NOON)


def test_a_claim_survives_pickling_copying_and_hashing():
    claim = fact(
        "sweet", "ana", evidence=("e",), metadata={"tag": [1, {"deep": "x"}]}, category="preferences"
    )
    for twin in (pickle.loads(pickle.dumps(claim)), copy.deepcopy(claim), dataclasses.replace(claim)):
        assert twin == claim
        assert hash(twin) == hash(claim)
    assert claim.category is Category.PREFERENCES
    assert len({claim, dataclasses.replace(claim, object="bitter")}) == 2


def test_a_claim_cannot_be_changed():
    given = {"tag": "a"}
    claim = fact("sweet", metadata=given)
    given["tag"] = "b"
    assert claim.metadata["tag"] == "a"
    with pytest.raises(dataclasses.FrozenInstanceError):
        claim.confidence = 1.0
    with pytest.raises(TypeError):
        claim.metadata["tag"] = "c"
    with pytest.raises(TypeError):
        claim.metadata.update(tag="c")
    with pytest.raises((AttributeError, TypeError)):
        claim.colour = "green"


@pytest.mark.parametrize(
    "build",
    [
        lambda: Edge("a", "a", "supports"),
        lambda: Edge("a", "b", "similar"),
        lambda: Edge("a", "b", ""),
        lambda: Edge("a", "b", "supports", strength=float("nan")),
        lambda: Edge("a", "b", "supports", derivation="joint"),
        lambda: Assertion("ana", 1.2, START),
        lambda: Assertion("", 0.5, START),
        lambda: Assertion("ana", 0.5, START, span="\udfff"),
    ],
)
def test_edges_and_assertions_are_checked_alike(build):
    with pytest.raises(InvalidClaim):
        build()


def test_everything_on_a_claim_comes_back_from_the_database(memory):
    claim = fact(
        "sweet",
        "ana",
        importance=0.7,
        evidence=("one", "two"),
        support_count=3,
        entities=("tea", "Ana"),
        category="preferences",
        valid_from=START + 1,
        valid_to=START + 9e8,
        due_at=START + 2,
        review_after=START + 3,
        session="s",
        position=4,
        metadata={"n": 1, "deep": {"list": [1, 2.5, None, "ü"]}},
    )
    read = memory.get(memory.store(claim).claim_id)
    assert read == claim
    assert read.prior == claim.confidence


def test_nothing_is_written_when_one_of_many_is_bad(memory):
    base = Claim(confidence=0.5)
    with pytest.raises(InvalidClaim):
        memory.store_many([fact("sweet"), base, fact("bitter")])
    taken = memory.store(fact("salty")).claim_id
    with pytest.raises(InvalidClaim, match="taken"):
        memory.store_many([fact("sweet"), fact("sour", id=taken), fact("bitter")])
    assert [claim.object for claim in memory.retrieve()] == ["salty"]
    assert memory.store(fact("sweet")).claim_id == memory.retrieve()[0].id


def test_many_are_stored_batch_by_batch_when_asked(memory):
    tastes = [fact(f"taste {n}") for n in range(5)]
    told = []
    results = memory.store_many(iter(tastes), batch=2, progress=told.append)
    assert [result.claim_id for result in results] == [claim.id for claim in tastes]
    assert told == [2, 2, 1]
    first = results[0].tx
    assert [result.tx for result in results] == [first, first, first + 1, first + 1, first + 2]
    with pytest.raises(InvalidClaim):
        memory.store_many([fact("sweet"), fact("sour"), Claim(confidence=0.5)], batch=2)
    assert {claim.object for claim in memory.retrieve()} >= {"sweet", "sour"}
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(InvalidSetting, match="batch"):
            memory.store_many([fact("salty")], batch=wrong)


def test_a_time_finer_than_a_microsecond_still_names_the_same_episode():
    moment = event("it rained", created_at=1_700_000_000.123_456_7)
    with Memory.open(":memory:") as memory:
        first = memory.store(moment).claim_id
        assert memory.store(moment).claim_id == first
        assert memory.store(dataclasses.replace(moment, id="again")).claim_id == first
        assert memory.count() == 1
