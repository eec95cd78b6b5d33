"""What was believed at any moment: snapshots, recall, timelines, differences. test_time_machine does it at random.

The faults d01, d02, d16, d19, d27 to d31 of LociDB, the older system that had time travel, each have a test here.
"""

import json
import threading
from datetime import UTC, datetime, timedelta, timezone
from itertools import count, pairwise

import pytest
from behind import content
from click.testing import CliRunner
from conftest import DAY, NOW, START, Clock, event, fact, home
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event as listening

from recollectx import ALL_SCOPES, Memory, SemanticClaim
from recollectx.changes import Assert, Link
from recollectx.claims import Claim, Status, assertion_of
from recollectx.cli.app import app
from recollectx.edges import Edge
from recollectx.embeddings import HashEmbedder
from recollectx.errors import InvalidQuery, NotFound
from recollectx.propagation import PropagationConfig
from recollectx.storage.vector import ExactIndex

EVERY = list(Status)


@pytest.fixture
def clock() -> Clock:
    return Clock(step=0)


def at(clock: Clock, days: float) -> float:
    """Let it be so many days after NOW."""
    clock.now = NOW + days * DAY
    return clock.now


@pytest.fixture
def story(memory, clock) -> dict[str, str]:
    """Ana moves on day 2; somebody else contradicts a taste on day 3; it is forgotten on day 4."""
    ids = {}
    at(clock, 1)
    ids["rome"] = memory.store(home("Rome", "ana", confidence=0.9, created_at=NOW)).claim_id
    ids["sweet"] = memory.store(fact("sweet", "ana", entities="Assam")).claim_id
    at(clock, 2)
    ids["oslo"] = memory.store(home("Oslo", "ana", confidence=0.9, created_at=NOW + 2 * DAY)).claim_id
    at(clock, 3)
    ids["bitter"] = memory.store(fact("bitter", "bob")).claim_id
    memory.add_contradiction(ids["bitter"], ids["sweet"])
    at(clock, 4)
    memory.forget(ids["sweet"])
    at(clock, 5)
    return ids


def ids_of(claims) -> list[str]:
    return [claim.id for claim in claims]


# -- moments -----------------------------------------------------------------------------------------------


def test_a_snapshot_shows_what_was_in_use_then(memory, story):
    def shown(days: float) -> set[str]:
        found = memory.history.snapshot(NOW + days * DAY)
        return {name for name, claim_id in story.items() if claim_id in ids_of(found)}

    assert shown(0.5) == set()
    assert shown(1.5) == {"rome", "sweet"}
    assert shown(2.5) == {"oslo", "sweet"}
    assert shown(3.5) == {"oslo", "sweet", "bitter"}
    assert shown(4.5) == {"oslo", "bitter"}


def test_numbers_and_status_are_those_of_then(memory, story):
    get = memory.history.get
    before, doubted = (get(story["sweet"], NOW + days * DAY) for days in (1.5, 3.5))
    assert before.confidence == 0.8
    assert doubted.confidence < 0.7
    assert get(story["sweet"], NOW + 4.5 * DAY).status == Status.RETIRED
    assert get(story["rome"], NOW + 1.5 * DAY).valid_to is None
    assert get(story["rome"], NOW + 2.5 * DAY).valid_to == NOW + 2 * DAY
    assert get(story["oslo"], NOW + 1.5 * DAY) is None


@pytest.mark.parametrize(
    "moment",
    [
        NOW + 2 * DAY,
        datetime.fromtimestamp(NOW + 2 * DAY, UTC),
        datetime.fromtimestamp(NOW + 2 * DAY, UTC).replace(tzinfo=None),
        datetime.fromtimestamp(NOW + 2 * DAY, UTC).isoformat(),
        datetime.fromtimestamp(NOW + 2 * DAY, timezone(timedelta(hours=9))),
        datetime.fromtimestamp(NOW + 2 * DAY, timezone(timedelta(hours=-9))).isoformat(),
    ],
)
def test_d19_every_way_to_write_a_moment_means_the_same_instant(memory, story, moment):
    """LociDB compared times as text: an hour ago in Tokyo showed too much; naive ones were a TypeError in some calls."""
    assert story["oslo"] in ids_of(memory.history.snapshot(moment))
    assert ids_of(memory.retrieve(as_of=moment)) == ids_of(memory.history.snapshot(moment))
    assert memory.history.get(story["oslo"], moment) is not None
    assert memory.history.diff(moment, NOW + 9 * DAY).removed[0].claim.id == story["sweet"]
    assert len(memory.recall("Oslo", as_of=moment)) == 1


def test_d19_an_hour_before_in_another_zone_is_before(memory, story):
    east, west = timezone(timedelta(hours=9)), timezone(timedelta(hours=-9))
    for zone in (east, west):
        earlier = datetime.fromtimestamp(NOW + 2 * DAY - 3600, zone)
        later = datetime.fromtimestamp(NOW + 2 * DAY + 3600, zone)
        assert memory.history.get(story["oslo"], earlier) is None
        assert memory.history.get(story["oslo"], later) is not None
        assert ids_of(memory.recall("Oslo", as_of=earlier.isoformat()).claims) == []


