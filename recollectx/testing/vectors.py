"""What every vector index must do, as tests to inherit."""

import unittest
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from recollectx.errors import DimensionError, InvalidClaim, InvalidQuery
from recollectx.storage.vector.base import Near, VectorBackend
from recollectx.storage.vector.checking import Vectors

TIES = 1e-4
HOSTILE_SCOPES = (
    "team_a",
    "team-a",
    "team a",
    "team_a ",
    "Team_A",
    "teamXa",
    "t\u0435am_a",  # a Cyrillic e
    "100%",
    "100_",
    "%",
    "x' OR 1=1 --",
    '"; DROP TABLE vectors; --',
    "../team_a",
    "team_a\nteam-a",
    "caf\u00e9",
    "cafe\u0301",  # the same word to the eye
    "\U0001f98a",
    "\U0001f98a\u200d",
    "*",
    "None",
    "long" * 1000,
    "long" * 1000 + "!",
)


class VectorBackendContract:
    """What every vector index must do. Override `fresh`, and `reopened` if the index outlives its object.

    patience: seconds within which `settle` must have made what was written readable.
    """

    dimension = 16
    patience = 10.0

    def fresh(self) -> VectorBackend:
        """An empty index for vectors of length `self.dimension`."""
        raise NotImplementedError(f"{type(self).__name__} must implement fresh()")

    def reopened(self, index: VectorBackend) -> VectorBackend:
        """The same data in a new object, after `index` was dropped without save or close; skips by default."""
        raise unittest.SkipTest(f"{type(index).__name__} does not outlive its object")

    def test_empty(self) -> None:
        index = self.fresh()
        assert index.search_vector("a", self.vectors(1)[0], 5) == []
        assert (index.count(), index.count("a"), len(index)) == (0, 0, 0)

    def test_add_and_replace(self) -> None:
        index, (one, two, three) = self.fresh(), self.vectors(3)
        index.upsert_vectors("a", ["x", "y"], [one, two])
        self.settled(index)
        assert_nearest(index.search_vector("a", one, 2), {"x": one, "y": two}, one, 2)
        index.upsert_vectors("a", ["y", "z"], [three, two])
        held = {"x": one, "y": three, "z": two}
        self.settled(index)
        assert_nearest(index.search_vector("a", three, 3), held, three, 3)
        assert index.count("a") == 3

    def test_delete(self) -> None:
        index, (one, two, three) = self.fresh(), self.vectors(3)
        index.upsert_vectors("a", ["x", "y", "z"], [one, two, three])
        index.delete_ids("a", ["x", "unknown", "x"])
        index.delete_ids("never seen", ["y"])
        index.delete_ids("a", [])
        self.settled(index)
        assert_nearest(index.search_vector("a", one, 9), {"y": two, "z": three}, one, 9)
        index.upsert_vectors("a", ["x"], [one])
        self.settled(index)
        assert index.search_vector("a", one, 1)[0].id == "x"

    def test_replace_and_clear(self) -> None:
        index, (one, two, three) = self.fresh(), self.vectors(3)
        index.upsert_vectors("a", ["x", "y"], [one, two])
        index.upsert_vectors("b", ["x"], [three])
        index.replace("a", ["y", "z"], [three, one])
        self.settled(index)
        assert_nearest(index.search_vector("a", one, 9), {"y": three, "z": one}, one, 9)
        assert (index.count("a"), index.count("b"), index.count()) == (2, 1, 3)
        index.replace("a", [], [])
        self.settled(index)
        assert index.search_vector("a", one, 9) == []
        index.upsert_vectors("a", ["x"], [one])
        index.clear("a")
        self.settled(index)
        assert (index.count("a"), index.count("b")) == (0, 1)
        index.clear()
        self.settled(index)
        assert index.count() == 0
        assert index.search_vector("b", three, 9) == []

    def test_order_is_that_of_brute_force(self) -> None:
        index = self.fresh()
        held: dict[str, Vectors] = {}
        rng = np.random.default_rng(7)
        for turn in range(12):
            ids = [f"id {n}" for n in rng.choice(120, 30, replace=False)]
            vectors = self.vectors(30, seed=turn) * rng.uniform(0.01, 100, (30, 1)).astype(np.float32)
            index.upsert_vectors("a", ids, vectors)
            held.update(zip(ids, vectors, strict=True))
            gone = [f"id {n}" for n in rng.choice(120, 10, replace=False)]
            index.delete_ids("a", gone)
            for id in gone:
                held.pop(id, None)
            for k in (1, 5, len(held), 500):
                query = self.vectors(1, seed=1000 + turn)[0]
                self.settled(index)
                assert_nearest(index.search_vector("a", query, k), held, query, k)
            assert index.count("a") == len(held)

    def test_zero_vectors_score_zero_or_are_not_held(self) -> None:
        index, (one,) = self.fresh(), self.vectors(1)
        zero = np.zeros(self.dimension, np.float32)
        index.upsert_vectors("a", ["nothing", "x"], [one, one])
        index.upsert_vectors("a", ["nothing"], [zero])
        self.settled(index)
        held = {"x": one} | ({"nothing": zero} if index.zeros else {})
        assert [near.id for near in index.search_vector("a", one, 2)] == list(held)
        assert [near.score for near in index.search_vector("a", zero, 2)] == ([0, 0] if index.zeros else [])
        assert sorted(index.ids("a")) == sorted(held)

    def test_scopes_with_hostile_names_stay_apart(self) -> None:
        index, vectors = self.fresh(), self.vectors(len(HOSTILE_SCOPES))
        held = dict(zip(HOSTILE_SCOPES, vectors, strict=True))
        for scope, vector in held.items():
            index.upsert_vectors(scope, ["same id", f"in {scope}"], [vector, -vector])
        for scope, vector in held.items():
            self.settled(index)
            found = index.search_vector(scope, vector, 9)
            assert_nearest(found, {"same id": vector, f"in {scope}": -vector}, vector, 9)
            assert index.count(scope) == 2
        for done, scope in enumerate(HOSTILE_SCOPES, 1):
            index.clear(scope)
            self.settled(index)
            assert index.count(scope) == 0
            assert index.count() == 2 * (len(HOSTILE_SCOPES) - done), scope

    def test_ids_are_any_text(self) -> None:
        index, vectors = self.fresh(), self.vectors(len(HOSTILE_SCOPES))
        index.upsert_vectors("a", HOSTILE_SCOPES, vectors)
        for id, vector in zip(HOSTILE_SCOPES, vectors, strict=True):
            self.settled(index)
            assert index.search_vector("a", vector, 1)[0].id == id
            index.delete_ids("a", [id])
        self.settled(index)
        assert index.count("a") == 0

    def test_no_ghosts_after_many_replacements(self) -> None:
        index, (query, other) = self.fresh(), self.vectors(2)
        index.upsert_vectors("a", ["other"], [other])
        for turn in range(40):
            index.upsert_vectors("a", ["x"], [query + 0.01 * self.vectors(1, seed=turn)[0]])
        self.settled(index)
        assert [near.id for near in index.search_vector("a", query, 10)] == ["x", "other"]
        assert [near.id for near in index.search_vector("a", query, 1)] == ["x"]
        assert index.count("a") == 2

    def test_nearer_vectors_elsewhere_or_deleted_never_starve_a_search(self) -> None:
        index, (query,) = self.fresh(), self.vectors(1)
        near = query + 0.01 * self.vectors(200)
        index.upsert_vectors("a", ["far"], [-query])
        index.upsert_vectors("b", [f"near {n}" for n in range(200)], near)
        index.upsert_vectors("a", [f"near {n}" for n in range(200)], near)
        index.delete_ids("a", [f"near {n}" for n in range(200)])
        self.settled(index)
        assert [found.id for found in index.search_vector("a", query, 1)] == ["far"]

    def test_what_is_wrong_is_refused_before_anything_changes(self) -> None:
        index, (one, two) = self.fresh(), self.vectors(2)
        index.upsert_vectors("a", ["x"], [one])
        for bad in (np.nan, np.inf, -np.inf, 1e300):
            broken = two.astype(np.float64)
            broken[3] = bad
            refuses(InvalidClaim, index.upsert_vectors, "a", ["x", "y"], [two, broken])
            refuses(InvalidClaim, index.replace, "a", ["x", "y"], [two, broken])
            refuses(InvalidQuery, index.search_vector, "a", broken, 1)
        for shape in ((self.dimension + 1,), (self.dimension - 1,), ()):
            wrong = np.ones(shape, np.float32)
            refuses(DimensionError, index.upsert_vectors, "a", ["x"], [wrong])
            refuses(DimensionError, index.replace, "a", ["x"], [wrong])
            refuses(DimensionError, index.search_vector, "a", wrong, 1)
        refuses(DimensionError, index.upsert_vectors, "a", ["x", "y"], [two])
        for ids in (["x", "x"], ["x", ""], ["x", 7], ["x", "\ud800"], "xy"):
            refuses(InvalidClaim, index.upsert_vectors, "a", ids, [two, two])
        for scope in ("", None, "\ud800"):
            refuses(InvalidClaim, index.upsert_vectors, scope, ["x"], [two])
            refuses(InvalidQuery, index.vectors_of, scope, ["x"])
            refuses(InvalidQuery, index.ids, scope)
            refuses(InvalidQuery, index.search_vector, scope, two, 1)
        for k in (0, -1, 1.5, True, *([] if index.most is None else [index.most + 1])):
            refuses(InvalidQuery, index.search_vector, "a", two, k)
        self.settled(index)
        assert_nearest(index.search_vector("a", one, 9), {"x": one}, one, 9)

    def test_eight_threads(self) -> None:
        index, shared = self.fresh(), self.vectors(8 * 20)

        def work(thread: int) -> None:
            own = f"own {thread}"
            for turn in range(20):
                id, vector = f"{thread}/{turn}", shared[20 * thread + turn]
                index.upsert_vectors("shared", [id], [vector])
                index.upsert_vectors(own, [id, "last"], [vector, -vector])
                self.settled(index)
                assert index.search_vector(own, vector, 1)[0].id == id
                assert index.search_vector("shared", vector, 1)[0].id == id
                if turn % 2:
                    index.delete_ids("shared", [id])
                    index.delete_ids(own, [id])

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(work, range(8)))
        held = {f"{n // 20}/{n % 20}": shared[n] for n in range(160) if n % 2 == 0}
        self.settled(index)
        assert_nearest(index.search_vector("shared", shared[0], 200), held, shared[0], 200)
        assert [index.count(f"own {thread}") for thread in range(8)] == [11] * 8

    def test_what_it_holds_can_be_listed_and_read_back(self) -> None:
        index, vectors = self.fresh(), self.vectors(40)
        assert (index.scopes(), index.ids("a"), index.vectors_of("a", ["x"])) == ([], [], {})
        ids = [f"id {n}" for n in range(38)] + ["caf\u00e9", "cafe\u0301"]
        held = dict(zip(ids, vectors, strict=True))
        if index.zeros:
            held["nothing"] = np.zeros(self.dimension, np.float32)
        for scope in HOSTILE_SCOPES:
            index.upsert_vectors(scope, ids[:1], vectors[:1])
        index.upsert_vectors("a", list(held), list(held.values()))
        index.upsert_vectors("gone", ids, vectors)
        index.delete_ids("gone", ids)
        self.settled(index)
        assert sorted(index.scopes()) == sorted([*HOSTILE_SCOPES, "a"])
        assert sorted(index.ids("a")) == sorted(held)
        assert (index.ids("gone"), index.ids("never seen")) == ([], [])
        found = index.vectors_of("a", ["unknown", *held, "id 0"])
        assert set(found) == set(held)
        for id, vector in held.items():
            assert np.allclose(found[id], vector / (np.linalg.norm(vector) or 1), atol=1e-6), id
        found["id 0"][:] = 9
        assert np.abs(index.vectors_of("a", ["id 0"])["id 0"]).max() <= 1
        assert index.vectors_of("team_a", ["id 1"]) == {}

    def test_outlives_its_object_without_save(self) -> None:
        index, vectors = self.fresh(), self.vectors(30)
        ids = [f"id {n}" for n in range(30)]
        index.upsert_vectors("a", ids, vectors)
        index.upsert_vectors("b", ids, -vectors)
        index.upsert_vectors("a", ids[:5], vectors[5:10])
        index.delete_ids("a", ids[10:20])
        index.replace("b", ids[:2], vectors[:2])
        self.settled(index)
        again = self.reopened(index)
        held = dict(zip(ids, [*vectors[5:10], *vectors[5:]], strict=True))
        held = {id: vector for id, vector in held.items() if id not in ids[10:20]}
        assert_nearest(again.search_vector("a", vectors[0], 50), held, vectors[0], 50)
        assert (again.count("a"), again.count("b"), again.count()) == (20, 2, 22)
        assert (sorted(again.scopes()), sorted(again.ids("b"))) == (["a", "b"], ids[:2])
        again.upsert_vectors("a", ["new", ids[0]], [vectors[0], vectors[1]])
        self.settled(again)
        assert again.count("a") == 21
        assert again.search_vector("a", vectors[0], 1)[0].id == "new"

    def settled(self, index: VectorBackend) -> None:
        """Wait until what was written to `index` can be read."""
        assert index.settle(self.patience), f"nothing settled within {self.patience} seconds"

    def vectors(self, count: int, seed: int = 0) -> Vectors:
        """Random vectors, the same for the same arguments."""
        rng = np.random.default_rng([seed, count])
        return rng.standard_normal((count, self.dimension), np.float32)


