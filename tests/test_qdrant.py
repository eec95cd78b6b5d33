"""QdrantBackend: the shipped contract in memory, in a folder and over HTTP, and what a service adds to it."""

import pytest

from recollectx.storage.vector import QdrantBackend
from recollectx.testing import VectorBackendContract


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
