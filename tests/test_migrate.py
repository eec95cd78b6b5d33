"""Moving a memory to another database: the same in every row and at every moment, also after kills in the middle."""

import json
import random
import shutil
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import kill_migration
import numpy as np
import pytest
import test_legacy_files
from behind import content, rows
from click.testing import CliRunner
from conftest import START, event, fact, home
from hypothesis import given, settings
from hypothesis import strategies as st
from shelf import Shelf
from sqlalchemy import inspect, select, text

from recollectx import ALL_SCOPES, Memory
from recollectx.cli.app import app
from recollectx.db.engine import Database
from recollectx.db.migrate import MIGRATING, version
from recollectx.db.tables import DeliveryRow
from recollectx.embeddings import HashEmbedder
from recollectx.errors import (
    BackendError,
    InvalidClaim,
    InvalidSetting,
    MigrationUnfinished,
    NotFound,
    StorageError,
)
from recollectx.storage.memory_store import MemoryStore
from recollectx.storage.ownership import OWNER
from recollectx.upkeep.copying import added, digest_of, tables
from recollectx.upkeep.doctor import examine
from recollectx.upkeep.handing_over import feed_there
from recollectx.upkeep.migrating import migrate
from recollectx.upkeep.refusing import refuse_nul
from recollectx.upkeep.reindexing import wait_until_fed

