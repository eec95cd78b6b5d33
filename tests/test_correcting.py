"""What was never true, what is no longer, and the way back: examples, and the faults that LociDB had there."""

import json
import os
import signal
import subprocess
import sys
from functools import lru_cache
from itertools import count

import pytest
from behind import content
from click.testing import CliRunner
from conftest import DAY, NOW, START, event, fact, home, scratch
from hypothesis import given, settings
from hypothesis import strategies as st

from recollectx import Edge, Memory, Status
from recollectx.changes import Link
from recollectx.cli.app import app
from recollectx.errors import InvalidClaim, NotFound
from recollectx.policies.base import Decision


def texts(memory: Memory, **filters) -> list[str]:
    return sorted(claim.text for claim in memory.retrieve(**filters))


def numbers(memory: Memory) -> dict[str, float]:
    return {claim.id: claim.confidence for claim in memory.retrieve(status=list(Status))}


def status(memory: Memory, claim_id: str) -> str:
    return str(memory.get(claim_id).status)


# -- correct -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["correct", "supersede"])
def test_a_text_is_nobodys_word_and_quotes_nobody(memory, verb):
    old = memory.store(
        home("Porto", "Ben", evidence=("Ana lives in Porto",), metadata={"correction_reason": "an older one"})
    ).claim_id
    new = memory.get(getattr(memory, verb)(old, "Braga").claim_id)
    assert (new.source, new.evidence, dict(new.metadata)) == (None, (), {})
    memory.trust("Ben", 0.1)
    memory.retract("Ben")
    assert (memory.get(new.id).confidence, memory.get(new.id).status) == (new.confidence, Status.ACTIVE)
    memory.trust("Ben", 1.0)
    memory.store(home("Braga", "Ben"))
    assert memory.get(new.id).confidence > new.confidence


@pytest.mark.parametrize("verb", ["correct", "supersede"])
def test_a_text_is_the_word_of_whoever_is_named(memory, verb):
    old = memory.store(home("Porto", "Ben")).claim_id
    with pytest.raises(InvalidClaim, match="states its own"):
        getattr(memory, verb)(old, home("Braga", "Cara"), source="Cara")
    with pytest.raises(InvalidClaim, match="source"):
        getattr(memory, verb)(old, "Braga", source="")
    new = memory.get(getattr(memory, verb)(old, "Braga", source="Cara").claim_id)
    assert new.source == "Cara"
    memory.retract("Cara")
    assert status(memory, new.id) == Status.RETIRED


def test_why_a_claim_was_corrected_goes_when_it_is_erased(path, memory):
    old = memory.store(home("Xanadu", "Ben", evidence=("Xanadu it is",))).claim_id
    new = memory.correct(old, "Braga", reason="she said Xanadu in jest").claim_id
    memory.update(new, metadata={**memory.get(new).metadata, "kept": "yes"})
    memory.retrieve(metadata={"correction_reason": "she said Xanadu in jest"})
    memory.erase(old)
    assert dict(memory.get(new).metadata) == {"kept": "yes"}
    assert memory.retrieve(metadata={"correction_reason": "she said Xanadu in jest"}) == []
    assert all("correction_reason" not in each.metadata for each in memory.history.of(new).versions)
    memory.close()
    assert b"xanadu" not in content(path).lower()


def test_what_was_never_true_is_shown_at_no_time(memory):
    old = memory.store(home("Porto", "ana")).claim_id
    done = memory.correct(old, "Braga", reason="a slip of the pen")
    new = memory.get(done.claim_id)
    assert (new.text, new.source, new.since) == ("Ana lives in Braga", None, START)
    assert new.metadata["correction_reason"] == "a slip of the pen"
    for when in (START, START + DAY, NOW):
        assert texts(memory, valid_at=when) == ["Ana lives in Braga"]
        assert texts(memory, valid_at=when, status=list(Status)) == ["Ana lives in Braga"]
    assert texts(memory) == ["Ana lives in Braga"]
    assert status(memory, old) == Status.RETIRED
    with memory.storage.reader() as reader:
        out = reader.edges_out([reader.resolve(new.id).pk])
        assert [(edge.relation, edge.dst) for edge in out] == [("corrects", reader.resolve(old).pk)]
    assert done.tx > 0


