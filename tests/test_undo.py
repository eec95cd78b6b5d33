"""Taking transactions back: examples. The machine of test_time_machine undoes whatever can be done."""

import pytest
from behind import content
from conftest import DAY, START, event, fact, home

from recollectx import LogOdds, Memory, PropagationConfig, Status
from recollectx.errors import CannotUndo, InvalidClaim, InvalidQuery, NotFound, ScopeError
from recollectx.upkeep.checks import content_findings


def state(memory: Memory) -> dict:
    """All that can be read of a scope now, without numbers."""
    claims = memory.retrieve(status=list(Status))
    with memory.storage.reader() as reader:
        known = {reader.resolve(claim.id).pk: claim.id for claim in claims}
        edges = {
            (known[e.src], known[e.dst], e.relation, e.strength, e.derivation, e.at)
            for e in reader.edges_in(known)
        }
        trusts = reader.trusts({(source, memory.scope) for source in ("ana", "bob", "carl")})
        said = {
            (known[pk], each.source, each.confidence, each.times)
            for pk, assertions in reader.assertions(known).items()
            for _, each in assertions
        }
    plain = {
        claim.id: (
            claim.text,
            claim.status,
            claim.valid_to,
            claim.basis,
            claim.evidence,
            dict(claim.metadata),
        )
        for claim in claims
    }
    return {"claims": plain, "edges": edges, "trusts": trusts, "said": said}


def numbers(memory: Memory) -> dict[str, float]:
    return {claim.id: claim.confidence for claim in memory.retrieve(status=list(Status))}


def recorded(memory: Memory) -> tuple[dict, dict]:
    return state(memory), numbers(memory)


def same(memory: Memory, earlier: tuple[dict, dict]) -> None:
    assert state(memory) == earlier[0]
    assert numbers(memory) == pytest.approx(earlier[1], abs=1e-9)


STEPS = [
    lambda memory, ids: memory.store(fact("warm", "bob")),
    lambda memory, ids: memory.store(fact("sweet", "bob", confidence=0.4)),
    lambda memory, ids: memory.store(home("Faro", "ana", created_at=START + 2 * DAY)),
    lambda memory, ids: memory.store_many([fact("warm", "bob"), fact("warm", "carl"), fact("Warm", "carl")]),
    lambda memory, ids: memory.remember("I live in Lisbon. I like tea.", source="ana"),
    lambda memory, ids: memory.relate(ids["soft"], ids["sweet"], "supports"),
    lambda memory, ids: memory.unrelate(ids["sweet"], ids["soft"], "supports"),
    lambda memory, ids: memory.relate(ids["sweet"], ids["soft"], "supports", strength=0.3),
    lambda memory, ids: memory.add_contradiction(ids["sweet"], ids["soft"]),
    lambda memory, ids: memory.update(ids["sweet"], object="sugary", confidence=0.3),
    lambda memory, ids: memory.forget(ids["sweet"]),
    lambda memory, ids: memory.retract("ana"),
    lambda memory, ids: memory.trust("ana", 0.2),
    lambda memory, ids: memory.correct(ids["home"], "Breda"),
    lambda memory, ids: memory.supersede(ids["sweet"], "sour"),
    lambda memory, ids: memory.restore(ids["old home"]),
    lambda memory, ids: memory.derive(fact("loved"), [ids["sweet"], ids["soft"]]),
    lambda memory, ids: memory.derive(fact("pleasant"), [ids["soft"]]),
    lambda memory, ids: memory.storage.use_rule(PropagationConfig()),
]


@pytest.fixture
def ids(memory: Memory) -> dict[str, str]:
    """A small memory in which much hangs together."""
    found = {name: memory.store(fact(name, "ana")).claim_id for name in ("sweet", "soft")}
    found["old home"] = memory.store(home("Porto", "ana")).claim_id
    found["home"] = memory.store(home("Braga", "ana", created_at=START + DAY)).claim_id
    memory.relate(found["sweet"], found["soft"], "supports")
    memory.derive(fact("pleasant"), [found["sweet"]])
    return found


def last(memory: Memory) -> int:
    """The last transaction, of whatever kind."""
    with memory.storage.reader() as reader:
        return int(reader.conn.exec_driver_sql("SELECT max(seq) FROM rx_tx").scalar())