def test_exactly_at_a_transaction_counts_it_and_a_microsecond_before_does_not(memory, story):
    moment = NOW + 2 * DAY
    assert memory.history.get(story["oslo"], moment) is not None
    assert memory.history.get(story["oslo"], moment - 2e-6) is None


def test_of_two_transactions_in_one_microsecond_the_last_counts(memory, clock):
    moment = at(clock, 1)
    claim_id = memory.store(fact("sweet", "ana")).claim_id
    memory.update(claim_id, object="salty")
    memory.forget(memory.store(fact("sour", "ana")).claim_id)
    assert [claim.text for claim in memory.history.snapshot(moment)] == ["tea tastes salty"]


def test_before_the_first_transaction_there_is_nothing(memory, story):
    assert len(memory.history.snapshot(NOW)) == 0
    assert list(memory.history.iter_claims(NOW, ALL_SCOPES)) == []
    assert len(memory.recall("tea Oslo", as_of=START, scopes=ALL_SCOPES)) == 0
    assert memory.history.snapshot("0001-01-01").claims == ()


def test_a_future_moment_reads_what_is_known_now(memory, story):
    later = NOW + 10_000 * DAY
    assert list(memory.history.snapshot(later)) == memory.retrieve()
    now = memory.recall("tea Oslo", status=EVERY)
    assert memory.recall("tea Oslo", status=EVERY, as_of=later).hits == now.hits


def test_a_clock_that_was_set_back_keeps_the_order(memory, clock):
    at(clock, 5)
    memory.store(fact("sweet"))
    at(clock, 1)
    memory.store(fact("sour"))
    assert len(memory.history.snapshot(NOW + 5 * DAY)) == 2
    assert len(memory.history.snapshot(NOW + 4 * DAY)) == 0


@pytest.mark.parametrize("moment", ["soon", float("nan"), None, True])
def test_what_is_no_moment_is_refused(memory, moment):
    for call in (memory.history.snapshot, memory.history.iter_claims):
        with pytest.raises(InvalidQuery):
            call(moment)
    with pytest.raises(InvalidQuery):
        memory.history.get("x", moment)


def test_what_was_not_there_yet_has_no_name_then(memory, clock, story):
    Memory(memory.storage, scope="later").store(fact("sweet"))
    with memory.storage.reader(NOW + 1.5 * DAY) as reader:
        assert [known.id for known in reader.in_scope("global")] == [story["rome"], story["sweet"]]
        assert reader.scopes() == ["global"]
        assert [reader.resolve(story[name]).erased for name in ("rome", "oslo")] == [False, True]
    with memory.storage.reader(NOW) as reader:
        assert reader.scopes() == []


# -- recall ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("days", [0.5, 1.5, 2.5, 3.5, 4.5, 9])
def test_d01_recall_agrees_with_the_snapshot_claim_for_claim(memory, story, days):
    """LociDB's recall(as_of) left out what was deleted later, so it contradicted its own snapshot."""
    moment = NOW + days * DAY
    snapshot = {claim.id: claim for claim in memory.history.snapshot(moment)}
    found = {hit.claim.id: hit.claim for hit in memory.recall("tea tastes Ana lives", k=100, as_of=moment)}
    assert found == snapshot
    assert {claim.id: claim.prior for claim in found.values()} == {
        claim.id: claim.prior for claim in snapshot.values()
    }


def test_recall_searches_the_wordings_of_then(memory, clock):
    at(clock, 1)
    claim_id = memory.store(fact("like honey", "ana")).claim_id
    at(clock, 2)
    memory.update(claim_id, object="like smoke")
    then = memory.recall("honey", as_of=NOW + 1.5 * DAY)
    assert [hit.claim.text for hit in then] == ["tea tastes like honey"]
    assert len(memory.recall("smoke", as_of=NOW + 1.5 * DAY)) == 0
    assert len(memory.recall("honey")) == 0


@pytest.mark.parametrize("outside", [False, True])
def test_recall_searches_the_vectors_of_then(path, clock, outside):
    embedder = HashEmbedder(64)
    given = {"vectors": ExactIndex(64, embedder)} if outside else {"embedder": embedder}
    with Memory.open(path, clock=clock, **given) as memory:
        at(clock, 1)
        claim_id = memory.store(fact("like honey", "ana")).claim_id
        memory.store(fact("of nothing"))
        at(clock, 2)
        noted = memory.recall("tea tastes like honey").hits
        memory.update(claim_id, object="like smoke")
        memory.store(fact("like honey and smoke"))
        at(clock, 3)
        now = memory.recall("tea tastes like honey").hits
        then = memory.recall("tea tastes like honey", as_of=NOW + 2 * DAY - 1).hits
        assert [(hit.claim, round(hit.score, 6)) for hit in then] == [
            (hit.claim, round(hit.score, 6)) for hit in noted
        ]
        assert then[0].parts.cosine == pytest.approx(1, abs=1e-3)
        assert memory.recall("tea tastes like honey").hits == now != then


