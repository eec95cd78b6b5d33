from pathlib import Path

import behind
import numpy as np
import pytest
from click.testing import CliRunner

from recollectx import EpisodicClaim, Memory
from recollectx.cli.app import app
from recollectx.embeddings import HashEmbedder
from recollectx.errors import BackendError, InvalidSetting
from recollectx.late_interaction import maxsim, packed, weights
from recollectx.query import Weights

TEXTS = (
    "the otter sleeps in the reeds",
    "a heron stands in the reeds",
    "the mill wheel turns",
    "reeds reeds reeds",
)


def opened(path: Path, **changes: object) -> Memory:
    return Memory.open(path, **({"embedder": HashEmbedder(64), "token_vectors": True} | changes))


def rows(path: Path) -> int:
    ((count,),) = behind.rows(path, "SELECT count(*) FROM rx_token_vectors")
    return int(count)


def told(path: Path, **changes: object) -> Memory:
    memory = opened(path, **changes)
    for text in TEXTS:
        memory.store(EpisodicClaim(summary=text))
    return memory


def test_maxsim_is_the_weighted_mean_of_the_best_cosines() -> None:
    question = np.eye(4, dtype=np.float32)[[0, 1, 2]]
    texts = {
        7: packed(np.eye(4, dtype=np.float32)[[0, 3]]),
        8: packed(np.array([[0.6, 0.8, 0, 0], [0, 0, 1, 0]], np.float32)),
        9: packed(np.array([[0, 0, 0, -1]], np.float32)),
    }
    found = maxsim(question, np.array([2.0, 1.0, 0.0], np.float32), texts)
    assert found == {
        7: pytest.approx(2 / 3, abs=0.01),
        8: pytest.approx((2 * 0.6 + 0.8) / 3, abs=0.01),
        9: pytest.approx(0.0),
    }
    assert (
        maxsim(question, np.zeros(3, np.float32), texts) == maxsim(question, np.ones(3, np.float32), {}) == {}
    )


def test_a_question_word_has_no_weight_and_a_part_of_a_word_that_of_the_word() -> None:
    found = weights(["", "Where", "sleeping", "sleeping", "otter"], {"sleep": 2.0, "otter": 3.0}.__getitem__)
    assert found.tolist() == [0.0, 0.0, 2.0, 2.0, 3.0]


def test_the_first_hits_are_compared_word_by_word_and_say_so(path: Path) -> None:
    with told(path) as memory:
        assert rows(path) == 0
        hits = memory.recall("Where does the otter sleep?")
        assert rows(path) == len(TEXTS)
        near = {hit.claim.text: hit.parts.tokens for hit in hits}
        assert near[TEXTS[0]] == pytest.approx(1.0, abs=0.02)
        assert near[TEXTS[0]] > near[TEXTS[1]]
        without = memory.recall("Where does the otter sleep?", weights=Weights(tokens=0))
        assert {hit.parts.tokens for hit in without} == {None}
        assert hits.hits[0].score > without.hits[0].score


def test_a_memory_that_has_them_goes_on_and_one_that_has_none_makes_none(path: Path, tmp_path: Path) -> None:
    with told(path) as memory:
        memory.recall("otter")
    with opened(path, token_vectors=None) as memory:
        memory.store(EpisodicClaim(summary="the mill is closed"))
        assert memory.recall("mill").hits[0].parts.tokens is not None
        assert rows(path) == len(TEXTS) + 1
    with opened(path, token_vectors=False) as memory:
        assert memory.recall("mill").hits[0].parts.tokens is None
    with told(tmp_path / "b.db", token_vectors=None) as memory:
        assert memory.recall("mill").hits[0].parts.tokens is None
    assert rows(tmp_path / "b.db") == 0


def test_they_go_with_the_claim_and_with_the_model(path: Path) -> None:
    with told(path) as memory:
        first = memory.recall("otter").hits[0].claim
        memory.erase(first.id)
        assert rows(path) == len(TEXTS) - 1
    result = CliRunner().invoke(app, ["--db", str(path), "reembed", "--embedder", "hash"])
    assert result.exit_code == 0, result.output
    assert rows(path) == 0
    result = CliRunner().invoke(app, ["--db", str(path), "reembed", "--embedder", "hash", "--token-vectors"])
    assert result.exit_code == 0, result.output
    assert rows(path) == len(TEXTS) - 1


def test_the_past_is_compared_in_its_own_words(path: Path) -> None:
    with told(path) as memory:
        then = memory.storage.clock()
        memory.recall("mill")
        claim = memory.recall("mill wheel").hits[0].claim
        memory.storage.clock = lambda: then + 60
        memory.update(claim.id, summary="the bakery is open")
        memory.recall("bakery")
        old = memory.recall("mill wheel turns", as_of=then + 30).hits[0]
        assert (old.claim.text, old.parts.tokens) == ("the mill wheel turns", pytest.approx(1.0, abs=0.02))


class Failing(HashEmbedder):
    away = True

    def embed_tokens(self, texts: list[str]) -> list[np.ndarray]:
        if self.away:
            raise BackendError("the model is away")
        return super().embed_tokens(texts)


def test_a_model_that_fails_costs_only_the_comparison(path: Path) -> None:
    embedder = Failing(64)
    with told(path, embedder=embedder) as memory:
        hits = memory.recall("Where does the otter sleep?")
        assert hits.hits[0].claim.text == TEXTS[0]
        assert {hit.parts.tokens for hit in hits} == {None}
        embedder.away = False
        assert memory.recall("otter").hits[0].parts.tokens is not None
    assert rows(path) == len(TEXTS)


def plain(text: str) -> list[float]:
    return [float(len(text)), 1.0]


@pytest.mark.parametrize("embedder", [None, plain])
def test_an_embedder_without_them_is_refused_by_name(path: Path, embedder: object) -> None:
    with pytest.raises(InvalidSetting, match="token_vectors=True needs an embedder"):
        opened(path, embedder=embedder)