@pytest.mark.parametrize("step", STEPS)
def test_a_transaction_is_taken_back_done_again_and_taken_back(memory, ids, step):
    before = recorded(memory)
    step(memory, ids)
    done = last(memory)
    after = recorded(memory)
    assert after != before
    undone = memory.undo(done)
    assert (undone.undone, undone.tx) == (done, last(memory))
    same(memory, before)
    redone = memory.undo(undone.tx)
    same(memory, after)
    memory.undo(redone.tx)
    same(memory, before)


@pytest.mark.parametrize("step", STEPS)
def test_undoing_everything_leaves_nothing(memory, ids, step):
    step(memory, ids)
    for tx in range(last(memory), 0, -1):
        memory.undo(tx)
    assert (memory.retrieve(status=list(Status)), memory.graph.all_edges()) == ([], [])
    assert memory.recall("tea sweet Ana", status=list(Status)).hits == ()
    assert memory.storage.rule() == LogOdds()
    assert memory.get(ids["sweet"]) is None


def test_a_write_says_which_transaction_it_was(memory):
    one = memory.store(fact("sweet", "ana"))
    two = memory.store(fact("soft", "ana"))
    assert two.tx == one.tx + 1 == memory.last_tx()
    first, second = str(one.claim_id), str(two.claim_id)
    for step in (
        lambda: memory.update(first, importance=0.9),
        lambda: memory.add_support(first, second),
        lambda: memory.unrelate(first, second, "supports"),
        lambda: memory.forget(first),
        lambda: memory.restore(first),
        lambda: memory.derive(fact("pleasant"), [first]),
        lambda: memory.supersede(second, "hard"),
        lambda: memory.correct(first, "sour"),
    ):
        before = memory.last_tx()
        assert step().tx == memory.last_tx() == before + 1
    assert memory.forget(first).tx == 0


def test_a_claim_whose_coming_was_undone_is_no_claim(memory):
    claim = fact("sweet", "ana")
    tx = memory.store(claim).tx
    memory.undo(tx)
    assert memory.get(claim.id) is None
    assert memory.explain(claim.id) is None
    assert memory.count(status=list(Status)) == 0
    for refused in (memory.forget, memory.restore, lambda known: memory.update(known, importance=0.1)):
        with pytest.raises(NotFound):
            refused(claim.id)
    with pytest.raises(NotFound):
        memory.correct(claim.id, "sour")


def test_it_can_be_stored_again_under_its_id_or_another(memory):
    claim = fact("sweet", "ana")
    memory.undo(memory.store(claim).tx)
    again = memory.store(claim)
    assert (again.action, again.claim_id) == ("ADD", claim.id)
    assert memory.get(claim.id).confidence == 0.8
    assert [hit.claim.id for hit in memory.recall("sweet")] == [claim.id]
    memory.undo(again.tx)
    other = memory.store(fact("sweet", "ana"))
    assert (other.action, memory.count()) == ("ADD", 1)


def test_an_alias_goes_and_comes_again(memory):
    claim, same_fact = fact("sweet", "ana"), fact("sweet", "bob")
    memory.store(claim)
    for _ in range(2):
        tx = memory.store(same_fact).tx
        assert memory.get(same_fact.id).id == claim.id
        memory.undo(tx)
        assert memory.get(same_fact.id) is None


def test_its_id_cannot_become_another_kind_of_claim(memory):
    claim = fact("sweet", "ana")
    memory.undo(memory.store(claim).tx)
    with pytest.raises(InvalidClaim, match="taken"):
        memory.store(event("Ana drank tea", id=claim.id))


def test_what_was_undone_can_be_erased(path, memory):
    claim = fact("unmistakable", "ana")
    memory.undo(memory.store(claim).tx)
    assert memory.erase(claim.id).ids == (claim.id,)
    memory.storage.database.truncate_log()
    assert b"unmistakable" not in content(path)
    second = fact("unforgettable", "ana")
    memory.undo(memory.store(second).tx)
    assert memory.erase(scope="global").ids == (second.id,)


