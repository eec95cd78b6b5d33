"""QdrantBackend: the shipped contract in memory, in a folder and over HTTP, and what a service adds to it."""

import gc
import os
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import fact
from forking import assert_ends_well, assert_searches_are_right_on_both_sides
from qdrant_client import models
from qdrant_server import MOST_BYTES, QdrantServer

from recollectx import Memory
from recollectx.embeddings import HashEmbedder
from recollectx.errors import BackendError, DimensionError, InvalidSetting
from recollectx.llm.providers.embedding import EmbedsTexts
from recollectx.storage.vector import QdrantBackend
from recollectx.storage.vector.qdrant import BATCH, PAGE
from recollectx.testing import VectorBackendContract, assert_nearest

KEY = "a-key-that-nobody-may-see"


class TestInMemory(VectorBackendContract):
    def fresh(self):
        return QdrantBackend(":memory:", "claims", dimension=self.dimension)


class TestInAFolder(VectorBackendContract):
    @pytest.fixture(autouse=True)
    def in_folder(self, tmp_path):
        self.path, self.open = tmp_path / "qdrant", []
        yield
        for index in self.open:
            index.close()

    def fresh(self):
        self.open.append(QdrantBackend(f"qdrant://{self.path}", "claims", dimension=self.dimension))
        return self.open[-1]

    def reopened(self, index):
        index.close()
        return self.fresh()


class TestOverHTTP(VectorBackendContract):
    @pytest.fixture(autouse=True)
    def served(self):
        with QdrantServer() as self.server:
            yield

    def fresh(self):
        return QdrantBackend(self.server.url, "claims", dimension=self.dimension)

    def reopened(self, index):
        self.server.stop()
        self.server.start()
        return self.fresh()


@pytest.fixture
def service():
    with QdrantServer() as running:
        yield running


def index_of(service, dimension=4, **settings):
    return QdrantBackend(service.url, "claims", dimension=dimension, **settings)


def some(count, dimension=4):
    return np.random.default_rng(count).standard_normal((count, dimension), np.float32)


def pages(service, path):
    return [request for request in service.asked if request.path == f"/collections/claims{path}"]


class TestCollection:
    def test_it_is_made_for_searches_in_one_scope(self, service):
        index_of(service)
        made, indexed = pages(service, "")[0].body, pages(service, "/index")[0].body
        assert made["vectors"] == {"size": 4, "distance": "Cosine"}
        assert made["hnsw_config"] == {"m": 0, "payload_m": 16}
        assert indexed == {"field_name": "scope", "field_schema": {"type": "keyword", "is_tenant": True}}
        index_of(service)
        assert len(pages(service, "/index")) == 1

    def test_an_index_on_scopes_that_is_missing_is_made_up_for(self, service):
        index_of(service)
        service.indexed.clear()
        index_of(service)
        assert "scope" in service.indexed["claims"]

    def test_many_openers_at_once_make_one_collection(self, service):
        with ThreadPoolExecutor(8) as threads:
            opened = list(threads.map(lambda _: index_of(service), range(8)))
        opened[0].upsert_vectors("a", ["x"], some(1))
        assert [index.count("a") for index in opened] == [1] * 8

    def test_another_dimension_or_distance_is_refused_by_name(self, service):
        index_of(service)
        with pytest.raises(DimensionError, match="'claims' holds 4-d vectors, it was opened for 5-d"):
            index_of(service, dimension=5)
        with pytest.raises(InvalidSetting, match="'claims' compares by Cosine, distance='dot'"):
            index_of(service, distance="dot")

    def test_named_vectors_are_refused(self, service):
        vectors = {"title": models.VectorParams(size=4, distance=models.Distance.COSINE)}
        service.engine.create_collection("claims", vectors)
        with pytest.raises(InvalidSetting, match="'claims' has named vectors"):
            index_of(service)

    def test_none_is_made_if_that_is_off(self, service):
        with pytest.raises(InvalidSetting, match="no collection 'claims'"):
            index_of(service, auto_create_collection=False)
        index_of(service)
        assert index_of(service, auto_create_collection=False).count() == 0

    def test_dot_is_the_same_as_cosine(self):
        index, vectors = QdrantBackend(":memory:", "claims", dimension=4, distance="dot"), some(9) * 7
        held = {f"{n}": vector for n, vector in enumerate(vectors)}
        index.upsert_vectors("a", list(held), vectors)
        assert_nearest(index.search_vector("a", vectors[3] / 3, 5), held, vectors[3], 5)

    @pytest.mark.parametrize(
        ("settings", "told"),
        [
            ({"distance": "euclid"}, "cosine, dot, got 'euclid'"),
            ({"collection_name": ""}, "collection_name must not be empty"),
            ({"collection_name": "a/b"}, "hold no /, got 'a/b'"),
            ({"url": "host:6333?x=1"}, "host, port and path alone"),
            ({"url": "ftp://host"}, "got 'ftp://host'"),
            ({"url": "qdrant:///"}, "got 'qdrant:///'"),
            ({"url": ""}, "got ''"),
        ],
    )
    def test_settings_that_mean_nothing_are_refused(self, settings, told):
        with pytest.raises(InvalidSetting, match=told):
            QdrantBackend(**{"url": ":memory:", "collection_name": "claims", **settings})