def test_a_correction_may_be_about_something_else_and_an_episode_keeps_its_place(memory):
    old = memory.store(home("Porto", "ana")).claim_id
    other = memory.correct(old, fact("Porto", "ana", subject="Ines", predicate="lives in")).claim_id
    assert memory.get(other).subject == "Ines"
    turn = memory.store(event("Ana said hello", "ana", session="s", position=3)).claim_id
    heard = memory.get(memory.correct(turn, "Ana said goodbye").claim_id)
    assert (heard.summary, heard.session, heard.position) == ("Ana said goodbye", "s", 3)


def test_a_correction_that_cannot_be_is_an_error_and_writes_nothing(memory, clock):
    known = memory.store(fact("sweet", "ana")).claim_id
    gone = memory.store(fact("sour", "ana")).claim_id
    wiped = memory.store(fact("salty", "ana")).claim_id
    memory.forget(gone)
    memory.erase(wiped)
    foreign = (
        Memory(memory.storage, scope="elsewhere").store(fact("bitter", "ana", scope="elsewhere")).claim_id
    )
    before, last = numbers(memory), memory.last_tx()
    for missing in ("nobody", wiped, foreign):
        with pytest.raises(NotFound):
            memory.correct(missing, "hot")
        with pytest.raises(NotFound):
            memory.supersede(missing, "hot")
        with pytest.raises(NotFound):
            memory.restore(missing)
    with pytest.raises(InvalidClaim):
        memory.correct(gone, "hot")
    with pytest.raises(InvalidClaim):
        memory.supersede(gone, "hot")
    with pytest.raises(InvalidClaim):
        memory.correct(known, "Sweet")
    assert (numbers(memory), memory.last_tx()) == (before, last)


def test_a_refused_correction_leaves_the_old_claim(memory):
    old = memory.store(fact("sweet", "ana")).claim_id
    strict = Memory(memory.storage, write_policy=lambda claim, memory: Decision.REJECT)
    assert strict.correct(old, "sour").action == "REJECT"
    assert strict.supersede(old, "sour").tx == 0
    assert texts(memory) == ["tea tastes sweet"]


def test_a_correction_stays_in_the_scope_of_what_it_corrects(path):
    with Memory.open(path, scope="user a") as memory:
        old = memory.store(fact("sweet", "ana")).claim_id
        new = memory.correct(old, fact("sour", "ana"))
        assert memory.get(new.claim_id).scope == "user a"
        assert [hit.claim.id for hit in memory.recall("tea tastes sour")] == [new.claim_id]
        assert Memory(memory.storage).count() == 0


def test_a_correction_takes_the_place_of_the_old_value_among_the_others(memory):
    first = memory.store(home("Porto", "ana")).claim_id
    second = memory.store(home("Braga", "ana", created_at=START + 10 * DAY)).claim_id
    third = memory.store(home("Faro", "ana", created_at=START + 20 * DAY)).claim_id
    better = memory.correct(second, "Breda").claim_id
    assert texts(memory) == ["Ana lives in Faro"]
    assert texts(memory, valid_at=START + 5 * DAY) == ["Ana lives in Porto"]
    assert texts(memory, valid_at=START + 15 * DAY) == ["Ana lives in Breda"]
    assert memory.get(better).valid_to == memory.get(third).since
    assert memory.get(first).valid_to == START + 10 * DAY


def test_a_value_corrected_to_the_one_before_it_is_that_one_again(memory):
    first = memory.store(home("Porto", "ana")).claim_id
    second = memory.store(home("Braga", "ana", created_at=START + DAY)).claim_id
    assert memory.correct(second, "Porto").claim_id == first
    assert (status(memory, first), memory.get(first).valid_to) == (Status.ACTIVE, None)
    assert memory.count() == 1


KILLED = """
import os, sys
from recollectx import Memory
from recollectx.storage.writing import Writer
solve = Writer._solve
def die(self):
    solve(self)
    self.flush()
    os.kill(os.getpid(), 9)
with Memory.open(sys.argv[1]) as memory:
    Writer._solve = die
    memory.correct(sys.argv[2], "sour")
"""


def test_a_kill_inside_correct_leaves_nothing_half_done(path):
    with Memory.open(path) as memory:
        old = memory.store(fact("sweet", "ana")).claim_id
        before = numbers(memory)
    environment = {**os.environ, "RECOLLECTX_EMBEDDER": "none"}
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(path), old], env=environment, timeout=60, check=False
    )
    assert done.returncode == -signal.SIGKILL
    with Memory.open(path) as memory:
        assert numbers(memory) == before
        assert status(memory, old) == Status.ACTIVE
        assert memory.correct(old, "sour").tx == memory.last_tx()


