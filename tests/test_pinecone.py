"""PineconeBackend: the shipped contract over loopback, at once and with a delay, and what a service adds to it."""

import json
import os
import traceback
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from forking import assert_searches_are_right_on_both_sides
from hypothesis import given
from hypothesis import strategies as st
from pinecone import Pinecone
from pinecone.exceptions import PineconeException
from pinecone_server import DELETE, UPSERT, UPSERT_BYTES, PineconeServer

from recollectx.errors import BackendError, DimensionError, InvalidClaim, InvalidQuery, InvalidSetting
from recollectx.storage.vector import PineconeBackend
from recollectx.storage.vector.lateness import Unseen
from recollectx.storage.vector.names import name_of, text_of
from recollectx.testing import HOSTILE_SCOPES, VectorBackendContract, assert_nearest

KEY = "a-key-that-nobody-may-see"
LONG = "\u00e9" * 400


def some(count, dimension=4):
    return np.random.default_rng(count).standard_normal((count, dimension), np.float32)


class Served:
    """A server with an index, and backends on it that are closed in the end."""

    dimension, delay = 4, 0.0

    @pytest.fixture(autouse=True)
    def served(self):
        self.opened = []
        with PineconeServer(KEY, self.delay) as self.server:
            self.server.make("claims", self.dimension)
            yield
            for index in self.opened:
                index.close()

    def fresh(self, **settings):
        given = {"api_key": KEY, "index_name": "claims", "dimension": self.dimension, "host": self.server.url}
        self.opened.append(PineconeBackend(**{**given, **settings}))
        return self.opened[-1]

    def reopened(self, index):
        self.server.stop()
        self.server.start()
        return self.fresh()


class TestAtOnce(Served, VectorBackendContract):
    dimension = 16


class TestLate(Served, VectorBackendContract):
    dimension, delay = 16, 0.03


class TestIndex(Served):
    @pytest.fixture(autouse=True)
    def control_plane(self, served, monkeypatch):
        monkeypatch.setenv("PINECONE_CONTROLLER_HOST", self.server.url)

    def test_it_is_made_if_it_is_missing(self):
        self.server.index = None
        self.fresh(host=None, cloud="gcp", region="europe-west4").upsert_vectors("a", ["x"], some(1))
        (made,) = [request.body for request in self.server.asked if request.path == "/indexes"]
        assert made == {
            "name": "claims",
            "schema": {"fields": {"_values": {"type": "dense_vector", "dimension": 4, "metric": "cosine"}}},
            "deployment": {"deployment_type": "managed", "cloud": "gcp", "region": "europe-west4"},
        }
        assert self.fresh(host=None, auto_create_index=False).count("a") == 1

    def test_many_openers_at_once_make_one(self):
        self.server.index = None
        with ThreadPoolExecutor(8) as threads:
            opened = list(threads.map(lambda _: self.fresh(host=None), range(8)))
        opened[0].upsert_vectors("a", ["x"], some(1))
        assert [index.count("a") for index in opened] == [1] * 8

    def test_none_is_made_if_that_is_off(self):
        self.server.index = None
        with pytest.raises(InvalidSetting, match="no index 'claims'"):
            PineconeBackend(KEY, "claims", dimension=4, auto_create_index=False)

    @pytest.mark.parametrize("known", [True, False])
    def test_another_dimension_or_metric_is_refused_by_name(self, known):
        host = self.server.url if known else None
        with pytest.raises(DimensionError, match="'claims' holds 4-d vectors, it was opened for 5-d"):
            PineconeBackend(KEY, "claims", dimension=5, host=host)
        with pytest.raises(InvalidSetting, match="'claims' compares by cosine, metric='dotproduct'"):
            PineconeBackend(KEY, "claims", dimension=4, metric="dotproduct", host=host)

    @pytest.mark.parametrize(
        ("settings", "told"),
        [
            ({"metric": "euclidean"}, "cosine, dotproduct, got 'euclidean'"),
            ({"spec_type": "pod"}, "got spec_type='pod'"),
            ({"namespace": "caf\u00e9"}, "namespace must be ASCII"),
            ({"namespace": "x" * 257}, "up to 256 characters"),
        ],
    )
    def test_settings_that_mean_nothing_are_refused(self, settings, told):
        with pytest.raises(InvalidSetting, match=told):
            PineconeBackend(**{"api_key": KEY, "index_name": "claims", **settings})