def test_what_has_run_out_is_judged_at_the_moment_asked(memory, clock):
    at(clock, 1)
    memory.store(fact("sweet", valid_to=NOW + 3 * DAY))
    at(clock, 9)
    assert memory.retrieve() == []
    assert len(memory.retrieve(as_of=NOW + 2 * DAY)) == len(memory.history.snapshot(NOW + 2 * DAY)) == 1
    assert memory.retrieve(as_of=NOW + 4 * DAY) == list(memory.history.snapshot(NOW + 4 * DAY)) == []


def test_the_two_clocks_are_asked_apart(memory, clock, story):
    def homes(**asked) -> list[str]:
        given = dict(asked)
        moment = given.pop("as_of")
        found = memory.history.snapshot(moment, **given)
        assert list(found) == memory.retrieve(**asked)
        return [claim.object for claim in found if claim.subject == "Ana"]

    assert homes(as_of=NOW + 1.5 * DAY, valid_at=NOW + 3 * DAY) == ["Rome"]
    assert homes(as_of=NOW + 5 * DAY, valid_at=NOW + 3 * DAY) == ["Oslo"]
    assert homes(as_of=NOW + 5 * DAY, valid_at=NOW + 1 * DAY) == ["Rome"]
    assert homes(as_of=NOW + 5 * DAY, status=EVERY) == ["Oslo", "Rome"]


def test_recency_fades_towards_the_moment_asked(memory, clock):
    at(clock, 1)
    memory.store(event("the kettle broke", created_at=NOW))
    weights = memory.recall("kettle").query.weights
    fading = type(weights)(recency_bias=1.0)
    at(clock, 2)
    now = memory.recall("kettle", weights=fading).hits
    at(clock, 500)
    assert memory.recall("kettle", weights=fading, as_of=NOW + 2 * DAY).hits == now
    assert memory.recall("kettle", weights=fading).hits[0].score < now[0].score


def test_a_dispute_is_that_of_then(memory, story):
    def disputed(days: float) -> tuple[str, ...]:
        (hit,) = memory.recall("bitter", as_of=NOW + days * DAY).hits
        return hit.disputed_by

    assert disputed(3.5) == (story["sweet"],)
    assert disputed(4.5) == ()


def test_d02_reading_the_past_writes_nothing(path, clock):
    """LociDB counted an access at each time-travelling recall and rewrote the row."""
    with Memory.open(path, embedder=None, clock=clock) as memory:
        claim_id = memory.store(fact("sweet", "ana")).claim_id
        at(clock, 1)
        memory.update(claim_id, object="sour")
    with Memory.open(path, embedder=HashEmbedder(64), clock=clock) as memory:
        memory.history.snapshot(NOW)
        before = content(path)
        memory.recall("sweet", as_of=NOW)
        memory.retrieve(as_of=NOW, scopes=ALL_SCOPES)
        memory.history.snapshot(NOW)
        list(memory.history.iter_claims(NOW))
        memory.history.timeline()
        memory.history.of(claim_id)
        memory.history.diff(NOW, NOW + DAY)
        assert content(path) == before


def test_the_past_is_asked_while_others_write(path):
    with Memory.open(path, embedder=None) as memory:
        memory.store_many([fact(f"of {number}") for number in range(20)])
        moment = memory.storage.clock()
        noted = memory.retrieve()

        def write() -> None:
            for number in range(20):
                memory.store(fact(f"of {number} more", "ana"))

        writer = threading.Thread(target=write)
        writer.start()
        reads = [memory.retrieve(as_of=moment) for _ in range(20)]
        writer.join()
        assert all(read == noted for read in reads)


# -- erased, scopes, rules ---------------------------------------------------------------------------------


def test_an_erased_claim_is_in_no_past_and_the_others_keep_their_numbers(memory, clock, story):
    moments = [NOW + days * DAY for days in (1.5, 2.5, 3.5, 4.5)]

    def read() -> list[dict[str, float]]:
        return [
            {claim.id: claim.confidence for claim in memory.history.snapshot(moment, status=EVERY)}
            for moment in moments
        ]

    before = read()
    [memory.recall("tea bitter", as_of=moment) for moment in moments]
    memory.erase(story["bitter"])
    assert read() == [{k: v for k, v in each.items() if k != story["bitter"]} for each in before]
    for moment in moments:
        assert memory.history.get(story["bitter"], moment) is None
        assert all(hit.disputed_by == () for hit in memory.recall("tea bitter", as_of=moment, status=EVERY))
        assert len(memory.recall("bitter", as_of=moment)) == 0
        edges = memory.history.snapshot(moment, status=EVERY).edges
        assert all(story["bitter"] not in (edge.src, edge.dst) for edge in edges)
    with pytest.raises(NotFound):
        memory.history.of(story["bitter"])
    told = [each for each in memory.history.timeline() if story["bitter"] in (each.claim_id, each.other_id)]
    assert [(each.kind, each.text) for each in told] == [("erase", None)]
    assert story["bitter"] not in str(memory.history.of(story["sweet"]))
    changes = memory.history.diff(NOW, NOW + 9 * DAY)
    assert story["bitter"] not in str(changes)