class TestFolder:
    def test_a_second_opener_is_told_why_it_cannot(self, tmp_path):
        one = QdrantBackend(str(tmp_path / "held"), "claims", dimension=4)
        with warnings.catch_warnings():
            # A client that is refused leaves the file of the lock open.
            warnings.simplefilter("ignore", ResourceWarning)
            with pytest.raises(BackendError, match="open already, and Qdrant's folders take one opener"):
                QdrantBackend(f"qdrant://{tmp_path}/held", "claims", dimension=4)
            gc.collect()
        one.close()
        QdrantBackend(f"qdrant://{tmp_path}/held", "claims", dimension=4).close()

    def test_one_that_is_refused_leaves_the_folder_free(self, tmp_path):
        QdrantBackend(str(tmp_path / "held"), "claims", dimension=4).close()
        with pytest.raises(DimensionError, match="holds 4-d vectors") as told:
            QdrantBackend(str(tmp_path / "held"), "claims", dimension=5)
        QdrantBackend(str(tmp_path / "held"), "claims", dimension=4).close()
        del told

    def test_it_has_one_address(self, tmp_path, monkeypatch):
        (tmp_path / "link").symlink_to(tmp_path)
        monkeypatch.chdir(tmp_path)
        told = set()
        for url in ("held", "./held/", f"{tmp_path}/link/held", f"qdrant://{tmp_path}/held"):
            index = QdrantBackend(url, "claims", dimension=4)
            told.add(index.address)
            index.close()
        assert told == {f"qdrant:{tmp_path.resolve()}/held/claims"}

    def test_where_it_lives(self, tmp_path):
        folder = QdrantBackend(str(tmp_path / "held"), "claims", dimension=4)
        assert folder.placement == "remote"
        folder.close()
        assert QdrantBackend(":memory:", "claims", dimension=4).placement == "process"