# -- supersede -----------------------------------------------------------------------------------------------


def test_what_is_no_longer_true_was_true_before(memory):
    old = memory.store(fact("sweet", "ana")).claim_id
    new = memory.supersede(old, "sour", at=START + 10 * DAY).claim_id
    assert (status(memory, old), memory.get(old).valid_to) == (Status.SUPERSEDED, START + 10 * DAY)
    assert memory.get(new).since == START + 10 * DAY
    assert texts(memory) == ["tea tastes sour"]
    assert texts(memory, valid_at=START + DAY) == ["tea tastes sweet"]


def test_a_supersession_never_prolongs_and_begins_no_earlier_than_the_old(memory):
    old = memory.store(fact("sweet", "ana", valid_to=START + DAY)).claim_id
    memory.supersede(old, fact("sour", "ana", created_at=START + 5 * DAY))
    assert memory.get(old).valid_to == START + DAY
    late = memory.store(fact("salty", "ana")).claim_id
    with pytest.raises(InvalidClaim, match="correct it"):
        memory.supersede(late, "hot", at=START - DAY)
    assert status(memory, late) == Status.ACTIVE


def test_a_supersession_to_come_leaves_the_claim_in_use_until_then(memory, clock):
    old = memory.store(fact("sweet", "ana")).claim_id
    memory.supersede(old, "sour", at=NOW + 10 * DAY)
    assert status(memory, old) == Status.ACTIVE
    assert texts(memory, valid_at=NOW + 5 * DAY) == ["tea tastes sweet"]
    assert texts(memory, valid_at=NOW + 15 * DAY) == ["tea tastes sour"]


def test_an_explicit_supersession_asks_for_no_trust(memory):
    old = memory.store(home("Porto", "ana")).claim_id
    memory.trust("bob", 0.1)
    new = memory.supersede(old, home("Braga", "bob", created_at=START + DAY)).claim_id
    assert status(memory, old) == Status.SUPERSEDED
    assert memory.explain(new)["contradicted_by"] == []
    assert memory.explain(new)["supersedes"] == [old]


# -- the older value comes back ------------------------------------------------------------------------------


def two_homes(memory: Memory) -> tuple[str, str]:
    return (
        memory.store(home("Porto", "ana")).claim_id,
        memory.store(home("Braga", "ana", created_at=START + DAY)).claim_id,
    )


@pytest.mark.parametrize(
    "take_back",
    [
        lambda memory, new: memory.retract("ana", new),
        lambda memory, new: memory.forget(new),
        lambda memory, new: memory.erase(new),
        lambda memory, new: memory.undo(memory.last_tx()),
        lambda memory, new: memory.correct(new, fact("sweet")),
    ],
)
def test_the_older_value_is_current_again_when_the_newer_falls(memory, take_back):
    old, new = two_homes(memory)
    before = memory.get(old)
    assert before.status == Status.SUPERSEDED
    take_back(memory, new)
    after = memory.get(old)
    assert (after.status, after.valid_to, after.confidence) == (Status.ACTIVE, None, 0.8)


@pytest.mark.parametrize(
    "take_back",
    [
        lambda memory, new: memory.retract("ana", new),
        lambda memory, new: memory.forget(new),
        lambda memory, new: memory.correct(new, fact("sweet")),
        lambda memory, new: memory.erase(new),
    ],
    ids=["retract", "forget", "correct", "erase"],
)
def test_a_value_that_comes_back_contradicts_what_was_told_meanwhile(memory, take_back, request):
    old, new = two_homes(memory)
    rival = memory.store(home("Faro", "bob", created_at=START + 2 * DAY)).claim_id
    doubt = memory.store(fact("bitter", "bob")).claim_id
    memory.add_contradiction(doubt, new)
    before = numbers(memory)
    take_back(memory, new)
    assert status(memory, old) == Status.ACTIVE
    assert memory.explain(old)["contradicted_by"] == [rival]
    assert memory.explain(doubt)["contradicted_by"] == []
    assert memory.get(old).confidence < 0.8
    if "erase" not in request.node.name:
        memory.undo(memory.last_tx())
        assert numbers(memory) == pytest.approx(before, abs=1e-9)
        assert memory.explain(old)["contradicted_by"] == []


