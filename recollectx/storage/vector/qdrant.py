"""QdrantBackend: vectors in a collection of Qdrant, on a server, in a folder or in memory.

A point is one claim: its id is a UUID made of scope and claim id, and both stand in the payload as they are. The scope is
an indexed keyword that every call filters by, so scopes are told apart by their exact text, and a server builds a graph
for each scope instead of one for all. A write is answered when it can be read.
"""

import re
import threading
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Self

import numpy as np

from recollectx.embeddings.base import Embedder
from recollectx.errors import BackendError, DimensionError, InvalidSetting
from recollectx.extras import require
from recollectx.storage.vector.base import Near, Placement, VectorBackend
from recollectx.storage.vector.checking import Vectors
from recollectx.storage.vector.services import NUMBER, bytes_of, embedder_of, fn_of, slices

DISTANCES = ("cosine", "dot")
POINTS = uuid.UUID("2c0f8d0a-6c5e-5d0b-9d6e-1f4b7a3c9e21")
"""The namespace of the ids of points; under another one nothing stored would be found."""
BATCH, BATCH_BYTES = 1_000, 16_000_000
"""Most points and bytes of one request: a server takes 32 MB unless set otherwise (service.max_request_size_mb)."""
PAGE = 5_000
TIMEOUT = 30
LINKS = 16
"""Edges of a vector in the graph of its scope: Qdrant's own default for one graph of all."""
_SERVER = re.compile(r"https?://|[\w.-]+:\d+(/|$)")
_FOLDER = "qdrant:///"


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
    server that cannot be reached is no error until the index is used.
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
        if not collection_name:
            raise InvalidSetting("collection_name must not be empty")
        self.collection_name = collection_name
        self.distance = distance
        self._where = url
        self._secret = api_key
        self._make = auto_create_collection
        self._checked = False
        self._models: Any = require("qdrant_client.models", "qdrant")
        self._served = bool(_SERVER.match(url))
        if url == ":memory:":
            self.placement = "process"
        # Without a server the client does the work itself, and only for one thread at a time.
        self._turn: AbstractContextManager[object] = nullcontext() if self._served else threading.RLock()
        with self._guard():
            self._client = (
                _server(url, api_key=api_key, prefer_grpc=prefer_grpc, timeout=timeout or TIMEOUT)
                if self._served
                else _local(url)
            )
        self._try(*([BackendError] if self._served else []))

    @property
    def address(self) -> str:
        """The server or folder, and the collection."""
        return f"qdrant:{self._where}/{self.collection_name}"

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
            self._client.upsert(self.collection_name, batch, wait=True)

    def _delete(self, scope: str, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), BATCH):
            points = [_point(scope, id) for id in ids[start : start + BATCH]]
            self._client.delete(self.collection_name, self._models.PointIdsList(points=points), wait=True)

    def _search(self, scope: str, vector: Vectors, k: int) -> list[Near]:
        found = self._client.query_points(
            self.collection_name,
            query=vector.tolist(),
            query_filter=self._of(scope),
            limit=k,
            with_payload=["id"],
        )
        return [Near(point.payload["id"], point.score) for point in found.points]

    def _vectors_of(self, scope: str, ids: Sequence[str]) -> dict[str, Vectors]:
        found: dict[str, Vectors] = {}
        fixed = NUMBER * self.dimension + 100
        for part in slices((fixed + bytes_of(id) for id in ids), count=BATCH, size=BATCH_BYTES):
            points = [_point(scope, id) for id in ids[part]]
            for point in self._client.retrieve(
                self.collection_name, points, with_payload=["id"], with_vectors=True
            ):
                found[point.payload["id"]] = np.array(point.vector, np.float32)
        return found

    def _scopes(self) -> Collection[str]:
        return {payload["scope"] for payload in self._payloads(None, "scope")}

    def _ids(self, scope: str) -> Collection[str]:
        return [payload["id"] for payload in self._payloads(scope, "id")]

    def _count(self, scope: str | None) -> int:
        held: int = self._client.count(self.collection_name, self._of(scope), exact=True).count
        return held

    def _clear(self, scope: str | None) -> None:
        everything = self._models.FilterSelector(filter=self._of(scope))
        self._client.delete(self.collection_name, everything, wait=True)

    @contextmanager
    def _session(self, *, writing: bool) -> Iterator[None]:
        with self._turn:
            try:
                if not self._checked:
                    self._check()
                    self._checked = True
                yield
            except BaseException:
                # The server may have come back without the collection.
                self._checked = False
                raise

    def _close(self) -> None:
        with self._turn:
            self._client.close()

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
            points, after = self._client.scroll(
                self.collection_name,
                scroll_filter=self._of(scope),
                limit=PAGE,
                offset=after,
                with_payload=[key],
            )
            yield from (point.payload for point in points)
            if after is None:
                return

    def _check(self) -> None:
        """Make the collection if it is missing, and see that it is of our vectors."""
        client, name, models = self._client, self.collection_name, self._models
        if not client.collection_exists(name):
            self._create()
        held = client.get_collection(name)
        params = held.config.params.vectors
        if not isinstance(params, models.VectorParams):
            raise InvalidSetting(f"collection {name!r} has named vectors; give another collection_name")
        if params.size != self.dimension:
            raise DimensionError(
                f"collection {name!r} holds {params.size}-d vectors, it was opened for {self.dimension}-d ones; "
                "give another collection_name, or delete it and feed the index again"
            )
        if params.distance != models.Distance[self.distance.upper()]:
            raise InvalidSetting(
                f"collection {name!r} compares by {params.distance.value}, distance={self.distance!r} was asked for"
            )
        if self._served and "scope" not in (held.payload_schema or {}):
            keyword = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
            client.create_payload_index(name, "scope", field_schema=keyword, wait=True)

    def _create(self) -> None:
        if not self._make:
            raise InvalidSetting(
                f"there is no collection {self.collection_name!r}; make it, or leave auto_create_collection on"
            )
        models = self._models
        try:
            self._client.create_collection(
                self.collection_name,
                vectors_config=models.VectorParams(
                    size=self.dimension, distance=models.Distance[self.distance.upper()]
                ),
                hnsw_config=models.HnswConfigDiff(m=0, payload_m=LINKS),
            )
        except Exception:
            # Whoever else opens it may have made it in the meantime.
            if not self._client.collection_exists(self.collection_name):
                raise


def _point(scope: str, id: str) -> str:
    """The id of the point; the length keeps scope and id apart."""
    return str(uuid.uuid5(POINTS, f"{len(scope)}:{scope}{id}"))


def _server(url: str, **settings: Any) -> Any:
    client = require("qdrant_client", "qdrant").QdrantClient
    # The client's check of versions is a thread of its own that can only warn.
    return client(url=url, check_compatibility=False, **settings)


def _local(url: str) -> Any:
    client = require("qdrant_client", "qdrant").QdrantClient
    if url == ":memory:":
        return client(location=url, force_disable_check_same_thread=True)
    folder = url[len(_FOLDER) - 1 :] if url.startswith(_FOLDER) else url
    if not folder.strip("/") or "://" in folder:
        raise InvalidSetting(
            f"url must be http://host:port, :memory:, a folder or {_FOLDER}path, got {url!r}"
        )
    try:
        return client(path=folder, force_disable_check_same_thread=True)
    except RuntimeError as error:
        raise BackendError(
            f"{folder} is open already, and Qdrant's folders take one opener at a time; close the other one, or run a server"
        ) from error
