"""Files that 0.2.7 left: moved in once, whole, its own tables untouched."""

import json
import logging
import multiprocessing
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from recollectx import LogOdds, Memory, MemoryStore, PropagationConfig, SemanticClaim, Status
from recollectx.db import create_tables, get_engine, reset_engine
from recollectx.storage.legacy_claims import MENDED

DDL = """
CREATE TABLE claims (
    id VARCHAR PRIMARY KEY NOT NULL, type VARCHAR NOT NULL, confidence FLOAT NOT NULL, importance FLOAT NOT NULL,
    evidence TEXT NOT NULL, created_at FLOAT NOT NULL, last_reinforced_at FLOAT NOT NULL, support_count INTEGER NOT NULL,
    summary TEXT, subject VARCHAR, predicate VARCHAR, object VARCHAR);
CREATE TABLE belief_edges (
    id INTEGER PRIMARY KEY NOT NULL, src_id VARCHAR NOT NULL, dst_id VARCHAR NOT NULL, relation VARCHAR NOT NULL,
    UNIQUE (src_id, dst_id, relation));
CREATE TABLE confidence_history (
    id INTEGER PRIMARY KEY NOT NULL, claim_id VARCHAR NOT NULL, old_confidence FLOAT NOT NULL,
    new_confidence FLOAT NOT NULL, reason TEXT NOT NULL, change_type VARCHAR NOT NULL, caused_by_id VARCHAR,
    timestamp FLOAT NOT NULL);
"""
TEA = ("tea", "semantic", 0.7, 0.8, '["said so"]', 1e9, 1e9 + 5, 3, None, "Mara", "drinks", "tea")
POT = ("pot", "episodic", 0.9, 0.5, "[]", 1e9 + 1, 1e9 + 1, 1, "Mara bought a teapot", None, None, None)
CUP = ("cup", "semantic", 0.45, 0.5, "[]", 1e9 + 2, 1e9 + 2, 1, None, "Mara", "drinks", "coffee")


def fill(path, *, claims=(), edges=(), history=()):
    with closing(sqlite3.connect(path)) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'claims'").fetchone():
            db.executescript(DDL)
        db.executemany("INSERT INTO claims VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", claims)
        db.executemany("INSERT INTO belief_edges (src_id, dst_id, relation) VALUES (?,?,?)", edges)
        db.executemany(
            "INSERT INTO confidence_history (claim_id, old_confidence, new_confidence, reason, change_type,"
            " caused_by_id, timestamp) VALUES (?,?,?,?,?,?,?)",
            history,
        )
        db.commit()
    return path


def old_rows(path):
    with closing(sqlite3.connect(path)) as db:
        return [
            db.execute(f"SELECT * FROM {name} ORDER BY rowid").fetchall()
            for name in ("claims", "belief_edges", "confidence_history")
        ]


def words(caplog):
    return [
        (record.levelname, record.getMessage()) for record in caplog.records if record.name == "recollectx"
    ]


@pytest.fixture
def file(tmp_path):
    return fill(
        tmp_path / "old.db",
        claims=[TEA, POT, CUP],
        edges=[("pot", "tea", "supports"), ("tea", "cup", "contradicts")],
        history=[
            ("tea", 0.6, 0.7, "Supported by claim pot", "support", "pot", 1e9 + 10),
            ("cup", 0.6, 0.45, "Contradicted by claim tea", "contradiction", "tea", 1e9 + 20),
            ("tea", 0.7, 0.55, "Contradicted by claim cup", "contradiction", "cup", 1e9 + 20),
            ("tea", 0.55, 0.7, "by hand", "manual", None, 1e9 + 30),
        ],
    )


def test_everything_arrives_with_its_fields(file):
    with closing(MemoryStore(file)) as store:
        tea, pot = store.get("tea"), store.get("pot")
        assert (tea.subject, tea.predicate, tea.object) == ("Mara", "drinks", "tea")
        assert (tea.importance, tea.evidence, tea.created_at) == (0.8, ("said so",), 1e9)
        assert (tea.last_reinforced_at, tea.support_count, tea.status) == (1e9 + 5, 3, Status.ACTIVE)
        assert (pot.summary, pot.confidence) == ("Mara bought a teapot", 0.9)
        assert store.count() == 3
        assert {(edge.src_id, edge.dst_id, edge.relation) for edge in store.get_all_edges()} == {
            ("pot", "tea", "supports"),
            ("tea", "cup", "contradicts"),
        }
        assert store.semantic_query("teapot")[0].id == "pot"


