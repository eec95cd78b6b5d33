"""Asking an index outside: about a scope of which not all vectors can be read for one question, and one that answers nonsense."""

import random

import pytest
from shelf import Shelf

from recollectx import Memory, SemanticClaim
from recollectx.embeddings import HashEmbedder
from recollectx.errors import BackendError
from recollectx.storage.vector.base import Near

WIDTH, NAMED, READ = 32, 20, 50
PLANTS = [f"{first}{last}" for first in ("fern", "moss", "reed", "sedge") for last in "abcdefghij"]


class Herbal(HashEmbedder):
    """Knows that bilberry and whortleberry are one."""

    def __init__(self):
        super().__init__(WIDTH)

    def _embed(self, texts):
        return super()._embed([text.replace("whortleberry", "bilberry") for text in texts])


class Narrow(Shelf):
    """Names few at a time."""

    most = NAMED


@pytest.fixture
def shelf():
    return Narrow(WIDTH, {}, Herbal())


@pytest.fixture
def garden(path, shelf):
    """The first claim is about bilberries, and 200 younger ones are not."""
    chance = random.Random(31)
    with Memory.open(path, vectors=shelf, embedder=Herbal()) as memory:
        memory.storage.retriever.near_at_hand = 30
        memory.storage.retriever.read_at_most = READ
        memory.store(SemanticClaim.from_text("bilberry"))
        younger = (" ".join(chance.choices(PLANTS, k=4)) for _ in range(200))
        memory.store_many(SemanticClaim.from_text(text) for text in younger)
        assert memory.settle(10)
        yield memory


@pytest.mark.parametrize("k", [10, NAMED, NAMED + 1, None])
def test_the_best_match_is_found_however_many_hits_are_wanted(garden, k):
    first = garden.recall("whortleberry", k=k).hits[0]
    assert (first.claim.text, first.parts.cosine) == ("bilberry", pytest.approx(1, abs=1e-3))


def test_the_best_match_stays_when_others_of_the_nearest_are_no_longer_current(garden, shelf):
    near = shelf.search_vector("global", Herbal().embed(["whortleberry"])[0], 4)
    for each in near[1:]:
        garden.forget(each.id)
    for k in (NAMED - 3, NAMED):
        assert garden.recall("whortleberry", k=k).hits[0].claim.text == "bilberry"


def test_what_fits_by_words_is_compared_when_the_index_names_nothing(garden, shelf):
    shelf.away = True
    first = garden.recall("bilberry", k=30).hits[0]
    assert (first.claim.text, first.parts.cosine) == ("bilberry", pytest.approx(1, abs=1e-3))


NONSENSE = {
    "nothing": None,
    "a number": 7,
    "tuples": [("a", 1.0)],
    "ids that are no text": [Near(5, 1.0)],
    "ids that are lists": [Near(["a"], 1.0)],
    "no numbers": [Near("a", None)],
    "not a number": [Near("a", float("nan"))],
}


class Babbling(Narrow):
    """Answers with what it was told to."""

    answer = ()

    def _search(self, scope, vector, k):
        return self.answer


class BabblingHere(Babbling):
    placement = "process"


@pytest.mark.parametrize("answer", NONSENSE.values(), ids=NONSENSE)
def test_an_index_that_answers_nonsense_counts_as_one_that_failed(path, answer):
    index = Babbling(WIDTH, {}, Herbal())
    with Memory.open(path, vectors=index, embedder=Herbal()) as memory:
        memory.storage.retriever.near_at_hand = 1
        memory.store_many([SemanticClaim.from_text(text) for text in ("bilberry", "ferna reedb", "mossc")])
        assert memory.settle(10)
        index.away = True
        expected = [(hit.claim.text, hit.score) for hit in memory.recall("whortleberry")]
        index.away, index.answer = False, answer
        assert [(hit.claim.text, hit.score) for hit in memory.recall("whortleberry")] == expected
        with pytest.raises(BackendError, match=r"Babbling|must give Near"):
            index.search_vector("global", [1.0] * WIDTH, 3)


@pytest.mark.parametrize("answer", NONSENSE.values(), ids=NONSENSE)
def test_an_index_of_this_process_that_answers_nonsense_leaves_recall_to_words(path, answer):
    index = BabblingHere(WIDTH, {}, Herbal())
    index.answer = answer
    with Memory.open(path, vectors=index, embedder=Herbal()) as memory:
        memory.store_many([SemanticClaim.from_text(text) for text in ("bilberry", "ferna reedb")])
        assert [hit.claim.text for hit in memory.recall("bilberry")] == ["bilberry"]


def test_an_index_may_answer_one_by_one_and_with_more_than_was_asked(path):
    index = Babbling(WIDTH, {}, Herbal())
    index.answer = (Near(str(number), 1.0) for number in range(10))
    assert [each.id for each in index.search_vector("global", [1.0] * WIDTH, 3)] == ["0", "1", "2"]
