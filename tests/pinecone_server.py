"""Pinecone's API 2026-07 on loopback, as far as the index uses it, with the limits it documents.

Writes get a place in a log and become readable `delay` seconds later, in order; answers tell the place that a write has
taken, or that reads have reached. Limits of lengths, pages and top_k are those of client 10.2 (_internal/validation.py);
those of metadata, upserts, deletes and vectors of zeros are from Pinecone's documentation.
"""

import json
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from loopback import Loopback, Refused, Request

NAME = 512
UPSERT, UPSERT_BYTES = 1_000, 2 * 1024 * 1024
METADATA_BYTES = 40 * 1024
DELETE = FETCH = 1_000
LIST = 100
TOP_K = 10_000
URL = 8_000
DEFAULT = "__default__"


class PineconeServer(Loopback):
    """One project with one index at most."""

    def __init__(self, api_key: str = "test-key", delay: float = 0, **chance: Any) -> None:
        super().__init__(**chance)
        self.api_key, self.delay = api_key, delay
        self.index: dict[str, Any] | None = None
        self.held: dict[str, dict[str, tuple[list[float], dict[str, Any]]]] = {}
        self.places: set[str] = set()
        self.log: list[tuple[float, Callable[[], None]]] = []
        self.committed = self.reached = 0
        self.tells_positions = True
        self.calls: dict[tuple[str, str], Callable[[Request], tuple[Any, dict[str, str]]]] = {
            ("POST", "/indexes"): self.create,
            ("POST", "/vectors/upsert"): self.upsert,
            ("POST", "/vectors/delete"): self.delete,
            ("POST", "/query"): self.query,
            ("POST", "/describe_index_stats"): self.stats,
            ("GET", "/vectors/fetch"): self.fetch,
            ("GET", "/vectors/list"): self.list,
        }

    def make(self, name: str, dimension: int, metric: str = "cosine") -> None:
        """The index, as if somebody had made it before."""
        field = {"type": "dense_vector", "dimension": dimension, "metric": metric}
        self.index = {
            "name": name,
            "host": self.url,
            "status": {"ready": True, "state": "Ready"},
            "schema": {"fields": {"_values": field}},
            "deployment": {"deployment_type": "managed", "cloud": "aws", "region": "us-east-1"},
            "deletion_protection": "disabled",
        }

    def refusal(self, status: int, message: str) -> Any:
        return {"code": status, "message": message, "details": []}

    def answer(self, request: Request) -> tuple[Any, dict[str, str]]:
        if request.headers.get("api-key") != self.api_key:
            raise Refused(401, "Invalid API Key")
        need("x-pinecone-api-version" in request.headers, "API version header is missing")
        need(len(request.target) <= URL, "URI too long", status=414)
        self.catch_up()
        if request.method == "GET" and request.path.startswith("/indexes/"):
            name = request.path.removeprefix("/indexes/")
            need(self.index is not None and self.index["name"] == name, f"{name} not found", status=404)
            return self.index, {}
        call = self.calls.get((request.method, request.path))
        need(call is not None, f"no {request.method} {request.path} here", status=404)
        need(self.index is not None or request.path == "/indexes", "there is no index", status=404)
        return call(request)

    # Control

    def create(self, request: Request) -> tuple[Any, dict[str, str]]:
        only(request.body, {"name", "schema", "deployment"})
        need(self.index is None, "ALREADY_EXISTS", status=409)
        (field,) = request.body["schema"]["fields"].values()
        need(field["type"] == "dense_vector" and field["metric"] in ("cosine", "dotproduct"), "schema")
        only(request.body["deployment"], {"deployment_type", "cloud", "region"})
        self.make(request.body["name"], field["dimension"], field["metric"])
        return self.index, {}

    # Writes

    def upsert(self, request: Request) -> tuple[Any, dict[str, str]]:
        only(request.body, {"vectors", "namespace"})
        need(len(request.raw) <= UPSERT_BYTES, "message is larger than 2 MB", status=413)
        vectors, place = request.body["vectors"], place_of(request.body)
        need(0 < len(vectors) <= UPSERT, f"an upsert takes 1 to {UPSERT} vectors")
        for vector in vectors:
            only(vector, {"id", "values", "metadata"})
            check_name("vector id", vector["id"])
            self.check_values(vector["values"])
            check_metadata(vector.get("metadata", {}))
        need(len({vector["id"] for vector in vectors}) == len(vectors), "an id comes twice")

        self.places.add(place)

        def write() -> None:
            held = self.held.setdefault(place, {})
            held.update({each["id"]: (each["values"], each.get("metadata", {})) for each in vectors})

        return {"upsertedCount": len(vectors)}, self.written(write)

    def delete(self, request: Request) -> tuple[Any, dict[str, str]]:
        only(request.body, {"ids", "deleteAll", "namespace"})
        ids, place = request.body.get("ids"), place_of(request.body)
        need((ids is None) is (request.body.get("deleteAll") is True), "give ids or deleteAll")
        need(ids is None or 0 < len(ids) <= DELETE, f"a delete takes 1 to {DELETE} ids")
        for id in ids or ():
            check_name("vector id", id)
        need(place in self.places, "Namespace not found", status=404)

        def write() -> None:
            held = self.held.get(place, {})
            for id in list(held) if ids is None else ids:
                held.pop(id, None)

        return {}, self.written(write)

    def written(self, write: Callable[[], None]) -> dict[str, str]:
        self.committed += 1
        self.log.append((time.monotonic() + self.delay, write))
        self.catch_up()
        return {"x-pinecone-lsn-committed": str(self.committed)} if self.tells_positions else {}

    def catch_up(self) -> None:
        while self.log and self.log[0][0] <= time.monotonic():
            self.log.pop(0)[1]()
            self.reached += 1

    # Reads

    def query(self, request: Request) -> tuple[Any, dict[str, str]]:
        asked = request.body
        only(asked, {"topK", "includeValues", "includeMetadata", "namespace", "vector", "filter"})
        need(1 <= asked["topK"] <= TOP_K, f"topK must be 1 to {TOP_K}")
        self.check_values(asked["vector"])
        held = {
            id: vector
            for id, vector in self.held.get(place_of(asked), {}).items()
            if fits(vector[1], asked.get("filter", {}))
        }
        names, matrix = list(held), np.array([vector[0] for vector in held.values()], np.float32)
        scores = matrix @ np.array(asked["vector"], np.float32) if names else np.zeros(0)
        matches = []
        for row in np.argsort(-scores)[: asked["topK"]]:
            match: dict[str, Any] = {"id": names[row], "score": float(scores[row])}
            if asked.get("includeMetadata"):
                match["metadata"] = held[names[row]][1]
            matches.append(match)
        return {"matches": matches, "namespace": place_of(asked)}, self.read()

    def fetch(self, request: Request) -> tuple[Any, dict[str, str]]:
        only(request.query, {"ids", "namespace"})
        ids = request.query["ids"]
        need(0 < len(ids) <= FETCH, f"a fetch takes 1 to {FETCH} ids")
        held = self.held.get(place_of(request.query), {})
        found = {id: {"id": id, "values": held[id][0], "metadata": held[id][1]} for id in ids if id in held}
        return {"vectors": found, "namespace": place_of(request.query)}, {}

    def list(self, request: Request) -> tuple[Any, dict[str, str]]:
        only(request.query, {"namespace", "limit", "paginationToken"})
        limit = int(request.query.get("limit", [str(LIST)])[0])
        need(1 <= limit <= LIST, f"limit must be 1 to {LIST}")
        after = request.query.get("paginationToken", [""])[0]
        names = sorted(id for id in self.held.get(place_of(request.query), {}) if id > after)
        page: dict[str, Any] = {"vectors": [{"id": id} for id in names[:limit]]}
        if len(names) > limit:
            page["pagination"] = {"next": names[limit - 1]}
        return page, {}

    def stats(self, request: Request) -> tuple[Any, dict[str, str]]:
        only(request.body, set())
        counts = {name: {"vectorCount": len(held)} for name, held in self.held.items()}
        total = sum(len(held) for held in self.held.values())
        shape = {key: self.field[key] for key in ("dimension", "metric")}
        return {"namespaces": counts, "totalVectorCount": total, "indexFullness": 0, **shape}, {}

    def read(self) -> dict[str, str]:
        return {"x-pinecone-lsn-reconciled": str(self.reached)} if self.tells_positions else {}

    @property
    def field(self) -> dict[str, Any]:
        assert self.index is not None
        field: dict[str, Any] = self.index["schema"]["fields"]["_values"]
        return field

    def check_values(self, values: Any) -> None:
        size = self.field["dimension"]
        need(len(values) == size, f"Vector dimension {len(values)} does not match the index's {size}")
        need(all(isinstance(each, float | int) and math.isfinite(each) for each in values), "not numbers")
        need(any(values), "Dense vectors must contain at least one non-zero value")


