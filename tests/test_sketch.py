import numpy as np
import pytest
from test_ranking import NOW, row

from recollectx.query import Query
from recollectx.ranking import ScopeIndex
from recollectx.sketch import FIRST, Sketch


def clustered(count: int, dimension: int = 96, seed: int = 0) -> np.ndarray:
    """Unit vectors about clusters of a few main directions, as vectors of texts are."""
    chance = np.random.default_rng(seed)
    strength = 1 / np.sqrt(1 + np.arange(dimension))
    centres = chance.standard_normal((50, dimension)) * strength
    vectors = (
        centres[chance.integers(0, 50, count)] + 0.5 * chance.standard_normal((count, dimension)) * strength
    )
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def test_the_nearest_rows_are_found_exactly_and_the_others_nearly() -> None:
    vectors, questions = clustered(20_000), clustered(40, seed=1)
    sketch, met = Sketch(vectors), 0
    for question in questions:
        exact, found = vectors @ question, sketch.cosines(vectors, question)
        best = np.argsort(-exact)[:10]
        met += len(set(best) & set(np.argsort(-found)[:10]))
        assert np.abs(found - exact).max() < 0.35
        assert int((np.abs(found - exact) < 1e-6).sum()) >= FIRST
    assert met >= 0.99 * 10 * len(questions)


def test_rows_that_come_later_are_found_as_well() -> None:
    vectors = clustered(3_000)
    sketch = Sketch(vectors[:2_500])
    sketch.put(np.arange(2_500, 3_000), vectors[2_500:])
    sketch.put(np.array([7]), vectors[2_999:])
    changed = vectors.copy()
    changed[7] = vectors[2_999]
    found = sketch.cosines(changed, vectors[2_999])
    assert found[[7, 2_999]] == pytest.approx(1.0, abs=1e-5)
    assert found[[8, 2_600]] == pytest.approx(changed[[8, 2_600]] @ vectors[2_999], abs=0.35)


def test_an_index_of_many_rows_answers_as_an_exact_one_through_growth_drops_and_compaction() -> None:
    vectors = clustered(4_000)
    exact, near = ScopeIndex(), ScopeIndex(sketch_from=1_000)
    for start in range(0, 4_000, 500):
        for made in (exact, near):
            rows = [row(n, f"word{n % 7}") for n in range(start, start + 500)]
            made.extend(rows, range(500), vectors[start : start + 500])
        near.search(Query("x"), NOW, vectors[0])
    assert near.nbytes > exact.nbytes
    for claim in range(2_500):
        exact.drop(claim)
        near.drop(claim)
    for question in clustered(10, seed=2):
        wanted, found = (made.search(Query("word3", k=10), NOW, question) for made in (exact, near))
        assert len({hit.claim for hit in wanted} & {hit.claim for hit in found}) >= 9