def test_confidence_follows_from_the_asserted_number_by_the_fixed_steps(file):
    with closing(MemoryStore(file)) as store:
        assert store.rule() == PropagationConfig()
        tea = store.get("tea")
        assert tea.prior == 0.6
        assert tea.confidence == pytest.approx(0.6 + 0.10 - 0.15)
        assert store.get("cup").confidence == pytest.approx(0.6 - 0.15)
        store.delete_edge("tea", "cup", "contradicts")
        assert store.get("tea").confidence == pytest.approx(0.7)
        assert store.get("cup").confidence == pytest.approx(0.6)


def test_recorded_moves_read_back_in_order_with_their_times(file):
    with closing(MemoryStore(file)) as store:
        last, *recorded = store.get_confidence_history("tea")
        assert [event.timestamp for event in recorded] == [1e9 + 30, 1e9 + 20, 1e9 + 10]
        assert [(event.old_confidence, event.new_confidence) for event in recorded] == [
            (0.55, 0.7),
            (0.7, 0.55),
            (0.6, 0.7),
        ]
        assert [event.reason for event in recorded][-1] == "Supported by claim pot"
        assert [event.change_type for event in recorded] == ["manual", "contradiction", "support"]
        assert [event.caused_by_id for event in recorded] == [None, "cup", "pot"]
        assert last.new_confidence == pytest.approx(0.55)
        assert last.timestamp > 1.5e9
        assert Memory(storage=store).explain_confidence_history("tea")[1:] == recorded


def test_a_number_that_changed_without_a_record_is_a_move_of_its_own(tmp_path):
    path = fill(
        tmp_path / "old.db",
        claims=[(*TEA[:2], 0.5, *TEA[3:])],
        history=[
            ("tea", 0.6, 0.7, "first", "manual", None, 1e9 + 10),
            ("tea", 0.8, 0.9, "second", "manual", None, 1e9 + 20),
        ],
    )
    with closing(MemoryStore(path)) as store:
        told = [(event.old_confidence, event.new_confidence) for event in store.get_confidence_history("tea")]
        assert told[::-1] == [(0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 0.5), (0.5, 0.6)]


def test_its_own_tables_stay_as_they_are_and_a_second_opening_moves_nothing(file, caplog):
    caplog.set_level(logging.INFO, "recollectx")
    before = old_rows(file)
    MemoryStore(file).close()
    assert old_rows(file) == before
    assert len(words(caplog)) == 1
    with closing(MemoryStore(file)) as store:
        assert store.count() == 3
    assert len(words(caplog)) == 1
    assert old_rows(file) == before


def test_the_log_says_what_came_and_what_did_not(tmp_path, caplog):
    caplog.set_level(logging.INFO, "recollectx")
    path = fill(
        tmp_path / "old.db",
        claims=[TEA, POT, (*CUP[:1], "episodic", *CUP[2:8], "  ", None, None, None)],
        edges=[
            ("tea", "pot", "similar"),
            ("pot", "tea", "similar"),
            ("pot", "tea", "supports"),
            ("tea", "tea", "supports"),
            ("ghost", "tea", "supports"),
            ("cup", "tea", "supports"),
            ("tea", "pot", "contradicts"),
            ("pot", "tea", "contradicts"),
            ("tea", "pot", " "),
        ],
        history=[("ghost", 0.1, 0.2, "gone", "manual", None, 1e9)],
    )
    with closing(MemoryStore(path)) as store:
        assert store.get("cup") is None
        assert len(store.get_all_edges()) == 2
    ((level, line),) = words(caplog)
    assert level == "WARNING"
    for part in (
        "claims 2, edges 2, changes of confidence 0",
        "similar (asked for now, not kept) 2",
        "of claims that are gone 2",
        "from a claim to itself 1",
        "without a usable relation 1",
        "kept twice (a contradiction counts from both ends) 1",
        "for want of words or of an id: 1 (cup)",
        "changes of confidence left out, their claims being gone: 1",
        "read differently, as the edges give them: 2",
    ):
        assert part in line, (part, line)


def test_a_smooth_move_is_no_warning(tmp_path, caplog):
    caplog.set_level(logging.INFO, "recollectx")
    MemoryStore(fill(tmp_path / "old.db", claims=[TEA, POT])).close()
    assert [level for level, _ in words(caplog)] == ["INFO"]