class TestNamespaces(Served):
    def test_a_plain_scope_stays_readable_and_any_other_can_be_told(self):
        index = self.fresh()
        for scope in ("team-a", "100%", "__default__", LONG):
            index.upsert_vectors(scope, ["x"], some(1))
        names = list(index.get_stats()["namespaces"])
        assert names[:3] == ["team-a", "100%25", "%5F_default__"]
        assert names[3].startswith("#")
        assert index.scopes() == ["team-a", "100%", "__default__", LONG]

    def test_memories_of_one_index_do_not_meet(self):
        plain, one, two = self.fresh(), self.fresh(namespace="one"), self.fresh(namespace="two")
        vectors = some(3)
        for index, scope, vector in zip((plain, one, two), ("one/a", "a", "a"), vectors, strict=True):
            index.upsert_vectors(scope, ["x"], [vector])
        assert [index.scopes() for index in (plain, one, two)] == [["one/a"], ["a"], ["a"]]
        one.clear()
        assert [index.count() for index in (plain, one, two)] == [1, 0, 1]

    def test_what_others_keep_there_is_left_alone(self):
        index = self.fresh()
        index.upsert_vectors("a", ["x"], some(1))
        with Pinecone(api_key=KEY).Index(host=self.server.url) as other:
            for namespace in ("", "caf%e9", "a"):
                other.upsert(vectors=[{"id": "not/ours", "values": [1, 2, 3, 4]}], namespace=namespace)
        assert (index.scopes(), index.ids("a")) == (["a"], ["x"])
        assert [near.id for near in index.search_vector("a", [1, 2, 3, 4], 9)] == ["x"]
        index.clear()
        assert list(self.server.held["caf%e9"]) == list(self.server.held["__default__"]) == ["not/ours"]

    def test_ids_and_scopes_too_long_for_a_name_are_held_all_the_same(self):
        index, ids = self.fresh(), [LONG, LONG + "!", "short"]
        index.upsert_vectors(LONG, ids, some(3))
        assert sorted(index.ids(LONG)) == sorted(ids)
        assert index.search_vector(LONG, some(3)[1], 1)[0].id == LONG + "!"
        assert set(index.vectors_of(LONG, ids)) == set(ids)
        index.delete_ids(LONG, [LONG])
        assert index.count(LONG) == 2

    def test_what_does_not_fit_in_the_metadata_is_refused_before_anything_is_sent(self):
        index, sent = self.fresh(), len(self.server.asked)
        with pytest.raises(InvalidClaim, match="Pinecone keeps 40000"):
            index.upsert_vectors("a", ["x", "y" * 40_000], some(2))
        with pytest.raises(InvalidClaim, match="Pinecone keeps 40000"):
            index.upsert_vectors("\u00e9" * 20_000, ["x"], some(1))
        assert len(self.server.asked) == sent
        index.upsert_vectors("\u00e9" * 19_000, ["x"], some(1))
        assert index.scopes() == ["\u00e9" * 19_000]


class TestFork(Served):
    dimension = 8

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
    def test_parent_and_child_have_connections_of_their_own(self):
        made = 'PineconeBackend(sys.argv[1], "claims", dimension=8, host=sys.argv[2])'
        assert_searches_are_right_on_both_sides(made, KEY, self.server.url)


