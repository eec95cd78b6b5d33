import hashlib
import sqlite3
import subprocess
import sys

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from conftest import event, fact

from recollectx import Memory, MemoryStore
from recollectx.db.engine import Database
from recollectx.db.migrate import HEAD, VERSION_TABLE, alembic_config, upgrade, version
from recollectx.db.tables import Base
from recollectx.errors import DatabaseTooNew, StorageError


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def execute(path, *statements: str) -> list:
    db = sqlite3.connect(path)
    with db:
        rows = [db.execute(statement).fetchall() for statement in statements]
    db.close()
    return rows


def contents(path) -> tuple[str, bool]:
    """A hash of the file, and whether a log with anything in it lies beside it."""
    log = path.with_name(path.name + "-wal")
    return hashlib.sha256(path.read_bytes()).hexdigest(), log.exists() and log.stat().st_size > 0


def test_opening_makes_the_tables_and_records_the_version(tmp_path):
    path = tmp_path / "deep" / "memory.db"
    MemoryStore(path).close()
    ((tables,),) = [execute(path, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    names = {name for (name,) in tables if not name.startswith("sqlite_")}
    assert names == set(Base.metadata.tables) | {VERSION_TABLE}
    assert all(name.startswith("rx_") for name in Base.metadata.tables)
    assert execute(path, f"SELECT version_num FROM {VERSION_TABLE}") == [[(HEAD,)]]


def test_the_migrations_make_exactly_the_mapped_tables(path):
    database = Database.open(path)
    with database.read() as conn:
        context = MigrationContext.configure(
            conn,
            opts={"version_table": VERSION_TABLE, "compare_type": True, "target_metadata": Base.metadata},
        )
        assert compare_metadata(context, Base.metadata) == []
    database.close()


def test_the_indexes_are_the_mapped_ones_word_for_word(file, tmp_path):
    """compare_metadata does not look at the WHERE of a partial index."""
    mapped = Database.open(tmp_path / "mapped.db")
    with mapped.write() as conn:
        Base.metadata.create_all(conn)
    mapped.close()
    listing = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name"
    assert execute(file, listing) == execute(tmp_path / "mapped.db", listing)


def test_head_is_the_last_migration(path):
    database = Database.open(path)
    with database.read() as conn:
        assert ScriptDirectory.from_config(alembic_config(conn)).get_heads() == [HEAD]
        assert version(conn) == HEAD
    database.close()


def test_every_migration_can_be_taken_back_and_made_again(file):
    database = Database.open(file)
    with database.write() as conn:
        command.downgrade(alembic_config(conn), "base")
    assert execute(file, "SELECT count(*) FROM sqlite_master WHERE name LIKE 'rx\\_%' ESCAPE '\\'") == [
        [(0,)]
    ]
    upgrade(database)
    database.close()
    with Memory.open(file) as memory:
        assert memory.get(memory.store(fact("sweet")).claim_id).object == "sweet"


def test_what_was_said_before_dates_were_kept_has_held_since_its_claim_began(path):
    with Memory.open(path) as memory:
        given = memory.store(fact("sweet", "ana", valid_from=1_000)).claim_id
        memory.store(fact("sweet", "bob", valid_from=5_000))
        told = memory.store(fact("bitter", "ana", created_at=2_000)).claim_id
        seen = memory.store(event("we had tea")).claim_id
    database = Database.open(path)
    with database.write() as conn:
        command.downgrade(alembic_config(conn), "0005")
    upgrade(database)
    database.close()
    with Memory.open(path) as memory:
        dates = {
            claim_id: [each.dates for each in memory.explain(claim_id)["assertions"]]
            for claim_id in (given, told, seen)
        }
    assert dates == {given: [(1_000,), (1_000,)], told: [(2_000,)], seen: [()]}


def test_a_newer_database_is_refused_by_name_and_left_alone(file):
    with Memory.open(file) as memory:
        memory.store(fact("sweet"))
    execute(file, f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    execute(file, "PRAGMA wal_checkpoint(TRUNCATE)")
    before = contents(file)
    for _ in range(2):
        with pytest.raises(DatabaseTooNew, match="9999") as caught:
            Memory.open(file)
    assert HEAD in str(caught.value)
    assert str(file) in str(caught.value)
    assert isinstance(caught.value, StorageError)
    assert contents(file) == before


def test_opening_what_is_up_to_date_writes_nothing(file):
    before = contents(file)
    MemoryStore(file).close()
    assert contents(file) == before


def test_opening_what_is_up_to_date_does_not_import_alembic(path):
    program = """
import sys
from recollectx import Memory, SemanticClaim
with Memory.open(sys.argv[1]) as memory:
    memory.store(SemanticClaim(subject="tea", predicate="is", object="hot", confidence=.8))
    assert len(memory.recall("tea")) == 1
print([name for name in sys.modules if name.split(".")[0] == "alembic"])
"""
    done = run(program, str(path))
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_the_hosts_own_alembic_is_not_touched(tmp_path):
    path = tmp_path / "host.db"
    execute(
        path,
        "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)",
        "INSERT INTO alembic_version VALUES ('host123')",
        "CREATE TABLE claims (id TEXT PRIMARY KEY)",
        "INSERT INTO claims VALUES ('theirs')",
    )
    with Memory.open(path) as memory:
        memory.store(fact("sweet"))
    assert execute(path, "SELECT * FROM alembic_version", "SELECT * FROM claims") == [
        [("host123",)],
        [("theirs",)],
    ]


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "half.db"
    execute(path, "CREATE TABLE rx_edges (mine TEXT)")
    with pytest.raises(StorageError):
        Memory.open(path)
    tables = execute(path, "SELECT name FROM sqlite_master WHERE type = 'table'")
    assert tables == [[("rx_edges",)]]


def test_settings_of_the_engine_are_those_documented(file):
    database = Database.open(file)
    with database.read() as conn:
        read = {
            name: conn.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "secure_delete", "busy_timeout")
        }
    database.close()
    assert read == {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "secure_delete": 1,
        "busy_timeout": 30_000,
    }