@pytest.mark.parametrize("state", ["hypothesis", "completed"])
def test_what_comes_back_is_what_it_was(memory, state):
    old = memory.store(home("Porto", "ana", status=state)).claim_id
    new = memory.store(home("Braga", "ana", created_at=START + DAY)).claim_id
    late = memory.store(home("Faro", "ana", created_at=START - DAY, status=state)).claim_id
    memory.forget(new)
    assert (status(memory, old), status(memory, late)) == (state, Status.SUPERSEDED)
    memory.forget(old)
    assert status(memory, late) == state
    memory.forget(late)
    assert (memory.restore(late).action, status(memory, late)) == ("UPDATE", state)
    memory.store(home("Porto", "ana", subject="Ines", status=state))
    memory.store(home("Porto", "ana", subject="Ines", created_at=START + 5 * DAY))
    memory.store(home("Braga", "ana", subject="Ines", created_at=START + 2 * DAY))
    again = [claim.status for claim in memory.retrieve(entities=[]) if claim.subject == "Ines"]
    assert again == [state]


def test_what_fell_is_looked_through_in_a_chain_of_values(memory):
    old, middle = two_homes(memory)
    last = memory.store(home("Faro", "ana", created_at=START + 5 * DAY)).claim_id
    memory.forget(middle)
    assert (status(memory, old), memory.get(old).valid_to) == (Status.SUPERSEDED, START + 5 * DAY)
    memory.forget(last)
    assert (status(memory, old), memory.get(old).valid_to) == (Status.ACTIVE, None)
    memory.restore(middle)
    assert (status(memory, old), memory.get(old).valid_to) == (Status.SUPERSEDED, START + DAY)
    assert status(memory, middle) == Status.ACTIVE


def test_erasing_the_middle_of_a_chain_keeps_the_first_superseded(memory):
    old, middle = two_homes(memory)
    memory.store(home("Faro", "ana", created_at=START + 5 * DAY))
    memory.erase(middle)
    assert (status(memory, old), memory.get(old).valid_to) == (Status.SUPERSEDED, START + 5 * DAY)


def test_the_order_of_forgetting_and_restoring_does_not_matter(path, clock):
    found = set()
    for order in ("first", "last"):
        with Memory.open(":memory:", clock=clock) as memory:
            ids = [*two_homes(memory), memory.store(home("Faro", "ana", created_at=START + 5 * DAY)).claim_id]
            for claim_id in ids[1:] if order == "first" else ids[:0:-1]:
                memory.forget(claim_id)
            memory.restore(ids[1])
            found.add(tuple((status(memory, each), memory.get(each).valid_to) for each in ids))
    assert len(found) == 1


def test_a_claim_that_rests_on_what_it_would_supersede_supersedes_nothing(memory):
    old = memory.store(home("Porto", "ana")).claim_id
    new = memory.derive(home("Braga", created_at=START + DAY), [old]).claim_id
    memory.storage.apply([Link(Edge(new, old, "supersedes"))], cause="test")
    assert (status(memory, old), status(memory, new)) == (Status.ACTIVE, Status.ACTIVE)
    memory.forget(old)
    assert status(memory, new) == Status.UNSUPPORTED


def test_a_stored_supersession_without_a_successor_stays(memory):
    claim = memory.store(home("Porto", "ana", status="superseded")).claim_id
    memory.store(home("Porto hills", "ana", subject="Ines"))
    memory.trust("ana", 0.4)
    assert status(memory, claim) == Status.SUPERSEDED


# -- restore -------------------------------------------------------------------------------------------------


def test_what_was_forgotten_comes_back_with_its_number(memory):
    claim = memory.store(fact("sweet", "ana", valid_to=NOW + DAY)).claim_id
    friend = memory.store(fact("soft", "bob")).claim_id
    memory.add_support(claim, friend)
    before = numbers(memory)
    memory.forget(claim)
    assert memory.restore(claim).action == "UPDATE"
    assert numbers(memory) == pytest.approx(before, abs=1e-9)
    assert memory.get(claim).valid_to == NOW + DAY
    assert memory.restore(claim).action == "NONE"


def test_a_superseded_value_that_is_restored_contradicts_the_new_one(memory):
    old, new = two_homes(memory)
    memory.restore(old)
    assert (status(memory, old), memory.get(old).valid_to) == (Status.ACTIVE, None)
    assert memory.explain(old)["contradicted_by"] == [new]
    assert memory.explain(old)["superseded_by"] == []


def test_a_corrected_claim_that_is_restored_holds_as_long_as_was_stated(memory):
    old = memory.store(home("Porto", "ana", valid_to=NOW + DAY)).claim_id
    new = memory.correct(old, "Braga").claim_id
    memory.restore(old)
    assert (status(memory, old), memory.get(old).valid_to) == (Status.ACTIVE, NOW + DAY)
    assert memory.explain(new)["contradicted_by"] == [old]