def assert_nearest(
    found: Sequence[Near], held: Mapping[str, Vectors], query: Vectors, k: int, *, ties: float = TIES
) -> None:
    """Assert that `found` is what comparing `query` with all of `held` gives, up to ties within `ties`."""
    true = {id: _cosine(vector, query) for id, vector in held.items()}
    ids, scores = [near.id for near in found], [near.score for near in found]
    assert len(ids) == min(k, len(held)), f"{len(ids)} found, {len(held)} held, k {k}"
    assert len(set(ids)) == len(ids), f"an id came twice: {ids}"
    assert set(ids) <= set(held), f"not held: {set(ids) - set(held)}"
    assert scores == sorted(scores, reverse=True), f"not best first: {scores}"
    for near in found:
        assert abs(near.score - true[near.id]) <= ties, f"{near} has cosine {true[near.id]}"
    missed = max((score for id, score in true.items() if id not in ids), default=-2.0)
    assert not scores or missed <= scores[-1] + ties, f"one with {missed} was missed, {scores[-1]} was given"


def refuses(error: type[Exception], call: Callable[..., object], *given: object) -> None:
    """Assert that `call(*given)` raises `error`."""
    try:
        call(*given)
    except error:
        return
    raise AssertionError(f"no {error.__name__} was raised")


def _cosine(a: Vectors, b: Vectors) -> float:
    a, b = a.astype(np.float64), b.astype(np.float64)
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / lengths if lengths else 0.0
