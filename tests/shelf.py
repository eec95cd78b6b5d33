"""A vector index elsewhere, for tests: a dictionary that outlives the objects on it and fails when told to."""

import numpy as np

from recollectx.storage.vector.base import Near, VectorBackend


class Shelf(VectorBackend):
    """`held` is the index itself: vectors by scope and id. away: calls fail."""

    placement = "remote"

    def __init__(self, dimension, held, embedder=None, name="shelf"):
        super().__init__(dimension, embedder)
        self.held, self.name = held, name
        self.away = False
        self.upserts = 0

    @property
    def address(self):
        return f"shelf:{self.name}"

    def _session(self, *, writing):
        if self.away:
            raise OSError("the shelf is away")
        return super()._session(writing=writing)

    def _upsert(self, scope, ids, vectors):
        self.upserts += len(ids)
        self.held.update({(scope, id): vector.copy() for id, vector in zip(ids, vectors, strict=True)})

    def _delete(self, scope, ids):
        for id in ids:
            self.held.pop((scope, id), None)

    def _search(self, scope, vector, k):
        scored = [
            Near(id, float(held @ vector)) for (name, id), held in list(self.held.items()) if name == scope
        ]
        return sorted(scored, key=lambda near: -near.score)[:k]

    def _vectors_of(self, scope, ids):
        return {id: np.array(self.held[scope, id]) for id in ids if (scope, id) in self.held}

    def _scopes(self):
        return {scope for scope, _ in list(self.held)}

    def _ids(self, scope):
        return [id for name, id in list(self.held) if name == scope]