def test_what_another_process_erased_leaves_the_indexes_of_the_past(path, clock):
    with Memory.open(path, clock=clock) as memory:
        ids = [memory.store(fact(name, "ana")).claim_id for name in ("sweet", "sour")]
        moment = clock.now
        at(clock, 1)
        memory.forget(ids[0])
        assert len(memory.recall("tea", k=1, as_of=moment)) == 1
        # A second store on the same file stands for another process: it knows nothing of the first one's indexes.
        with Memory.open(path, clock=clock) as other:
            other.erase(memory.recall("tea", k=1, as_of=moment).claims[0].id)
        assert len(memory.recall("tea", k=1, as_of=moment)) == 1


def test_scopes_never_leak(memory, clock):
    at(clock, 1)
    other = Memory(memory.storage, scope="other")
    mine, theirs = (
        memory.store(fact("sweet", entities="X")).claim_id,
        other.store(fact("sour", entities="X")).claim_id,
    )
    at(clock, 2)
    other.forget(theirs)
    at(clock, 3)
    history = memory.history
    assert ids_of(history.snapshot(NOW + 1.5 * DAY)) == [mine]
    assert ids_of(history.snapshot(NOW + 1.5 * DAY, scope="other")) == [theirs]
    assert set(ids_of(history.iter_claims(NOW + 1.5 * DAY, ["global", "other"]))) == {mine, theirs}
    assert set(ids_of(history.snapshot(NOW + 1.5 * DAY, scope=ALL_SCOPES))) == {mine, theirs}
    assert {each.claim_id for each in history.timeline("x")} == {mine}
    assert {each.claim_id for each in history.timeline(scope="other")} == {theirs}
    assert {each.claim_id for each in history.timeline(scope=ALL_SCOPES)} == {mine, theirs}
    assert not history.diff(NOW + 1.5 * DAY, NOW + 3 * DAY)
    assert ids_of(
        change.claim for change in history.diff(NOW + DAY, NOW + 3 * DAY, scope="other").removed
    ) == [theirs]
    assert history.get(theirs, NOW + 2 * DAY) is None
    with pytest.raises(NotFound):
        history.of(theirs)


def test_edges_from_global_are_shown_and_others_scopes_are_not(memory, clock):
    at(clock, 1)
    mine = Memory(memory.storage, scope="mine")
    shared, own = memory.store(fact("sweet")).claim_id, mine.store(fact("sour")).claim_id
    mine.relate(shared, own, "supports")
    at(clock, 2)
    memory.forget(shared)
    (edge,) = mine.history.snapshot(NOW + 1.5 * DAY).edges
    assert (edge.src, edge.dst, edge.relation) == (shared, own, "supports")
    assert mine.history.snapshot(NOW + 2.5 * DAY).edges == ()
    assert memory.history.snapshot(NOW + 1.5 * DAY).edges == ()


def test_aliases_trust_and_the_rule_are_those_of_then(memory, clock):
    at(clock, 1)
    claim_id = memory.store(fact("sweet", "ana", confidence=0.9)).claim_id
    at(clock, 2)
    again = fact("sweet", "bob", confidence=0.8)
    memory.store(again)
    at(clock, 3)
    memory.trust("ana", 0.1)
    at(clock, 4)
    memory.storage.use_rule(PropagationConfig())
    get = memory.history.get
    assert get(again.id, NOW + 1.5 * DAY) is None
    assert get(again.id, NOW + 2.5 * DAY).id == claim_id
    assert [get(claim_id, NOW + days * DAY).source for days in (2.5, 3.5)] == ["ana", "bob"]
    with memory.storage.reader(NOW + 3.5 * DAY) as reader:
        assert reader.rule() != memory.storage.rule()
        assert reader.trust("ana", "global") == 0.1
    with memory.storage.reader(NOW + 2.5 * DAY) as reader:
        assert reader.trust("ana", "global") == 1


# -- what happened -----------------------------------------------------------------------------------------


