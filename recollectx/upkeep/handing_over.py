"""The vector index of a memory that moves: asked before, and fed from the new database after.

A copy is a memory of its own, or both would feed one index, and each bring back what the other erased. So it has a mark
of its own, which takes the place of the other in an index that it has from there; the memory that was moved is refused
by that index from then on.
"""

import json
import uuid
from collections.abc import Sequence

from sqlalchemy import Connection, insert, select, update

from recollectx.db.engine import Database
from recollectx.db.tables import DeliveryRow, SettingRow
from recollectx.errors import BackendError, InvalidSetting
from recollectx.storage.batches import last
from recollectx.storage.memory_store import MemoryStore
from recollectx.storage.ownership import MEMORY_ID, OWNER
from recollectx.storage.places import EMPTYING
from recollectx.storage.reading import MODEL, Reader
from recollectx.storage.rows import table_of
from recollectx.storage.vector.base import VectorBackend
from recollectx.upkeep.indexes import reading_feed
from recollectx.upkeep.reindexing import Progress, wait_until_fed


def own_mark(conn: Connection) -> None:
    """Let a copy have a mark of its own for its indexes, if the memory had one."""
    table = table_of(SettingRow)
    value = json.dumps({"id": uuid.uuid4().hex})
    conn.execute(update(table).where(table.c.name == MEMORY_ID).values(value=value))


def check_index(databases: Sequence[Database], backend: VectorBackend) -> None:
    """Raise unless an index answers, takes the vectors of a memory and is nobody else's. databases: the memory, and its
    copy if that is finished."""
    with databases[0].read() as conn:
        model = Reader(conn).setting(MODEL)
    if model is not None and model["dimension"] != backend.dimension:
        raise InvalidSetting(
            f"the memory holds {model['dimension']}-d vectors, the index takes {backend.dimension}-d ones"
        )
    backend.count()
    marks = set(backend.ids(OWNER))
    known = bool(marks) and marks <= set(map(_mark_of, databases))
    if reading_feed(databases[0], backend).foreign() and not known:
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
    try:
        if feed.backend.placement == "remote":
            _take_mark(source, store.database, feed.backend, patience)
            _keep_place(source, store.database, feed.name)
        wait_until_fed(feed, progress, patience=patience)
    except BackendError as error:
        raise BackendError(f"everything was moved, but {error}; the same once more feeds it") from error
    return feed.name


def _keep_place(source: Database, target: Database, index: str) -> None:
    """Let an index go on in the target where it was in the source, unless it has come to somewhere there; from the
    beginning, if it was fed meanwhile what the target does not hold."""
    of_index = select(DeliveryRow.n).where(DeliveryRow.name == index)
    with source.read() as conn:
        row = conn.execute(of_index).first()
    with target.write() as conn:
        if row is not None and conn.execute(of_index).first() is None:
            n = row.n if row.n <= last(conn) else EMPTYING
            conn.execute(insert(DeliveryRow).values(name=index, n=n, attempts=0))


def _take_mark(source: Database, target: Database, backend: VectorBackend, patience: float) -> None:
    """Let an index that the source fed be the target's."""
    before, now = _mark_of(source), _mark_of(target)
    if before is not None and now is not None and before in backend.ids(OWNER):
        backend.upsert_vectors(OWNER, [now], [backend.vectors_of(OWNER, [before])[before]])
        backend.delete_ids(OWNER, [before])
        backend.settle(patience)


def _mark_of(database: Database) -> str | None:
    """What marks an index as that of a memory, None if it never fed one."""
    with database.read() as conn:
        return (Reader(conn).setting(MEMORY_ID) or {}).get("id")
