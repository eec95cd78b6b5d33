"""Vector indexes: the shipped contract over each of them, and what each adds to it."""

import json
import signal
import sqlite3
import subprocess
import sys
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import faiss
import numpy as np
import pytest

from recollectx.embeddings.base import BaseEmbedder
from recollectx.errors import (
    BackendError,
    DatabaseTooNew,
    DimensionError,
    InvalidClaim,
    InvalidQuery,
    InvalidSetting,
)
from recollectx.storage.vector import (
    ExactIndex,
    FAISSBackend,
    Near,
    TextBackend,
    VectorBackend,
    is_text_backend,
)
from recollectx.testing import HOSTILE_SCOPES, VectorBackendContract

D = 64


def by_words(text):
    """A vector that texts with words in common have in common."""
    vector = np.zeros(D)
    for word in text.lower().split():
        vector += np.random.default_rng(zlib.crc32(word.encode())).standard_normal(D)
    return vector


class ByWords(BaseEmbedder):
    def __init__(self):
        super().__init__("by words", D)

    def _embed(self, texts):
        return [by_words(text) for text in texts]


class LeastIndex(VectorBackend):
    """As little as somebody else must write."""

    def __init__(self, dimension, embedder=None):
        super().__init__(dimension, embedder)
        self.held = {}

    def _upsert(self, scope, ids, vectors):
        self.held.update({(scope, id): vector for id, vector in zip(ids, vectors, strict=True)})

    def _delete(self, scope, ids):
        for id in ids:
            self.held.pop((scope, id), None)

    def _search(self, scope, vector, k):
        found = [Near(id, float(row @ vector)) for (name, id), row in self.held.items() if name == scope]
        return sorted(found, key=lambda near: -near.score)[:k]

    def _vectors_of(self, scope, ids):
        return {id: self.held[scope, id].copy() for id in ids if (scope, id) in self.held}


class NoZeros(LeastIndex):
    zeros = False


class TestNoZeros(VectorBackendContract):
    def fresh(self):
        return NoZeros(self.dimension)


class TestExactIndex(VectorBackendContract):
    def fresh(self):
        return ExactIndex(self.dimension)


class TestLeastIndex(VectorBackendContract):
    def fresh(self):
        return LeastIndex(self.dimension)


class TestFAISSInMemory(VectorBackendContract):
    def fresh(self):
        return FAISSBackend(by_words, self.dimension)


class TestFAISSInAFile(VectorBackendContract):
    @pytest.fixture(autouse=True)
    def in_folder(self, tmp_path):
        self.path = tmp_path / "index"

    def fresh(self):
        return FAISSBackend(by_words, self.dimension, self.path)

    def reopened(self, index):
        del index
        return self.fresh()


@pytest.fixture(params=["exact", "least", "faiss", "faiss in a file"])
def index(request, tmp_path):
    """Each index, with an embedder."""
    made = {
        "exact": lambda: ExactIndex(D, ByWords()),
        "least": lambda: LeastIndex(D, ByWords()),
        "faiss": lambda: FAISSBackend(by_words, D),
        "faiss in a file": lambda: FAISSBackend(by_words, D, str(tmp_path / "index")),
    }[request.param]()
    yield made
    made.close()


class TestTextMethods:
    def test_as_in_0_2_7(self, index):
        index.upsert("tea", "Ana drinks green tea")
        index.upsert("dog", "the dog barks at night")
        index.upsert("car", "a red car")
        assert index.search("green tea", k=1) == ["tea"]
        assert index.search("the dog")[0] == "dog"
        (first, score), *rest = index.search_with_scores("a red car", 3)
        assert (first, round(score, 4), len(rest)) == ("car", 1.0, 2)
        index.upsert("tea", "Ana drives a red car")
        index.delete("car")
        index.delete("car")
        assert index.search("a red car", k=1) == ["tea"]
        assert len(index) == 2
        index.clear()
        assert (len(index), index.search("tea")) == (0, [])

    def test_scopes(self, index):
        index.upsert("tea", "green tea", scope="team_a")
        index.upsert("tea", "black tea", scope="team-a")
        index.delete("tea", scope="team_a")
        assert index.search("green tea", scope="team_a") == []
        assert index.search("green tea") == []
        assert index.search("green tea", scope="team-a") == ["tea"]

    def test_blank_text_is_nothing_to_find(self, index):
        index.upsert("tea", "green tea")
        assert index.search(" \n") == []
        index.upsert("tea", "  ")
        assert len(index) == 0

    def test_k_must_make_sense_even_for_a_blank_query(self, index):
        for query in ("tea", ""):
            with pytest.raises(InvalidQuery, match="k must be"):
                index.search(query, 0)

    def test_without_an_embedder_texts_are_refused_by_name(self):
        with pytest.raises(InvalidSetting, match="ExactIndex was made without an embedder"):
            ExactIndex(D).upsert("tea", "green tea")