@pytest.mark.parametrize(
    ("column", "value", "reads"),
    [
        (2, 1.7, {"confidence": 1.0}),
        (2, "high", {"confidence": 0.0}),
        (3, -4, {"importance": 0.0}),
        (4, "no json", {"evidence": ("no json",)}),
        (4, '["fine", "", 7]', {"evidence": ("fine", "7")}),
        (5, "yesterday", {"support_count": 3}),
        (5, "2020-01-01T00:00:00", {"created_at": 1577836800.0}),
        (7, -2, {"support_count": 1}),
        (9, "", {"text": "drinks tea"}),
        (9, "x" * 2000, {"predicate": "states"}),
        (11, "", {"text": "Mara drinks"}),
        (11, "t" * 200_000, {"object": "t" * 100_000}),
        (11, "te\0a", {"object": "te a"}),
        (1, "", {"object": "tea"}),
    ],
)
def test_a_row_that_cannot_come_as_it_is_comes_mended_and_the_others_come_too(tmp_path, column, value, reads):
    broken = list(TEA)
    broken[column] = value
    path = fill(tmp_path / "old.db", claims=[tuple(broken), POT])
    with closing(MemoryStore(path)) as store:
        assert store.get("pot").confidence == 0.9
        tea = store.get("tea")
        for name, expected in reads.items():
            assert getattr(tea, name) == expected
        if not (column == 5 and str(value).startswith("2020")):
            assert MENDED in tea.metadata


def test_rows_that_0_2_7_writes_later_are_told_of_and_left(file, caplog):
    MemoryStore(file).close()
    fill(file, claims=[("late", *POT[1:])], history=[("late", 0.9, 0.8, "x", "manual", None, 1e9)])
    caplog.clear()
    with closing(MemoryStore(file)) as store:
        assert store.get("late") is None
        assert store.count() == 3
    ((level, line),) = words(caplog)
    assert level == "WARNING"
    assert "claims, confidence_history" in line


def test_a_memory_of_ours_is_not_mixed_with_what_0_2_7_writes_beside_it(tmp_path, caplog):
    path = tmp_path / "ours.db"
    with closing(MemoryStore(path)) as store:
        store.put(SemanticClaim(subject="Ines", predicate="plays", object="the oboe", confidence=0.8))
    fill(path, claims=[TEA])
    with closing(MemoryStore(path)) as store:
        assert [claim.subject for claim in store.query()] == ["Ines"]
        assert store.rule() == LogOdds()
    assert "were not moved in" in words(caplog)[0][1]


def test_tables_of_a_host_that_only_share_the_name_are_left_alone(tmp_path, caplog):
    path = tmp_path / "insurance.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE claims (id INTEGER PRIMARY KEY, amount FLOAT)")
        db.execute("INSERT INTO claims VALUES (1, 99.5)")
        db.commit()
    with closing(MemoryStore(path)) as store:
        assert store.count() == 0
        assert store.rule() == LogOdds()
    assert not words(caplog)


def test_empty_tables_of_0_2_7_decide_nothing(tmp_path):
    with closing(MemoryStore(fill(tmp_path / "old.db"))) as store:
        assert store.rule() == LogOdds()


@pytest.mark.parametrize("how", ["create_tables", "session", "memory"])
def test_0_2_7s_program_opens_its_file(file, how):
    from recollectx.db import SessionLocal

    try:
        if how == "create_tables":
            create_tables(file)
        target = file if how == "memory" else SessionLocal(str(file))
        with closing(MemoryStore(target)) as store:
            assert store.count() == 3
    finally:
        reset_engine()


def test_an_old_database_in_memory_is_moved_in_through_its_session():
    from recollectx.db import SessionLocal

    try:
        raw = get_engine(":memory:").raw_connection()
        raw.cursor().executescript(DDL)
        raw.cursor().execute("INSERT INTO claims VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", TEA)
        raw.commit()
        raw.close()
        assert MemoryStore(SessionLocal(":memory:")).get("tea").object == "tea"
    finally:
        reset_engine()


def test_another_rule_can_be_asked_for_at_once(file):
    with closing(MemoryStore(file, rule=LogOdds())) as store:
        assert store.rule() == LogOdds()
        assert store.get("pot").confidence == 0.9


