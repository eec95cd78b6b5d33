"""What would move, foretold and then done."""

import hashlib
from itertools import count

import pytest
from conftest import Clock, event, fact, home, scratch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import inspect

from recollectx import Edge, LogOdds, Memory, PropagationConfig, Status
from recollectx.changes import Link, Trust
from recollectx.errors import InvalidClaim, NotFound, ScopeError
from recollectx.policies import MinConfidence

RULES = [LogOdds(), PropagationConfig()]
WORLDS = {str(rule): Memory.open(scratch(), rule=rule) for rule in RULES}
fresh_names = count()


def state(memory: Memory) -> dict[str, tuple[float, Status]]:
    return {claim.id: (claim.confidence, claim.status) for claim in memory.retrieve(status=list(Status))}


def agrees(told, before, after) -> None:
    """What was foretold is what happened, claim for claim and number for number."""
    moved = {move.claim_id: move for move in told.moves}
    for claim_id, (confidence, status) in after.items():
        old = before.get(claim_id)
        if claim_id in moved:
            move = moved[claim_id]
            assert (move.new, move.new_status) == (pytest.approx(confidence, abs=1e-9), status)
            assert (move.old, move.old_status) == (old or (None, None))
        else:
            assert old == (pytest.approx(confidence, abs=1e-9), status)
    assert moved.keys() <= after.keys()


SIZE = 6
places = st.integers(0, SIZE - 1)
sources = st.sampled_from(["ana", "bob", "carl"])
shares = st.sampled_from([0.05, 0.3, 0.6, 0.9, 1.0])
relations = st.sampled_from(["supports", "contradicts", "derives"])
joined = st.lists(st.tuples(places, places, relations).filter(lambda edge: edge[0] != edge[1]), max_size=8)
said = st.lists(st.tuples(places, sources, shares), max_size=6)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(RULES),
    said,
    joined,
    said,
    joined,
    places,
    st.dictionaries(sources, shares),
    st.booleans(),
)
def test_what_is_foretold_is_what_happens(rule, known, edges, new, more, gone, levels, derived):
    memory = Memory(WORLDS[str(rule)].storage, scope=f"example {next(fresh_names)}")
    ids = [
        memory.store(
            fact(
                "so",
                f"own {place}",
                subject=f"thing {place}",
                basis="derived" if derived and place % 2 else "asserted",
            )
        ).claim_id
        for place in range(SIZE)
    ]
    for place, source, confidence in known:
        memory.store(fact("so", source, subject=f"thing {place}", confidence=confidence))
    for src, dst, relation in edges:
        memory.relate(ids[src], ids[dst], relation)
    claims = [fact("so", source, subject=f"thing {place}", confidence=share) for place, source, share in new]
    claims.append(fact("new", "dora"))
    links = [Edge(ids[src], ids[dst], relation) for src, dst, relation in more]
    links.append(Edge(claims[-1].id, ids[0], "supports"))
    before = state(memory)
    told = memory.what_if(withdraw=ids[gone], assert_=claims, relate=links, trust=levels, retract=["ana"])
    assert state(memory) == before
    for source, level in levels.items():
        memory.trust(source, level)
    memory.store_many(claims)
    for link in links:
        memory.relate(link.src, link.dst, link.relation)
    memory.retract("ana")
    memory.forget(ids[gone])
    agrees(told, before, state(memory))
    sizes = [move.size for move in told.moves]
    assert sizes == sorted(sizes, reverse=True)


def test_a_thousand_rumours_do_not_win_and_taking_back_leaves_no_trace(memory):
    """The whole story: a belief, a trusted statement for it, a thousand rumours against that, and its retraction."""
    claim = memory.store(home("Bergen", "ana", confidence=0.6)).claim_id
    earlier = memory.get(claim).confidence

    statement = fact("Bergen", "registry", subject="Ana", predicate="is registered in", confidence=0.95)
    support = Edge(statement.id, claim, "supports")
    told = memory.what_if(assert_=statement, relate=support)
    memory.store(statement)
    memory.add_support(statement.id, claim)
    unopposed, supported = memory.get(statement.id).confidence, memory.get(claim).confidence
    assert supported > earlier
    assert (told.of(claim).old, told.of(claim).new) == (earlier, pytest.approx(supported, abs=1e-9))

    rumours = [
        fact(
            "Oslo", f"rumour {number}", subject=f"neighbour {number}", predicate="saw Ana in", confidence=0.9
        )
        for number in range(1_000)
    ]
    levels = {rumour.source: 0.2 for rumour in rumours}
    against = [Edge(rumour.id, statement.id, "contradicts") for rumour in rumours]
    before = state(memory)
    told = memory.what_if(trust=levels, assert_=rumours, relate=against)
    assert state(memory) == before
    changes = [Trust(source, level, memory.scope) for source, level in levels.items()]
    memory.storage.apply(changes, cause="trust")
    memory.store_many(rumours)
    memory.storage.apply([Link(edge) for edge in against], cause="relate")
    agrees(told, before, state(memory))
    trusted = memory.get(statement.id)
    assert trusted.confidence > 0.9
    assert unopposed - trusted.confidence < 0.05
    assert all(memory.get(rumour.id).confidence < 0.6 for rumour in rumours[::100])
    assert memory.get(claim).confidence > earlier

    before = state(memory)
    told = memory.what_if(retract="registry")
    assert told.of(claim).new == pytest.approx(earlier, abs=1e-9)
    memory.retract("registry")
    assert memory.get(claim).confidence == pytest.approx(earlier, abs=1e-9)
    assert memory.get(statement.id).status == Status.RETIRED
    agrees(told, before, state(memory))


