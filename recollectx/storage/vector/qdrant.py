"""QdrantBackend: vectors in a collection of Qdrant, on a server, in a folder or in memory.

A point is one claim: its id is a UUID made of scope and claim id, and both stand in the payload as they are. The scope is
an indexed keyword that every call filters by, so scopes are told apart by their exact text, and a server builds a graph
for each scope instead of one for all. A write is answered when it can be read.

A server may lose the collection while the index is open. Then it reads as empty, but a search fails, as what is nearest is not
known, and so does the first write of a thread that has not seen it empty: a feed that goes on in the middle would leave
out what came before. The next write makes it anew.
"""

import threading
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Self

import numpy as np

from recollectx.embeddings.base import Embedder
from recollectx.errors import BackendError, InvalidSetting
from recollectx.extras import require
from recollectx.storage.vector.addresses import one_name
from recollectx.storage.vector.base import Near, Placement, VectorBackend
from recollectx.storage.vector.checking import Vectors
from recollectx.storage.vector.qdrant_collection import Wanted, is_missing, is_server, opened, place_of, ready
from recollectx.storage.vector.services import NUMBER, bytes_of, embedder_of, fn_of, slices

DISTANCES = ("cosine", "dot")
POINTS = uuid.UUID("2c0f8d0a-6c5e-5d0b-9d6e-1f4b7a3c9e21")
"""The namespace of the ids of points; under another one nothing stored would be found."""
BATCH, BATCH_BYTES = 1_000, 16_000_000
"""Most points and bytes of one request: a server takes 32 MB unless set otherwise (service.max_request_size_mb)."""
PAGE = 5_000
TIMEOUT = 30


class _Seen(threading.local):
    """What a thread knows. lost: that the collection is gone."""

    lost = False