def test_what_a_later_transaction_built_on_is_refused_by_its_number(memory):
    one = memory.store(fact("sweet", "ana"))
    two = memory.store(fact("soft", "ana"))
    later = memory.add_support(one.claim_id, two.claim_id).tx
    more = memory.store(fact("sweet", "bob")).tx
    with pytest.raises(CannotUndo, match=f"undo {more} first"):
        memory.undo(one.tx)
    memory.undo(more)
    with pytest.raises(CannotUndo, match=f"undo {later} first"):
        memory.undo(one.tx)
    with pytest.raises(CannotUndo, match=f"undo {later} first"):
        memory.undo(two.tx)
    memory.undo(later)
    memory.undo(one.tx)
    assert [claim.id for claim in memory.retrieve()] == [two.claim_id]


def test_what_nothing_was_built_on_can_be_undone_out_of_order(memory):
    one, two = memory.store(fact("sweet", "ana")), memory.store(fact("soft", "ana"))
    memory.undo(one.tx)
    assert [claim.id for claim in memory.retrieve()] == [two.claim_id]
    with pytest.raises(CannotUndo, match=f"taken back by {memory.last_tx()}"):
        memory.undo(one.tx)


def test_a_redone_transaction_stands_in_the_way_again(memory):
    one = memory.store(fact("sweet", "ana"))
    more = memory.store(fact("sweet", "bob")).tx
    undone = memory.undo(more).tx
    redone = memory.undo(undone).tx
    with pytest.raises(CannotUndo):
        memory.undo(one.tx)
    memory.undo(redone)
    memory.undo(one.tx)
    assert memory.count(status=list(Status)) == 0


def test_nothing_is_done_again_on_a_claim_that_is_gone(memory):
    one = memory.store(home("Porto", "ana"))
    two = memory.store(home("Braga", "bob"))
    undone = memory.undo(two.tx).tx
    gone = memory.undo(one.tx).tx
    with pytest.raises(CannotUndo, match=f"undo {gone} first"):
        memory.undo(undone)
    memory.undo(gone)
    memory.undo(undone)
    assert memory.explain(two.claim_id)["contradicted_by"] == [one.claim_id]


def test_an_erasure_is_never_taken_back(memory):
    claim = memory.store(fact("sweet", "ana"))
    memory.erase(claim.claim_id)
    with pytest.raises(CannotUndo, match="gone for good"):
        memory.undo(memory.last_tx())
    with pytest.raises(CannotUndo, match=str(claim.claim_id)):
        memory.undo(claim.tx)


def test_vectors_are_no_business_of_undo(path):
    with Memory.open(path, embedder=lambda text: [1.0, float(len(text))]) as memory:
        memory.store(fact("sweet", "ana"))
        with pytest.raises(CannotUndo, match="embedder"):
            memory.undo(1)
        memory.undo(2)
        assert memory.count() == 0


@pytest.mark.parametrize("which", ["old", "new"])
@pytest.mark.parametrize("verb", ["correct", "supersede"])
def test_what_is_about_an_erased_claim_is_refused_with_its_id(memory, verb, which):
    old = memory.store(fact("sweet", "ana")).claim_id
    done = getattr(memory, verb)(old, "sour")
    gone = old if which == "old" else done.claim_id
    memory.erase(gone)
    before = recorded(memory)
    with pytest.raises(CannotUndo, match=f"it is about {gone}, and what was erased is gone for good"):
        memory.undo(done.tx)
    same(memory, before)


def test_a_transaction_is_not_taken_back_in_part(memory):
    many = memory.store_many([fact(f"taste {number}", "ana") for number in range(8)])
    memory.erase(many[0].claim_id)
    before = recorded(memory)
    with pytest.raises(CannotUndo, match=str(many[0].claim_id)):
        memory.undo(many[0].tx)
    same(memory, before)
    for each in many[1:]:
        memory.erase(each.claim_id)
    with pytest.raises(CannotUndo, match="and 3 more"):
        memory.undo(many[0].tx)


def test_nobody_is_told_to_undo_an_erasure(memory):
    premise = memory.store(fact("sweet", "ana")).claim_id
    made = memory.derive(fact("loved"), [premise]).claim_id
    tx = memory.update(made, importance=0.9).tx
    memory.erase(premise)
    with pytest.raises(CannotUndo, match=f"{memory.last_tx()} erased a claim"):
        memory.undo(tx)


