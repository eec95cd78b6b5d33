"""What is of PostgreSQL alone; that it does all that SQLite does is what the other modules show."""

import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import kill_writer
import numpy as np
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from behind import content, reading, rows, writing
from conftest import START, Clock, event, fact
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.orm import Session

from recollectx import Memory, MemoryStore
from recollectx.changes import Assert
from recollectx.claims import Assertion
from recollectx.db.converters import model_to_claim
from recollectx.db.database import SessionLocal, create_tables, reset_engine
from recollectx.db.engine import Database, resolve_url, shown
from recollectx.db.migrate import HEAD, VERSION_TABLE, alembic_config, upgrade, version
from recollectx.db.models import BeliefEdgeModel, ClaimModel, ConfidenceHistoryModel
from recollectx.db.tables import Base
from recollectx.embeddings import HashEmbedder
from recollectx.errors import (
    BackendError,
    DatabaseTooNew,
    DimensionError,
    InvalidClaim,
    InvalidSetting,
    StorageError,
)
from recollectx.storage.vector.pgvector import EXACT, PgVectorBackend
from recollectx.testing import VectorBackendContract

SECRET = "hunter2secret"


@pytest.fixture
def url(postgres):
    url = postgres.fresh()
    yield url
    postgres.drop(url)


@pytest.fixture
def pg(url):
    """A memory on PostgreSQL."""
    with Memory.open(url, clock=Clock()) as memory:
        yield memory


