"""Engines, sessions and mapped views by 0.2.7's names, and what a MemoryStore makes of them."""

import logging
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.orm import Session, scoped_session, sessionmaker
from sqlalchemy.pool import StaticPool

from recollectx import (
    ConfidenceChangeEvent,
    EpisodicClaim,
    LogOdds,
    MemoryStore,
    PropagationConfig,
    SemanticClaim,
)
from recollectx.db import Base, SessionLocal, create_tables, get_db, get_engine, reset_engine
from recollectx.db.converters import (
    claim_to_model,
    confidence_event_to_model,
    edge_to_model,
    model_to_claim,
    model_to_confidence_event,
    model_to_edge,
)
from recollectx.db.database import get_session_local
from recollectx.db.migrate import HEAD, VERSION_TABLE
from recollectx.db.models import BeliefEdgeModel, ClaimModel, ConfidenceHistoryModel
from recollectx.errors import InvalidSetting, StorageError
from recollectx.graph import BeliefEdge


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("RECOLLECTX_DB", raising=False)
    yield
    reset_engine()


@pytest.fixture
def store():
    create_tables(":memory:")
    return MemoryStore(SessionLocal(":memory:"), rule=PropagationConfig())


def semantic(id="tea", thing="tea", confidence=0.6, **more):
    return SemanticClaim(
        id=id, subject="Mara", predicate="drinks", object=thing, confidence=confidence, **more
    )


def episodic(id="pot", words="Mara bought a teapot", confidence=0.9, **more):
    return EpisodicClaim(id=id, summary=words, confidence=confidence, **more)


class TestEnginesAndSessions:
    def test_two_paths_in_one_process_are_two_files(self, tmp_path):
        for name in ("one", "two"):
            create_tables(str(tmp_path / f"{name}.db"))
            with closing(MemoryStore(SessionLocal(str(tmp_path / f"{name}.db")))) as store:
                store.put(semantic(thing=name))
        for name in ("one", "two"):
            with closing(MemoryStore(tmp_path / f"{name}.db")) as store:
                assert store.get("tea").object == name

    def test_one_engine_per_path_until_reset(self, tmp_path):
        first = get_engine(str(tmp_path / "a.db"))
        assert get_engine(tmp_path / "b.db") is not first
        assert get_engine(tmp_path / "." / "a.db") is first
        reset_engine()
        assert get_engine(tmp_path / "a.db") is not first

    def test_memory_is_shared_until_reset(self):
        create_tables(":memory:")
        MemoryStore(SessionLocal(":memory:")).put(semantic())
        assert MemoryStore(SessionLocal(":memory:")).get("tea") is not None
        assert MemoryStore(get_engine(":memory:")).get("tea") is not None
        with closing(MemoryStore(":memory:")) as fresh:
            assert fresh.get("tea") is None
        reset_engine()
        create_tables(":memory:")
        assert MemoryStore(SessionLocal(":memory:")).get("tea") is None

    def test_closing_a_store_leaves_the_shared_memory(self):
        create_tables(":memory:")
        with closing(MemoryStore(SessionLocal(":memory:"))) as store:
            store.put(semantic())
        assert SessionLocal(":memory:").query(ClaimModel).count() == 1

    def test_the_default_path_is_the_environments_then_the_home(self, tmp_path, monkeypatch):
        create_tables()
        assert (tmp_path / "home" / ".recollectx" / "memory.db").exists()
        monkeypatch.setenv("RECOLLECTX_DB", str(tmp_path / "elsewhere.db"))
        create_tables()
        assert (tmp_path / "elsewhere.db").exists()

    def test_0_2_7s_default_file_is_named_once_and_not_touched(self, tmp_path, caplog):
        left = tmp_path / "home" / ".recollect" / "memory.db"
        left.parent.mkdir(parents=True)
        left.write_bytes(b"untouched")
        get_engine()
        get_engine()
        told = [record for record in caplog.records if record.name == "recollectx"]
        assert [record.levelno for record in told] == [logging.WARNING]
        assert f"recollectx --db {left} list" in told[0].getMessage()
        assert left.read_bytes() == b"untouched"

    def test_get_db_yields_one_session_and_closes_it(self, tmp_path):
        create_tables(tmp_path / "a.db")
        (session,) = get_db(tmp_path / "a.db")
        assert isinstance(session, Session)
        assert not session.in_transaction()
        assert isinstance(get_session_local(tmp_path / "a.db")(), Session)