def test_a_superseded_claim_that_was_forgotten_is_superseded_again(memory):
    old, new = two_homes(memory)
    memory.forget(old)
    memory.restore(old)
    assert (status(memory, old), memory.get(old).valid_to) == (Status.SUPERSEDED, START + DAY)
    assert memory.explain(new)["contradicted_by"] == []


def test_nothing_is_restored_that_nobody_stands_behind(memory):
    claim = memory.store(fact("sweet", "ana")).claim_id
    memory.retract("ana")
    with pytest.raises(InvalidClaim, match="store it again"):
        memory.restore(claim)


# -- retract, derive, resolve --------------------------------------------------------------------------------


def test_what_is_retracted_and_said_again_is_as_it_was(memory):
    def say():
        memory.store(home("Porto", "ana"))
        memory.store(home("Braga", "ana", created_at=START + DAY))
        memory.store(home("Braga", "bob", created_at=START + DAY))
        memory.store(home("Faro", "ana", created_at=START + 2 * DAY))

    say()
    other = memory.store(fact("sweet", "carl")).claim_id
    memory.add_support(memory.retrieve(status="active", entities=[])[0].id, other)
    before = {
        text.text: (text.status, text.valid_to, text.confidence)
        for text in memory.retrieve(status=list(Status))
    }
    memory.retract("ana")
    say()
    after = {
        text.text: (text.status, text.valid_to, text.confidence)
        for text in memory.retrieve(status=list(Status))
    }
    assert after.keys() == before.keys()
    for text, (state, ends, number) in before.items():
        assert after[text][:2] == (state, ends)
        assert after[text][2] == pytest.approx(number, abs=1e-9)


said = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["ana", "bob", "carl"]), st.sampled_from([0.3, 0.7, 1.0])),
    min_size=2,
    max_size=8,
)
shared = lru_cache(lambda: Memory.open(scratch()))
fresh = count()


# Values of one thing depend on the order of their coming, by design: those of one source come again in theirs.
@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 5), unique=True, min_size=1, max_size=4),
    said,
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=5),
)
def test_what_a_source_takes_back_and_says_again_is_as_it_was(towns, tastes, supports):
    memory, source = Memory(shared().storage, scope=f"example {next(fresh)}"), "ana"
    claims = [
        *(home(f"town{n}", source, created_at=START + day * DAY) for day, n in enumerate(towns)),
        *(fact(f"taste{n}", who, confidence=share) for n, who, share in tastes),
    ]
    ids = [memory.store(claim).claim_id for claim in claims]
    for one, two in supports:
        if ids[one % len(ids)] != ids[two % len(ids)]:
            memory.relate(ids[one % len(ids)], ids[two % len(ids)], "supports")
    memory.derive(fact("pleasant"), [ids[0], ids[-1]]) if ids[0] != ids[-1] else None

    def everything():
        return {claim.id: (claim.status, claim.valid_to) for claim in memory.retrieve(status=list(Status))}

    states, before = everything(), numbers(memory)
    memory.retract(source)
    for claim in claims:
        if claim.source == source:
            memory.store(claim)
    assert everything() == states
    assert numbers(memory) == pytest.approx(before, abs=1e-9)


def test_a_derived_claim_falls_with_one_premise_and_comes_back_with_it(memory):
    one, two = (memory.store(fact(taste, "ana")).claim_id for taste in ("sweet", "soft"))
    done = memory.derive(fact("pleasant"), [one, two])
    deep = memory.derive(fact("loved"), [done.claim_id]).claim_id
    before = numbers(memory)
    memory.forget(one)
    assert (status(memory, done.claim_id), status(memory, deep)) == (Status.UNSUPPORTED, Status.UNSUPPORTED)
    memory.restore(one)
    assert numbers(memory) == pytest.approx(before, abs=1e-9)
    assert status(memory, deep) == Status.ACTIVE


def test_one_derivation_that_holds_is_enough_even_with_a_shared_premise(memory):
    one, two, three = (memory.store(fact(taste, "ana")).claim_id for taste in ("sweet", "soft", "warm"))
    claim = memory.derive(fact("pleasant"), [one, two]).claim_id
    again = memory.derive(fact("pleasant"), [one, three])
    assert again.claim_id == claim
    memory.forget(two)
    assert status(memory, claim) == Status.ACTIVE
    memory.forget(three)
    assert status(memory, claim) == Status.UNSUPPORTED


