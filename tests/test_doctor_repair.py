"""Damage done by hand, found by `doctor`, mended by `doctor --repair`, and gone when one looks again."""

import json
import shutil
import sqlite3
import threading
from contextlib import closing

import numpy as np
import postgresql
import pytest
from click.testing import CliRunner
from conftest import DAY, START, event, fact, home
from qdrant_server import QdrantServer
from shelf import Shelf
from sqlalchemy import inspect, make_url, text

from recollectx import ALL_SCOPES, Memory
from recollectx.cli.app import app
from recollectx.db.engine import Database
from recollectx.embeddings import HashEmbedder
from recollectx.errors import BackendError, InvalidSetting, NotFound
from recollectx.storage.ownership import OWNER
from recollectx.storage.vector import ExactIndex, FAISSBackend
from recollectx.upkeep.doctor import examine, repair
from recollectx.upkeep.migrating import migrate
from recollectx.upkeep.reindexing import UNDER_WAY, reindex, wait_until_fed

D = 32
EMBEDDER = HashEmbedder(D)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A memory with a past: superseded, retired, erased, undone, derived, answered, trusted; token vectors too."""
    path = tmp_path_factory.mktemp("world") / "memory.db"
    with Memory.open(path, embedder=EMBEDDER, token_vectors=True) as memory:
        for place, days in (("Braga", 0), ("Faro", 10)):
            memory.store(home(place, "Ana", created_at=START + days * DAY))
        smoky, earthy = (memory.store(fact(taste, "Rui")).claim_id for taste in ("smoky", "earthy"))
        memory.relate(smoky, earthy, "supports")
        memory.derive(fact("like peat", confidence=0.6), [smoky, earthy])
        memory.store(event("the kettle broke", "Rui", session="s", position=0))
        memory.store(event("we bought another", "Ana", session="s", position=1))
        memory.forget(memory.store(fact("bitter")).claim_id)
        memory.erase(memory.store(fact("of marzipan")).claim_id)
        memory.store(fact("sour"))
        memory.undo(memory.last_tx())
        memory.trust("Rui", 0.7)
        memory.traces.record(memory.recall("how does tea taste?"), "smoky")
    with Memory.open(path, scope="team-a", embedder=EMBEDDER) as memory:
        memory.store(fact("sweet", "Eva"))
    return path


@pytest.fixture
def db(world, tmp_path):
    return shutil.copy(world, tmp_path / "memory.db")


def damage(db, *statements):
    with closing(sqlite3.connect(db, isolation_level=None)) as raw:
        raw.execute("PRAGMA foreign_keys = OFF")
        for statement in statements:
            assert raw.execute(statement).rowcount != 0, statement


def history(db):
    with closing(sqlite3.connect(db)) as raw:
        return raw.execute("SELECT claim, tx_from, value, change FROM rx_strengths").fetchall()


def claims(db, **filters):
    with Memory.open(db, embedder=None) as memory:
        return {claim.id: claim for claim in memory.retrieve(scopes=ALL_SCOPES, **filters)}


SMOKY = "(SELECT claim FROM rx_texts WHERE object = 'smoky')"
FAULTS = {
    "search tokens": f"UPDATE rx_texts SET tokens = 'stale' WHERE claim = {SMOKY}",
    "tokens of old wordings": "UPDATE rx_texts SET tokens = 'stale' WHERE object = 'Braga'",
    "hashes": f"UPDATE rx_texts SET said = 7, slot = 8 WHERE claim = {SMOKY}",
    "strengths": f"UPDATE rx_claims SET strength = 0.123, confidence = 0.2 WHERE pk = {SMOKY}",
    "confidence history": f"UPDATE rx_claims SET confidence = 0.123 WHERE pk = {SMOKY}",
    "a lost end of history": f"DELETE FROM rx_strengths WHERE claim = {SMOKY}",
    "another end of history": f"UPDATE rx_strengths SET value = 0.01, strength = 0.01 WHERE claim = {SMOKY}",
    "every wording has a vector": "DELETE FROM rx_vectors WHERE text IN (SELECT pk FROM rx_texts WHERE object = 'Faro')",
    "vectors": f"UPDATE rx_vectors SET vector = x'0000' WHERE text IN (SELECT pk FROM rx_texts WHERE claim = {SMOKY})",
    "vectors that are no numbers": f"UPDATE rx_vectors SET vector = x'{'007e' * D}' WHERE text = 1",
    "token vectors": "UPDATE rx_token_vectors SET width = 7 WHERE text = 1",
    "one live revision": f"UPDATE rx_revisions SET tx_to = 99 WHERE claim = {SMOKY} AND tx_to IS NULL",
    "text": "UPDATE rx_revisions SET text = (SELECT min(pk) FROM rx_texts)",
    "erased claims": f"UPDATE rx_claims SET erased = 1 WHERE pk = {SMOKY}",
    "erased but for an alias": "INSERT INTO rx_aliases (id, claim, tx_from) SELECT 'other', pk, 1 FROM rx_claims WHERE erased > 0",
    "edges": "INSERT INTO rx_edges SELECT 900, pk, 'supports', 1, 0.5, NULL, 1, NULL, NULL FROM rx_claims WHERE erased > 0",
    "unused wordings": "INSERT INTO rx_texts VALUES (900, 1, 1, 1, 'tea', 'is', 'marzipan', 'tea marzipan')",
    "foreign keys": f"DELETE FROM rx_claims WHERE pk = {SMOKY}",
    "edges that lead nowhere": "UPDATE rx_edges SET src = 777 WHERE relation = 'supports'",
    "transactions": "DELETE FROM rx_tx WHERE seq IN (1, 3)",
    "journal mode": "PRAGMA journal_mode = DELETE",
    "integrity": "",
}


@pytest.mark.parametrize(("name", "fault"), FAULTS.items(), ids=FAULTS)
def test_what_is_damaged_is_found_mended_and_gone(db, name, fault):
    if name == "integrity":
        lose_an_index_entry(db)
    else:
        damage(db, fault)
    found = examine(db)
    assert not found.well
    if name in {each.check for each in found.findings}:
        assert name in found.wrong
    before = history(db)
    outcome = repair(db, embedder=EMBEDDER)
    assert (outcome.before.wrong, outcome.after.wrong, outcome.failed) == (found.wrong, (), ())
    assert outcome.done
    if "history" not in name and name not in ("erased claims", "foreign keys"):
        assert set(before) <= set(history(db))


def lose_an_index_entry(db):
    with closing(sqlite3.connect(db, isolation_level=None)) as raw:
        raw.execute("PRAGMA writable_schema = ON")
        sql = raw.execute("SELECT sql FROM sqlite_master WHERE name = 'ix_rx_texts_said'").fetchone()[0]
        raw.execute(
            "UPDATE sqlite_master SET sql = ? WHERE name = 'ix_rx_texts_said'", (f"{sql} WHERE pk > 4",)
        )
    with closing(sqlite3.connect(db, isolation_level=None)) as raw:
        raw.execute("REINDEX ix_rx_texts_said")
        raw.execute("PRAGMA writable_schema = ON")
        raw.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'ix_rx_texts_said'", (sql,))


def test_all_at_once(db):
    chosen = (
        "hashes",
        "every wording has a vector",
        "edges",
        "unused wordings",
        "transactions",
        "confidence history",
    )
    damage(db, *(FAULTS[name] for name in chosen))
    assert set(chosen) - set(examine(db).wrong) == set()
    outcome = repair(db, embedder=EMBEDDER)
    assert (outcome.after.wrong, outcome.failed) == ((), ())
    again = repair(db, embedder=EMBEDDER)
    assert (again.before.wrong, again.done, again.failed, again.after.wrong) == ((), (), (), ())


def test_a_mended_memory_believes_and_finds_what_it_did(db, world):
    damage(
        db,
        FAULTS["strengths"],
        FAULTS["search tokens"],
        FAULTS["hashes"],
        FAULTS["text"],
        FAULTS["vectors"],
    )
    repair(db, embedder=EMBEDDER)
    before, after = claims(world), claims(db)
    assert {id: claim.text for id, claim in before.items()} == {id: claim.text for id, claim in after.items()}
    for id, claim in before.items():
        assert after[id].confidence == pytest.approx(claim.confidence, abs=1e-9)
    with Memory.open(db, embedder=EMBEDDER) as memory:
        assert memory.recall("smoky", k=1).hits[0].claim.object == "smoky"
        assert memory.store(fact("smoky", "Rui")).action == "UPDATE"


def test_nothing_changes_without_repair(db):
    damage(db, *(FAULTS[name] for name in ("hashes", "edges", "strengths", "vectors")))
    before = db.read_bytes()
    examine(db)
    assert db.read_bytes() == before


def test_half_erased_words_go_from_everywhere(db):
    damage(db, FAULTS["erased claims"])
    repair(db, embedder=EMBEDDER)
    with closing(sqlite3.connect(db)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"smoky" not in db.read_bytes()


def test_a_reader_keeps_erased_words_in_the_log_and_it_is_said(db):
    with (
        Memory.open(db, embedder=EMBEDDER) as memory,
        closing(sqlite3.connect(db, isolation_level=None)) as reader,
    ):
        claim = memory.store(fact("of saffron")).claim_id
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM rx_texts").fetchall()
        memory.erase(claim)
        assert "somebody is reading" in repair(db).failed[0]
        reader.execute("ROLLBACK")
        assert repair(db).failed == ()
    assert b"saffron" not in db.read_bytes()


def test_what_cannot_be_mended_is_said(db):
    damage(db, f"DELETE FROM rx_texts WHERE claim = {SMOKY}", FAULTS["hashes"].replace("smoky", "earthy"))
    outcome = repair(db, embedder=EMBEDDER)
    assert set(outcome.after.wrong) == {"text", "foreign keys"}
    assert any("found by their words" in told for told in outcome.done)
    with Memory.open(db, embedder=EMBEDDER) as memory:
        memory.erase(lost := next(id for id in lost_ids(db)))
        assert memory.get(lost) is None
    assert repair(db, embedder=EMBEDDER).after.wrong == ()


def lost_ids(db):
    with closing(sqlite3.connect(db)) as raw:
        return [
            row[0]
            for row in raw.execute(
                "SELECT DISTINCT c.id FROM rx_claims c JOIN rx_revisions r ON r.claim = c.pk "
                "WHERE r.text NOT IN (SELECT pk FROM rx_texts)"
            )
        ]


def test_missing_vectors_need_an_embedder_and_the_same_model(db):
    damage(db, FAULTS["every wording has a vector"])
    assert "no embedder is configured" in repair(db).failed[0]
    other = repair(db, embedder=HashEmbedder(16))
    assert "recollectx reembed" in other.failed[0]
    assert other.after.wrong == ("every wording has a vector",)


@pytest.mark.parametrize(
    "fault",
    ["UPDATE recollectx_alembic_version SET version_num = '9999'", "DROP TABLE rx_edges"],
)
def test_a_database_that_cannot_be_opened_stays_as_it_is(db, fault):
    damage(db, "DELETE FROM rx_tx WHERE seq = 1")
    with closing(sqlite3.connect(db, isolation_level=None)) as raw:
        raw.execute(fault)
    outcome = repair(db)
    assert not outcome.after.well
    assert outcome.failed


def test_there_must_be_a_memory(tmp_path):
    for target in (tmp_path / "none.db", ":memory:"):
        with pytest.raises(NotFound):
            repair(target)


@pytest.fixture
def somebody_elses(tmp_path):
    """A database of another program, with nothing of ours."""
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("CREATE TABLE users (name TEXT)")
    return path


def test_no_memory_is_made_in_somebody_elses_file(somebody_elses):
    before = somebody_elses.read_bytes()
    assert "init" in next(each.detail for each in examine(somebody_elses).findings if each.check == "schema")
    with pytest.raises(NotFound, match="recollectx init"):
        repair(somebody_elses)
    for args in (["doctor", "--repair"], ["list"], ["timeline"]):
        result = CliRunner().invoke(app, ["--db", str(somebody_elses), *args])
        assert (result.exit_code, "recollectx init" in result.stderr) == (1, True), args
    assert somebody_elses.read_bytes() == before
    assert [each.name for each in somebody_elses.parent.iterdir()] == [somebody_elses.name]


def test_no_memory_is_made_in_an_empty_database_of_a_server(postgres):
    url = postgres.empty()
    for args in (["doctor", "--repair"], ["list"]):
        result = CliRunner().invoke(app, ["--db", url, *args])
        assert (result.exit_code, "recollectx init" in result.stderr) == (1, True), args
    with closing(Database.open(url)) as database, database.read() as conn:
        assert inspect(conn).get_table_names() == []
    for made in (True, False):
        told = json.loads(CliRunner().invoke(app, ["--db", url, "init", "--json"]).stdout)
        assert told["created"] is made
    assert CliRunner().invoke(app, ["--db", url, "list"]).exit_code == 0
    postgres.drop(url)


def test_init_makes_a_memory_beside_what_is_there(somebody_elses):
    told = json.loads(CliRunner().invoke(app, ["--db", str(somebody_elses), "init", "--json"]).stdout)
    assert told["created"]
    assert examine(somebody_elses).wrong == ()


def test_the_command(db, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RECOLLECTX_EMBEDDER", "none")

    def run(*args):
        return CliRunner().invoke(app, ["--db", str(db), "doctor", *args])

    damage(db, FAULTS["hashes"], FAULTS["search tokens"])
    assert "--repair mends" in run().stdout
    told = json.loads(run("--repair", "--json").stdout)
    assert told["ok"]
    assert {each["check"] for each in told["repair"]["found"]} == {"hashes", "search tokens"}
    assert len(told["repair"]["done"]) == 1
    assert run("--repair").exit_code == 0
    damage(db, f"DELETE FROM rx_texts WHERE claim = {SMOKY}")
    result = run("--repair")
    assert result.exit_code == 1
    assert "mended: rows that pointed nowhere" in result.stdout
    assert "smoky" not in result.stdout


# -- an index outside --------------------------------------------------------------------------------------


@pytest.fixture
def held():
    return {}


@pytest.fixture
def fed(db, held):
    """The memory with an index elsewhere that has everything."""
    with Memory.open(db, vectors=Shelf(D, held), embedder=EMBEDDER) as memory:
        wait_until_fed(memory.storage.feed)
    return db


def names(held):
    return {(scope, id) for scope, id in held if scope != OWNER}


def looked(db, held):
    return examine(db, vectors=Shelf(D, held), embedder=EMBEDDER, showing=0)


def mended(db, held, **given):
    return repair(db, vectors=Shelf(D, held), embedder=EMBEDDER, showing=0, **given)


def test_an_index_that_agrees(fed, held):
    found = looked(fed, held)
    assert found.wrong == ()
    assert {each.check for each in found.findings} >= {"index owner", "index place", "index missing"}
    assert len(names(held)) == 9


def test_an_index_damaged_by_hand_is_mended(fed, held):
    whole = {key: vector.copy() for key, vector in held.items()}
    (one, two, three, *_) = sorted(names(held))
    del held[one]
    held[two] = np.roll(held[two], 1)
    held["team-a", three[1]] = held[three]
    held["nobody's", "x"] = held[three]
    found = looked(fed, held)
    assert found.wrong == ("index missing", "index left", "index differing")
    assert one[1] in next(each.detail for each in found.findings if each.check == "index missing")
    before = dict(held)
    assert held.keys() == before.keys()
    outcome = mended(fed, held)
    assert (outcome.after.wrong, outcome.failed) == ((), ())
    assert "4 vectors" in outcome.done[0]
    assert held.keys() == whole.keys()
    assert all(np.allclose(held[key], whole[key], atol=1e-6) for key in whole)


def test_what_was_erased_leaves_the_index(fed, held):
    kept = dict(held)
    with Memory.open(fed, vectors=Shelf(D, held), embedder=EMBEDDER) as memory:
        gone = memory.retrieve()[0].id
        memory.erase(gone)
        wait_until_fed(memory.storage.feed)
    held.update(kept)
    assert looked(fed, held).wrong == ("index left",)
    assert mended(fed, held).after.wrong == ()
    assert ("global", gone) not in held


def test_what_waits_to_be_sent_is_no_gap_and_is_sent_by_repair(fed, held):
    with Memory.open(fed, embedder=EMBEDDER) as memory:
        new = memory.store(fact("of rain")).claim_id
    found = looked(fed, held)
    assert found.wrong == ()
    assert "1 changes wait" in next(each.detail for each in found.findings if each.check == "index place")
    outcome = mended(fed, held)
    assert outcome.done == (
        "1 changes that waited were sent to the index shelf:shelf; "
        "the index shelf:shelf was fed: it holds 10 vectors, 9 before",
    )
    assert outcome.after.wrong == ()
    assert ("global", new) in held


def test_an_index_that_lost_everything_is_fed_and_it_is_said(fed, held):
    assert mended(fed, held).done == ()
    held.clear()
    outcome = mended(fed, held)
    assert outcome.done == ("the index shelf:shelf was fed: it holds 9 vectors, 0 before",)
    assert (outcome.after.wrong, len(names(held))) == ((), 9)


def test_the_command_says_what_it_fed(path, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RECOLLECTX_EMBEDDER", "hash")
    with Memory.open(path, embedder="hash") as memory:
        memory.store_many([fact("minty"), fact("of smoke")])
    with QdrantServer() as server:
        index = f"{server.url.replace('http', 'qdrant')}/teas"
        result = CliRunner().invoke(app, ["--db", str(path), "--vectors", index, "doctor", "--repair"])
    assert result.exit_code == 0, result.output
    assert "it holds 2 vectors, 0 before" in result.stdout
    assert "changes that waited were sent to the index qdrant" in result.stdout


class Late(Shelf):
    """Shows all that it has when it is asked for a second time."""

    asked = 0

    def _ids(self, scope):
        self.asked += scope == "global"
        found = super()._ids(scope)
        return found if self.asked != 1 else found[1:]


def test_what_a_service_shows_a_moment_later_is_no_gap(fed, held):
    for showing, wrong in ((0, ("index missing",)), (0.1, ())):
        late = Late(D, held)
        found = examine(fed, vectors=late, embedder=EMBEDDER, showing=showing)
        assert (found.wrong, late.asked) == (wrong, 1 + (not wrong))


def test_an_index_that_counts_as_fed_too_far(fed, held):
    damage(fed, "UPDATE rx_deliveries SET n = 100000")
    assert looked(fed, held).wrong == ("index place",)
    assert mended(fed, held).after.wrong == ()


def test_an_index_of_another_memory_is_left_alone(fed, held, tmp_path):
    other = tmp_path / "other.db"
    with Memory.open(other, embedder=EMBEDDER) as memory:
        memory.store(fact("minty"))
    before = names(held)
    outcome = mended(other, held)
    assert outcome.after.wrong == ("index owner",)
    assert "--take-over" in next(
        each.detail for each in outcome.after.findings if each.check == "index owner"
    )
    assert names(held) == before


def test_an_index_that_is_away(fed, held):
    shelf = Shelf(D, held)
    shelf.away = True
    outcome = repair(fed, vectors=shelf, embedder=EMBEDDER, patience=0.3)
    assert outcome.after.wrong == ("index",)
    assert "the shelf is away" in outcome.failed[0]


def test_a_file_of_faiss_may_lack_what_was_not_asked_but_hold_nothing_else(db, tmp_path):
    index = FAISSBackend(lambda text: EMBEDDER.embed([text])[0], D, tmp_path / "index")
    assert examine(db, vectors=index).wrong == ()
    index.upsert_vectors("global", ["of somebody else"], [[1.0] * D])
    assert examine(db, vectors=index).wrong == ("index left",)
    assert repair(db, vectors=index).after.wrong == ()
    assert index.count() == 0


# -- reindex -----------------------------------------------------------------------------------------------


def reindexed(db, shelf, **given):
    with Memory.open(db, vectors=shelf, embedder=EMBEDDER) as memory:
        return reindex(memory.storage, **given)


def test_reindex_empties_and_feeds_again(fed, held):
    whole = names(held)
    held["global", "left over"] = np.ones(D, np.float32)
    seen = []
    done = reindexed(fed, Shelf(D, held), progress=lambda done, total: seen.append((done, total)))
    assert names(held) == whole
    assert (done.vectors, done.scopes, done.resumed) == (len(whole), 2, False)
    assert seen[-1][0] == seen[-1][1] > 0


def test_reindex_goes_on_where_it_stopped(fed, held):
    whole = names(held)
    damage(
        fed,
        "UPDATE rx_deliveries SET n = (SELECT max(n) / 2 FROM rx_changes)",
        f"INSERT INTO rx_deliveries SELECT '{UNDER_WAY}shelf:shelf', max(n), 0, NULL, NULL, NULL, NULL FROM rx_changes",
    )
    shelf = Shelf(D, held)
    assert reindexed(fed, shelf).resumed
    assert 0 < shelf.upserts < len(whole)
    assert not reindexed(fed, shelf).resumed
    assert shelf.upserts >= len(whole)


class Full(Shelf):
    """Takes no vectors of claims."""

    def _upsert(self, scope, ids, vectors):
        if scope != OWNER:
            raise OSError("the shelf is full")
        super()._upsert(scope, ids, vectors)


def test_reindex_begins_anew_where_others_finished_the_last_one(fed, held):
    whole = names(held)
    with pytest.raises(BackendError, match="still wait"):
        reindexed(fed, Full(D, held), patience=0.1)
    with Memory.open(fed, vectors=Shelf(D, held), embedder=EMBEDDER) as memory:
        wait_until_fed(memory.storage.feed)
    assert names(held) == whole
    held["global", "left over"] = np.ones(D, np.float32)
    with Memory.open(fed, embedder=EMBEDDER) as memory:
        new = memory.store(fact("of rain")).claim_id
    assert not reindexed(fed, Shelf(D, held)).resumed
    assert names(held) == whole | {("global", new)}


class Forgetful(Shelf):
    """Takes one vector of each batch without keeping it."""

    def _upsert(self, scope, ids, vectors):
        if scope != OWNER:
            ids, vectors = ids[1:], vectors[1:]
        super()._upsert(scope, ids, vectors)


def test_reindex_counts_what_the_index_holds_in_the_end(fed, held):
    with pytest.raises(BackendError, match="lacks 2 vectors, holds 0"):
        reindexed(fed, Forgetful(D, held), showing=0)
    assert reindexed(fed, Shelf(D, held)).vectors == 9


@pytest.mark.parametrize("marked", [True, False])
def test_reindex_takes_another_index_over_only_when_told(fed, held, marked, tmp_path):
    if not marked:
        held.pop(next(key for key in held if key[0] == OWNER))
    other = tmp_path / "other.db"
    with Memory.open(other, embedder=EMBEDDER) as memory:
        minty = memory.store(fact("minty")).claim_id
    before = names(held)
    with pytest.raises(InvalidSetting, match="--take-over"):
        reindexed(other, Shelf(D, held))
    assert names(held) == before
    reindexed(other, Shelf(D, held), take_over=True)
    assert names(held) == {("global", minty)}
    assert looked(other, held).wrong == ()


def test_reindex_says_when_the_index_takes_nothing(fed, held):
    shelf = Shelf(D, held)
    with Memory.open(fed, vectors=shelf, embedder=EMBEDDER) as memory:
        memory.storage.feed.start_over()
        shelf.away = True
        with pytest.raises(BackendError, match="still wait"):
            wait_until_fed(memory.storage.feed, patience=0.3)
        shelf.away = False


def test_reindex_of_an_index_in_this_process(db):
    index = ExactIndex(D, EMBEDDER)
    index.upsert_vectors("global", ["left over"], [[1.0] * D])
    with Memory.open(db, vectors=index) as memory:
        done = reindex(memory.storage)
    assert (done.vectors, done.scopes) == (9, 2) == (index.count(), len(index.scopes()))


def test_reindex_needs_an_index(db):
    with Memory.open(db) as memory, pytest.raises(InvalidSetting, match="no vector index"):
        reindex(memory.storage)
    result = CliRunner().invoke(app, ["--db", str(db), "reindex"])
    assert result.exit_code == 1


def test_whoever_feeds_an_index_is_gone_when_the_memory_is_closed(fed, held):
    for number in range(5):
        with Memory.open(fed, vectors=Shelf(D, held, name="other"), embedder=EMBEDDER) as memory:
            memory.store(fact(f"of dish {number}"))
        assert "feed shelf:other" not in {thread.name for thread in threading.enumerate()}


# -- on a server -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def world_there(world):
    """The name of a database of PostgreSQL with the memory; it is copied for each test."""
    started = postgresql.server()
    if isinstance(started, str):
        pytest.skip(started)
    url = started.empty()
    migrate(world, url)
    yield make_url(url).database
    started.drop(url)


@pytest.fixture
def served(world_there, postgres):
    """The memory on PostgreSQL."""
    url = postgres.empty(f"TEMPLATE {world_there} STRATEGY file_copy")
    yield url
    postgres.drop(url)


def damage_there(url, *statements):
    with closing(Database.open(url)) as database, database.write() as conn:
        conn.execute(text("SET LOCAL session_replication_role = replica"))
        for statement in statements:
            assert conn.execute(text(statement)).rowcount, statement


@pytest.mark.parametrize(
    "names",
    [
        ("search tokens", "hashes", "strengths", "every wording has a vector"),
        ("confidence history", "unused wordings", "transactions", "token vectors"),
        ("erased claims", "one live revision"),
        ("foreign keys", "edges that lead nowhere"),
        ("text", "another end of history"),
    ],
)
def test_a_server_is_mended_as_a_file_is(served, names):
    damage_there(served, *(FAULTS[name] for name in names))
    outcome = repair(served, embedder=EMBEDDER)
    assert not outcome.before.well
    assert {name for name in names if name in KNOWN} - set(outcome.before.wrong) == set()
    assert (outcome.after.wrong, outcome.failed) == ((), ())


def test_a_copy_on_a_server_is_well(served):
    assert examine(served).wrong == ()


KNOWN = {
    "search tokens",
    "hashes",
    "strengths",
    "every wording has a vector",
    "confidence history",
    "unused wordings",
}
KNOWN |= {"foreign keys", "transactions", "token vectors", "erased claims", "text"}


def test_an_index_beside_a_server_is_mended(served):
    held = {}
    with Memory.open(served, vectors=Shelf(D, held), embedder=EMBEDDER) as memory:
        assert reindex(memory.storage).vectors == 9
    (one, two, *_) = sorted(names(held))
    del held[one]
    held["nobody's", "x"] = held[two]
    assert looked(served, held).wrong == ("index missing", "index left")
    assert mended(served, held).after.wrong == ()
    assert looked(served, held).wrong == ()