class TestBase:
    def test_dimension_and_embedder_must_agree(self):
        for dimension in (0, -1, 2.0, True, "3"):
            with pytest.raises(DimensionError, match="whole number"):
                ExactIndex(dimension)
        with pytest.raises(DimensionError, match="by words gives 64-d"):
            ExactIndex(D + 1, ByWords())

    def test_what_an_index_raises_is_a_backend_error_and_the_ids_are_not_counted(self):
        class Broken(LeastIndex):
            def _upsert(self, scope, ids, vectors):
                raise ZeroDivisionError("the service is down")

        index = Broken(2)
        with pytest.raises(BackendError, match="Broken failed: ZeroDivisionError: the service is down"):
            index.upsert_vectors("a", ["x"], [[1, 0]])
        assert index.count() == 0

    def test_a_step_not_written_is_named(self):
        with pytest.raises(BackendError, match=r"must implement _upsert"):
            VectorBackend(2).upsert_vectors("a", ["x"], [[1, 0]])

    def test_calls_to_an_index_elsewhere_do_not_wait_for_each_other(self):
        both = threading.Barrier(2)

        class Remote(LeastIndex):
            placement = "remote"

            def _search(self, scope, vector, k):
                both.wait(timeout=30)
                return super()._search(scope, vector, k)

        index = Remote(2)
        index.upsert_vectors("a", ["x"], [[1, 0]])
        with ThreadPoolExecutor(2) as threads:
            found = list(threads.map(lambda _: index.search_vector("a", [1, 0], 1), range(2)))
        assert found == [[Near("x", 1.0)]] * 2

    def test_an_index_elsewhere_is_asked_what_it_holds(self):
        class Remote(LeastIndex):
            placement = "remote"

            def _scopes(self):
                return {scope for scope, _ in self.held}

            def _ids(self, scope):
                return [id for name, id in self.held if name == scope]

        one, other = Remote(2), Remote(2)
        other.held = one.held
        one.upsert_vectors("a", ["x", "y"], [[1, 0], [0, 1]])
        other.upsert_vectors("b", ["x"], [[1, 0]])
        assert (one.count(), one.count("b"), sorted(one.scopes())) == (3, 1, ["a", "b"])
        other.clear("a")
        assert (one.count(), one.ids("a")) == (1, [])

    def test_more_than_an_index_can_give_is_refused_by_name(self):
        class Short(LeastIndex):
            most = 3

        with pytest.raises(InvalidQuery, match="Short gives at most 3 a search, got k=4"):
            Short(2).search_vector("a", [1, 0], 4)
        assert Short(2).search_vector("a", [1, 0], 3) == []

    @pytest.mark.parametrize("size", [1e-44, 1e-30, 1.0, 1e30, 3e38])
    def test_any_length_is_normalised(self, size):
        index = ExactIndex(2)
        index.upsert_vectors("a", ["x"], [[size, size]])
        assert index.search_vector("a", [size, 0], 1)[0].score == pytest.approx(0.5**0.5, abs=1e-6)


