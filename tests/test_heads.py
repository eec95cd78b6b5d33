"""What is remembered of a database from one write to the next, and when it is asked for again."""

import sqlite3
from contextlib import closing

import pytest
from conftest import fact
from sqlalchemy import create_engine, event, text
from sqlalchemy.pool import StaticPool

from recollectx import MemoryStore
from recollectx.changes import Assert, Configure, Erase, Undo
from recollectx.claims import assertion_of
from recollectx.db.database import SessionLocal, reset_engine
from recollectx.errors import InvalidClaim, StorageError

ELSEWHERE = (
    "INSERT INTO rx_tx (seq, at, cause) SELECT max(seq) + 1, max(at), 'elsewhere' FROM rx_tx",
    "INSERT INTO rx_changes (n, seq, kind) SELECT max(n) + 1, (SELECT max(seq) FROM rx_tx), 'trace' FROM rx_changes",
)


@pytest.fixture
def store(file):
    with closing(MemoryStore(file)) as opened:
        put(opened, "first")  # and with it the rule of belief, which is asked for again
        yield opened


def put(store: MemoryStore, name: str) -> int:
    """Store something new; returns the number of its transaction."""
    claim = fact(name, "ana")
    return store.apply([Assert(claim, assertion_of(claim))], cause="test").seq


def statements(store: MemoryStore) -> list[str]:
    seen: list[str] = []

    @event.listens_for(store.database.engine, "before_cursor_execute")
    def see(conn, cursor, statement, *rest) -> None:
        seen.append(statement)

    return seen


def asks(seen: list[str]) -> bool:
    return any("max(rx_changes.n)" in statement for statement in seen)


def test_one_write_after_another_does_not_ask_again(store):
    last = put(store, "one")
    seen = statements(store)
    assert [put(store, "two"), put(store, "three")] == [last + 1, last + 2]
    assert not asks(seen)


def test_what_another_connection_wrote_counts(store, file):
    last = put(store, "one")
    with closing(sqlite3.connect(file)) as other, other:
        for statement in ELSEWHERE:
            other.execute(statement)
    assert put(store, "two") == last + 2
    assert len(store.query()) == 3


def test_what_another_store_of_the_same_file_wrote_counts(store, file):
    with closing(MemoryStore(file)) as other:
        numbers = [put(each, f"{n}") for n, each in enumerate([store, other] * 3)]
    assert numbers == list(range(numbers[0], numbers[0] + 6))


def test_what_the_caller_wrote_on_the_same_connection_counts():
    engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
    with closing(MemoryStore(engine)) as store:
        put(store, "first")
        last = put(store, "one")
        with engine.begin() as conn:
            for statement in ELSEWHERE:
                conn.execute(text(statement))
        assert put(store, "two") == last + 2


def test_what_was_rolled_back_does_not(store):
    last = put(store, "one")
    claim = fact("two", "ana")
    with pytest.raises(InvalidClaim):
        store.apply([Assert(claim, assertion_of(claim))] * 2, cause="test")
    assert put(store, "two") == last + 1


def test_a_commit_that_is_refused_does_not(store):
    last = put(store, "one")
    claim = fact("two", "ana")

    def plan(reader):
        reader.conn.exec_driver_sql("PRAGMA defer_foreign_keys=ON")
        reader.conn.exec_driver_sql("DELETE FROM rx_claims")
        yield Assert(claim, assertion_of(claim))

    with pytest.raises(StorageError, match="FOREIGN KEY"):
        store.apply(plan, cause="test")
    assert put(store, "three") == last + 1
    assert len(store.query()) == 3


@pytest.mark.parametrize("change", ["configure", "undo", "erase"])
def test_it_is_asked_for_after_what_takes_rows_away_or_settings_back(store, change):
    last = put(store, "one")
    claim = fact("two", "ana")
    store.apply([Assert(claim, assertion_of(claim))], cause="test")
    done = {
        "configure": Configure("shape", {"round": True}),
        "undo": Undo(last),
        "erase": Erase(claim.id),
    }
    assert store.apply([done[change]], cause="test").seq == last + 2
    seen = statements(store)
    assert put(store, "three") == last + 3
    assert asks(seen)


def test_a_connection_that_others_have_is_asked_every_time(file):
    with closing(MemoryStore(file)) as larger:
        for number in range(5):
            put(larger, f"claim {number}")
    session = SessionLocal(":memory:")
    with closing(MemoryStore(session)) as shared:
        put(shared, "before")
        session.rollback()
        with closing(sqlite3.connect(file)) as other:
            other.backup(session.connection().connection.dbapi_connection)
        session.rollback()
        assert put(shared, "after") > 5
        with shared.reader() as reader:
            assert len(reader.in_scope("global")) == 6
    reset_engine()
