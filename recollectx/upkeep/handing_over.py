"""The vector index of a memory that moves: asked before, and fed from the new database after."""

from sqlalchemy import insert, select

from recollectx.db.engine import Database
from recollectx.db.tables import DeliveryRow
from recollectx.errors import BackendError, InvalidSetting
from recollectx.storage.memory_store import MemoryStore
from recollectx.storage.reading import MODEL, Reader
from recollectx.storage.vector.base import VectorBackend
from recollectx.upkeep.indexes import reading_feed
from recollectx.upkeep.reindexing import Progress, wait_until_fed


def check_index(database: Database, backend: VectorBackend) -> None:
    """Raise unless an index answers, takes the vectors of a memory and is not another's."""
    with database.read() as conn:
        model = Reader(conn).setting(MODEL)
    if model is not None and model["dimension"] != backend.dimension:
        raise InvalidSetting(
            f"the memory holds {model['dimension']}-d vectors, the index takes {backend.dimension}-d ones"
        )
    backend.count()
    if reading_feed(database, backend).foreign():
        raise InvalidSetting(
            f"{backend.address} holds what this memory never fed it; `recollectx reindex --take-over` empties it"
        )


def feed_there(source: Database, store: MemoryStore, progress: Progress, patience: float) -> str | None:
    """Let the index of a moved memory have everything; its name, None if it is filled when it is asked.

    One that the memory had before goes on where it was. Raises BackendError if it takes nothing.
    """
    feed = store.feed
    if feed is None:
        return None
    if feed.backend.placement == "remote":
        _keep_place(source, store.database, feed.name)
    try:
        wait_until_fed(feed, progress, patience=patience)
    except BackendError as error:
        raise BackendError(f"everything was moved, but {error}; the same once more feeds it") from error
    return feed.name


def _keep_place(source: Database, target: Database, index: str) -> None:
    """Let an index go on in the target where it was in the source, unless it has come to somewhere there."""
    of_index = select(DeliveryRow.n).where(DeliveryRow.name == index)
    with source.read() as conn:
        row = conn.execute(of_index).first()
    with target.write() as conn:
        if row is not None and conn.execute(of_index).first() is None:
            conn.execute(insert(DeliveryRow).values(name=index, n=row.n, attempts=0))
