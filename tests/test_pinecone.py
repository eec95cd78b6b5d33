"""PineconeBackend: the shipped contract over loopback, at once and with a delay, and what a service adds to it."""

import pytest
from pinecone_server import PineconeServer

from recollectx.storage.vector import PineconeBackend
from recollectx.testing import VectorBackendContract

KEY = "a-key-that-nobody-may-see"


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