def test_what_only_moved_an_erased_claim_can_be_taken_back(memory):
    one, two, moved = (memory.store(fact(word, word)).claim_id for word in ("sweet", "soft", "round"))
    memory.add_support(two, moved)
    before = memory.get(two).confidence
    tx = memory.add_support(one, two).tx
    memory.erase(moved)
    memory.undo(tx)
    assert memory.get(two).confidence == pytest.approx(before, abs=1e-9)


def test_a_confirmation_is_taken_back_and_done_again(memory):
    claim = memory.store(fact("sweet", "ana")).claim_id
    tx = memory.confirm(claim).tx
    for _ in range(2):
        undone = memory.undo(tx)
        assert (undone.claim_ids, memory.calibration().confirmed) == ((claim,), 0)
        tx = memory.undo(undone.tx).tx
        assert memory.calibration().confirmed == 1


def test_a_settled_dispute_that_was_taken_back_is_no_outcome(memory):
    one, two = (memory.store(fact(word, word)).claim_id for word in ("sweet", "bitter"))
    memory.add_contradiction(one, two)
    memory.undo(memory.resolve(one, two).tx)
    memory.forget(two)
    assert memory.calibration().outcomes == 0


def test_what_leaves_nothing_to_take_back_is_refused(memory):
    memory.store(fact("sweet", "ana"))
    memory.traces.record(memory.recall("sweet"), "Sweet.")
    with pytest.raises(CannotUndo, match="an answer that was given stays"):
        memory.undo(memory.last_tx())
    assert len(memory.traces.list()) == 1
    memory.erase(scope="global")
    with pytest.raises(CannotUndo, match="gone for good"):
        memory.undo(memory.last_tx())


def test_undo_belongs_to_the_scope_that_was_acted_on(memory):
    other = Memory(memory.storage, scope="other")
    shared = memory.store(fact("sweet", "ana")).claim_id
    held = other.store(fact("soft", "bob", confidence=0.6)).claim_id
    other.add_support(shared, held)
    derived = other.derive(fact("loved"), [shared]).claim_id
    before = numbers(other), numbers(memory)
    done = memory.forget(shared)
    assert other.get(derived).status == Status.UNSUPPORTED
    for tx in (done.tx, None):
        with pytest.raises(ScopeError, match="'global'"):
            other.undo(tx or memory.last_tx())
    undone = memory.undo(done.tx)
    assert undone.claim_ids == (shared,)
    assert (numbers(other), numbers(memory)) == (pytest.approx(before[0]), pytest.approx(before[1]))
    assert other.get(derived).status == Status.ACTIVE
    with pytest.raises(ScopeError):
        other.undo(undone.tx)
    memory.undo(undone.tx)
    assert other.get(derived).status == Status.UNSUPPORTED


@pytest.mark.parametrize("wrong", [0, -1, True, "1", 1.0, 2**63, 2**70])
def test_undo_takes_a_number(memory, wrong):
    with pytest.raises(InvalidQuery):
        memory.undo(wrong)


def test_undo_reaches_into_no_other_scope(memory):
    memory.store(fact("sweet", "ana"))
    other = Memory(memory.storage, scope="elsewhere")
    with pytest.raises(ScopeError):
        other.undo(memory.last_tx())
    with pytest.raises(NotFound):
        memory.undo(99)
    assert (memory.count(), other.last_tx()) == (1, 0)


@pytest.mark.parametrize(
    "step", [lambda memory, _: memory.trust("eve", 0.2), lambda memory, ids: memory.confirm(ids["sweet"])]
)
def test_taking_back_what_is_about_no_claim_stays_in_its_scope(memory, ids, step):
    step(memory, ids)
    undone = memory.undo(memory.last_tx())
    assert memory.last_tx() == undone.tx
    with pytest.raises(ScopeError):
        Memory(memory.storage, scope="elsewhere").undo(undone.tx)


def test_the_doctor_finds_nothing_wrong_with_what_was_undone(memory, ids):
    for tx in range(last(memory), last(memory) - 5, -1):
        memory.undo(tx)
    with memory.storage.database.read() as conn:
        assert [finding for finding in content_findings(conn) if not finding.ok] == []
