"""PineconeBackend: vectors in an index of Pinecone, each scope in a namespace of its own.

Namespaces and ids are ASCII there, so both are spelt by names.py, and the claim's id stands in the metadata as it is. What
is written can be read a moment later; `settle` waits for it, by the positions in the log that Pinecone tells with
its answers. A vector of zeros is refused by Pinecone, so none is held.

Limits, as Pinecone's documentation and client 10.2 (_internal/validation.py: lengths, list, top_k) state them.
"""

import json
import math
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Self

import numpy as np

from recollectx.embeddings.base import Embedder
from recollectx.errors import BackendError, InvalidClaim, InvalidSetting
from recollectx.extras import require
from recollectx.storage.vector.base import GLOBAL, Near, Placement, VectorBackend
from recollectx.storage.vector.checking import Vectors
from recollectx.storage.vector.lateness import Unseen
from recollectx.storage.vector.names import HASHED, name_of, text_of
from recollectx.storage.vector.pinecone_index import Wanted, opened
from recollectx.storage.vector.services import NUMBER, embedder_of, fn_of, slices

METRICS = ("cosine", "dotproduct")
NAME = 512
"""Longest name of a namespace and longest id."""
UPSERT, UPSERT_BYTES = 1_000, 2_000_000
"""Most vectors and bytes of one upsert."""
DELETE = 1_000
"""Most ids of one delete."""
METADATA_BYTES = 40_000
"""Most bytes of the metadata of one vector."""
LIST = 100
"""Most ids of one page."""
FETCH, FETCH_BYTES = 100, 6_000
"""Ids and characters of one fetch, which goes by URL: proxies take 8,000 characters."""
ATTEMPT = 30.0
"""Seconds for one attempt of a request: the client's own, named here as others wait for it."""
NOT_FOUND = 404