class TestCreateAll:
    def test_a_file_made_by_create_all_is_complete_and_current(self, tmp_path):
        engine = create_engine(f"sqlite:///{tmp_path / 'mine.db'}")
        Base.metadata.create_all(engine)
        with engine.connect() as conn:
            assert conn.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar() == HEAD
        with closing(MemoryStore(sessionmaker(engine)())) as store:
            store.put(semantic())
            assert store.get("tea").confidence == 0.6
        Base.metadata.create_all(engine)
        engine.dispose()

    def test_a_callers_own_engine_in_memory_is_shared(self):
        engine = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
        Base.metadata.create_all(engine)
        session = sessionmaker(engine)()
        MemoryStore(session).put(semantic())
        assert session.query(ClaimModel).one().object == "tea"
        session.close()
        engine.dispose()

    def test_a_plain_engine_in_memory_is_shared_too(self):
        engine = create_engine("sqlite:///:memory:")
        Base.metadata.create_all(engine)
        with Session(engine) as session:
            MemoryStore(session).put(semantic())
            assert session.query(ClaimModel).one().object == "tea"

    def test_dropping_everything_and_making_it_again_works(self, tmp_path):
        engine = create_engine(f"sqlite:///{tmp_path / 'mine.db'}")
        Base.metadata.create_all(engine)
        Base.metadata.drop_all(engine)
        assert not inspect(engine).has_table(VERSION_TABLE)
        with closing(MemoryStore(tmp_path / "mine.db")) as store:
            assert store.count() == 0
        engine.dispose()

    def test_some_of_the_tables_are_not_called_complete(self, tmp_path):
        engine = create_engine(f"sqlite:///{tmp_path / 'part.db'}")
        Base.metadata.create_all(engine, tables=[Base.metadata.tables["rx_tx"]])
        assert not inspect(engine).has_table(VERSION_TABLE)
        engine.dispose()


class TestSessions:
    @pytest.fixture
    def engine(self, tmp_path):
        engine = create_engine(f"sqlite:///{tmp_path / 'host.db'}")
        with engine.begin() as conn:
            conn.execute(text("CREATE TABLE notes (words TEXT)"))
        yield engine
        engine.dispose()

    def test_a_session_that_only_read_is_welcome_and_sees_what_is_written(self, engine):
        with Session(engine) as session:
            assert session.execute(text("SELECT count(*) FROM notes")).scalar() == 0
            with closing(MemoryStore(session)) as store:
                store.put(semantic())
                assert session.query(ClaimModel.id).all() == [("tea",)]
                store.put(episodic())
                assert session.query(ClaimModel).count() == 2

    def test_uncommitted_writes_are_an_error_that_says_so(self, engine):
        with Session(engine) as session:
            session.execute(text("INSERT INTO notes VALUES ('x')"))
            with pytest.raises(StorageError, match="uncommitted writes"):
                MemoryStore(session)
            session.commit()
            MemoryStore(session).close()
            assert session.execute(text("SELECT words FROM notes")).scalar() == "x"

    def test_unsaved_objects_are_an_error_that_says_so(self, engine):
        with Session(engine) as session:
            session.add(claim_to_model(semantic()))
            with pytest.raises(StorageError, match="unsaved objects"):
                MemoryStore(session)

    def test_uncommitted_writes_in_memory_are_never_lost_to_the_store(self):
        create_tables(":memory:")
        session = SessionLocal(":memory:")
        store = MemoryStore(session)
        session.execute(text("CREATE TABLE notes (words TEXT)"))
        session.commit()
        session.execute(text("INSERT INTO notes VALUES ('mine')"))
        for call in (lambda: store.put(semantic()), lambda: store.get("tea"), lambda: MemoryStore(session)):
            with pytest.raises(StorageError, match="uncommitted writes"):
                call()
        session.commit()
        store.put(semantic())
        assert session.execute(text("SELECT words FROM notes")).scalar() == "mine"

    def test_what_is_taken_is_the_place_not_the_session(self, engine, tmp_path):
        registry = scoped_session(sessionmaker(engine))
        for target in (
            registry,
            registry(),
            engine,
            tmp_path / "host.db",
            f"sqlite:///{tmp_path / 'host.db'}",
        ):
            with closing(MemoryStore(target)) as store:
                assert store.database.url.database == str(tmp_path / "host.db")
        registry.remove()

    @pytest.mark.parametrize("target", [None, 7, Session()])
    def test_what_is_no_database_is_refused(self, target):
        with pytest.raises(InvalidSetting):
            MemoryStore(target)