class TestLimits(Served):
    def pages(self, path):
        return [request for request in self.server.asked if request.path == path]

    def test_many_vectors_go_in_several_requests(self):
        index, count = self.fresh(), 2 * UPSERT + 1
        ids = [f"{n}" for n in range(count)]
        index.upsert_vectors("a", ids, some(count))
        assert [len(request.body["vectors"]) for request in self.pages("/vectors/upsert")] == [
            UPSERT,
            UPSERT,
            1,
        ]
        assert index.count("a") == len(index.ids("a")) == len(index.vectors_of("a", ids)) == count
        assert len(self.pages("/vectors/list")) == count // 100 + 1
        index.delete_ids("a", ids)
        assert [len(request.body["ids"]) for request in self.pages("/vectors/delete")] == [DELETE, DELETE, 1]
        assert index.count() == 0

    def test_long_names_and_texts_go_in_smaller_requests(self):
        index, ids = (
            self.fresh(),
            [f"{n:03}{LONG * 9}" for n in range(300)] + [f"{n:03}/" * 50 for n in range(200)],
        )
        index.upsert_vectors(LONG, ids, some(500))
        sent = [len(request.raw) for request in self.pages("/vectors/upsert")]
        assert len(sent) > 1
        assert max(sent) < UPSERT_BYTES
        assert len(index.vectors_of(LONG, ids)) == len(index.search_vector(LONG, [1, 1, 1, 1], 999)) == 500

    def test_as_many_as_one_search_can_give(self):
        index = self.fresh()
        index.upsert_vectors("a", ["x"], some(1))
        assert len(index.search_vector("a", some(1)[0], 10_000)) == 1
        with pytest.raises(InvalidQuery, match="at most 10000 a search, got k=10001"):
            index.search_vector("a", some(1)[0], 10_001)

    @pytest.mark.parametrize(
        ("call", "given"),
        [
            ("upsert", {"vectors": [{"id": "x", "values": [0, 0, 0, 0]}]}),
            ("upsert", {"vectors": [{"id": "x", "values": [1, 2, 3]}]}),
            ("upsert", {"vectors": [{"id": "x", "values": [1] * 4, "metadata": {"a": None}}]}),
            ("upsert", {"vectors": [{"id": "x", "values": [1] * 4, "metadata": {"a": {"b": 1}}}]}),
            ("upsert", {"vectors": [{"id": "x", "values": [1] * 4, "metadata": {"a": [1]}}]}),
            ("upsert", {"vectors": [{"id": "x", "values": [1] * 4, "metadata": {"a": "x" * 41_000}}]}),
            ("upsert", {"vectors": [{"id": f"{n}", "values": [1] * 4} for n in range(1_001)]}),
            ("upsert", {"vectors": [{"id": "x", "values": [1] * 4}], "namespace": "\u00e9"}),
            ("query", {"vector": [0, 0, 0, 0], "top_k": 1}),
            ("query", {"vector": [1, 2, 3], "top_k": 1}),
            ("delete", {"ids": ["x"] * 1_001, "namespace": "a"}),
            ("delete", {"ids": ["x"], "namespace": "never seen"}),
            ("fetch", {"ids": ["x" * 500 + str(n) for n in range(20)]}),
        ],
    )
    def test_the_server_we_test_with_refuses_what_is_documented(self, call, given):
        with (
            Pinecone(api_key=KEY).Index(host=self.server.url) as plain,
            pytest.raises(PineconeException, match=r"\[4|Metadata value must be"),
        ):
            getattr(plain, call)(**given)
        assert not self.server.held


class TestLateness(Served):
    delay = 0.15

    def test_what_is_written_shows_after_settling_and_not_before(self):
        index, vectors = self.fresh(), some(3)
        index.upsert_vectors("a", ["x", "y"], vectors[:2])
        assert index.search_vector("a", vectors[0], 9) == []
        assert not index.settle(0.01)
        assert index.settle(10)
        assert len(index.search_vector("a", vectors[0], 9)) == 2
        index.delete_ids("a", ["x"])
        index.delete_ids("a", ["unknown"])
        index.upsert_vectors("b", ["z"], vectors[2:])
        assert index.settle(10)
        assert (index.ids("a"), index.ids("b")) == (["y"], ["z"])
        index.clear()
        assert index.settle(10)
        assert index.count() == 0

    def test_what_was_added_and_removed_at_once_does_not_show_later(self):
        index = self.fresh()
        index.upsert_vectors("a", ["x"], some(1))
        index.delete_ids("a", ["x"])
        assert index.settle(10)
        assert not self.server.log
        assert index.ids("a") == []

    def test_clearing_reaches_what_does_not_show_yet(self):
        index = self.fresh()
        index.upsert_vectors("a", ["x"], some(1))
        index.clear()
        assert index.settle(10)
        assert not self.server.log
        assert index.count() == 0

    def test_a_service_that_tells_no_positions_is_never_sure(self):
        self.server.tells_positions = False
        index = self.fresh()
        index.upsert_vectors("a", ["x"], some(1))
        assert not index.settle(0.3)

    def test_nothing_written_is_nothing_to_wait_for(self):
        sent = len(self.server.asked)
        assert self.fresh().settle(0)
        assert len(self.server.asked) == sent + 1