def test_a_crowd_of_little_trust_behind_one_claim_is_one_witness(memory):
    crowd = [f"rumour {number}" for number in range(40)]
    for source in crowd:
        memory.trust(source, 0.2)
    first = memory.store(fact("bitter", crowd[0], confidence=0.9)).claim_id
    alone = memory.get(first).confidence
    more = [fact("bitter", source, confidence=0.9) for source in crowd[1:]]
    assert memory.what_if(assert_=more).moves == ()
    memory.store_many(more)
    assert memory.get(first).support_count == 40
    assert memory.get(first).confidence == pytest.approx(alone, abs=1e-9)


def dump(memory: Memory) -> str:
    """Every row of every table, hashed."""
    with memory.storage.database.read() as conn:
        names = sorted(inspect(conn).get_table_names())
        rows = [(name, conn.exec_driver_sql(f"SELECT * FROM {name}").all()) for name in names]
    return hashlib.sha256(repr(rows).encode()).hexdigest()


@pytest.mark.parametrize("where", ["file", ":memory:"])
def test_nothing_is_written_and_no_number_used_up(path, where):
    with Memory.open(path if where == "file" else where, clock=Clock()) as memory:
        first = memory.store(fact("sweet", "ana")).claim_id
        memory.recall("sweet")
        before = dump(memory)
        told = memory.what_if(assert_=fact("bitter", "bob"), withdraw=first, trust={"ana": 0.1})
        assert len(told.moves) == 2
        assert dump(memory) == before
        assert [hit.claim.id for hit in memory.recall("bitter sweet")] == [first]
        assert memory.get(told.moves[0].claim_id) is None or told.moves[0].claim_id == first
        result = memory.store(fact("bitter", "bob"))
        with memory.storage.reader() as reader:
            seqs = [row[0] for row in reader.conn.exec_driver_sql("SELECT seq FROM rx_tx ORDER BY seq")]
        assert seqs == list(range(1, len(seqs) + 1))
        assert {hit.claim.id for hit in memory.recall("bitter")} >= {result.claim_id}


def test_a_failing_what_if_leaves_nothing_either(memory):
    first = memory.store(fact("sweet", "ana")).claim_id
    before = dump(memory)
    with pytest.raises(NotFound):
        memory.what_if(assert_=fact("bitter"), withdraw=[first, "nowhere"])
    with pytest.raises(InvalidClaim):
        memory.what_if(trust={"ana": 2.0})
    assert dump(memory) == before
    memory.forget(first)


def test_it_asks_the_policy_and_the_decider(path):
    with Memory.open(path, write_policy=MinConfidence(0.5)) as memory:
        old = memory.store(home("Bergen", "ana")).claim_id
        told = memory.what_if(
            assert_=[home("Oslo", "ana", created_at=1_700_000_100.0), fact("weak", confidence=0.1)]
        )
        assert [result.action for result in told.results] == ["DELETE", "REJECT"]
        assert told.of(old).new_status == Status.SUPERSEDED
        assert told.of(told.results[0].claim_id).old is None
        assert len(told.moves) == 2


def test_other_scopes_are_neither_reached_nor_shown(path):
    with Memory.open(path) as common:
        mine, other = Memory(common.storage, scope="mine"), Memory(common.storage, scope="other")
        law = common.store(fact("law", "state")).claim_id
        own, their = mine.store(fact("own", "ana")).claim_id, other.store(fact("their", "bob")).claim_id
        mine.add_support(law, own)
        other.add_support(law, their)
        assert [move.claim_id for move in common.what_if(withdraw=law).moves] == [law]
        assert [move.claim_id for move in mine.what_if(trust={"ana": 0.1}).moves] == [own]
        for call in (
            lambda: mine.what_if(withdraw=their),
            lambda: mine.what_if(relate=Edge(their, own, "supports")),
            lambda: mine.impact(their),
        ):
            with pytest.raises(NotFound):
                call()
        with pytest.raises(ScopeError):
            mine.what_if(assert_=fact("x", scope="other"))


def test_impact_lists_what_rests_on_a_claim(memory):
    ground = memory.store(event("Ana said so", "ana")).claim_id
    one, two = (memory.store(fact(word, basis="derived")).claim_id for word in ("one", "two"))
    friend, foe = (memory.store(fact(word, word)).claim_id for word in ("friend", "foe"))
    bystander = memory.store(fact("bystander", "dora")).claim_id
    memory.relate(ground, one, "derives")
    memory.relate(one, two, "derives")
    memory.add_support(ground, friend)
    memory.add_contradiction(foe, ground)
    memory.traces.record(memory.recall("Ana said"), "She said so.")
    before = state(memory)
    found = memory.impact(ground)
    assert {move.claim_id for move in found.derived} == {one, two}
    assert {move.new_status for move in found.derived} == {Status.UNSUPPORTED}
    assert [move.claim_id for move in found.supported] == [friend]
    assert [move.claim_id for move in found.contradicted] == [foe]
    assert found.supported[0].new < found.supported[0].old
    assert found.contradicted[0].new > found.contradicted[0].old
    assert [trace.response for trace in found.answers] == ["She said so."]
    assert bystander not in {move.claim_id for move in found.moves}
    assert state(memory) == before
    memory.forget(ground)
    agrees(found, before, state(memory))


def test_impact_names_what_would_not_move_too(memory):
    ground, claim = (memory.store(fact(word, "ana")).claim_id for word in ("ground", "claim"))
    memory.add_support(ground, claim)
    (same,) = memory.impact(ground).supported
    assert same.old == same.new
    assert memory.impact(claim).supported == ()