class QdrantBackend(VectorBackend):
    """Vectors in one collection, which should hold nothing else.

    url: "http://host:6333" or "host:6333" is a server; ":memory:" is in this process and ends with it; a folder, also as
    "qdrant:///path", is kept by the client itself, one opener at a time, and compares every vector in Python: for
    some thousands of claims.
    embedding_fn: one text to its vector, or an embedder.  api_key: shown in no error.
    distance: "cosine" or "dot", which is the same for vectors of length 1.
    auto_create_collection: make the collection if it is missing; otherwise that is an InvalidSetting.
    prefer_grpc: a server is asked by gRPC at port 6334.  timeout: seconds one request may take; None: 30.
    Raises MissingExtra without the package, DimensionError or InvalidSetting if the collection is of other vectors. A
    server that cannot be reached is no error until the index is used. A folder stays in the process that opened it.
    """

    placement: Placement = "remote"

    def __init__(  # noqa: PLR0917 - 0.2.7's order
        self,
        url: str,
        collection_name: str,
        embedding_fn: Callable[[str], Any] | Embedder | None = None,
        dimension: int = 384,
        api_key: str | None = None,
        distance: str = "cosine",
        auto_create_collection: bool = True,
        prefer_grpc: bool = False,
        timeout: int | None = None,
    ) -> None:
        super().__init__(dimension, embedder_of(embedding_fn, dimension))
        if distance not in DISTANCES:
            raise InvalidSetting(f"distance must be one of {', '.join(DISTANCES)}, got {distance!r}")
        if not collection_name or "/" in collection_name:
            raise InvalidSetting(f"collection_name must not be empty and hold no /, got {collection_name!r}")
        self.collection_name = collection_name
        self.distance = distance
        self._secret = api_key
        self._checked = self._known = False
        self._seen = _Seen()
        self._models: Any = require("qdrant_client.models", "qdrant")
        self._wanted = Wanted(collection_name, dimension, distance, auto_create_collection)
        self._served = is_server(url)
        if url == ":memory:":
            self.placement = "process"
        self._where = place_of(url, secure=api_key is not None)
        # Without a server the client does the work itself, and only for one thread at a time.
        self._turn: AbstractContextManager[object] = nullcontext() if self._served else threading.RLock()
        self.answers_within = timeout or TIMEOUT
        self._settings = {"api_key": api_key, "prefer_grpc": prefer_grpc, "timeout": self.answers_within}
        self._parents: list[Any] = []
        with self._guard():
            self._client = self._opened()
        self._try(*([BackendError] if self._served else []))

    @property
    def address(self) -> str:
        """The server or folder, and the collection."""
        where = one_name(self._where) if self._served else self._where
        return f"qdrant:{where}/{self.collection_name}"

    @classmethod
    def from_provider(
        cls,
        url: str,
        collection_name: str,
        embedding_provider: Any,
        api_key: str | None = None,
        **settings: Any,
    ) -> Self:
        """With the model and the dimension of one of 0.2.7's embedding providers; the rest as for the class."""
        settings = {"dimension": embedding_provider.dimension, "api_key": api_key, **settings}
        return cls(url, collection_name, fn_of(embedding_provider), **settings)

    def _upsert(self, scope: str, ids: Sequence[str], vectors: Vectors) -> None:
        fixed = NUMBER * self.dimension + bytes_of(scope) + 100
        for part in slices((fixed + bytes_of(id) for id in ids), count=BATCH, size=BATCH_BYTES):
            batch = self._models.Batch(
                ids=[_point(scope, id) for id in ids[part]],
                vectors=vectors[part].tolist(),
                payloads=[{"scope": scope, "id": id} for id in ids[part]],
            )
            self._written("upsert", batch)

    def _delete(self, scope: str, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), BATCH):
            points = [_point(scope, id) for id in ids[start : start + BATCH]]
            self._written("delete", self._models.PointIdsList(points=points))

    def _search(self, scope: str, vector: Vectors, k: int) -> list[Near]:
        found = self._read(
            "query_points",
            query=vector.tolist(),
            query_filter=self._of(scope),
            limit=k,
            with_payload=["id"],
        )
        if found is None:
            raise self._gone()
        return [Near(point.payload["id"], point.score) for point in found.points]

    def _vectors_of(self, scope: str, ids: Sequence[str]) -> dict[str, Vectors]:
        found: dict[str, Vectors] = {}
        fixed = NUMBER * self.dimension + 100
        for part in slices((fixed + bytes_of(id) for id in ids), count=BATCH, size=BATCH_BYTES):
            points = [_point(scope, id) for id in ids[part]]
            for point in self._read("retrieve", points, with_payload=["id"], with_vectors=True) or ():
                found[point.payload["id"]] = np.array(point.vector, np.float32)
        return found

    def _scopes(self) -> Collection[str]:
        return {payload["scope"] for payload in self._payloads(None, "scope")}

    def _ids(self, scope: str) -> Collection[str]:
        return [payload["id"] for payload in self._payloads(scope, "id")]

    def _count(self, scope: str | None) -> int:
        held = self._read("count", self._of(scope), exact=True)
        return 0 if held is None else int(held.count)

    def _clear(self, scope: str | None) -> None:
        self._written("delete", self._models.FilterSelector(filter=self._of(scope)))

    @contextmanager
    def _session(self, *, writing: bool) -> Iterator[None]:
        with self._turn:
            try:
                if not self._checked:
                    self._checked = self._ready(make=not self._known or (writing and self._seen.lost))
                    self._known |= self._checked
                yield
            except BaseException:
                # The server may have come back without the collection.
                self._checked = False
                raise

    def _close(self) -> None:
        with self._turn:
            self._client.close()

    def _forked(self) -> None:
        if not self._served:
            self._turn = threading.RLock()
            if self.placement == "remote":
                raise BackendError(f"the folder {self._where} stays in the process that opened it")
            return
        # Kept, as to let the client go could speak to the server on the parent's line.
        self._parents.append(self._client)
        self._client = self._opened()

    def _opened(self) -> Any:
        return opened(self._where, **self._settings)

    def _ready(self, *, make: bool) -> bool:
        """Whether there is a collection, and of our vectors; made if it is missing and `make`."""
        return ready(self._client, self._wanted, make=make, served=self._served)

    def _read(self, call: str, *args: Any, **more: Any) -> Any:
        """What the client answers; None if the collection is gone."""
        try:
            answer = getattr(self._client, call)(self.collection_name, *args, **more)
        except Exception as error:
            if not is_missing(error):
                raise
            self._checked, self._seen.lost = False, True
            return None
        self._seen.lost = False
        return answer

    def _written(self, call: str, what: Any) -> None:
        if self._read(call, what, wait=True) is None:
            raise self._gone()

    def _gone(self) -> BackendError:
        return BackendError(
            f"collection {self.collection_name!r} is gone, and what it held with it; feed it again"
        )

    def _of(self, scope: str | None) -> Any:
        """The filter that lets through what is in `scope`, or all."""
        if scope is None:
            return self._models.Filter()
        match = self._models.MatchValue(value=scope)
        return self._models.Filter(must=[self._models.FieldCondition(key="scope", match=match)])

    def _payloads(self, scope: str | None, key: str) -> Iterator[dict[str, str]]:
        """The payloads of all points in `scope`, with this key alone."""
        after = None
        while True:
            points, after = self._read(
                "scroll", scroll_filter=self._of(scope), limit=PAGE, offset=after, with_payload=[key]
            ) or ((), None)
            yield from (point.payload for point in points)
            if after is None:
                return


def _point(scope: str, id: str) -> str:
    """The id of the point; the length keeps scope and id apart."""
    return str(uuid.uuid5(POINTS, f"{len(scope)}:{scope}{id}"))