def test_the_timeline_tells_what_happened_newest_first(memory, story):
    told = [(each.at, each.what, each.claim_id, each.other_id) for each in memory.history.timeline()]
    rome, sweet, oslo, bitter = (story[name] for name in ("rome", "sweet", "oslo", "bitter"))
    assert told == [
        (NOW + 4 * DAY, "forgotten", sweet, None),
        (NOW + 3 * DAY, "contradicts added", sweet, bitter),
        (NOW + 3 * DAY, "asserted", bitter, None),
        (NOW + 2 * DAY, "supersedes added", rome, oslo),
        (NOW + 2 * DAY, "now superseded", rome, None),
        (NOW + 2 * DAY, "asserted", oslo, None),
        (NOW + 1 * DAY, "asserted", sweet, None),
        (NOW + 1 * DAY, "asserted", rome, None),
    ]


def test_d27_the_timeline_filters_before_its_limit(memory, clock, story):
    """LociDB cut to the limit first: an entity that nothing recent named had no timeline."""
    memory.store_many([fact("warm", subject=f"cup {number}") for number in range(600)])
    told = memory.history.timeline("ASSAM", limit=2)
    assert [each.what for each in told] == ["forgotten", "contradicts added"]
    assert len(memory.history.timeline("assam")) == 3
    assert memory.history.timeline("nobody") == []


def test_an_event_is_worded_as_it_was_then(memory, clock):
    claim_id = memory.store(fact("sweet")).claim_id
    at(clock, 1)
    memory.update(claim_id, object="sour")
    assert [each.text for each in memory.history.timeline()] == ["tea tastes sour", "tea tastes sweet"]


@pytest.mark.parametrize("limit", [0, -1, True, 2.5, 10_001])
def test_a_limit_that_could_not_be_meant_is_refused(memory, limit):
    with pytest.raises(InvalidQuery):
        memory.history.timeline(limit=limit)


def test_the_history_of_a_claim_has_every_version_and_who_stood_behind_it(memory, clock):
    at(clock, 1)
    claim_id = memory.store(fact("sweet", "ana", confidence=0.7)).claim_id
    at(clock, 2)
    memory.update(claim_id, object="honeyed", importance=0.9, valid_to=NOW + 50 * DAY)
    at(clock, 3)
    memory.store(fact("honeyed", "bob", confidence=0.8))
    at(clock, 4)
    memory.retract("ana")
    at(clock, 5)
    memory.forget(claim_id)
    found = memory.history.of(claim_id)
    spans = [(each.text, each.status, each.began.at, each.ended and each.ended.at) for each in found.versions]
    assert spans == [
        ("tea tastes sweet", "active", NOW + DAY, NOW + 2 * DAY),
        ("tea tastes honeyed", "active", NOW + 2 * DAY, NOW + 5 * DAY),
        ("tea tastes honeyed", "retired", NOW + 5 * DAY, None),
    ]
    assert [each.valid_to for each in found.versions] == [None, NOW + 50 * DAY, NOW + 50 * DAY]
    stood = [
        (each.assertion.source, each.began.at, each.ended and each.ended.cause) for each in found.assertions
    ]
    assert stood == [("ana", NOW + DAY, "retract"), ("bob", NOW + 3 * DAY, None)]
    assert found.formed == (NOW + DAY, 0.7)
    assert [each.timestamp for each in found.moves] == [NOW + 3 * DAY, NOW + 4 * DAY]
    for move in found.moves:
        assert memory.history.get(claim_id, move.timestamp).confidence == move.new_confidence
        assert memory.history.get(claim_id, move.timestamp - 1).confidence == move.old_confidence


def test_a_difference_names_what_came_went_and_changed_with_causes(memory, story):
    found = memory.history.diff(NOW + 1.5 * DAY, NOW + 3.5 * DAY)
    assert ids_of(change.claim for change in found.added) == [story["oslo"], story["bitter"]]
    (removed,) = found.removed
    assert (removed.claim.id, removed.after.status) == (story["rome"], Status.SUPERSEDED)
    assert removed.fields["status"] == (Status.ACTIVE, Status.SUPERSEDED)
    assert [cause.cause for cause in removed.causes] == ["store"]
    (changed,) = found.changed
    assert changed.claim.id == story["sweet"]
    assert set(changed.fields) == {"confidence"}
    old, new = changed.fields["confidence"]
    assert (old, new) == (0.8, memory.history.get(story["sweet"], NOW + 3.5 * DAY).confidence)
    assert [(cause.at, cause.cause) for cause in changed.causes] == [(NOW + 3 * DAY, "relate")]
    came = [(each.edge.src, each.edge.relation, each.cause.cause) for each in found.edges_added]
    assert came == [(story["bitter"], "contradicts", "relate")]
    assert found.edges_removed == ()


def test_a_difference_of_a_moment_with_itself_is_empty(memory, story):
    assert not memory.history.diff(NOW + 3 * DAY, NOW + 3 * DAY)
    with pytest.raises(InvalidQuery, match="swap"):
        memory.history.diff(NOW + 3 * DAY, NOW + 2 * DAY)


