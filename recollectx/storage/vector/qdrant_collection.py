"""Opening Qdrant: a client of a server or of a folder, and a collection that is made if missing, refused if of other vectors."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollectx.errors import BackendError, DimensionError, InvalidSetting
from recollectx.extras import require
from recollectx.masking import masked
from recollectx.storage.vector.addresses import server_url

PORT = 6333
NOT_FOUND = 404
LINKS = 16
"""Edges of a vector in the graph of its scope: Qdrant's own default for one graph of all."""
MEMORY = ":memory:"
_SERVER = re.compile(r"(?i)https?://|([\w.-]+|\[[\w.:]+\]):\d+([/?#]|$)")
_FOLDER = "qdrant:///"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The collection to open. make: whether it may be made."""

    name: str
    dimension: int
    distance: str
    make: bool


def is_server(url: str) -> bool:
    """Whether `url` is a server, and neither a folder nor memory."""
    return bool(_SERVER.match(url))


def place_of(url: str, *, secure: bool) -> str:
    """The server, the folder or `:memory:` by one spelling. secure: whether a server that names no scheme speaks TLS."""
    if is_server(url):
        return server_url(url, scheme="https" if secure else "http", port=PORT)
    folder = url[len(_FOLDER) - 1 :] if url.startswith(_FOLDER) else url
    if not folder.strip("/") or "://" in folder:
        raise InvalidSetting(
            f"url must be http://host:port, :memory:, a folder or {_FOLDER}path, got {masked(url)!r}"
        )
    return url if url == MEMORY else str(Path(folder).resolve())


def opened(place: str, **of_a_server: Any) -> Any:
    """A client of a place; BackendError for a folder that is open already."""
    client = require("qdrant_client", "qdrant").QdrantClient
    if is_server(place):
        # The client's check of versions is a thread of its own that can only warn.
        return client(url=place, check_compatibility=False, **of_a_server)
    where = {"location" if place == MEMORY else "path": place}
    try:
        return client(**where, force_disable_check_same_thread=True)
    except RuntimeError as error:
        raise BackendError(
            f"{place} is open already, and Qdrant's folders take one opener at a time; close the other one, or run a server"
        ) from error


def ready(client: Any, wanted: Wanted, *, make: bool, served: bool) -> bool:
    """Whether there is a collection, made if it is missing and `make`, and seen to be of our vectors.

    Raises DimensionError or InvalidSetting if it is of others, or may not be made.
    """
    models: Any = require("qdrant_client.models", "qdrant")
    name = wanted.name
    if not client.collection_exists(name):
        if not make:
            return False
        _create(client, wanted, models)
    held = client.get_collection(name)
    params = held.config.params.vectors
    if not isinstance(params, models.VectorParams):
        raise InvalidSetting(f"collection {name!r} has named vectors; give another collection_name")
    if params.size != wanted.dimension:
        raise DimensionError(
            f"collection {name!r} holds {params.size}-d vectors, it was opened for {wanted.dimension}-d ones; "
            "give another collection_name, or delete it and feed the index again"
        )
    if params.distance != models.Distance[wanted.distance.upper()]:
        raise InvalidSetting(
            f"collection {name!r} compares by {params.distance.value}, distance={wanted.distance!r} was asked for"
        )
    if served and "scope" not in (held.payload_schema or {}):
        keyword = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
        client.create_payload_index(name, "scope", field_schema=keyword, wait=True)
    return True


def is_missing(error: Exception) -> bool:
    """Whether a server says that there is no such collection, over HTTP or gRPC."""
    code = getattr(error, "code", None)
    return getattr(error, "status_code", None) == NOT_FOUND or (
        callable(code) and getattr(code(), "name", "") == "NOT_FOUND"
    )


def _create(client: Any, wanted: Wanted, models: Any) -> None:
    if not wanted.make:
        raise InvalidSetting(
            f"there is no collection {wanted.name!r}; make it, or leave auto_create_collection on"
        )
    distance = models.Distance[wanted.distance.upper()]
    try:
        client.create_collection(
            wanted.name,
            vectors_config=models.VectorParams(size=wanted.dimension, distance=distance),
            hnsw_config=models.HnswConfigDiff(m=0, payload_m=LINKS),
        )
    except Exception:
        # Whoever else opens it may have made it in the meantime.
        if not client.collection_exists(wanted.name):
            raise
