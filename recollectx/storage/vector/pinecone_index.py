"""Opening an index of Pinecone: made if it is missing, refused if it is of other vectors."""

from dataclasses import dataclass
from typing import Any

from recollectx.errors import DimensionError, InvalidSetting

CREATE_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Wanted:
    """The index to open.

    host: where it is served; None asks.  spec: how it is made if it is missing; None: not at all.
    """

    name: str
    dimension: int
    metric: str
    host: str | None
    spec: Any


def opened(client: Any, wanted: Wanted) -> Any:
    """The client of the index; DimensionError or InvalidSetting if there is none, or one of other vectors."""
    index = client.Index(host=wanted.host or _made(client, wanted))
    try:
        _check(index.describe_index_stats(), wanted)
    except BaseException:
        index.close()
        raise
    return index


def _check(stats: Any, wanted: Wanted) -> None:
    if stats.dimension is not None and stats.dimension != wanted.dimension:
        raise DimensionError(
            f"index {wanted.name!r} holds {stats.dimension}-d vectors, it was opened for {wanted.dimension}-d ones; "
            "give another index_name, or delete it and feed the index again"
        )
    compares = getattr(stats, "metric", None) or wanted.metric
    if compares != wanted.metric:
        raise InvalidSetting(
            f"index {wanted.name!r} compares by {compares}, metric={wanted.metric!r} was asked for"
        )


def _made(client: Any, wanted: Wanted) -> str:
    """Where the index is served."""
    if not client.has_index(wanted.name):
        if wanted.spec is None:
            raise InvalidSetting(f"there is no index {wanted.name!r}; make it, or leave auto_create_index on")
        try:
            client.create_index(
                name=wanted.name,
                dimension=wanted.dimension,
                metric=wanted.metric,
                spec=wanted.spec,
                timeout=CREATE_SECONDS,
            )
        except Exception:
            # Whoever else opens it may have made it in the meantime.
            if not client.has_index(wanted.name):
                raise
    host: str = client.describe_index(wanted.name).host
    return host