class TestUnseen:
    """The bookkeeping alone: which writes vouch for which."""

    def marked(self, *writes):
        unseen = Unseen()
        for position, gone in writes:
            with unseen.writing("a") as mark:
                mark.position, mark.gone = position, gone
        asked = []
        assert unseen.wait(lambda place, position, gone: not asked.append((place, position, gone)), 0)
        assert unseen.places == []
        return asked

    def test_a_position_vouches_for_all_before_it(self):
        assert self.marked((1, ()), (None, ("x",)), (None, None), (4, ())) == [("a", 4, ())]

    def test_a_removal_vouches_for_no_position_and_no_other_removal(self):
        assert self.marked((1, ()), (None, ("x",)), (None, ("y",))) == [("a", 1, ("x", "y"))]

    def test_the_removal_of_all_vouches_for_other_removals(self):
        assert self.marked((1, ()), (None, ("x",)), (None, None)) == [("a", 1, None)]

    def test_a_write_that_ran_beside_is_not_vouched_for(self):
        unseen, asked = Unseen(), []
        with unseen.writing("a") as early:
            early.position = 5
            with unseen.writing("a") as beside:
                beside.gone = ("x",)
        assert unseen.wait(lambda *look: not asked.append(look), 0)
        assert asked == [("a", 5, ("x",))]

    def test_a_write_that_fails_is_not_waited_for(self):
        unseen = Unseen()
        with pytest.raises(ZeroDivisionError), unseen.writing("a"):
            raise ZeroDivisionError
        assert unseen.places == []

    def test_what_was_removed_and_is_there_again_is_waited_for_as_added(self):
        unseen, asked = Unseen(), []
        with unseen.writing("a") as removed:
            removed.gone = ("x",)

        def seen(place, position, gone):
            asked.append((position, gone))
            if gone:
                with unseen.writing("a") as added:
                    added.position = 7
            return not gone

        assert unseen.wait(seen, 10)
        assert asked == [(0, ("x",)), (7, ())]
        assert unseen.places == []


class TestService(Served):
    def test_a_service_that_is_away_is_an_error_when_it_is_used_and_not_before(self):
        self.server.stop()
        index = self.fresh()
        with pytest.raises(BackendError, match="PineconeBackend failed: PineconeConnectionError"):
            index.upsert_vectors("a", ["x"], some(1))
        self.server.start()
        index.upsert_vectors("a", ["x"], some(1))
        assert index.ids("a") == ["x"]

    def test_what_fails_at_random_comes_right_when_it_is_done_again(self):
        index, vectors = self.fresh(), some(30)
        ids = [f"{n}" for n in range(30)]
        self.server.failing, self.server.on = 0.2, "/vectors"
        for turn in range(30):
            again(lambda n=turn: index.upsert_vectors("a", ids[n:], vectors[n:]))
            again(lambda n=turn: index.delete_ids("a", [ids[n]] if n % 3 else []))
        self.server.failing = 0
        held = {ids[n]: vectors[n] for n in range(0, 30, 3)}
        assert sorted(index.ids("a")) == sorted(held)
        assert_nearest(index.search_vector("a", vectors[0], 99), held, vectors[0], 99)

    def test_the_key_shows_nowhere(self):
        right = self.fresh()
        wrong = self.fresh(api_key=KEY[::-1])
        with pytest.raises(BackendError, match="401") as told:
            wrong.count()
        shown = "".join(traceback.format_exception(told.value)) + f"{right!r}{right}{wrong!r}{wrong}"
        assert KEY not in shown
        assert KEY[::-1] not in shown

    def test_the_spelling_of_0_2_7(self):
        class Provider:
            dimension = 4

            def embed(self, text):
                return [1.0, float("tea" in text), 0.0, 0.0]

        index = PineconeBackend.from_provider(KEY, "claims", Provider(), "mine", host=self.server.url)
        index.upsert_batch([("one", "green tea"), ("two", "a red car"), ("three", "tea")], batch_size=2)
        assert index.search_with_scores("tea")[:1] == [("one", pytest.approx(1))]
        index.upsert_batch([("one", "a car"), ("three", " ")])
        assert index.get_stats() == {"total_vectors": 2, "namespaces": {"mine/global": 2}, "dimension": 4}
        index.delete_batch(["one", "unknown"])
        assert index.search("car") == ["two"]
        assert json.dumps(index.get_stats())
        index.close()


class TestNames:
    @given(st.text(min_size=1), st.text(min_size=1), st.integers(65, 512))
    def test_no_two_texts_have_one_name(self, one, other, most):
        assert (name_of(one, most) == name_of(other, most)) is (one == other)

    @given(st.one_of(st.text(min_size=1), st.sampled_from(HOSTILE_SCOPES)), st.integers(65, 512))
    def test_a_name_is_short_and_ascii_and_can_be_read_back(self, text, most):
        name = name_of(text, most)
        assert 0 < len(name) <= most
        assert name.isascii()
        assert name.isprintable()
        assert not name.startswith("__")
        assert text_of(name) == (None if name.startswith("#") else text)

    @pytest.mark.parametrize("name", ["", "a/b", "%e9", "%2f", "__default__", "caf\u00e9", "#" + "0" * 64])
    def test_what_is_no_name_of_ours_has_no_text(self, name):
        assert text_of(name) is None


def again(call):
    """Call until it works."""
    for _ in range(50):
        try:
            return call()
        except BackendError:
            continue
    raise AssertionError("it never works")