class TestService:
    def test_writes_wait_until_they_can_be_read(self, service):
        index = index_of(service)
        index.replace("a", ["x", "y"], some(2))
        index.delete_ids("a", ["x"])
        written = [*pages(service, "/points"), *pages(service, "/points/delete")]
        assert [request.query for request in written] == [{"wait": ["true"]}] * 3

    def test_a_request_holds_no_more_than_a_server_takes(self, service):
        index, count = index_of(service), 2 * BATCH + 1
        ids = [f"{n}" for n in range(count)]
        index.upsert_vectors("a", ids, some(count))
        assert [len(request.body["batch"]["ids"]) for request in pages(service, "/points")] == [
            BATCH,
            BATCH,
            1,
        ]
        assert len(index.vectors_of("a", ids)) == index.count("a") == count
        index.delete_ids("a", ids)
        assert index.count("a") == 0

    def test_long_vectors_and_names_go_in_smaller_requests(self, service):
        index = index_of(service, dimension=4096)
        index.upsert_vectors("\u00e9" * 10_000, [f"{n}" for n in range(150)], some(150, 4096))
        sent = [len(request.raw) for request in pages(service, "/points")]
        assert len(sent) > 1
        assert max(sent) < MOST_BYTES / 2

    def test_what_is_more_than_a_page_is_listed_in_full(self):
        index, count = QdrantBackend(":memory:", "claims", dimension=2), PAGE + 7
        ids = [f"{n}" for n in range(count)]
        index.upsert_vectors("a", ids[:-1], np.ones((count - 1, 2)))
        index.upsert_vectors("b", ids[-1:], np.ones((1, 2)))
        assert sorted(index.ids("a")) == sorted(ids[:-1])
        assert sorted(index.scopes()) == ["a", "b"]

    def test_scope_and_id_are_never_run_together(self, service):
        index, vectors = index_of(service), some(3)
        for (scope, id), vector in zip([("a", "bc"), ("ab", "c"), ("a", "b:c")], vectors, strict=True):
            index.upsert_vectors(scope, [id], [vector])
        assert (index.count(), sorted(index.ids("a")), index.ids("ab")) == (3, ["b:c", "bc"], ["c"])

    def test_a_server_that_is_away_is_an_error_when_it_is_used_and_not_before(self, service):
        service.stop()
        index = index_of(service)
        with pytest.raises(BackendError, match="Connection refused"):
            index.upsert_vectors("a", ["x"], some(1))
        service.start()
        index.upsert_vectors("a", ["x"], some(1))
        service.stop()
        with pytest.raises(BackendError, match="QdrantBackend failed"):
            index.search_vector("a", some(1)[0], 1)
        service.start()
        assert index.ids("a") == ["x"]

    @pytest.mark.parametrize("restarted", [False, True])
    def test_a_server_that_lost_the_collection_is_fed_again_and_searched_only_then(self, service, restarted):
        index = index_of(service)
        index.upsert_vectors("a", ["x"], some(1))
        service.engine.delete_collection("claims")
        if restarted:
            service.stop()
            with pytest.raises(BackendError, match="refused"):
                index.count()
            service.start()
        for _ in range(2):
            with pytest.raises(BackendError, match="collection 'claims' is gone"):
                index.search_vector("a", some(1)[0], 1)
        assert (index.ids("a"), index.scopes(), index.count(), index.vectors_of("a", ["x"])) == (
            [],
            [],
            0,
            {},
        )
        assert not service.engine.collection_exists("claims")
        index.upsert_vectors("a", ["y"], some(1))
        assert [near.id for near in index.search_vector("a", some(1)[0], 9)] == ["y"]

    @pytest.mark.parametrize("write", ["upsert", "delete", "clear"])
    def test_a_write_to_a_lost_collection_fails_once_and_then_makes_it_as_it_was(self, service, write):
        index = index_of(service)
        service.engine.delete_collection("claims")
        service.indexed.clear()
        writes = {
            "upsert": lambda: index.upsert_vectors("a", ["x"], some(1)),
            "delete": lambda: index.delete_ids("a", ["x"]),
            "clear": index.clear,
        }
        with pytest.raises(BackendError, match="is gone, and what it held"):
            writes[write]()
        writes[write]()
        assert index.ids("a") == (["x"] if write == "upsert" else [])
        assert [page.body["hnsw_config"]["payload_m"] for page in pages(service, "") if page.body] == [16, 16]
        assert "scope" in service.indexed["claims"]

    def test_who_feeds_is_not_let_on_because_somebody_else_saw_the_loss(self, service):
        index = index_of(service)
        service.engine.delete_collection("claims")
        with ThreadPoolExecutor(1) as other:
            assert other.submit(index.ids, "a").result() == []
        with pytest.raises(BackendError, match="is gone"):
            index.upsert_vectors("a", ["x"], some(1))
        assert not service.engine.collection_exists("claims")

    def test_a_memory_goes_on_when_its_collection_is_lost(self, service, path):
        index = index_of(service)
        with Memory.open(path, vectors=index, embedder=HashEmbedder(4)) as memory:
            first = memory.store(fact("of smoke")).claim_id
            assert memory.settle(10)
            service.engine.delete_collection("claims")
            before = memory.recall("smoke").hits
            second = memory.store(fact("of honey")).claim_id
            assert memory.settle(10)
            assert second in index.ids("global")
            assert [(hit.claim.id, hit.parts.cosine is None) for hit in before] == [(first, False)]

    def test_a_collection_of_others_in_place_of_a_lost_one_is_refused(self, service):
        index = index_of(service)
        service.engine.delete_collection("claims")
        index_of(service, dimension=5)
        with pytest.raises(BackendError, match="expected dim: 5"):
            index.upsert_vectors("a", ["x"], some(1))
        with pytest.raises(DimensionError, match="holds 5-d vectors"):
            index.upsert_vectors("a", ["x"], some(1))

    def test_every_spelling_of_a_server_is_one_address(self, service, path):
        bare = service.url.removeprefix("http://")
        spellings = (service.url, f"{service.url}/", bare, bare.replace("127.0.0.1", "LocalHost"))
        for url in spellings:
            index = QdrantBackend(url, "claims", dimension=4)
            with Memory.open(path, vectors=index, embedder=HashEmbedder(4)) as memory:
                memory.store(fact(f"of {url}"))
                assert memory.settle(10)
                with memory.storage.reader() as reader:
                    names = reader.conn.exec_driver_sql("SELECT name FROM rx_deliveries").all()
        assert names == [(f"qdrant:{service.url.replace('127.0.0.1', 'localhost')}/claims",)]

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
    def test_parent_and_child_have_connections_of_their_own(self, service):
        """By a name for this machine that the client does not know, as to localhost it keeps no connection."""
        made = 'QdrantBackend(sys.argv[1], "claims", dimension=8)'
        assert_searches_are_right_on_both_sides(made, service.url.replace("127.0.0.1", "127.1"))

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
    def test_a_folder_stays_in_the_process_that_opened_it(self, tmp_path):
        program = """
import os, sys
from recollectx.errors import BackendError
from recollectx.storage.vector import QdrantBackend
index = QdrantBackend(sys.argv[1], "claims", dimension=2)
index.upsert_vectors("a", ["x"], [[1, 0]])
child = os.fork()
if child:
    assert os.waitpid(child, 0)[1] == 0
    assert index.ids("a") == ["x"]
    index.close()
    os._exit(0)
for _ in range(2):
    try:
        index.upsert_vectors("a", ["y"], [[0, 1]])
    except BackendError as error:
        assert "stays in the process" in str(error)
    else:
        os._exit(1)
os._exit(0)
"""
        assert_ends_well(program, str(tmp_path / "held"))

    def test_what_fails_at_random_comes_right_when_it_is_done_again(self):
        with QdrantServer(failing=0.3, seed=5, on="/points") as service:
            index, vectors = index_of(service), some(40)
            ids = [f"{n}" for n in range(40)]
            failures = 0
            for turn in range(40):
                failures += again(lambda n=turn: index.upsert_vectors("a", ids[n:], vectors[n:]))
                failures += again(lambda n=turn: index.delete_ids("a", [ids[n]] if n % 3 else []))
            service.failing = 0
            assert failures > 10
            held = {ids[n]: vectors[n] for n in range(0, 40, 3)}
            assert sorted(index.ids("a")) == sorted(held)
            assert_nearest(index.search_vector("a", vectors[0], 99), held, vectors[0], 99)