D = 32
EMBEDDER = HashEmbedder(D)
FACTS = 24


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A memory with something in every table, in two scopes and many transactions."""
    path = tmp_path_factory.mktemp("world") / "memory.db"
    with Memory.open(path, embedder=EMBEDDER, token_vectors=True) as memory:
        for number in range(FACTS):
            memory.store(fact(f"of dish {number}", f"source {number % 5}", confidence=0.5 + number / 120))
        for place, days in (("Braga", 0), ("Évora", 10)):
            memory.store(home(place, "Ana", created_at=START + days))
        ids = [claim.id for claim in memory.retrieve(type="semantic")]
        memory.relate(ids[3], ids[4], "supports")
        memory.derive(fact("like all of them", confidence=0.6), ids[5:7])
        memory.store(fact("of dish 7", "Eva", id="another id"))
        memory.store(
            event(
                'the kettle broke\\N\t\'at "noon"\n',
                "Rui",
                session="s",
                position=0,
                metadata={"x": [1, None]},
            )
        )
        memory.forget(ids[8])
        memory.erase(ids[9])
        memory.trust("source 1", 0.3)
        memory.undo(memory.last_tx())
        memory.traces.record(memory.recall("how does tea taste?"), "of dishes")
    with Memory.open(path, scope="équipe-a", embedder=EMBEDDER) as memory:
        memory.store(fact("sweet \U0001f98a", "Eva"))
    return path


@pytest.fixture
def db(world, tmp_path):
    return shutil.copy(world, tmp_path / "source.db")


@pytest.fixture
def target(path):
    """Where only our empty tables are: a file, or a database of PostgreSQL. To make them takes longer than to move a
    small memory; `unmade` is where they are not."""
    return path


@pytest.fixture
def there(template, tmp_path):
    """The same on SQLite, for what is decided before or beside the moving of rows."""
    return shutil.copy(template, tmp_path / "there.db")


def dump(place):
    """Every row of every table of ours but that of deliveries."""
    with closing(Database.open(place)) as database, database.read() as conn:
        return {
            table.name: sorted(repr(tuple(row)) for row in conn.execute(select(table))) for table in tables()
        }


def run_sql(place, *statements):
    """Change rows past everything that guards them."""
    with closing(Database.open(place)) as database, database.write() as conn:
        for statement in statements:
            assert conn.execute(text(statement)).rowcount, statement


def assert_unfinished(target):
    with pytest.raises(MigrationUnfinished, match="recollectx migrate --to"):
        Memory.open(target, embedder=None)
    assert "schema" in examine(target).wrong
    with closing(Database.open(target)) as database, database.read() as conn:
        assert version(conn) == MIGRATING


def stopped(db, target, rows, **given):
    """Have a migration stopped by its own progress once it has told of `rows` rows."""

    def tell(done, total):
        if done >= rows:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migrate(db, target, progress=tell, **given)


def test_everything_is_the_same_there(db, unmade):
    target = unmade
    before = db.read_bytes()
    seen = []
    done = migrate(db, target, progress=lambda done, total: seen.append((done, total)))
    assert dump(target) == dump(db)
    assert all(dump(db)[name] for name in dump(db))
    assert db.read_bytes() == before
    assert (done.resumed, done.rows["rx_claims"], len(done.moments)) == (False, FACTS + 5, 3)
    assert seen[-1][0] == seen[-1][1] == 2 * sum(done.rows.values())
    assert examine(target).wrong == ()
    with Memory.open(db, embedder=EMBEDDER) as here, Memory.open(target, embedder=EMBEDDER) as there:
        for query in ("dish 12", "where does Ana live?", "kettle"):
            mine, theirs = (memory.recall(query, k=5, scopes=ALL_SCOPES) for memory in (here, there))
            assert [(hit.claim, hit.score) for hit in mine] == [(hit.claim, hit.score) for hit in theirs]
        assert [each.id for each in here.traces.list()] == [each.id for each in there.traces.list()]
        assert there.get("another id") == here.get("another id")


def test_it_goes_there_and_back_again(db, target, tmp_path):
    migrate(db, target)
    migrate(target, tmp_path / "back.db")
    assert dump(tmp_path / "back.db") == dump(db)
    with Memory.open(db, embedder=None) as here, Memory.open(tmp_path / "back.db", embedder=None) as back:
        for seq in (1, 20, 50, here.last_tx()):
            at = here.history.timeline(limit=1)[0].at - 10 + seq / 10
            assert here.history.snapshot(at, ALL_SCOPES) == back.history.snapshot(at, ALL_SCOPES)


@pytest.mark.parametrize("rows", [1, 150, 10_000])
def test_a_stopped_one_goes_on_where_it_was(db, target, rows):
    total = 2 * sum(map(len, dump(db).values()))
    stopped(db, target, min(rows, total))
    assert_unfinished(target)
    held, wanted = dump(target), dump(db)
    assert all(set(rows) <= set(wanted[name]) for name, rows in held.items())
    assert migrate(db, target).resumed
    assert dump(target) == wanted


def test_killed_again_and_again_it_ends_the_same(db, target):
    rows = 2 * sum(map(len, dump(db).values()))
    kills = kill_migration.kill_many(db, str(target), rows=rows, kills=3, seed=5)
    assert kills
    migrate(db, target)
    assert dump(target) == dump(db)


def test_a_source_that_was_written_to_is_noticed(db, target):
    stopped(db, target, 100)
    with Memory.open(db, embedder=EMBEDDER) as memory:
        memory.store(fact("minty"))
    with pytest.raises(MigrationUnfinished, match="--restart"):
        migrate(db, target)
    assert_unfinished(target)
    assert not migrate(db, target, restart=True).resumed
    assert dump(target) == dump(db)


def test_a_source_written_to_while_it_is_moved_is_noticed(db, target):
    wrote = []

    def write(done, total):
        if not wrote:
            with Memory.open(db, embedder=None) as memory:
                wrote.append(memory.store(fact("minty")).claim_id)

    with pytest.raises(MigrationUnfinished, match="written to"):
        migrate(db, target, progress=write)
    assert_unfinished(target)
    migrate(db, target, restart=True)
    with Memory.open(target, embedder=None) as memory:
        assert memory.get(wrote[0]) is not None


def test_what_is_there_already_is_left_alone(db, there, tmp_path):
    with Memory.open(there, embedder=None) as memory:
        kept = memory.store(fact("minty")).claim_id
    for restart in (False, True):
        with pytest.raises(InvalidSetting, match="holds a memory"):
            migrate(db, there, restart=restart)
    with Memory.open(there, embedder=None) as memory:
        assert memory.get(kept)
    with pytest.raises(InvalidSetting, match="there already"):
        migrate(db, db)


def test_a_target_with_tables_of_somebody_else_is_refused_as_it_is(db, unmade):
    if not isinstance(unmade, str):
        unmade.parent.mkdir()
    rows(unmade, "CREATE TABLE guests (name TEXT)")
    rows(unmade, "INSERT INTO guests VALUES ('Nuno')")
    before = content(unmade)
    for restart in (False, True):
        with pytest.raises(InvalidSetting, match=r"holds tables already \(guests\); name an empty database"):
            migrate(db, unmade, restart=restart)
    assert content(unmade) == before


def test_a_table_beside_our_empty_ones_is_refused(db, target):
    rows(target, "CREATE TABLE guests (name TEXT)")
    with pytest.raises(InvalidSetting, match="guests"):
        migrate(db, target)
    rows(target, "DROP TABLE guests")
    assert migrate(db, target).rows["rx_claims"] == FACTS + 5


def test_a_target_with_a_memory_of_027_is_refused_as_it_is(db, tmp_path):
    there = tmp_path / "older.db"
    test_legacy_files.fill(there, claims=[test_legacy_files.TEA])
    before = content(there)
    with pytest.raises(InvalidSetting, match=r"holds a memory of 0\.2\.7"):
        migrate(db, there)
    assert content(there) == before


def test_a_target_with_a_memory_of_another_release_is_not_brought_to_this_one(db, there):
    run_sql(there, "UPDATE recollectx_alembic_version SET version_num = '0007'")
    with pytest.raises(InvalidSetting, match="holds a memory at version 0007"):
        migrate(db, there)
    assert rows(there, "SELECT version_num FROM recollectx_alembic_version") == [("0007",)]


@pytest.mark.parametrize("at", [1, 60, 200])
def test_of_two_at_once_one_ends_and_the_other_is_told(db, target, at):
    """A second run begins once the first has told of `at` rows, and goes on to the end."""
    second = []

    def tell(done, total):
        if done >= at and not second:
            second.append(None)
            second[0] = migrate(db, target, batch=7)

    with pytest.raises(MigrationUnfinished, match=r"another run moves a memory to .* at this moment"):
        migrate(db, target, batch=7, progress=tell)
    assert second[0].rows["rx_claims"] == FACTS + 5
    assert dump(target) == dump(db)
    assert examine(target).wrong == ()


def test_of_two_that_begin_at_once_none_is_told_of_another_release(db, unmade):
    start = threading.Barrier(2)

    def move(_):
        start.wait()
        try:
            return migrate(db, unmade, batch=7).rows["rx_claims"]
        except (MigrationUnfinished, InvalidSetting) as error:
            return str(error)

    with ThreadPoolExecutor(2) as threads:
        told = list(threads.map(move, range(2)))
    known = ("another run moves", "not everything has been moved", "holds a memory")
    assert all(each == FACTS + 5 or any(text in each for text in known) for each in told)
    if FACTS + 5 not in told:
        migrate(db, unmade)
    assert dump(unmade) == dump(db)


def test_a_half_copy_of_another_memory_is_refused(db, target, there):
    with Memory.open(there, embedder=None) as memory:
        memory.store(fact("minty"))
    stopped(db, target, 100)
    with pytest.raises(InvalidSetting, match="another memory"):
        migrate(there, target)
    migrate(there, target, restart=True)
    assert dump(target) == dump(there)


def test_an_empty_memory_moves(path, unmade):
    assert migrate(path, unmade).moments == ()
    with Memory.open(unmade, embedder=None) as memory:
        assert memory.store(fact("minty")).claim_id


def test_there_must_be_a_memory_of_this_release(db, unmade, tmp_path):
    target = unmade
    with pytest.raises(NotFound):
        migrate(tmp_path / "none.db", target)
    with pytest.raises(InvalidSetting, match="in memory"):
        migrate(db, ":memory:")
    run_sql(db, "UPDATE recollectx_alembic_version SET version_num = '0007'")
    with pytest.raises(InvalidSetting, match="open it once"):
        migrate(db, target)
    with closing(Database.open(target)) as database, database.read() as conn:
        assert version(conn) is None


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE rx_claims SET confidence = confidence + 1e-15 WHERE pk = 3",
        "DELETE FROM rx_strengths WHERE claim = 3",
        "UPDATE rx_texts SET object = 'forged' WHERE pk = 3",
    ],
)
def test_a_copy_that_is_not_the_same_is_told(db, there, change):
    done = []

    def tamper(count, total):
        if count >= total // 2 and not done:
            done.append(count)
            run_sql(there, change)

    with pytest.raises(StorageError, match="rows in the source"):
        migrate(db, there, progress=tamper)
    assert done
    assert_unfinished(there)


def test_texts_that_postgresql_refuses_are_named_before_anything_is_copied(db):
    database = Database.open(db)
    with database.read() as conn:
        refuse_nul(conn)
    with closing(sqlite3.connect(db)) as raw, raw:
        raw.execute("UPDATE rx_texts SET object = ? WHERE pk = 3", ("nul \0 inside",))
        named = raw.execute(
            "SELECT id FROM rx_claims WHERE pk = (SELECT claim FROM rx_texts WHERE pk = 3)"
        ).fetchone()[0]
        raw.execute("UPDATE rx_tx SET cause = ? WHERE seq = 2", ("a\0b",))
    with database.read() as conn, pytest.raises(InvalidClaim) as refused:
        refuse_nul(conn)
    assert named in str(refused.value)
    assert "rx_tx 2" in str(refused.value)
    assert "inside" not in str(refused.value)
    database.close()


def test_names_too_long_for_postgresql_are_named_before_anything_is_copied(tmp_path, postgres):
    chance = random.Random(7)
    long = ["".join(chr(chance.randrange(0x4E00, 0x9FFF)) for _ in range(1_000)) for _ in range(3)]
    source, url = tmp_path / "long.db", postgres.empty()
    with Memory.open(source, embedder=None) as memory:
        memory.store(fact("minty", long[0], id="\u4e00" * 1_000))
        memory.in_scope(long[1]).store(fact("minty"))
        memory.store(fact("sweet", id=long[2]))
    with pytest.raises(InvalidClaim, match="; 3 do") as refused:
        migrate(source, url)
    for name, value in zip(("source", "scope", "id"), long, strict=True):
        assert f"{name} '{value[:20]}'… of 3,000 bytes" in str(refused.value)
    with closing(Database.open(url)) as database, database.read() as conn:
        assert inspect(conn).get_table_names() == []
    postgres.drop(url)


def test_long_names_that_can_be_compressed_are_moved(tmp_path, postgres):
    source, url = tmp_path / "long.db", postgres.empty()
    with Memory.open(source, scope="\u4e00" * 1_000, embedder=None) as memory:
        memory.store(fact("minty", "\u4e8c" * 1_000, id="\u4e09" * 1_000))
    migrate(source, url)
    assert dump(url) == dump(source)
    postgres.drop(url)


VALUES = st.one_of(st.none(), st.integers(), st.floats(), st.text(max_size=5), st.binary(max_size=5))
ROWS = st.lists(st.tuples(VALUES, VALUES), max_size=6)


@settings(max_examples=50)
@given(rows=ROWS, seed=st.randoms(), cut=st.integers(0, 6))
def test_a_digest_is_that_of_the_rows_in_any_order_and_in_any_lots(rows, seed, cut):
    shuffled = list(rows)
    seed.shuffle(shuffled)
    assert digest_of(rows) == digest_of(shuffled)
    assert digest_of(rows) == added(digest_of(rows[:cut]), digest_of(rows[cut:]))


@settings(max_examples=50)
@given(rows=ROWS, other=ROWS)
def test_other_rows_have_another_digest(rows, other):
    same = sorted(map(repr, rows)) == sorted(map(repr, other))
    assert (digest_of(rows) == digest_of(other)) == same


# -- the index ---------------------------------------------------------------------------------------------


def test_the_same_index_goes_on_where_it_was(db, target):
    held = {}
    with Memory.open(db, vectors=Shelf(D, held), embedder=EMBEDDER) as memory:
        wait_until_fed(memory.storage.feed)
    shelf = Shelf(D, held)
    assert migrate(db, target, vectors=shelf, embedder=EMBEDDER).index == "shelf:shelf"
    assert shelf.upserts == 1, "the mark of whose index it is"
    assert examine(target, vectors=Shelf(D, held), embedder=EMBEDDER).wrong == ()


def test_the_old_memory_is_refused_by_an_index_that_went_with_the_new_one(db, target):
    held = {}
    with Memory.open(db, vectors=Shelf(D, held), embedder=EMBEDDER) as old:
        wait_until_fed(old.storage.feed)
        migrate(db, target, vectors=Shelf(D, held), embedder=EMBEDDER)
        with Memory.open(target, vectors=Shelf(D, held), embedder=EMBEDDER) as new:
            gone = new.retrieve(type="semantic")[0]
            new.erase(gone.id)
            assert new.settle(10)
            old.update(gone.id, object="salty")
            assert not old.settle(0.5)
            assert "fed by another memory" in old.storage.feed.lag().error
            new.store(fact("minty"))
            assert new.settle(10)
        assert (gone.scope, gone.id) not in held
    assert examine(target, vectors=Shelf(D, held), embedder=EMBEDDER, showing=0).wrong == ()
    assert "index owner" in examine(db, vectors=Shelf(D, held), embedder=EMBEDDER, showing=0).wrong


def test_an_index_stays_with_the_old_memory_until_the_new_one_asks_for_it(db, target):
    held = {}
    with Memory.open(db, vectors=Shelf(D, held), embedder=EMBEDDER) as memory:
        wait_until_fed(memory.storage.feed)
    (old,) = (id for scope, id in held if scope == OWNER)
    migrate(db, target)
    assert "index owner" in examine(target, vectors=Shelf(D, held), embedder=EMBEDDER, showing=0).wrong
    assert examine(db, vectors=Shelf(D, held), embedder=EMBEDDER, showing=0).wrong == ()
    assert migrate(db, target, vectors=Shelf(D, held), embedder=EMBEDDER).only_fed
    assert examine(target, vectors=Shelf(D, held), embedder=EMBEDDER, showing=0).wrong == ()
    # Stopped in the middle, both marks are there.
    held[OWNER, old] = np.eye(1, D, dtype=np.float32)[0]
    assert migrate(db, target, vectors=Shelf(D, held), embedder=EMBEDDER).only_fed
    assert examine(target, vectors=Shelf(D, held), embedder=EMBEDDER, showing=0).wrong == ()


def test_an_index_that_was_fed_more_than_was_moved_is_fed_anew(db, target):
    held = {}
    with Memory.open(db, vectors=Shelf(D, held), embedder=EMBEDDER) as memory:
        wait_until_fed(memory.storage.feed)
        migrate(db, target)
        memory.store_many([fact(f"late {number}") for number in range(9)])
        assert memory.settle(10)
    with (
        closing(MemoryStore(target, Shelf(D, held), embedder=EMBEDDER)) as store,
        closing(Database.open(db)) as source,
    ):
        feed_there(source, store, lambda done, total: None, 10)
    with Memory.open(target, vectors=Shelf(D, held), embedder=EMBEDDER) as memory:
        memory.store_many([fact(f"new {number}") for number in range(9)])
        assert memory.settle(10)
    assert examine(target, vectors=Shelf(D, held), embedder=EMBEDDER, showing=0).wrong == ()


def test_another_index_is_fed(db, there):
    held, other = {}, {}
    with Memory.open(db, vectors=Shelf(D, held), embedder=EMBEDDER) as memory:
        wait_until_fed(memory.storage.feed)
    migrate(db, there, vectors=Shelf(D, other, name="new"), embedder=EMBEDDER)
    mine, theirs = ({key for key in each if key[0] != OWNER} for each in (other, held))
    assert mine == theirs != set()
    with closing(Database.open(there)) as database, database.read() as conn:
        assert list(conn.execute(select(DeliveryRow.name)).scalars()) == ["shelf:new"]


class Full(Shelf):
    """Takes no vectors."""

    def _upsert(self, scope, ids, vectors):
        raise OSError("the shelf is full")


@pytest.mark.parametrize("wrong", ["nonsense", "pgvector", "away", "another's", "long"])
def test_an_index_that_cannot_be_had_is_told_before_anything_is_moved(db, tmp_path, wrong):
    target, vectors = tmp_path / "target.db", wrong
    if wrong == "away":
        vectors = Shelf(D, {})
        vectors.away = True
    elif wrong == "another's":
        vectors = Shelf(D, {("global", "x"): np.ones(D, np.float32)})
    elif wrong == "long":
        vectors = Shelf(2 * D, {})
    embedder = EMBEDDER if wrong != "long" else HashEmbedder(2 * D)
    with pytest.raises((InvalidSetting, BackendError), match="nothing was moved"):
        migrate(db, target, vectors=vectors, embedder=embedder)
    assert not target.exists()
    assert migrate(db, target).resumed is False


def test_an_index_that_fails_after_all_was_moved_is_fed_by_the_same_call(db, there):
    other = {}
    with pytest.raises(BackendError, match="everything was moved, but"):
        migrate(db, there, vectors=Full(D, other), embedder=EMBEDDER, patience=0.1)
    with pytest.raises(InvalidSetting, match="holds a memory"):
        migrate(db, there)
    done = migrate(db, there, vectors=Shelf(D, other), embedder=EMBEDDER)
    assert (done.only_fed, done.rows["rx_claims"], done.index) == (True, FACTS + 5, "shelf:shelf")
    assert examine(there, vectors=Shelf(D, other), embedder=EMBEDDER, showing=0).wrong == ()
    with Memory.open(db, embedder=None) as memory:
        memory.store(fact("minty"))
    with pytest.raises(InvalidSetting, match="holds a memory"):
        migrate(db, there, vectors=Shelf(D, {}), embedder=EMBEDDER)


# -- the command -------------------------------------------------------------------------------------------


def test_the_command(db, there, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))

    def run(*args):
        return CliRunner().invoke(app, ["--db", str(db), "migrate", *args])

    stopped(db, there, 100)
    told = json.loads(run("--to", str(there), "--json").stdout)
    assert (told["resumed"], told["rows"]["rx_claims"], told["index"]) == (True, FACTS + 5, None)
    assert "holds a memory" in run("--to", str(there)).stderr
    result = run("--to", str(tmp_path / "more.db"))
    assert result.exit_code == 0
    assert f"{FACTS + 5} claims" in result.stdout
    monkeypatch.setenv("RECOLLECTX_EMBEDDER", "hash")
    monkeypatch.setenv("RECOLLECTX_VECTORS", "pgvector")
    result = run("--to", str(tmp_path / "third.db"))
    assert (result.exit_code, "nothing was moved" in result.stderr) == (1, True)
    assert run("--to", str(tmp_path / "third.db"), "--vectors", "exact").exit_code == 0
    assert run().exit_code == 2