class TestModels:
    @pytest.fixture
    def session(self, store):
        store.put(semantic(evidence=("a", "b"), source="Ines", created_at=1e9, importance=0.25))
        store.put(semantic(evidence=("b", "c"), source="Bo", created_at=1e9, importance=0.25))
        store.put(episodic())
        store.put_edge(BeliefEdge("pot", "tea", "contradicts"))
        return SessionLocal(":memory:")

    def test_claims_read_as_the_store_reads_them(self, store, session):
        for model in session.query(ClaimModel):
            claim = store.get(model.id)
            assert model_to_claim(model) == replace(claim, source=None)
            assert (model.scope, model.status) == ("global", "active")
        above = session.query(ClaimModel).filter(ClaimModel.confidence > 0.7).order_by(ClaimModel.id)
        assert [model.id for model in above] == ["pot"]
        assert session.get(ClaimModel, "tea").object == "tea"
        assert session.get(ClaimModel, "tea").summary is None

    def test_deleted_claims_and_their_edges_are_out_of_sight(self, store, session):
        store.delete("pot")
        assert [model.id for model in session.query(ClaimModel)] == ["tea"]
        assert session.query(BeliefEdgeModel).count() == 0

    def test_edges_and_history_read_as_the_store_reads_them(self, store, session):
        store.delete_edge("pot", "tea", "contradicts")
        store.put_edge(BeliefEdge("pot", "tea", "derives"))
        store.use_rule(LogOdds())
        assert [model_to_edge(model) for model in session.query(BeliefEdgeModel)] == store.get_all_edges()
        for name in ("tea", "pot"):
            told = session.query(ConfidenceHistoryModel).filter_by(claim_id=name)
            newest_first = told.order_by(ConfidenceHistoryModel.id.desc())
            expected = store.get_confidence_history(name)
            assert [model_to_confidence_event(model) for model in newest_first] == expected
            assert expected

    def test_writing_through_a_model_is_refused_clearly(self, session):
        model = session.get(ClaimModel, "tea")
        model.confidence = 0.1
        with pytest.raises(StorageError, match="for reading; write through MemoryStore"):
            session.commit()
        session.rollback()
        session.delete(session.get(ClaimModel, "tea"))
        with pytest.raises(StorageError, match="for reading"):
            session.commit()
        session.rollback()
        for row in (
            claim_to_model(episodic("x")),
            edge_to_model(BeliefEdge("pot", "tea", "supports")),
            confidence_event_to_model(ConfidenceChangeEvent("tea", 0.1, 0.2, "x", "manual")),
        ):
            session.add(row)
            with pytest.raises(StorageError, match="for reading"):
                session.commit()
            session.rollback()

    def test_converters_go_there_and_back(self):
        for claim in (semantic(evidence=("a",)), episodic()):
            assert model_to_claim(claim_to_model(claim)) == claim
        edge = BeliefEdge("a", "b", "supports")
        assert model_to_edge(edge_to_model(edge)) == edge
        event = ConfidenceChangeEvent("a", 0.1, 0.2, "why", "manual", caused_by_id="b")
        assert model_to_confidence_event(confidence_event_to_model(event)) == event


def test_the_file_a_session_names_is_opened_with_our_own_configuration(tmp_path):
    create_tables(tmp_path / "a.db")
    with closing(MemoryStore(SessionLocal(tmp_path / "a.db"))) as store:
        store.put(semantic())
    with closing(sqlite3.connect(tmp_path / "a.db")) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