def need(holds: bool, message: str, *, status: int = 400) -> None:
    if not holds:
        raise Refused(status, message)


def only(given: Any, known: set[str]) -> None:
    need(set(given) <= known, f"unknown fields {set(given) - known}")


def check_name(what: str, name: Any) -> None:
    fine = isinstance(name, str) and 0 < len(name) <= NAME and name.isascii() and "\0" not in name
    need(fine, f"{what} must be 1 to {NAME} ASCII characters, got {name!r}")


def place_of(given: Any) -> str:
    name = given.get("namespace") or DEFAULT
    name = name[0] if isinstance(name, list) else name
    check_name("namespace", name)
    return name


def check_metadata(metadata: Any) -> None:
    for key, value in metadata.items():
        texts = isinstance(value, list) and all(isinstance(each, str) for each in value)
        need(texts or isinstance(value, str | float | int), f"metadata {key!r} may not be {value!r}")
    size = len(json.dumps(metadata, ensure_ascii=False).encode())
    need(size <= METADATA_BYTES, f"metadata of {size} bytes, the limit is {METADATA_BYTES}")


def fits(metadata: dict[str, Any], wanted: dict[str, Any]) -> bool:
    for key, condition in wanted.items():
        need(list(condition) == ["$in"], f"unknown condition {condition}")
        if metadata.get(key) not in condition["$in"]:
            return False
    return True