def test_erasing_a_claim_takes_it_from_0_2_7s_tables_too(file):
    fill(
        file,
        claims=[("why", *POT[1:4], '["Mara bought a teapot"]', *POT[5:8], "It was blue", None, None, None)],
        edges=[("pot", "why", "derives")],
        history=[("pot", 0.9, 0.9, "because of the tea-pot-words", "manual", None, 1e9 + 40)],
    )
    with closing(MemoryStore(file)) as store:
        receipt = Memory(storage=store).erase("pot")
        assert not receipt.pending
    claims, edges, history = old_rows(file)
    assert [row[0] for row in claims] == ["tea", "cup"]
    assert all("pot" not in row for row in [*edges, *history])
    for part in file.parent.glob("old.db*"):
        assert b"teapot" not in part.read_bytes()
        assert b"tea-pot-words" not in part.read_bytes()


def _open_and_count(path, results):
    with closing(MemoryStore(path)) as store:
        results.put((store.count(), len(store.get_all_edges()), len(store.get_confidence_history("tea"))))


def test_two_processes_that_open_at_once_move_it_in_once(file):
    spawn = multiprocessing.get_context("spawn")
    results = spawn.Queue()
    both = [spawn.Process(target=_open_and_count, args=(str(file), results)) for _ in range(2)]
    for process in both:
        process.start()
    found = [results.get(timeout=60) for _ in both]
    for process in both:
        process.join(timeout=60)
    assert found == [(3, 2, 4), (3, 2, 4)]
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("SELECT count(*) FROM rx_tx WHERE cause = 'kept by 0.2.7'").fetchone() == (1,)


def test_a_move_that_fails_midway_leaves_nothing_behind(file, tmp_path):
    def broken_clock():
        raise OSError("the clock stopped")

    with pytest.raises(OSError, match="clock"):
        MemoryStore(file, clock=broken_clock)
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("SELECT count(*) FROM rx_claims").fetchone() == (0,)
    with closing(MemoryStore(file)) as store:
        assert store.count() == 3


def test_many_rows_come_in_batches_in_their_order(tmp_path, monkeypatch):
    from recollectx.db import legacy

    monkeypatch.setattr(legacy, "BATCH", 7)
    rows = [
        (f"c{n}", *POT[1:5], 1e9 + n, 1e9 + n, 1, f"walk number {n}", None, None, None) for n in range(50)
    ]
    steps = [(f"c{n % 3}", 0.9, 0.9, f"step {n}", "manual", None, 1e9 + n) for n in range(40)]
    with closing(MemoryStore(fill(tmp_path / "old.db", claims=rows, history=steps))) as store:
        assert [claim.id for claim in store.query()] == [f"c{n}" for n in range(50)]
        assert [event.reason for event in store.get_confidence_history("c0")][::-1] == [
            f"step {n}" for n in range(0, 40, 3)
        ]


def test_what_is_told_of_the_files_own_setting_can_be_read(file):
    MemoryStore(file).close()
    with closing(sqlite3.connect(Path(file))) as db:
        (value,) = db.execute(
            "SELECT value FROM rx_settings WHERE name = 'moved from 0.2.7' AND tx_to IS NULL"
        ).fetchone()
    assert json.loads(value) == {"belief_edges": 2, "claims": 3, "confidence_history": 4}


def test_rows_that_are_no_text_or_no_number_come_as_far_as_they_can(tmp_path, caplog):
    path = tmp_path / "odd.db"
    with sqlite3.connect(path) as conn:
        conn.execute(
            "CREATE TABLE claims (id VARCHAR NOT NULL PRIMARY KEY, type VARCHAR, confidence FLOAT, importance FLOAT, "
            "evidence TEXT, created_at FLOAT, last_reinforced_at FLOAT, support_count INTEGER, summary TEXT, "
            "subject VARCHAR, predicate VARCHAR, object VARCHAR)"
        )
        row = "INSERT INTO claims VALUES (?, 'episodic', ?, .5, ?, ?, 1.7e9, 1, ?, NULL, NULL, NULL)"
        conn.execute(row, ("deep", 0.8, "[" * 100_000, 1.7e9, "nested too deep"))
        conn.execute(row, ("lone", 0.8, '["\\ud800 hello"]', 1.7e9, "a lone surrogate"))
        conn.execute(row, ("endless", float("inf"), "[]", float("inf"), "numbers without end"))
        conn.execute(
            row.replace("?, NULL", "CAST(? AS TEXT), NULL"), ("bytes", 0.8, "[]", 1.7e9, b"caf\xe9 noir")
        )
    with Memory.open(path) as memory:
        found = {claim.id: claim for claim in memory.retrieve()}
        assert set(found) == {"deep", "lone", "endless", "bytes"}
        assert found["bytes"].text.endswith("noir")
        assert memory.recall("numbers without end", k=1).claims[0].id == "endless"
