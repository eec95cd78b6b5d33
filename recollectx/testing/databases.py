"""What every database that holds a memory must do, as tests to inherit."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from sqlalchemy import func, select

from recollectx.claims import SemanticClaim
from recollectx.db.tables import ChangeRow, Tx
from recollectx.errors import RecollectxError
from recollectx.memory import Memory
from recollectx.testing.vectors import HOSTILE_SCOPES

LONGEST = 1_000
"""Characters of a name: an id, a scope, a source."""
ODD = (
    "caf\u00e9",
    "cafe\u0301",
    "\U0001f98a\u200d",
    'it\'s 100% "so" \\ ;--',
    "tab\tline\nend",
    "\u0130stanbul",
    "a" * 100_000,
)


class Stopped(Exception):
    """Raised in the midst of a write."""


class DatabaseContract:
    """What every database must do. Override `fresh`; a database in memory also sets `lasting` to False."""

    lasting = True

    def fresh(self) -> str:
        """The URL of an empty database."""
        raise NotImplementedError(f"{type(self).__name__} must implement fresh()")

    @contextmanager
    def memory(self, url: str | None = None, scope: str = "global") -> Iterator[Memory]:
        """A memory by words alone."""
        with Memory.open(url or self.fresh(), scope=scope, embedder=None) as opened:
            yield opened

    def test_what_is_written_is_there_after_opening_again(self) -> None:
        if not self.lasting:
            return
        url = self.fresh()
        with self.memory(url) as memory:
            kept = memory.store(_claim("blue")).claim_id
        with self.memory(url) as memory:
            assert [claim.id for claim in memory.retrieve()] == [kept]

    def test_a_write_is_whole_or_not_at_all(self) -> None:
        with self.memory() as memory:
            memory.store(_claim("blue"))
            before = _state(memory)

            def broken(done: int) -> Iterator[SemanticClaim]:
                yield from (_claim(f"colour {number}") for number in range(done))
                raise Stopped

            for done in (0, 1, 50):
                try:
                    memory.store_many(broken(done))
                except Stopped:
                    pass
                else:
                    raise AssertionError("the error was swallowed")
                assert _state(memory) == before

    def test_numbers_come_back_to_the_last_bit(self) -> None:
        numbers = [0.1 + 0.2, 1 / 3, 0.7 - 1e-15, 5e-324, 1.0]
        with self.memory() as memory:
            for number in numbers:
                kept = memory.store(_claim(f"a {number!r}", confidence=number, importance=number))
                found = memory.get(str(kept.claim_id))
                assert found is not None
                assert (found.importance, found.created_at) == (number, 1_700_000_000.123456)

    def test_any_text_comes_back_as_it_was(self) -> None:
        with self.memory() as memory:
            for number, text in enumerate(ODD):
                claim = _claim(
                    text, subject=f"{number} {text[:900]}", metadata={text[:900]: [text[:900], None, 1.5]}
                )
                found = memory.get(str(memory.store(claim).claim_id))
                assert found is not None
                assert (found.text, found.metadata) == (claim.text, claim.metadata)

    def test_names_are_told_apart_by_every_character(self) -> None:
        url = self.fresh() if self.lasting else None
        names = [name for name in HOSTILE_SCOPES if len(name) <= LONGEST] + [
            "l" * LONGEST,
            "l" * (LONGEST - 1),
        ]
        if url is None:
            return
        for number, name in enumerate(names):
            with self.memory(url, name) as memory:
                memory.store(_claim("blue", id=f"{number} in {name}"[:LONGEST], source=name))
        for name in names:
            with self.memory(url, name) as memory:
                assert [claim.source for claim in memory.retrieve()] == [name]
                assert memory.retract(name)

    def test_the_past_stays_what_it_was(self) -> None:
        with self.memory() as memory:
            states = []
            for number in range(6):
                memory.store(_claim(f"colour {number}", source=f"source {number}"))
                states.append(_state(memory))
            for state in states:
                assert _state(memory, as_of=state[0]) == state

    def test_what_is_erased_is_in_no_past(self) -> None:
        with self.memory() as memory:
            gone = str(memory.store(_claim("unspeakable")).claim_id)
            then = _state(memory)[0]
            memory.erase(gone)
            assert memory.get(gone) is None
            assert "unspeakable" not in repr(memory.retrieve(as_of=then)) + repr(memory.retrieve())

    def test_eight_writers_lose_no_update_and_readers_see_whole_beginnings(self) -> None:
        with self.memory() as memory:
            memory.store(_claim("said often", source="all"))
            ended = threading.Event()

            def write(thread: int) -> None:
                for turn in range(10):
                    memory.store(_claim("said often", source="all"))
                    memory.store(_claim(f"colour {thread} {turn}", source=f"thread {thread}"))

            def look() -> None:
                while not ended.is_set():
                    with memory.storage.reader() as reader:
                        count, last = reader.conn.execute(select(func.count(), func.max(Tx.seq))).one()
                        logged = reader.conn.execute(select(func.max(ChangeRow.seq))).scalar()
                    assert count == last == logged, f"{count} transactions up to {last}, logged to {logged}"

            with ThreadPoolExecutor(9) as threads:
                looking = threads.submit(look)
                try:
                    list(threads.map(write, range(8)))
                finally:
                    ended.set()
                looking.result()
            claims = {claim.text: claim for claim in memory.retrieve()}
            assert len(claims) == 81
            assert claims["item is said often"].support_count == 81

    def test_a_refused_write_leaves_the_database_usable(self) -> None:
        with self.memory() as memory:
            first = _claim("blue")
            memory.store(first)
            try:
                memory.store(_claim("green", id=first.id))
            except RecollectxError:
                assert memory.store(_claim("green")).claim_id
            assert memory.count() >= 1


def _claim(object: str, **more: object) -> SemanticClaim:
    given = {"subject": "item", "predicate": "is", "created_at": 1_700_000_000.123456, **more}
    return SemanticClaim(object=object, **given)  # type: ignore[arg-type]


def _state(memory: Memory, as_of: float | None = None) -> tuple[float, dict[str, float]]:
    """The time of the last transaction, and every claim with its confidence."""
    with memory.storage.reader() as reader:
        last = reader.conn.execute(select(func.max(Tx.at))).scalar()
    at = (last or 0) / 1e6 if as_of is None else as_of
    return at, {claim.id: claim.confidence for claim in memory.retrieve(as_of=at)}