class TestOrderOfTies:
    @pytest.mark.parametrize("make", [ExactIndex, lambda d: FAISSBackend(by_words, d)])
    def test_equal_vectors_come_in_the_order_they_arrived(self, make):
        index, rng = make(37), np.random.default_rng(3)
        one, query = rng.standard_normal((2, 37))
        ids = [f"{n}" for n in rng.permutation(101)]
        index.upsert_vectors("a", ids, np.tile(one, (101, 1)))
        index.upsert_vectors("a", ids[50:60], np.tile(one, (10, 1)))
        index.delete_ids("a", ids[:7])
        index.upsert_vectors("a", ids[:1], [one])
        assert [near.id for near in index.search_vector("a", query, 200)] == ids[7:] + ids[:1]

    @pytest.mark.parametrize(("dimension", "count"), [(3, 5), (37, 50), (37, 1003), (384, 1003), (385, 1003)])
    def test_the_cut_falls_among_equals_by_arrival(self, dimension, count):
        index, rng = ExactIndex(dimension), np.random.default_rng(dimension * count)
        one, query = rng.standard_normal((2, dimension))
        ids = [f"{n}" for n in range(count)]
        index.upsert_vectors("a", ids, np.tile(one, (count, 1)))
        for k in (1, 3, count // 2):
            assert [near.id for near in index.search_vector("a", query, k)] == ids[:k]


class TestFaultsOf027:
    def test_w01_vectors_are_there_after_a_restart_without_save(self, tmp_path):
        FAISSBackend(by_words, D, index_path=str(tmp_path / "memory.index")).upsert("tea", "green tea")
        again = FAISSBackend(by_words, D, index_path=str(tmp_path / "memory.index"))
        assert again.search("green tea") == ["tea"]

    def test_w04_forty_new_vectors_of_one_id_hide_nothing(self, index):
        index.upsert("dog", "the dog barks")
        for turn in range(40):
            index.upsert("tea", f"green tea {turn}")
        assert index.search("green tea", k=3) == ["tea", "dog"]
        assert index.search("green tea", k=1) == ["tea"]

    def test_an_import_needs_no_faiss_and_a_missing_one_is_named(self):
        program = (
            "import sys; sys.modules['faiss'] = None\n"
            "from recollectx.storage.vector import FAISSBackend\n"
            "FAISSBackend(len, 3)"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert "MissingExtra: faiss is not installed" in done.stderr
        assert "recollectx[local]" in done.stderr


def write_as_0_2_7(path, rows, live, dimension=3):
    """The two files: every vector ever added, and which row is whose today."""
    index = faiss.IndexFlatIP(dimension)
    index.add(np.array(rows, np.float32))
    faiss.write_index(index, str(path))
    mapping = {
        "id_to_idx": {id: row for row, id in live.items()},
        "idx_to_id": {str(row): id for row, id in live.items()},
        "next_idx": len(rows),
    }
    Path(f"{path}.mapping.json").write_text(json.dumps(mapping), "utf-8")


class TestFilesOf027:
    ROWS = ((1, 0, 0), (0, 1, 0), (0.6, 0.8, 0), (1, 0, 0), (0, 0, 0))
    LIVE = {1: "y", 2: "x", 4: "nothing"}  # noqa: RUF012

    def folder(self, path):
        return {p.name: p.read_bytes() for p in path.parent.iterdir() if ".vectors.db" not in p.name}

    def test_live_vectors_are_taken_in_and_the_files_left_alone(self, tmp_path):
        path = tmp_path / "old.index"
        write_as_0_2_7(path, self.ROWS, self.LIVE)
        before = self.folder(path)
        index = FAISSBackend(len, 3, str(path))
        found = index.search_vector("global", [1, 0, 0], 9)
        assert [near.id for near in found] == ["x", "y", "nothing"]
        assert [near.score for near in found] == pytest.approx([0.6, 0, 0])
        index.delete("x")
        index.save()
        again = FAISSBackend(len, 3, str(path))
        assert [near.id for near in again.search_vector("global", [1, 0, 0], 9)] == ["y", "nothing"]
        assert self.folder(path) == before

    def test_a_mapping_older_than_the_index_or_the_other_way_gives_what_both_know(self, tmp_path):
        path = tmp_path / "old.index"
        write_as_0_2_7(path, [*self.ROWS, (np.nan, 0, 0)], {**self.LIVE, 5: "broken", 9: "lost"})
        assert FAISSBackend(len, 3, path).count("global") == 3

    def test_an_index_without_mapping_has_no_ids(self, tmp_path):
        path = tmp_path / "old.index"
        write_as_0_2_7(path, self.ROWS, self.LIVE)
        Path(f"{path}.mapping.json").unlink()
        assert len(FAISSBackend(len, 3, path)) == 0

    def test_another_dimension_is_refused_and_nothing_is_made(self, tmp_path):
        path = tmp_path / "old.index"
        write_as_0_2_7(path, self.ROWS, self.LIVE)
        with pytest.raises(DimensionError, match="3-d vectors, it was opened for 4-d"):
            FAISSBackend(len, 4, path)
        assert len(FAISSBackend(len, 3, path)) == 3

    @pytest.mark.parametrize("broken", ["old.index", "old.index.mapping.json"])
    def test_a_damaged_file_is_named(self, tmp_path, broken):
        path = tmp_path / "old.index"
        write_as_0_2_7(path, self.ROWS, self.LIVE)
        (tmp_path / broken).write_bytes(b"not what it was")
        with pytest.raises(BackendError, match=r"old\.index"):
            FAISSBackend(len, 3, path)


class TestFile:
    @pytest.fixture
    def path(self, tmp_path):
        return tmp_path / "folder" / "index"

    def test_save_needs_a_path(self, path):
        FAISSBackend(by_words, D, path).save()
        with pytest.raises(InvalidSetting, match="index_path"):
            FAISSBackend(by_words, D).save()

    def test_two_openers_see_and_keep_what_each_writes(self, path):
        one, two = FAISSBackend(by_words, D, path), FAISSBackend(by_words, D, path)
        one.upsert("tea", "green tea")
        two.upsert("dog", "the dog barks")
        assert one.search("the dog barks", 1) == ["dog"]
        two.delete("tea")
        one.upsert("car", "a red car")
        assert [i.search("green tea a red car", 9) for i in (one, two)] == [["car", "dog"]] * 2
        one.clear()
        assert len(two) == 0

    def test_many_openers_at_once(self, path):
        def work(opener):
            index = FAISSBackend(by_words, D, path)
            for turn in range(10):
                index.upsert(f"{opener}/{turn}", f"word{opener} number{turn}")
                assert index.search(f"word{opener} number{turn}", 1) == [f"{opener}/{turn}"]
            index.close()

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(work, range(4)))
        assert len(FAISSBackend(by_words, D, path)) == 40

    def test_a_killed_writer_leaves_all_it_said_was_written_and_no_half_of_a_call(self, path):
        program = (
            "import sys\n"
            "from recollectx.storage.vector import FAISSBackend\n"
            "index, n = FAISSBackend(len, 3, sys.argv[1]), 0\n"
            "while True:\n"
            "    n += 1\n"
            "    index.upsert_vectors('a', [f'{n}/1', f'{n}/2'], [[n, 1, 0], [0, 1, n]])\n"
            "    index.replace('b', [f'{n}/1', f'{n}/2'], [[n, 1, 0], [0, 1, n]])\n"
            "    print(n, flush=True)\n"
        )
        command = [sys.executable, "-c", program, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            said = [int(writer.stdout.readline()) for _ in range(12)][-1]
            writer.send_signal(signal.SIGKILL)
            said = max([said, *map(int, writer.stdout.read().split())])
        index = FAISSBackend(len, 3, path)
        found = {near.id for near in index.search_vector("a", [0, 1, 0], 10_000)}
        assert {f"{n}/{half}" for n in range(1, said + 1) for half in (1, 2)} <= found
        assert len(found) % 2 == 0
        assert index.count("b") == 2
        assert len({near.id.split("/")[0] for near in index.search_vector("b", [0, 1, 0], 9)}) == 1

    def test_a_call_that_fails_on_disk_changes_nothing_in_memory(self, path):
        index = FAISSBackend(by_words, D, path)
        index.upsert("tea", "green tea")
        file = sqlite3.connect(f"{path}.vectors.db")
        file.execute(
            "CREATE TRIGGER full BEFORE INSERT ON vectors WHEN new.id = 'dog' "
            "BEGIN SELECT raise(ABORT, 'disk full'); END"
        )
        file.commit()
        file.close()
        with pytest.raises(BackendError, match="disk full"):
            index.replace("global", ["car", "dog"], [by_words("a red car"), by_words("the dog")])
        assert index.search("green tea", 9) == ["tea"]
        assert len(index) == 1

    def test_deleted_vectors_leave_no_bytes(self, path):
        index = FAISSBackend(by_words, D, path)
        index.upsert("secret", "the code is tulip")
        index.upsert("tea", "green tea")
        file = sqlite3.connect(f"{path}.vectors.db")
        (vector,) = file.execute("SELECT vector FROM vectors WHERE id = 'secret'").fetchone()
        file.close()
        index.upsert("secret", "the code is rose")

        def holders():
            return [p.name for p in path.parent.iterdir() if vector[:64] in p.read_bytes()]

        assert holders() == ["index.vectors.db-wal"]
        index.delete("secret")
        assert holders() == []

    def test_another_dimension_is_refused(self, path):
        FAISSBackend(by_words, D, path).upsert("tea", "green tea")
        with pytest.raises(DimensionError, match="64-d vectors, it was opened for 65-d"):
            FAISSBackend(by_words, D + 1, path)

    def test_a_newer_format_and_a_strange_file_are_refused(self, path):
        FAISSBackend(by_words, D, path).close()
        file = sqlite3.connect(f"{path}.vectors.db")
        file.execute("PRAGMA user_version=2")
        file.close()
        with pytest.raises(DatabaseTooNew, match="format 2"):
            FAISSBackend(by_words, D, path)
        Path(f"{path}.vectors.db").write_bytes(b"a shopping list" * 100)
        with pytest.raises(BackendError, match=r"index\.vectors\.db"):
            FAISSBackend(by_words, D, path)

    def test_a_closed_index_says_so(self, path):
        index = FAISSBackend(by_words, D, path)
        index.close()
        with pytest.raises(BackendError, match="closed"):
            index.search("tea")


class Service:
    """0.2.7's text protocol over words in common. most: gives no more than so many."""

    def __init__(self, most=10_000):
        self.texts, self.most, self.asked = {}, most, []

    def upsert(self, id, text):
        self.texts[id] = set(text.split())

    def delete(self, id):
        self.texts.pop(id, None)

    def search(self, query, k=10):
        self.asked.append(k)
        words = set(query.split())
        return sorted(self.texts, key=lambda id: -len(self.texts[id] & words))[: min(k, self.most)]


def everything(_id):
    return True


class TestTextBackend:
    def test_add_replace_delete_search(self):
        index = TextBackend(Service())
        index.upsert_texts(["tea", "dog", "car"], ["green tea", "the dog", "a red car"])
        index.upsert_texts(["tea", "car"], ["a red tea", " "])
        index.delete_ids(["dog", "unknown"])
        assert index.search_text("red", 4, keep=everything) == [Near("tea", 1.0)]
        assert index.search_text(" ", 4, keep=everything) == []

    def test_scores_are_ranks_in_0_to_1(self):
        index = TextBackend(Service())
        index.upsert_texts(["c", "a", "b"], ["w", "w x y", "w x"])
        found = index.search_text("w x y", 4, keep=everything)
        assert found == [Near("a", 1.0), Near("b", 0.75), Near("c", 0.5)]

    @pytest.mark.parametrize("scope", HOSTILE_SCOPES)
    def test_a_scope_of_few_is_not_starved_by_the_others(self, scope):
        service = Service()
        index = TextBackend(service)
        index.upsert_texts([f"other {n}" for n in range(100)], ["green tea with milk"] * 100)
        index.upsert_texts(["one", "two", "three"], ["green tea", "green", "tea"])
        scopes = {"one": scope, "two": scope, "three": scope + "x"}
        found = index.search_text("green tea with milk", 2, keep=lambda id: scopes.get(id) == scope)
        assert [near.id for near in found] == ["one", "two"]
        assert service.asked == [2, 4, 8, 16, 32, 64, 128]

    def test_it_asks_once_when_the_first_answer_will_do_or_is_all_there_is(self):
        service = Service()
        index = TextBackend(service)
        index.upsert_texts(["a", "b", "c"], ["x", "x", "x"])
        assert len(index.search_text("x", 2, keep=everything)) == 2
        assert index.search_text("x", 5, keep=lambda id: id == "b") == [Near("b", 1.0)]
        assert service.asked == [2, 5]

    @pytest.mark.parametrize("most", [3, 4, 5])
    def test_a_service_that_caps_its_answers_ends_the_search(self, most):
        index = TextBackend(Service(most))
        index.upsert_texts([f"{n}" for n in range(50)], ["x"] * 50)
        assert index.search_text("x", 4, keep=lambda id: id == "49") == []

    def test_a_service_that_repeats_itself_ends_the_search(self):
        class Repeating(Service):
            def search(self, query, k=10):
                return ["a"] * k

        assert TextBackend(Repeating()).search_text("x", 2, keep=everything) == [Near("a", 1.0)]

    def test_what_the_service_raises_or_gives_wrong_is_a_backend_error(self):
        class Down(Service):
            def search(self, query, k=10):
                raise OSError("no route")

        class Pairs(Service):
            def search(self, query, k=10):
                return [("a", 0.5)]

        with pytest.raises(BackendError, match="Down failed: OSError: no route"):
            TextBackend(Down()).search_text("x", 2, keep=everything)
        with pytest.raises(BackendError, match="must give ids"):
            TextBackend(Pairs()).search_text("x", 2, keep=everything)

    def test_what_makes_no_sense_is_refused(self):
        index = TextBackend(Service())
        with pytest.raises(InvalidClaim, match="2 ids came with 1 texts"):
            index.upsert_texts(["a", "b"], ["x"])
        with pytest.raises(InvalidQuery, match="k must be"):
            index.search_text("x", 0, keep=everything)
        with pytest.raises(TypeError, match="int lacks upsert"):
            TextBackend(3)

    def test_which_objects_are_text_backends(self):
        class OldStyle(VectorBackend):
            """0.2.7's VectorBackend was a protocol that one could inherit from without calling its constructor."""

            upsert, delete, search = Service.upsert, Service.delete, Service.search
            __init__ = Service.__init__

        assert is_text_backend(Service())
        assert is_text_backend(OldStyle())
        assert not is_text_backend(Service)
        assert not is_text_backend(ExactIndex(3))
        assert not is_text_backend(FAISSBackend(by_words, D))
        assert not is_text_backend({"upsert": 1})