def test_what_only_ran_out_is_removed_without_a_cause(memory, clock):
    memory.store(fact("sweet", valid_to=NOW + 3 * DAY))
    (removed,) = memory.history.diff(NOW + 1 * DAY, NOW + 4 * DAY).removed
    assert (removed.fields, removed.causes) == ({}, ())


def test_edges_that_went_and_changed_their_strength_are_told(memory, clock, story):
    memory.relate(story["oslo"], story["bitter"], "caused", strength=0.5)
    at(clock, 6)
    memory.relate(story["oslo"], story["bitter"], "caused", strength=0.9)
    at(clock, 7)
    memory.unrelate(story["oslo"], story["bitter"], "caused")
    found = memory.history.diff(NOW + 5 * DAY, NOW + 6 * DAY)
    assert [each.edge.strength for each in (*found.edges_removed, *found.edges_added)] == [0.5, 0.9]
    found = memory.history.diff(NOW + 6 * DAY, NOW + 7 * DAY)
    assert [each.edge.relation for each in found.edges_removed] == ["caused"]
    assert found.edges_removed[0].cause.cause == "unrelate"


def test_an_edge_goes_with_the_claim_at_its_end_and_is_told_with_its_cause(memory, clock, story):
    (gone,) = memory.history.diff(NOW + 3.5 * DAY, NOW + 5 * DAY).edges_removed
    assert (gone.edge.dst, gone.cause.cause) == (story["sweet"], "forget")
    mild = memory.store(fact("mild", valid_to=NOW + 8 * DAY)).claim_id
    memory.add_support(story["bitter"], mild)
    (gone,) = memory.history.diff(NOW + 7 * DAY, NOW + 9 * DAY).edges_removed
    assert (gone.edge.dst, gone.cause) == (mild, None)


def test_an_edge_from_a_claim_of_everywhere_goes_when_that_is_forgotten(path, clock):
    with Memory.open(path, clock=clock) as common:
        mine = Memory(common.storage, scope="mine")
        law = common.store(fact("law")).claim_id
        mine.add_support(law, mine.store(fact("sweet")).claim_id)
        at(clock, 1)
        common.forget(law)
        (gone,) = mine.history.diff(NOW, NOW + DAY).edges_removed
        assert (gone.edge.src, gone.cause.cause) == (law, "forget")


def test_a_difference_has_the_edges_of_the_snapshots_and_no_others(memory, clock, story):
    found = memory.history.diff(0, clock.now)
    assert {each.edge for each in found.edges_added} == set(memory.history.snapshot(clock.now).edges)


def test_what_has_not_begun_is_in_no_snapshot_until_it_begins(memory, clock):
    mars = memory.store(home("Mars", "ana", valid_from=NOW + 20 * DAY)).claim_id
    coffee = memory.store(fact("sweet", "ana")).claim_id
    moved = memory.supersede(coffee, "bitter", at=NOW + 10 * DAY).claim_id
    for days, shown in ((1, [coffee]), (15, [moved]), (25, [mars, moved])):
        when = at(clock, days)
        assert set(ids_of(memory.retrieve())) == set(shown)
        assert ids_of(memory.retrieve(as_of=when)) == ids_of(memory.history.snapshot(when))
        assert set(ids_of(memory.history.iter_claims(when))) == set(shown)
    found = memory.history.diff(NOW + DAY, NOW + 15 * DAY)
    assert (ids_of(each.claim for each in found.added), ids_of(each.claim for each in found.removed)) == (
        [moved],
        [coffee],
    )
    (begun,) = memory.history.diff(NOW + 15 * DAY, NOW + 25 * DAY).added
    assert (begun.claim.id, begun.causes) == (mars, ())


_days = st.none() | st.integers(-3, 12)
_deeds = st.lists(
    st.one_of(
        st.tuples(st.just("store"), _days, st.none() | st.integers(1, 6)),
        st.tuples(
            st.sampled_from(["supports", "contradicts", "caused"]), st.integers(0, 9), st.integers(0, 9)
        ),
        st.tuples(st.sampled_from(["forget", "restore"]), st.integers(0, 9), st.none()),
    ),
    max_size=14,
)


