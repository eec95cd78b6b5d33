"""Moving everything a memory holds to another database: every table row by row, with the same keys.

So ids, history, transactions, settings, traces and vectors are the same there. A batch is one transaction of the
target, and what was copied is kept with it: stopped half-way, the same call goes on where it was. Until everything is
there and compared, the target says so in place of its version, and nobody opens it as a memory. The source is only
read, and as of one moment; if it was written to since, that is noticed.
"""

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection, insert, select
from sqlalchemy.engine import URL

from recollectx.db.engine import MEMORY, Database, resolve_url
from recollectx.db.migrate import HEAD, MIGRATING, set_version, upgrade, version
from recollectx.db.tables import DeliveryRow
from recollectx.embeddings.base import Embedder
from recollectx.errors import InvalidSetting, MigrationUnfinished, NotFound
from recollectx.storage.memory_store import MemoryStore
from recollectx.storage.vector.base import VectorBackend
from recollectx.storage.vector.text import TextProtocol
from recollectx.upkeep.copying import (
    BATCH,
    Origin,
    begin,
    copied_of,
    copy_rows,
    count_rows,
    empty,
    finish,
    origin_of,
    refuse_nul,
    tables,
    under_way,
)
from recollectx.upkeep.reindexing import Progress, wait_until_fed
from recollectx.upkeep.verifying import compare_rows, compare_times

Target = str | os.PathLike[str] | URL


@dataclass(frozen=True, slots=True)
class Migrated:
    """What was moved. rows: by table.  moments: the transactions after which both were compared, each with how many
    claims were believed then.  resumed: it went on where an earlier call had stopped.  index: what was fed, if any."""

    source: str
    target: str
    rows: dict[str, int]
    moments: tuple[tuple[int, int], ...]
    resumed: bool
    index: str | None = None


def migrate(
    source: Target,
    target: Target,
    *,
    vectors: VectorBackend | TextProtocol | str | None = None,
    vectors_api_key: str | None = None,
    embedder: Embedder | None = None,
    restart: bool = False,
    batch: int = BATCH,
    progress: Progress = lambda done, total: None,
) -> Migrated:
    """Move the memory at `source` to the database at `target`, which must be empty or half-way there.

    vectors, vectors_api_key, embedder: the index that the memory has there, as MemoryStore takes it; it is fed, from
    where it was if it is the one that the memory has here.  restart: delete what an unfinished call left and begin anew.  batch: how many
    rows are in memory, and in one transaction, at once.
    Raises InvalidSetting for a target that holds something else, MigrationUnfinished if the source was written to since
    it began, InvalidClaim for texts that the target cannot hold, StorageError if what is there is not the same.
    """
    with closing(_opened(source, must_exist=True)) as origin, closing(_opened(target)) as end:
        if origin is end:
            raise InvalidSetting("the memory is there already; name another database to move it to")
        moved = _move(origin, end, restart=restart, batch=batch, progress=progress)
        if vectors is None:
            return moved
        store = MemoryStore(end.url, vectors, vectors_api_key=vectors_api_key, embedder=embedder)
        with closing(store):
            return _fed(origin, store, moved, progress)


def _move(source: Database, target: Database, *, restart: bool, batch: int, progress: Progress) -> Migrated:
    place = source.place
    with source.read() as conn:
        if (found := version(conn)) != HEAD:
            told = "holds no memory" if found is None else f"is at version {found}, not {HEAD}; open it once"
            raise InvalidSetting(f"{place} {told}")
        if (conn.dialect.name, target.engine.dialect.name) == ("sqlite", "postgresql"):
            refuse_nul(conn)
        origin = origin_of(conn, place)
        resumed = _prepare(target, origin, restart=restart)
        counts = {table.name: count_rows(conn, table) for table in tables()}
        count = _Count(2 * sum(counts.values()), progress)
        for table in tables():
            copy_rows(conn, target, table, progress=count, batch=batch)
        with target.read() as there:
            for table in tables():
                compare_rows(conn, there, table, copied_of(there, table), count)
            moments = compare_times(conn, there)
    with source.read() as conn:
        _check_unchanged(origin, origin_of(conn, place), target)
    with target.write() as conn:
        finish(conn)
        set_version(conn, HEAD)
    return Migrated(place, target.place, counts, tuple(moments), resumed)


class _Count:
    """Adds up what is told bit by bit."""

    def __init__(self, total: int, progress: Progress) -> None:
        self._done, self._total, self._progress = 0, total, progress

    def __call__(self, more: int) -> None:
        self._done += more
        self._progress(self._done, self._total)


def _prepare(target: Database, origin: Origin, *, restart: bool) -> bool:
    """See that the target is empty, or half-way there; whether it was."""
    with target.read() as conn:
        kept, found = under_way(conn), version(conn)
    if found == MIGRATING and restart:
        with target.write() as conn:
            empty(conn)
            set_version(conn, HEAD)
        kept, found = None, HEAD
    if found == MIGRATING and kept is not None:
        if not kept.same_memory(origin):
            raise InvalidSetting(
                f"{target.place} is half-way a copy of another memory, that of {kept.place}; name another database, "
                "or begin anew with --restart"
            )
        _check_unchanged(kept, origin, target)
        return True
    upgrade(target)
    with target.write() as conn:
        _check_empty(conn, target.place)
        begin(conn, origin)
        set_version(conn, MIGRATING)
    return False


def _check_empty(conn: Connection, place: str) -> None:
    for table in tables():
        if conn.execute(select(table).limit(1)).first() is not None:
            raise InvalidSetting(f"{place} holds a memory; name an empty database to move this one to")


def _check_unchanged(before: Origin, now: Origin, target: Database) -> None:
    if not before.same_moment(now):
        then, last = (0 if each.last is None else each.last[0] for each in (before, now))
        raise MigrationUnfinished(
            f"{now.place} was written to since it was moved to {target.place}: it was at transaction {then} and is at "
            f"{last}; begin anew with --restart, while nobody writes"
        )


def _opened(target: Target, *, must_exist: bool = False) -> Database:
    url = resolve_url(target)
    if url.database == MEMORY:
        raise InvalidSetting("a memory in memory cannot be moved; name a file or a server's database")
    if must_exist and url.get_backend_name() == "sqlite" and not Path(str(url.database)).is_file():
        raise NotFound(f"there is no memory at {url.database}")
    return Database.open(url)


def _fed(
    source: Database, store: MemoryStore, moved: Migrated, progress: Callable[[int, int], None]
) -> Migrated:
    """Let the index of the memory have everything; one that it had before goes on where it was."""
    feed = store.feed
    if feed is None:
        return moved
    if feed.backend.placement == "remote":
        with source.read() as conn:
            row = conn.execute(select(DeliveryRow.n).where(DeliveryRow.name == feed.name)).first()
        if row is not None:
            with store.database.write() as conn:
                conn.execute(insert(DeliveryRow).values(name=feed.name, n=row.n, attempts=0))
    if feed.foreign():
        raise InvalidSetting(
            f"everything was moved, but {feed.name} holds what this memory never fed it; "
            "`recollectx reindex --take-over` empties and feeds it"
        )
    wait_until_fed(feed, progress)
    return replace(moved, index=feed.name)
