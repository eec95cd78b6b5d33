"""Qdrant's REST API on loopback, as far as the index uses it: the client's own models check each request, and its engine in
memory answers.

What is refused is what a server refuses: unknown paths and fields, a wrong key, more than 32 MB, a vector of another length.
"""

import re
from collections.abc import Callable
from typing import Any

from loopback import Loopback, Refused, Request
from pydantic import TypeAdapter, ValidationError
from qdrant_client import QdrantClient, models

MOST_BYTES = 32 * 1024 * 1024
POINTS = TypeAdapter(models.PointInsertOperations)
SELECTED = TypeAdapter(models.PointsSelector)


class QdrantServer(Loopback):
    """api_key: what the header api-key must say, if anything."""

    def __init__(self, api_key: str | None = None, **chance: Any) -> None:
        super().__init__(**chance)
        self.api_key = api_key
        self.engine = QdrantClient(":memory:")
        self.indexed: dict[str, dict[str, models.PayloadIndexInfo]] = {}
        self.routes: list[tuple[str, str, Callable[[str, Request], Any]]] = [
            ("GET", "/exists", self.exists),
            ("GET", "", self.info),
            ("PUT", "", self.create),
            ("DELETE", "", lambda name, _: self.engine.delete_collection(name)),
            ("PUT", "/index", self.index),
            ("PUT", "/points", self.upsert),
            ("POST", "/points", self.retrieve),
            ("POST", "/points/delete", self.delete),
            ("POST", "/points/query", self.query),
            ("POST", "/points/scroll", self.scroll),
            ("POST", "/points/count", self.count),
        ]

    def refusal(self, status: int, message: str) -> Any:
        return {"status": {"error": message}, "time": 0.0}

    def answer(self, request: Request) -> tuple[Any, dict[str, str]]:
        if self.api_key is not None and request.headers.get("api-key") != self.api_key:
            raise Refused(401, "Must provide an API key or an Authorization bearer token")
        if len(request.raw) > MOST_BYTES:
            raise Refused(413, "Payload Too Large")
        found = re.fullmatch(r"/collections/([^/]+)(/.*)?", request.path)
        for method, path, call in self.routes:
            if found and (method, path) == (request.method, found[2] or ""):
                try:
                    result = call(found[1], request)
                except ValidationError as error:
                    raise Refused(400, f"Format error in JSON body: {error}") from error
                except ValueError as error:
                    status = 404 if "not found" in str(error) else 400
                    raise Refused(status, f"Wrong input: {error}") from error
                return {"result": _plain(result), "status": "ok", "time": 0.0}, {}
        raise Refused(404, "")

    def exists(self, name: str, _: Request) -> Any:
        return {"exists": self.engine.collection_exists(name)}

    def info(self, name: str, _: Request) -> Any:
        held = self.engine.get_collection(name)
        return held.model_copy(update={"payload_schema": self.indexed.get(name, {})})

    def create(self, name: str, request: Request) -> Any:
        wanted = models.CreateCollection.model_validate(request.body)
        if self.engine.collection_exists(name):
            raise Refused(409, f"Wrong input: Collection `{name}` already exists!")
        given = {field: getattr(wanted, field) for field in wanted.model_fields_set - {"vectors"}}
        return self.engine.create_collection(name, vectors_config=wanted.vectors, **given)

    def index(self, name: str, request: Request) -> Any:
        wanted = models.CreateFieldIndex.model_validate(request.body)
        assert isinstance(wanted.field_schema, models.KeywordIndexParams)
        self.indexed.setdefault(name, {})[wanted.field_name] = models.PayloadIndexInfo(
            data_type=models.PayloadSchemaType.KEYWORD, params=wanted.field_schema, points=0
        )
        return _done()

    def upsert(self, name: str, request: Request) -> Any:
        points = POINTS.validate_python(request.body)
        size = self.engine.get_collection(name).config.params.vectors.size
        given = points.batch.vectors if isinstance(points, models.PointsBatch) else []
        for vector in [*given, *(point.vector for point in getattr(points, "points", []))]:
            if len(vector) != size:
                raise ValueError(f"Vector dimension error: expected dim: {size}, got {len(vector)}")
        self.engine.upsert(name, points.batch if isinstance(points, models.PointsBatch) else points.points)
        return _done()

    def delete(self, name: str, request: Request) -> Any:
        self.engine.delete(name, SELECTED.validate_python(request.body))
        return _done()

    def retrieve(self, name: str, request: Request) -> Any:
        asked = models.PointRequest.model_validate(request.body)
        return self.engine.retrieve(
            name, asked.ids, with_payload=asked.with_payload, with_vectors=asked.with_vector
        )

    def query(self, name: str, request: Request) -> Any:
        asked = models.QueryRequest.model_validate(request.body)
        return self.engine.query_points(
            name,
            query=asked.query,
            query_filter=asked.filter,
            limit=asked.limit,
            with_payload=asked.with_payload,
        )

    def scroll(self, name: str, request: Request) -> Any:
        asked = models.ScrollRequest.model_validate(request.body)
        points, after = self.engine.scroll(
            name,
            scroll_filter=asked.filter,
            limit=asked.limit,
            offset=asked.offset,
            with_payload=asked.with_payload,
            with_vectors=bool(asked.with_vector),
        )
        return models.ScrollResult(points=points, next_page_offset=after)

    def count(self, name: str, request: Request) -> Any:
        asked = models.CountRequest.model_validate(request.body)
        return self.engine.count(name, asked.filter, exact=bool(asked.exact))


def _done() -> models.UpdateResult:
    return models.UpdateResult(operation_id=0, status=models.UpdateStatus.COMPLETED)


def _plain(result: Any) -> Any:
    if isinstance(result, list):
        return [_plain(each) for each in result]
    return result.model_dump(mode="json") if hasattr(result, "model_dump") else result