@settings(max_examples=40, deadline=None)
@given(_deeds)
def test_snapshots_recall_and_differences_agree_about_what_begins_and_ends(deeds):
    clock = Clock(NOW, step=0)
    with Memory.open(":memory:", embedder=None, clock=clock) as memory:
        ids: list[str] = []
        for day, (what, one, two) in enumerate(deeds):
            at(clock, day * 0.5)
            if what == "store":
                begins = None if one is None else NOW + one * DAY
                ends = None if two is None else (clock.now if begins is None else begins) + two * DAY
                claim = fact(f"of {day}", created_at=clock.now, valid_from=begins, valid_to=ends)
                ids.append(memory.store(claim).claim_id)
            elif not ids or (two is not None and one % len(ids) == two % len(ids)):
                continue
            elif two is None:
                getattr(memory, what)(ids[one % len(ids)])
            else:
                memory.relate(ids[one % len(ids)], ids[two % len(ids)], what)
        shown: dict[str, Claim] = {}
        edges: set[Edge] = set()
        for one, two in pairwise(NOW + step * DAY / 4 for step in range(-4, 60, 3)):
            snapshot = memory.history.snapshot(two)
            assert list(snapshot) == memory.retrieve(as_of=two)
            assert {claim.id for claim in memory.history.iter_claims(two)} == set(ids_of(snapshot))
            found = memory.history.diff(one, two)
            for change in found.removed:
                del shown[change.claim.id]
            shown |= {change.claim.id: change.after for change in (*found.added, *found.changed)}
            edges -= {change.edge for change in found.edges_removed}
            edges |= {change.edge for change in found.edges_added}
            assert shown == {claim.id: claim for claim in snapshot}
            assert edges == set(snapshot.edges)


def test_the_differences_lead_from_one_snapshot_to_the_next(memory, story):
    moments = [NOW + days * DAY for days in (0, 1.5, 2.5, 3.5, 4.5)]
    shown = {claim.id: claim for claim in memory.history.snapshot(moments[0])}
    for one, two in pairwise(moments):
        found = memory.history.diff(one, two)
        for change in found.removed:
            del shown[change.claim.id]
        for change in (*found.added, *found.changed):
            shown[change.claim.id] = change.after
        assert shown == {claim.id: claim for claim in memory.history.snapshot(two)}


# -- LociDB's other faults ---------------------------------------------------------------------------------


def test_d16_counts_of_the_past_leave_out_what_was_deleted_then(memory, story):
    """LociDB counted and traversed deleted nodes."""
    assert [memory.count(as_of=NOW + days * DAY) for days in (1.5, 3.5, 4.5)] == [2, 3, 2]
    late = memory.history.snapshot(NOW + 4.5 * DAY).edges
    assert all(story["sweet"] not in (edge.src, edge.dst) for edge in late)


def test_d28_a_snapshot_has_no_cap_and_streams(path, clock):
    """LociDB's snapshot stopped at 10,000 rows."""
    with Memory.open(path, embedder=None, clock=clock) as memory:
        claims = [fact(f"of {number}", subject=f"tea {number}") for number in range(10_020)]
        memory.storage.apply([Assert(claim, assertion_of(claim)) for claim in claims], cause="many")
        moment = clock.now
        at(clock, 1)
        stream = memory.history.iter_claims(moment, ALL_SCOPES)
        first = next(stream)
        memory.update(claims[-1].id, object="of nothing")  # nobody waits for whoever reads slowly
        last = [first, *stream]
        assert (len(last), last[-1].object) == (10_020, "of 10019")


def test_d29_what_is_told_as_forgotten_is_forgotten_from_then_on(memory, clock, story):
    """LociDB's command reported success for the printed, shortened id and did nothing."""
    assert memory.history.get(story["sweet"], NOW + 3.9 * DAY).status == Status.ACTIVE
    assert memory.history.get(story["sweet"], NOW + 4 * DAY).status == Status.RETIRED


def test_d30_said_five_times_is_one_claim_in_every_past(memory, clock):
    """LociDB stored the same text five times, and its timeline listed all of them as new."""
    for days in range(5):
        at(clock, days)
        memory.store(fact("sweet", "ana"))
    assert [len(memory.history.snapshot(NOW + days * DAY)) for days in range(5)] == [1] * 5
    assert [memory.retrieve(as_of=NOW + days * DAY)[0].support_count for days in range(5)] == [1, 2, 3, 4, 5]
    told = [each.kind for each in memory.history.timeline()]
    assert told.count("assert") == 1


def test_d31_an_edge_to_nothing_is_refused_and_leaves_no_event(memory, story):
    """LociDB accepted links to nodes that were not there."""
    before = memory.history.timeline()
    with pytest.raises(NotFound):
        memory.storage.apply([Link(Edge(story["oslo"], "nobody", "supports"))], cause="test")
    assert memory.history.timeline() == before


# -- cost --------------------------------------------------------------------------------------------------


class Statements:
    """The statements that a memory issues."""

    def __init__(self, memory: Memory) -> None:
        self.seen: list[str] = []
        listening.listen(memory.storage.database.engine, "before_cursor_execute", self._see)

    def _see(self, conn, cursor, statement, *rest) -> None:
        self.seen.append(statement)

    def count(self, call) -> int:
        self.seen.clear()
        call()
        return sum(statement.startswith("SELECT") for statement in self.seen)