def test_deriving_twice_from_the_same_changes_nothing(memory):
    one = memory.store(fact("sweet", "ana")).claim_id
    memory.derive(fact("pleasant"), [one])
    before = numbers(memory)
    memory.derive(fact("pleasant"), [one])
    assert numbers(memory) == before


def test_circular_derivations_hold_nothing_up(memory):
    root = memory.store(fact("sweet", "ana")).claim_id
    one = memory.derive(fact("pleasant"), [root]).claim_id
    two = memory.derive(fact("loved"), [one]).claim_id
    memory.derive(fact("pleasant"), [two])
    memory.retract("ana")
    assert {status(memory, one), status(memory, two)} == {Status.UNSUPPORTED}


@pytest.mark.parametrize("premises", [[], "one id", ["nobody"]])
def test_premises_must_be_there(memory, premises):
    with pytest.raises((InvalidClaim, NotFound)):
        memory.derive(fact("pleasant"), premises)
    assert memory.count() == 0


def test_a_dispute_is_settled_and_taken_up_again(memory):
    one = memory.store(home("Porto", "ana")).claim_id
    two = memory.store(home("Braga", "bob")).claim_id
    before = numbers(memory)
    done = memory.resolve(one, reason="she said so herself")
    assert (status(memory, two), memory.get(one).confidence) == (Status.RETIRED, 0.8)
    memory.undo(done.tx)
    assert numbers(memory) == pytest.approx(before, abs=1e-9)
    memory.resolve(one)
    memory.restore(two)
    assert numbers(memory) == pytest.approx(before, abs=1e-9)
    with pytest.raises(InvalidClaim):
        memory.resolve(memory.store(fact("sweet")).claim_id)


# -- from the command line -----------------------------------------------------------------------------------


@pytest.fixture
def ask(path):
    def call(*words: object, code: int = 0):
        done = CliRunner().invoke(app, ["--db", str(path), *map(str, words), "--json"])
        assert done.exit_code == code, done.output
        return json.loads(done.stdout or done.stderr)

    return call


def test_the_commands_do_what_the_methods_do(path, ask):
    with Memory.open(path) as memory:
        old = memory.store(home("Porto", "ana")).claim_id
    corrected = ask("correct", old[:8], "Braga", "--reason", "a slip")
    assert (corrected["claim"]["object"], corrected["claim"]["metadata"]) == (
        "Braga",
        {"correction_reason": "a slip"},
    )
    moved = ask("supersede", corrected["id"], "Faro", "--at", "2024-05-01")
    assert moved["claim"]["valid_from"] == "2024-05-01T00:00:00Z"
    assert ask("undo", moved["tx"])["undone"] == moved["tx"]
    assert ask("trust", "ana", "0.4") == {"source": "ana", "level": 0.4, "scope": "global", "tx": 5}
    taken = ask("retract", "ana")
    assert [claim["id"] for claim in taken["claims"]] == [old]
    ask("undo", taken["tx"])
    asked = ask("supersede", corrected["id"], "Faro", "--source", "carl")
    assert asked["claim"]["source"] == "carl"
    ask("undo", asked["tx"])
    assert ask("forget", corrected["id"])["action"] == "DELETE"
    assert ask("restore", corrected["id"])["claim"]["status"] == "active"
    assert "later" in ask("undo", corrected["tx"], code=1)["error"]
    assert "no transaction" in ask("undo", 99, code=1)["error"]


def test_the_commands_speak_to_people(path):
    with Memory.open(path) as memory:
        old = memory.store(home("Porto", "ana")).claim_id

    def said(*words: str) -> str:
        done = CliRunner().invoke(app, ["--db", str(path), *words])
        assert done.exit_code == 0, done.output
        return done.output

    assert "Ana lives in Braga" in said("correct", old, "Braga")
    assert "took back transaction" in said("undo", "2")
    assert "in use" in said("restore", old)
    assert "trusted 0.5" in said("trust", "ana", "0.5")
    assert "took back 1 claims" in said("retract", "ana")


def test_an_end_before_the_beginning_is_told_in_dates(memory):
    old = memory.store(home("Porto", "ana", valid_from="2024-05-01")).claim_id
    with pytest.raises(InvalidClaim, match=r"begins at 2024-05-01T00:00:00Z.* at 2024-01-01T00:00:00Z"):
        memory.supersede(old, "Braga", at="2024-01-01")
