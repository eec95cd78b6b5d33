"""An index of your own in thirty lines, fed by a memory. tests/test_vector_backends.py holds it to the contract."""

import sqlite3

import numpy as np

from recollectx import Memory
from recollectx.embeddings import HashEmbedder
from recollectx.storage.vector import Near, VectorBackend


class TableIndex(VectorBackend):
    placement = "remote"  # it outlives the process, so it is fed from the log of changes
    address = "a table of my own"

    def __init__(self, path, dimension):
        super().__init__(dimension)
        self.run = sqlite3.connect(path, isolation_level=None, check_same_thread=False).execute
        self.run("CREATE TABLE IF NOT EXISTS v (scope, id, vector, PRIMARY KEY (scope, id))")

    def _upsert(self, scope, ids, vectors):
        for id, vector in zip(ids, vectors, strict=True):
            self.run("REPLACE INTO v VALUES (?, ?, ?)", (scope, id, vector.tobytes()))

    def _delete(self, scope, ids):
        for id in ids:
            self.run("DELETE FROM v WHERE scope = ? AND id = ?", (scope, id))

    def _search(self, scope, vector, k):
        held = self._vectors_of(scope, self._ids(scope)).items()
        return sorted((Near(id, float(each @ vector)) for id, each in held), key=lambda near: -near.score)[:k]

    def _vectors_of(self, scope, ids):
        rows, wanted = self.run("SELECT id, vector FROM v WHERE scope = ?", (scope,)), set(ids)
        return {id: np.frombuffer(vector, np.float32).copy() for id, vector in rows if id in wanted}

    def _scopes(self):
        return [scope for (scope,) in self.run("SELECT DISTINCT scope FROM v").fetchall()]

    def _ids(self, scope):
        return [id for (id,) in self.run("SELECT id FROM v WHERE scope = ?", (scope,)).fetchall()]


if __name__ == "__main__":
    with Memory.open(":memory:", vectors=TableIndex(":memory:", 64), embedder=HashEmbedder(64)) as memory:
        for what in ("The kiln takes nine hours.", "Glaze dries overnight.", "Clay comes on Mondays."):
            memory.remember(what)
        print(memory.settle(), memory.storage.backend.count("global"), "vectors in the table")
        for hit in memory.recall("How long does the kiln take?", k=3):
            print(f"{hit.score:.2f}", hit.claim.text)