class PineconeBackend(VectorBackend):
    """Vectors in one index.

    api_key: shown in no error; "" takes the environment's PINECONE_API_KEY.
    embedding_fn: one text to its vector, or an embedder.
    host: where the index is served, which saves asking for it; the index must be there then.
    namespace: what the names of our namespaces begin with, for several memories in one index.
    metric: "cosine" or "dotproduct", which is the same for vectors of length 1.
    auto_create_index: make the index, serverless in `cloud` and `region`, if it is missing; else InvalidSetting.
    Raises MissingExtra without the package, DimensionError or InvalidSetting if the index is of other vectors. A service
    that cannot be reached is no error until the index is used. The client tries a request four times.
    """

    placement: Placement = "remote"
    most = 10_000
    zeros = False
    answers_within = ATTEMPT

    def __init__(  # noqa: PLR0917 - 0.2.7's order
        self,
        api_key: str,
        index_name: str,
        embedding_fn: Callable[[str], Any] | Embedder | None = None,
        dimension: int = 384,
        host: str | None = None,
        namespace: str = "",
        metric: str = "cosine",
        auto_create_index: bool = True,
        cloud: str = "aws",
        region: str = "us-east-1",
        spec_type: str = "serverless",
    ) -> None:
        super().__init__(dimension, embedder_of(embedding_fn, dimension))
        if metric not in METRICS:
            raise InvalidSetting(f"metric must be one of {', '.join(METRICS)}, got {metric!r}")
        if spec_type != "serverless":
            raise InvalidSetting(f"only serverless indexes are made, got spec_type={spec_type!r}")
        if not namespace.isascii() or "\0" in namespace or len(namespace) > NAME // 2:
            raise InvalidSetting(
                f"namespace must be ASCII of up to {NAME // 2} characters, got {namespace!r}"
            )
        self.index_name = index_name
        self._secret = api_key or os.environ.get("PINECONE_API_KEY")
        self._prefix = f"{namespace}/" if namespace else ""
        pinecone: Any = require("pinecone", "pinecone")
        self._connect: Callable[[], Any] = partial(
            pinecone.Pinecone, api_key=api_key or None, timeout=ATTEMPT
        )
        self._parents: list[Any] = []
        spec = pinecone.ServerlessSpec(cloud=cloud, region=region) if auto_create_index else None
        self._wanted = Wanted(index_name, dimension, metric, host, spec)
        with self._guard():
            self._client = self._connect()
        self._index: Any = None
        self._unseen = Unseen()
        self._try(BackendError)

    @property
    def address(self) -> str:
        """The index, and what the names of our namespaces begin with."""
        return f"pinecone:{self.index_name}/{self._prefix}"

    @classmethod
    def from_provider(
        cls, api_key: str, index_name: str, embedding_provider: Any, namespace: str = "", **settings: Any
    ) -> Self:
        """With the model and the dimension of one of 0.2.7's embedding providers; the rest as for the class."""
        settings = {"dimension": embedding_provider.dimension, "namespace": namespace, **settings}
        return cls(api_key, index_name, fn_of(embedding_provider), **settings)

    def upsert_batch(
        self, items: Sequence[tuple[str, str]], batch_size: int = UPSERT, *, scope: str = GLOBAL
    ) -> None:
        """Embed (id, text) pairs, `batch_size` at a time; the id of a blank text is removed."""
        self.delete_ids(scope, [id for id, text in items if not text.strip()])
        told = [(id, text) for id, text in items if text.strip()]
        for start in range(0, len(told), batch_size):
            part = told[start : start + batch_size]
            self.upsert_vectors(scope, [id for id, _ in part], self._embedded(*(text for _, text in part)))

    def delete_batch(self, ids: Sequence[str], *, scope: str = GLOBAL) -> None:
        """Remove ids; unknown ones are no error."""
        self.delete_ids(scope, ids)

    def get_stats(self) -> dict[str, Any]:
        """`total_vectors`, `namespaces` with how many each holds, and `dimension`, of the whole index."""
        with self._step():
            stats = self._index.describe_index_stats()
        return {
            "total_vectors": stats.total_vector_count,
            "namespaces": {name: held.vector_count for name, held in stats.namespaces.items()},
            "dimension": stats.dimension,
        }

    def _upsert(self, scope: str, ids: Sequence[str], vectors: Vectors) -> None:
        place = self._place(scope)
        # A hash does not tell its scope.
        about = {"scope": scope} if place.startswith(self._prefix + HASHED) else {}
        items = [
            {"id": name_of(id, NAME), "values": row, "metadata": {**about, "id": id}}
            for id, row in zip(ids, vectors.tolist(), strict=True)
        ]
        sizes = [_size(item["metadata"]) + NUMBER * self.dimension + NAME for item in items]
        for part in slices(sizes, count=UPSERT, size=UPSERT_BYTES):
            with self._unseen.writing(place) as mark:
                answer = self._index.upsert(vectors=items[part], namespace=place)
                committed = getattr(answer.response_info, "lsn_committed", None)
                # A position that is not told is never reached.
                mark.position = math.inf if committed is None else committed

    def _delete(self, scope: str, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), DELETE):
            part = ids[start : start + DELETE]
            self._remove(self._place(scope), ids=[name_of(id, NAME) for id in part], gone=tuple(part))

    def _search(self, scope: str, vector: Vectors, k: int) -> list[Near]:
        place = self._place(scope)
        found = self._index.query(vector=vector.tolist(), top_k=k, namespace=place).matches
        texts = self._texts(place, [match.id for match in found])
        near = [Near(texts[match.id], match.score) for match in found if match.id in texts]
        return sorted(near, key=lambda each: -each.score)

    def _vectors_of(self, scope: str, ids: Sequence[str]) -> dict[str, Vectors]:
        names = {name_of(id, NAME): id for id in ids}
        fetched = self._fetched(self._place(scope), list(names))
        return {names[name]: np.array(held.values, np.float32) for name, held in fetched}

    def _scopes(self) -> Collection[str]:
        scopes = [self._scope_of(place) for place in self._places()]
        return [scope for scope in scopes if scope is not None]

    def _ids(self, scope: str) -> Collection[str]:
        place = self._place(scope)
        return [text for page in self._pages(place) for text in self._texts(place, page).values()]

    def _count(self, scope: str | None) -> int:
        held = self._places()
        return sum(held.values()) if scope is None else held.get(self._place(scope), 0)

    def _clear(self, scope: str | None) -> None:
        places = [*self._places(), *self._unseen.places] if scope is None else [self._place(scope)]
        for place in dict.fromkeys(places):
            self._remove(place, delete_all=True, gone=None)

    def _settle(self, timeout: float) -> bool:
        return self._unseen.wait(self._seen, timeout)

    def _seen(self, place: str, position: float, gone: tuple[str, ...] | None) -> bool:
        answer = self._any_of(place)
        reached = getattr(answer.response_info, "lsn_reconciled", None)
        if position and (reached is None or reached < position):
            return False
        if gone is None:
            return not answer.matches
        parts = [gone[start : start + DELETE] for start in range(0, len(gone), DELETE)]
        return not any(self._any_of(place, filter={"id": {"$in": list(part)}}).matches for part in parts)

    def _any_of(self, place: str, **asked: Any) -> Any:
        return self._index.query(vector=[1.0] * self.dimension, top_k=1, namespace=place, **asked)

    @contextmanager
    def _session(self, *, writing: bool) -> Iterator[None]:
        if self._index is None:
            index = opened(self._client, self._wanted)
            with self._lock:
                first = self._index is None
                self._index = index if first else self._index
            if not first:
                index.close()
        yield

    def _close(self) -> None:
        for each in (self._index, self._client):
            if each is not None:
                each.close()

    def _forked(self) -> None:
        # Kept, as to let them go could speak to the service on the parent's line.
        self._parents += [self._index, self._client]
        self._client, self._index, self._unseen = self._connect(), None, Unseen()

    def _remove(self, place: str, *, gone: tuple[str, ...] | None, **which: Any) -> None:
        with suppress(_NoNamespace), self._unseen.writing(place) as mark:
            mark.gone = gone
            try:
                self._index.delete(namespace=place, **which)
            except Exception as error:
                # So the service calls a namespace that nothing was written to.
                if getattr(error, "status_code", None) == NOT_FOUND:
                    raise _NoNamespace from error
                raise

    # Namespaces, ids and what they stand for

    def _place(self, scope: str) -> str:
        """The namespace of a scope."""
        return self._prefix + name_of(scope, NAME - len(self._prefix))

    def _places(self) -> dict[str, int]:
        """Our namespaces that are not empty, and how many vectors they hold."""
        return {
            place: each.vector_count
            for place, each in self._index.describe_index_stats().namespaces.items()
            if each.vector_count and place.startswith(self._prefix) and self._is_ours(place)
        }

    def _is_ours(self, place: str) -> bool:
        name = place.removeprefix(self._prefix)
        return name.startswith(HASHED) or text_of(name) is not None

    def _scope_of(self, place: str) -> str | None:
        """The scope of a namespace of ours; None if it is a hash and nobody is left to tell."""
        name = place.removeprefix(self._prefix)
        if not name.startswith(HASHED):
            return text_of(name)
        first = [each.id for each in self._index.list_paginated(namespace=place, limit=1).vectors]
        return next((about.get("scope") for _, about in self._about(place, first)), None)

    def _pages(self, place: str) -> Iterator[list[str]]:
        """The names of all vectors of a namespace."""
        after = None
        while True:
            page = self._index.list_paginated(namespace=place, limit=LIST, pagination_token=after)
            yield [each.id for each in page.vectors]
            after = page.pagination.next if page.pagination else None
            if after is None:
                return

    def _texts(self, place: str, names: Sequence[str]) -> dict[str, str]:
        """The ids that the names stand for; those that are not ours, or gone by now, are left out."""
        texts = {name: text_of(name) for name in names}
        hashed = [name for name in names if name.startswith(HASHED)]
        texts |= {name: about.get("id") for name, about in self._about(place, hashed)}
        return {name: text for name, text in texts.items() if text is not None}

    def _about(self, place: str, names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        return ((name, held.metadata or {}) for name, held in self._fetched(place, names))

    def _fetched(self, place: str, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
        # In a URL each % of a name becomes %25.
        for part in slices((3 * len(name) for name in names), count=FETCH, size=FETCH_BYTES):
            yield from self._index.fetch(ids=list(names[part]), namespace=place).vectors.items()


class _NoNamespace(Exception):
    """There is nothing to delete."""


def _size(metadata: dict[str, str]) -> int:
    """Bytes of the metadata of one vector, if they are no more than Pinecone keeps."""
    size = len(json.dumps(metadata, ensure_ascii=False).encode())
    if size > METADATA_BYTES:
        raise InvalidClaim(
            f"id {metadata['id'][:40]!r} and its scope take {size} bytes, Pinecone keeps {METADATA_BYTES}"
        )
    return size