class TestSecrets:
    @pytest.fixture
    def guarded(self):
        with QdrantServer(api_key=KEY) as running:
            yield running

    def test_the_key_is_sent_and_a_wrong_one_is_told_without_showing_it(self, guarded):
        with pytest.warns(UserWarning, match="insecure connection"):
            right = index_of(guarded, api_key=KEY)
        right.upsert_vectors("a", ["x"], some(1))
        with pytest.warns(UserWarning, match="insecure connection"):
            wrong = index_of(guarded, api_key=KEY[::-1])
        with pytest.raises(BackendError, match="401") as told:
            wrong.count()
        shown = "".join(traceback.format_exception(told.value)) + f"{right!r}{right}{wrong!r}{wrong}"
        assert KEY not in shown
        assert KEY[::-1] not in shown

    @pytest.mark.parametrize(
        "url", ["http://ana:{}@127.0.0.1:1", "http://{}@127.0.0.1:1", "http://127.0.0.1:1?api_key={}"]
    )
    def test_a_key_in_the_url_is_refused_and_not_shown(self, url):
        with pytest.raises(InvalidSetting, match="given as api_key") as told:
            QdrantBackend(url.format(KEY), "claims", dimension=4)
        assert KEY not in str(told.value)

    def test_a_key_that_the_service_repeats_is_cut_out(self, guarded):
        with pytest.warns(UserWarning, match="insecure connection"):
            index = index_of(guarded, api_key=KEY)
        guarded.api_key = "another"
        guarded.refusal = lambda status, message: {"status": {"error": f"{KEY} is not known"}}
        with pytest.raises(BackendError, match=r"(?s)401.*\*\*\* is not known") as told:
            index.count()
        assert KEY not in "".join(traceback.format_exception(told.value))


class TestTexts:
    def test_an_embedder_is_taken_as_it_is_also_from_a_provider_of_ours(self):
        class Ours(EmbedsTexts):
            embedder = HashEmbedder(8)

        assert QdrantBackend(":memory:", "claims", Ours.embedder, 8).embedder is Ours.embedder
        assert QdrantBackend.from_provider(":memory:", "claims", Ours()).embedder is Ours.embedder
        with pytest.raises(DimensionError, match="384-d vectors, embedder"):
            QdrantBackend(":memory:", "claims", Ours.embedder)

    def test_the_spelling_of_0_2_7(self):
        class Provider:
            dimension = 2

            def embed(self, text):
                return [1.0, float("tea" in text)]

        by_function = QdrantBackend(":memory:", "claims", Provider().embed, 2, None, "cosine")
        by_provider = QdrantBackend.from_provider(":memory:", "claims", Provider(), timeout=3)
        for index in (by_function, by_provider):
            index.upsert("one", "green tea")
            index.upsert("two", "a red car")
            assert index.search("tea", k=1) == ["one"]
            assert index.search_with_scores("cars")[0] == ("two", pytest.approx(1))
            index.delete("one")
            assert len(index) == 1
            index.close()


def again(call):
    """How often `call` failed before it did not."""
    for failures in range(100):
        try:
            call()
        except BackendError:
            continue
        return failures
    raise AssertionError("it never works")