def test_one_claim_of_the_past_costs_as_many_statements_however_long_its_history(memory, clock):
    claim_id = memory.store(fact("sweet", "ana")).claim_id
    # Of two voices from the start: which is the stronger takes one statement more, about trust.
    memory.store(fact("sweet", "bob"))
    statements = Statements(memory)
    days = count(1)

    def cost() -> list[int]:
        asks = (
            lambda: memory.history.get(claim_id, NOW + 0.5 * DAY),
            lambda: memory.history.snapshot(NOW + 0.5 * DAY),
            lambda: memory.history.of(claim_id),
            lambda: memory.history.diff(NOW, NOW + 10_000 * DAY),
            lambda: memory.history.timeline(limit=5),
        )
        return [statements.count(ask) for ask in asks]

    at(clock, next(days))
    memory.update(claim_id, importance=0.9)
    before = cost()
    for number in range(40):
        at(clock, next(days))
        memory.update(claim_id, importance=number / 100, object=f"of {number}")
        memory.store(fact(f"of {number}", "bob", confidence=number / 50))
    assert cost() == before
    assert before[0] <= 5


def test_a_confidence_of_the_past_is_one_index_search(memory, file):
    with memory.storage.reader(NOW) as reader:
        seen = Statements(memory)
        reader.claims([1])
        statement = next(each for each in seen.seen if "rx_strengths" in each)
        plan = [
            row[3]
            for row in reader.conn.exec_driver_sql(
                f"EXPLAIN QUERY PLAN {statement}", (0,) * statement.count("?")
            )
        ]
    assert any("rx_strengths" in line and "SEARCH" in line for line in plan)
    assert not any("SCAN" in line or "TEMP B-TREE" in line for line in plan)


def test_only_a_few_indexes_of_the_past_are_kept(memory, clock):
    for days in range(30):
        at(clock, days)
        memory.store(fact(f"of {days}"))
    for days in range(30):
        assert len(memory.recall("tea", k=100, as_of=NOW + days * DAY)) == days + 1
    assert len(memory.storage.retriever._held) <= 9


# -- the command line --------------------------------------------------------------------------------------


@pytest.fixture
def ask(memory, path, story, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))

    def call(*args: str, as_json: bool = True):
        given = ["--db", str(path), *args, *(["--json"] if as_json else [])]
        result = CliRunner().invoke(app, given, catch_exceptions=False)
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout) if as_json else result.stdout

    return call


def iso(days: float) -> str:
    return datetime.fromtimestamp(NOW + days * DAY, UTC).isoformat()


def test_the_commands_look_back(ask, story):
    assert [claim["id"] for claim in ask("snapshot", iso(1.5))["claims"]] == [story["rome"], story["sweet"]]
    listed = ask("list", "--as-of", iso(1.5))["claims"]
    assert [claim["id"] for claim in listed] == [story["rome"], story["sweet"]]
    assert ask("recall", "Rome", "--as-of", iso(1.5))["hits"][0]["claim"]["id"] == story["rome"]
    assert ask("recall", "Rome")["hits"] == []
    events = ask("timeline", "--entity", "assam", "--limit", "2")["events"]
    assert [each["what"] for each in events] == ["forgotten", "contradicts added"]
    found = ask("diff", iso(1.5), iso(3.5))
    assert [each["id"] for each in found["added"]] == [story["oslo"], story["bitter"]]
    assert [each["id"] for each in found["removed"]] == [story["rome"]]
    assert found["changed"][0]["changed"] == ["confidence"]
    assert found["edges_added"][0]["relation"] == "contradicts"
    assert ask("diff", iso(3.5), iso(5))["edges_removed"][0]["cause"]["cause"] == "forget"


def test_a_date_alone_means_the_end_of_that_day(ask, story):
    day = iso(1)[:10]
    assert [claim["id"] for claim in ask("snapshot", day)["claims"]] == [story["rome"], story["sweet"]]


def test_people_read_tables(ask, story):
    shown = ask("diff", iso(1.5), iso(3.5), as_json=False)
    for expected in ("Ana lives in Oslo", "confidence 0.80 ->", "relate", "contradicts"):
        assert expected in shown
    assert "now superseded" in ask("timeline", as_json=False)
    assert "Rome" in ask("snapshot", iso(1.5), as_json=False)
    assert "Nothing" in ask("snapshot", iso(-1), as_json=False)
    assert "Nothing" in ask("diff", iso(8), iso(9), as_json=False)


def test_hostile_words_stay_words_in_the_timeline(memory, path):
    memory.store(SemanticClaim(subject="x", predicate="says", object="\x1b[31mred\x07", confidence=0.5))
    result = CliRunner().invoke(app, ["--db", str(path), "timeline"])
    assert "\x1b" not in result.stdout
    assert "\x07" not in result.stdout


def test_the_subject_of_a_fact_is_somebody_it_names(memory):
    memory.store_many([home("Porto", "ana"), fact("sweet", "ana", entities="Bo")])
    told = [event.text for event in memory.history.timeline(entity="ana")]
    assert told == ["Ana lives in Porto"]
    assert [event.text for event in memory.history.timeline("BO")] == ["tea tastes sweet"]
    assert memory.history.timeline("") == []
