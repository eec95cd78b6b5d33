"""New claims, many at once: the rows that they have one by one, and the same refusals."""

from pathlib import Path
from typing import Any

import pytest
from behind import rows
from conftest import START, Clock, event, fact, scratch
from hypothesis import given, settings
from hypothesis import strategies as st

from recollectx import Claim, Memory, SemanticClaim
from recollectx.changes import Assert, Trust
from recollectx.claims import Assertion, assertion_of
from recollectx.embeddings.hashing import HashEmbedder
from recollectx.errors import InvalidClaim, ModelMismatch
from recollectx.storage.memory_store import MemoryStore

TABLES = ["claims", "texts", "vectors", "revisions", "assertions", "changes", "strengths", "tx", "trust"]
WORDS = st.sampled_from(["tea", "Ana's tea, cold", "5,000 cups", "thé à Genève", "a tea", "the"])


@st.composite
def claims(draw: st.DrawFn) -> Claim:
    shared: dict[str, Any] = {
        "confidence": draw(st.sampled_from([0.0, 0.3, 1.0])),
        "source": draw(st.sampled_from([None, "ana", "ben"])),
        "scope": draw(st.sampled_from(["global", "other"])),
        "basis": draw(st.sampled_from(["asserted", "derived"])),
        "status": draw(st.sampled_from(["active", "hypothesis"])),
        "category": draw(st.sampled_from([None, "study"])),
        "evidence": draw(st.lists(WORDS, max_size=2)),
        "entities": draw(st.lists(WORDS, max_size=2)),
        "metadata": draw(st.sampled_from([{}, {"é": [1, None]}])),
        "valid_to": draw(st.sampled_from([None, START + 5])),
        "due_at": draw(st.sampled_from([None, START + 9.5])),
        "session": draw(st.sampled_from([None, "s"])),
    }
    if draw(st.booleans()):
        return event(draw(WORDS), position=draw(st.sampled_from([None, 0, 7])), **shared)
    if draw(st.booleans()):
        return SemanticClaim.from_text(draw(WORDS), created_at=START, **shared)
    return fact(
        draw(WORDS), subject=draw(WORDS), predicate=draw(st.sampled_from(["is", "lives_in"])), **shared
    )


def asserted(given: list[Claim]) -> list[Assert]:
    return [Assert(claim, assertion_of(claim, span="so said")) for claim in given]


def written(
    given: list[Claim], embedded: set[int], again: set[int], *, at_once: bool
) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of a memory into which claims were written, forgotten by undoing, and some written again."""
    with Memory.open(scratch(), embedder=HashEmbedder(8), clock=Clock()) as memory:
        storage = memory.storage
        storage.embedding.check()

        def write(changes: list[Any], **more: Any) -> int:
            return storage.apply(changes if at_once else lambda _: iter(changes), cause="test", **more).seq

        vectors = HashEmbedder(8).embed([claim.text for claim in given])
        changes = asserted(given)
        write([Trust("ana", 0.4), *asserted([fact("x", "ana", id="new")]), Trust("ben", 0.2)])
        first = write(changes, vectors={given[n].id: vectors[n] for n in embedded})
        scopes = {claim.scope for claim in given}
        if len(scopes) == 1:
            Memory(storage, scope=scopes.pop()).undo(first)
            write([changes[n] for n in sorted(again)] + asserted([fact("y", id="newer")]))
        with storage.reader() as reader:
            return {
                table: list(
                    map(tuple, reader.conn.exec_driver_sql(f"SELECT * FROM rx_{table} ORDER BY 1, 2"))
                )
                for table in TABLES
            }


@settings(max_examples=25, deadline=None)
@given(st.lists(claims(), min_size=2, max_size=8), st.data())
def test_many_at_once_are_written_as_one_by_one(given: list[Claim], data: st.DataObject) -> None:
    places = st.integers(0, len(given) - 1)
    embedded, again = data.draw(st.sets(places)), data.draw(st.sets(places))
    assert written(given, embedded, again, at_once=True) == written(given, embedded, again, at_once=False)


def test_a_fault_among_many_writes_nothing(memory: Memory) -> None:
    known = memory.storage.apply(asserted([fact("sweet", id="known")]), cause="test").seq
    fine = [fact(word) for word in ("sour", "salty", "bitter")]
    taken = fact("hot", id="known")
    nothing = Assert(Claim(), Assertion(None, 0.5, START))
    for wrong in (
        [*asserted([*fine, taken]), *asserted([fact("cold")])],
        asserted([*fine, fact("hot", id=fine[1].id), fact("cold")]),
        [*asserted(fine), nothing, *asserted([fact("cold")])],
    ):
        with pytest.raises(InvalidClaim, match=r"taken by another claim|cannot be stored"):
            memory.storage.apply(wrong, cause="test")
    assert (memory.last_tx(), memory.count()) == (known, 1)


def test_a_vector_of_another_length_among_many_writes_nothing(file: Path) -> None:
    given = [fact(word) for word in ("sour", "salty", "bitter")]
    vectors = dict(zip((claim.id for claim in given), HashEmbedder(8).embed(["a", "b", "c"]), strict=True))
    vectors[given[1].id] = vectors[given[1].id][:7]
    storage = MemoryStore(file, embedder=HashEmbedder(8))
    storage.embedding.check()
    with pytest.raises(ModelMismatch):
        storage.apply(asserted(given), cause="test", vectors=vectors)
    storage.close()
    assert rows(file, "SELECT * FROM rx_claims") == []