class TestUrls:
    @pytest.mark.parametrize("kind", ["postgres", "postgresql", "postgresql+psycopg"])
    def test_three_spellings_are_one(self, kind):
        url = resolve_url(f"{kind}://ana:{SECRET}@db.example:5433/memory?sslmode=require")
        assert (url.drivername, url.password, url.database) == ("postgresql+psycopg", SECRET, "memory")
        assert url.query == {"sslmode": "require"}

    @pytest.mark.parametrize(
        "wrong",
        [
            f"postgresql+asyncpg://ana:{SECRET}@host/memory",
            f"postgresql://ana:{SECRET}@host",
            f"postgresql://ana:{SECRET}@host:port/memory",
            f"mysql://ana:{SECRET}@host/memory",
            f"postgres:ql://ana:{SECRET}@host/memory",
        ],
    )
    def test_what_is_no_database_of_ours_is_refused_without_its_password(self, wrong):
        with pytest.raises(InvalidSetting) as caught:
            Memory.open(wrong)
        assert SECRET not in str(caught.value)

    def test_no_error_tells_the_password(self):
        nowhere = f"postgresql://ana:{SECRET}@127.0.0.1:1/memory?password={SECRET}&connect_timeout=2"
        with pytest.raises(StorageError, match=r"postgresql://127\.0\.0\.1:1/memory") as caught:
            Memory.open(nowhere)
        seen, told = caught.value, []
        while seen is not None:
            told.append(f"{seen} {seen!r}")
            seen = seen.__cause__ or seen.__context__
        assert SECRET not in "".join(told)
        assert SECRET not in shown(nowhere)

    def test_a_database_that_is_not_there_is_named(self, url):
        missing = make_url(url).set(database="nobody").render_as_string(hide_password=False)
        with pytest.raises(StorageError, match="nobody"):
            Memory.open(missing)

    def test_a_database_that_keeps_no_utf8_is_refused(self, postgres):
        odd = postgres.empty("ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
        with pytest.raises(InvalidSetting, match="SQL_ASCII"):
            Memory.open(odd)
        postgres.drop(odd)

    def test_without_the_driver_the_extra_is_named(self):
        program = """
import sys
sys.modules["psycopg"] = None
from recollectx import Memory
try:
    Memory.open("postgresql://host/db")
except ImportError as error:
    print(error)
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert "recollectx[postgres]" in done.stdout


class TestTables:
    def test_the_migrations_make_exactly_the_mapped_tables(self, url):
        with closing(Database.open(url)) as database, database.read() as conn:
            options = {"version_table": VERSION_TABLE, "compare_type": True, "target_metadata": Base.metadata}
            context = MigrationContext.configure(conn, opts=options)
            assert compare_metadata(context, Base.metadata) == []
            assert version(conn) == HEAD

    def test_text_is_compared_byte_by_byte_and_numbers_are_double(self, url, postgres):
        columns = """
            SELECT table_name, column_name, data_type, collation_name FROM information_schema.columns
            WHERE left(table_name, 3) = 'rx_' ORDER BY 1, 2
        """
        found = rows(url, columns)
        assert {row[2] for row in found} == {"bigint", "integer", "double precision", "text", "bytea"}
        assert {row[:2] for row in found if row[2] == "text" and row[3] != "C"} == set()
        made = postgres.empty()
        engine = create_engine(make_url(made))
        Base.metadata.create_all(engine)
        engine.dispose()
        assert rows(made, columns) == found
        postgres.drop(made)

    def test_every_migration_can_be_taken_back_and_made_again(self, url):
        with closing(Database.open(url)) as database:
            with database.write() as conn:
                command.downgrade(alembic_config(conn), "base")
            left = "SELECT tablename FROM pg_tables WHERE left(tablename, 3) = 'rx_'"
            assert rows(url, left) == []
            upgrade(database)
        with Memory.open(url) as memory:
            assert memory.get(memory.store(fact("sweet")).claim_id).object == "sweet"

    def test_a_newer_database_is_refused_by_name(self, url):
        rows(url, f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
        with pytest.raises(DatabaseTooNew, match="9999"):
            Memory.open(url)

    def test_a_migration_that_fails_leaves_the_database_as_it_was(self, unmade_url):
        rows(unmade_url, "CREATE TABLE rx_edges (mine TEXT)")
        with pytest.raises(StorageError):
            Memory.open(unmade_url)
        listed = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        assert rows(unmade_url, listed) == [("rx_edges",)]

    @pytest.fixture
    def unmade_url(self, postgres):
        url = postgres.empty()
        yield url
        postgres.drop(url)


class TestValues:
    @pytest.mark.parametrize(
        "alphabet", ["abcdefghijklmnopqrstuvwxyz0123456789", "абвгдежзийклмнопрстуфхцчшщъыьэюя"]
    )
    def test_names_of_any_length_that_claims_allow_can_be_kept(self, pg, alphabet):
        chance = random.Random(7)
        long = lambda: "".join(chance.choices(alphabet, k=1_000))  # noqa: E731
        scope, source, id = long(), long(), long()
        pg.trust(source, 0.7)
        other = Memory(pg.storage, scope=scope)
        claim = fact("sweet", source, id=id, subject=long(), session=long(), entities=(long(),))
        other.store(claim)
        root = other.store(event("seen")).claim_id
        other.derive(fact("bitter"), [root, id])
        assert other.get(id).source == source
        assert other.retrieve(scopes=[scope], entities=claim.entities)[0].id == id

    def test_a_name_of_too_many_bytes_is_refused_and_nothing_is_written(self, pg):
        chance = random.Random(7)
        long = "".join(chr(chance.randrange(0x4E00, 0x9FFF)) for _ in range(1_000))
        with pytest.raises(InvalidClaim, match="650 characters"):
            pg.store(fact("sweet", long))
        assert pg.count() == 0
        pg.store(fact("sweet", long[:650]))
        assert pg.retrieve()[0].source == long[:650]

    def test_a_nul_character_is_refused_and_nothing_is_written(self, pg, url):
        with pytest.raises(InvalidClaim, match="NUL"):
            pg.storage.apply([Assert(fact("sweet"), Assertion("ana", 0.8, START))], cause="a\0b")
        with pytest.raises(InvalidClaim, match="NUL"):
            pg.traces.record(pg.recall("tea"), "an\0swer")
        assert pg.count() == 0
        assert rows(url, "SELECT * FROM rx_tx") == []

    def test_scopes_come_in_the_order_of_their_bytes(self, pg):
        names = ["b", "B", "a", "É", "_", "ä", "Z", "ab", "a b"]
        for name in names:
            Memory(pg.storage, scope=name).store(event("seen"))
        with pg.storage.reader() as reader:
            assert reader.scopes() == sorted(names)


class TestConnections:
    KILL = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"

    def test_connections_that_died_in_between_are_replaced(self, pg, url):
        pg.store(event("before"))
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _: pg.count(), range(8)))
        for _ in range(2):
            rows(url, self.KILL)
            assert pg.count() == 1
            rows(url, self.KILL)
            pg.store(event("before"))

    def test_a_connection_that_dies_within_a_write_is_told_and_nothing_is_written(self, pg, url):
        def plan(reader):
            rows(url, self.KILL)
            yield from ()
            reader.scopes()

        with pytest.raises(StorageError, match="no connection to postgresql://"):
            pg.storage.apply(plan, cause="test")
        with pytest.raises(StorageError, match="no connection"), pg.storage.reader() as reader:
            rows(url, self.KILL)
            reader.scopes()
        assert pg.store(event("after")).action == "ADD"
        assert pg.count() == 1

    def test_the_driver_prints_nothing_of_a_write_that_fails(self, pg, url, caplog):
        def plan(reader):
            rows(url, self.KILL)
            yield Assert(fact("sweet"), Assertion("ana", 0.8, START))

        with pytest.raises(StorageError, match="no connection to postgresql://"):
            pg.storage.apply(plan, cause="test")
        with pytest.raises(InvalidClaim, match="NUL"):
            pg.storage.apply([Assert(fact("sweet"), Assertion("ana", 0.8, START))], cause="a\0b")
        index = PgVectorBackend(url, 3)
        index.upsert_vectors("a", ["x"], [[1, 0, 0]])
        with (
            closing(Database.open(url)) as database,
            pytest.raises((BackendError, StorageError)),
            database.write() as conn,
            index.joined(conn),
        ):
            index.upsert_vectors("a", ["y"], [[1, 0, 0]])
            rows(url, self.KILL)
            index.upsert_vectors("a", ["z", "w"], [[1, 0, 0], [0, 1, 0]])
        assert index.ids("a") == ["x"]
        index.close()
        assert pg.count() == 0
        assert [each.getMessage() for each in caplog.records if each.name.startswith("psycopg")] == []

    def test_a_restart_of_the_server_is_outlived(self, postgres, pg):
        pg.store(event("before"))
        postgres.start_again()
        assert pg.count() == 1
        pg.store(event("after"))
        assert pg.count() == 2

    def test_a_killed_writer_loses_nothing_it_acknowledged(self, url):
        for seconds in (0.1, 0.3):
            outcome = kill_writer.kill_once(url, seconds)
            assert outcome.acknowledged
            assert not outcome.faults

    def test_closing_leaves_no_connection_behind(self, postgres, url):
        with Memory.open(url) as memory:
            memory.store(event("seen"))
            memory.recall("seen")
        asked = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{make_url(url).database}'"
        until = time.monotonic() + 10  # a session ends a moment after its connection
        while postgres.run(asked) != [(0,)] and time.monotonic() < until:
            time.sleep(0.01)
        assert postgres.run(asked) == [(0,)]

    def test_a_reader_can_write_nothing(self, pg):
        with pytest.raises(StorageError, match="read-only"), pg.storage.database.read() as conn:
            conn.exec_driver_sql("DELETE FROM rx_claims")


class TestOrder:
    def test_whoever_looks_sees_every_transaction_up_to_the_last(self, url):
        """Two databases of one process are as two processes: nothing but the lock keeps their order."""
        one, two = Memory.open(url), Memory.open(url + "&application_name=other")
        assert one.storage.database is not two.storage.database
        stop = threading.Event()
        seen: list[tuple[int, int]] = []

        def look() -> None:
            while not stop.is_set():
                seen.extend(rows(url, "SELECT coalesce(max(seq), 0), count(*) FROM rx_tx"))

        with ThreadPoolExecutor(5) as threads:
            looking = threads.submit(look)
            done = [
                threads.submit(lambda m=memory, n=n: [m.store(event(f"{n} {each}")) for each in range(25)])
                for n, memory in enumerate((one, two, one, two))
            ]
            for each in done:
                each.result()
            stop.set()
            looking.result()
        assert len(seen) > 3
        assert all(last == count for last, count in seen)
        assert one.count() == two.count() == 100
        one.close()
        two.close()


class TestTargets:
    def test_an_engine_and_a_session_say_where(self, url):
        engine = create_engine(make_url(url))
        with closing(MemoryStore(engine)) as store:
            store.put(fact("sweet", id="tea"))
        with Session(engine) as session:
            assert session.execute(text("SELECT count(*) FROM rx_claims")).scalar() == 1
            with closing(MemoryStore(session)) as store:
                assert store.get("tea").object == "sweet"
        engine.dispose()

    def test_027s_names_take_a_url(self, postgres):
        url = postgres.empty()
        create_tables(url)
        with SessionLocal(url) as session, closing(MemoryStore(session)) as store:
            store.put(fact("sweet", id="tea"))
            assert session.query(ClaimModel).one().object == "sweet"
        reset_engine()
        postgres.drop(url)

    def test_uncommitted_writes_are_an_error_that_says_so(self, url):
        engine = create_engine(make_url(url))
        with engine.begin() as conn:
            conn.execute(text("CREATE TABLE notes (words TEXT)"))
        with Session(engine) as session:
            session.execute(text("INSERT INTO notes VALUES ('x')"))
            with pytest.raises(StorageError, match="uncommitted writes"):
                MemoryStore(session)
            session.commit()
            MemoryStore(session).close()
        engine.dispose()

    def test_models_read_as_the_store_reads(self, url, pg):
        store = pg.storage
        store.put(fact("sweet", "Ines", id="tea", evidence=("z", "b"), importance=0.25))
        store.put(event("she boiled it", id="pot"))
        pg.store(fact("sweet", "Bo", evidence=("b", "a")))
        pg.add_contradiction("pot", "tea")
        engine = create_engine(make_url(url))
        with Session(engine) as session:
            found = {model.id: model for model in session.query(ClaimModel)}
            assert model_to_claim(found["tea"]).evidence == store.get("tea").evidence == ("z", "b", "a")
            assert found["tea"].support_count == 2
            assert found["pot"].evidence == "[]"
            assert session.query(BeliefEdgeModel).one().dst_id == "tea"
            assert session.query(ConfidenceHistoryModel).filter_by(claim_id="tea").count() >= 1
        engine.dispose()


class TestErasing:
    def test_no_dead_row_is_left(self, pg, url):
        gone = pg.store(fact("marzipan", "ana")).claim_id
        pg.store(fact("sweet"))
        with reading(url):
            assert pg.erase(gone).pending is True
            assert pg.storage.truncate_log() is False
            assert pg.store(fact("sour")).action == "ADD"
        pg.store(fact("bitter"))
        told = vacuumed(url)
        assert told
        assert all("0 removed" in line for line in told), told
        assert b"marzipan" not in content(url)

    def test_a_writer_in_the_way_leaves_the_receipt_pending(self, url):
        with Memory.open(url) as memory:
            gone = memory.store(fact("marzipan")).claim_id
            assert memory.erase(gone).pending is False
        with Memory.open(url) as memory, writing(url):
            assert memory.count() == 0


def vacuumed(url: str, tables: str = "rx_texts, rx_revisions, rx_assertions") -> list[str]:
    """What VACUUM finds to remove from some tables."""
    told: list[str] = []
    engine = create_engine(make_url(url), isolation_level="AUTOCOMMIT")
    with engine.connect() as conn:
        conn.connection.dbapi_connection.add_notice_handler(lambda each: told.append(each.message_primary))
        conn.exec_driver_sql(f"VACUUM (VERBOSE) {tables}")
    engine.dispose()
    return [line for each in told for line in each.splitlines() if line.startswith("tuples: ")]


LEGACY = """
CREATE TABLE claims (id VARCHAR PRIMARY KEY, type VARCHAR, confidence FLOAT, importance FLOAT, evidence TEXT,
    created_at FLOAT, last_reinforced_at FLOAT, support_count INTEGER, summary TEXT, subject VARCHAR,
    predicate VARCHAR, object VARCHAR);
CREATE TABLE belief_edges (id SERIAL PRIMARY KEY, src_id VARCHAR, dst_id VARCHAR, relation VARCHAR);
CREATE TABLE confidence_history (id SERIAL PRIMARY KEY, claim_id VARCHAR, old_confidence FLOAT, new_confidence FLOAT,
    reason VARCHAR, change_type VARCHAR, caused_by_id VARCHAR, timestamp FLOAT);
INSERT INTO claims VALUES
    ('one', 'semantic', .7, .5, '["seen"]', 1e9, 1e9, 1, NULL, 'Ana', 'lives in', 'Rome'),
    ('two', 'episodic', .9, .5, '[]', 1.1e9, 1.1e9, 1, 'Ana moved', NULL, NULL, NULL);
INSERT INTO belief_edges (src_id, dst_id, relation) VALUES ('two', 'one', 'supports'), ('two', 'gone', 'supports');
INSERT INTO confidence_history (claim_id, old_confidence, new_confidence, reason, change_type, timestamp) VALUES
    ('one', .6, .7, 'Ana moved', 'support', 1.1e9), ('one', .6, 'NaN', 'odd', 'manual', 1.2e9);
"""


class TestFrom027:
    def test_its_tables_in_the_same_database_are_moved_in_once(self, postgres):
        url = postgres.empty()
        rows(url, LEGACY)
        for _ in range(2):
            with Memory.open(url) as memory:
                assert {claim.id for claim in memory.retrieve()} == {"one", "two"}
                assert memory.get("one").confidence == pytest.approx(0.7)
                assert memory.explain("one")["supported_by"] == ["two"]
                assert [move.new_confidence for move in memory.explain_confidence_history("one")] == [0.7]
        assert len(rows(url, "SELECT * FROM claims")) == 2
        with Memory.open(url) as memory:
            memory.erase("one")
        assert rows(url, "SELECT id FROM claims") == [("two",)]
        postgres.drop(url)

    def test_a_hosts_table_of_the_same_name_is_left_alone(self, postgres):
        url = postgres.empty()
        rows(
            url,
            "CREATE TABLE claims (id INTEGER PRIMARY KEY, amount INTEGER)",
            "INSERT INTO claims VALUES (1, 2)",
        )
        with Memory.open(url) as memory:
            memory.erase(memory.store(fact("sweet")).claim_id)
        assert rows(url, "SELECT * FROM claims") == [(1, 2)]
        postgres.drop(url)


class TestPgVector(VectorBackendContract):
    @pytest.fixture(autouse=True)
    def _place(self, postgres):
        self.url, self.opened = postgres.empty(), []
        yield
        for index in self.opened:
            index.close()
        postgres.drop(self.url)

    def fresh(self):
        self.opened.append(PgVectorBackend(self.url, self.dimension))
        return self.opened[-1]

    def reopened(self, index):
        return self.fresh()

    def test_within_a_transaction_of_the_claims_it_is_one_with_it(self):
        Memory.open(self.url).close()
        index, (one, two) = self.fresh(), self.vectors(2)
        index.upsert_vectors("a", ["x"], [one])
        with closing(Database.open(self.url)) as database:
            with pytest.raises(ZeroDivisionError), database.write() as conn, index.joined(conn):
                index.upsert_vectors("a", ["x", "y"], [two, two])
                index.delete_ids("a", ["x"])
                assert index.ids("a") == ["y"]
                assert index.search_vector("a", two, 5)[0].id == "y"
                with ThreadPoolExecutor(1) as other:
                    assert other.submit(index.ids, "a").result() == ["x"]
                raise ZeroDivisionError
            assert index.ids("a") == ["x"]
            with database.read() as conn, index.joined(conn):
                assert index.count() == 1
                self.fresh().upsert_vectors("a", ["z"], [two])
                assert [near.id for near in index.search_vector("a", one, 5)] == ["x"]
                assert index.vectors_of("a", ["x", "z"]).keys() == {"x"}
            with database.write() as conn, index.joined(conn):
                index.clear("a")
        assert index.count() == 0

    def test_a_table_that_is_made_within_a_transaction_outlives_its_end(self):
        Memory.open(self.url).close()
        index, (one,) = self.fresh(), self.vectors(1)
        with closing(Database.open(self.url)) as database:
            with database.read() as conn, index.joined(conn):
                assert (index.count(), index.search_vector("a", one, 1)) == (0, [])
            with pytest.raises(ZeroDivisionError), database.write() as conn, index.joined(conn):
                index.upsert_vectors("a", ["x"], [one])
                raise ZeroDivisionError
        assert index.count() == 0
        index.upsert_vectors("a", ["x"], [one])
        assert index.ids("a") == ["x"]

    def test_names_of_any_length_are_kept_apart(self):
        index, (one, two) = self.fresh(), self.vectors(2)
        chance = random.Random(7)
        scope, id = ("".join(chr(chance.randrange(0x4E00, 0x9FFF)) for _ in range(1_000)) for _ in range(2))
        index.upsert_vectors(scope, [id, id + "x"], [one, two])
        index.delete_ids(scope, [id])
        assert (index.scopes(), index.ids(scope)) == ([scope], [id + "x"])

    def test_vectors_of_another_length_are_refused_until_the_table_is_cleared(self):
        first = self.fresh()
        first.upsert_vectors("a", ["x"], self.vectors(1))
        self.opened.append(PgVectorBackend(self.url, self.dimension + 1))
        for call in (
            lambda: self.opened[-1].upsert_vectors("a", ["x"], np.ones((1, self.dimension + 1))),
            self.opened[-1].count,
        ):
            with pytest.raises(DimensionError, match="16-d"):
                call()
        self.opened[-1].clear()
        self.opened[-1].upsert_vectors("a", ["x"], np.ones((1, self.dimension + 1)))
        assert self.opened[-1].search_vector("a", np.ones(self.dimension + 1), 1)[0].id == "x"

    @pytest.mark.parametrize("dimension", [2_000, 2_001, 4_001])
    def test_long_vectors_are_found_too(self, dimension):
        self.opened.append(PgVectorBackend(self.url, dimension))
        vectors = np.eye(3, dimension, dtype=np.float32)
        self.opened[-1].upsert_vectors("a", ["x", "y", "z"], vectors)
        assert self.opened[-1].search_vector("a", vectors[1], 1)[0].id == "y"

    def test_a_large_scope_goes_by_its_index_and_a_filter_starves_nothing(self):
        """Of 8,000 vectors near the question 6,000 are of another scope, and those asked for lie far away."""
        index = self.fresh()
        rng = np.random.default_rng(7)
        near, far = rng.standard_normal((2, self.dimension), np.float32)
        crowd = near + 0.1 * rng.standard_normal((6_000, self.dimension), np.float32)
        own = rng.standard_normal((EXACT + 1_000, self.dimension), np.float32) - near
        index.upsert_vectors("crowd", [f"c{n}" for n in range(len(crowd))], crowd)
        index.upsert_vectors("own", [f"o{n}" for n in range(len(own))], own)
        held = dict(zip((f"o{n}" for n in range(len(own))), own, strict=True))
        for query in (near, far):
            for k in (1, 10, 200):
                found = [each.id for each in index.search_vector("own", query, k)]
                true = sorted(held, key=lambda id: -float(held[id] @ query / np.linalg.norm(held[id])))[:k]
                assert len(found) == k
                assert len(set(found) & set(true)) >= 0.95 * k
        assert len(index.search_vector("own", near, 10_000)) == len(own)

    def test_without_the_extension_or_the_right_to_it_the_fix_is_named(self, postgres):
        postgres.run("DROP ROLE IF EXISTS nobody")
        postgres.run("CREATE ROLE nobody LOGIN")
        self.opened.append(PgVectorBackend(make_url(self.url).set(username="nobody").render_as_string(), 3))
        assert self.opened[-1].count() == 0
        with pytest.raises(BackendError, match="CREATE EXTENSION vector"):
            self.opened[-1].upsert_vectors("a", ["x"], [[1, 0, 0]])

    def test_a_memory_with_pgvector_is_one_database(self):
        with Memory.open(self.url, vectors="pgvector", embedder=HashEmbedder(64), clock=Clock()) as memory:
            gone, kept = (each.claim_id for each in memory.store_many([event("an otter"), event("a heron")]))
            assert memory.recall("an otter").hits[0].claim.id == gone
            self.opened.append(PgVectorBackend(self.url, 64))
            index = self.opened[-1]
            assert set(index.ids("global")) == {gone, kept}
            assert memory.erase(gone).pending is False
            assert index.ids("global") == [kept]
            memory.forget(kept)
            assert memory.recall("a heron").hits == ()
        assert b"otter" not in content(self.url)
        assert all(line.startswith("tuples: 0 removed") for line in vacuumed(self.url, "rx_pgvectors"))

    def test_a_memory_takes_one_of_its_own_database_alone(self, postgres, tmp_path):
        other = postgres.fresh()
        index = self.fresh()
        for elsewhere in (other, str(tmp_path / "memory.db"), ":memory:"):
            with pytest.raises(InvalidSetting, match="in another database than the claims"):
                Memory.open(elsewhere, vectors=index, embedder=HashEmbedder(self.dimension))
        # The same database by another spelling.
        url = make_url(self.url)
        respelt = url.update_query_dict({"host": f"{url.query['host']}/."})
        self.opened.append(PgVectorBackend(respelt.render_as_string(hide_password=False), self.dimension))
        assert self.opened[-1].address != index.address
        with Memory.open(self.url, vectors=self.opened[-1], embedder=HashEmbedder(self.dimension)) as memory:
            claim_id = memory.store(event("an otter")).claim_id
            assert index.ids("global") == [claim_id]
        postgres.drop(other)

    def test_a_table_that_was_dropped_is_made_anew_once_it_is_cleared(self):
        index, (one, two) = self.fresh(), self.vectors(2)
        index.upsert_vectors("a", ["x"], [one])
        rows(self.url, "DROP TABLE rx_pgvectors")
        for call in (
            lambda: index.search_vector("a", one, 1),
            lambda: index.search_vector("a", one, 1),
            lambda: index.upsert_vectors("a", ["y"], [two]),
        ):
            with pytest.raises(BackendError, match="rx_pgvectors"):
                call()
        assert (index.ids("a"), index.scopes(), index.count()) == ([], [], 0)
        with pytest.raises(BackendError, match="recollectx reindex"):
            index.upsert_vectors("a", ["y"], [two])
        index.clear()
        assert index.search_vector("a", two, 9) == []
        index.upsert_vectors("a", ["y"], [two])
        assert [near.id for near in index.search_vector("a", two, 9)] == ["y"]

    def test_a_memory_answers_from_its_claims_when_the_table_is_dropped_and_feeds_it_again(self):
        with Memory.open(self.url, vectors="pgvector", embedder=HashEmbedder(64), clock=Clock()) as memory:
            first = memory.store(event("an otter")).claim_id
            rows(self.url, "DROP TABLE rx_pgvectors")
            second = memory.store(event("a heron")).claim_id
            assert memory.recall("an otter").hits[0].parts.cosine == pytest.approx(1, abs=1e-3)
            assert memory.settle(20)
            assert {first, second} <= set(memory.storage.backend.ids("global"))
            rows(self.url, "DROP TABLE rx_pgvectors")
        with Memory.open(self.url, vectors="pgvector", embedder=HashEmbedder(64), clock=Clock()) as memory:
            third = memory.store(event("a swan")).claim_id
            assert memory.settle(20)
            assert {first, second, third} <= set(memory.storage.backend.ids("global"))

    def test_a_memory_feeds_its_table_again_when_the_extension_was_dropped_from_under_it(self, caplog):
        with Memory.open(self.url, vectors="pgvector", embedder=HashEmbedder(64), clock=Clock()) as memory:
            first = memory.store(event("an otter")).claim_id
            for _ in range(2):
                rows(self.url, "DROP EXTENSION vector CASCADE")
                assert memory.recall("an otter").hits[0].claim.id == first
                second = memory.store(event("a heron")).claim_id
                assert memory.settle(20)
                assert {first, second} == set(memory.storage.backend.ids("global"))
                assert memory.recall("an otter").hits[0].parts.cosine == pytest.approx(1, abs=1e-3)
        assert "CREATE TABLE" not in caplog.text

    def test_a_table_of_somebody_elses_by_that_name_is_told_in_words(self):
        rows(self.url, "CREATE TABLE rx_pgvectors (scope text, id text, colour text)")
        with pytest.raises(
            BackendError, match=r"rx_pgvectors in .* cannot be made: .*; drop what is there"
        ) as told:
            self.fresh().upsert_vectors("a", ["x"], self.vectors(1))
        assert "CREATE INDEX" not in str(told.value)

    @pytest.mark.parametrize("wrong", [":memory:", "sqlite:///here.db", "here.db"])
    def test_it_is_of_postgresql_alone(self, wrong):
        with pytest.raises(InvalidSetting, match="postgresql://"):
            PgVectorBackend(wrong, 3)

    @pytest.mark.parametrize("table", ["", "Vectors", "a b", "x; DROP TABLE y", "é"])
    def test_a_table_has_a_plain_name(self, table):
        with pytest.raises(InvalidSetting, match="plain name"):
            PgVectorBackend(self.url, 3, table=table)
