"""Moving everything a memory holds to another database: every table row by row, with the same keys.

So ids, history, transactions, settings, traces and vectors are the same there. A batch is one transaction of the
target, and what was copied is kept with it: stopped half-way, the same call goes on where it was. Until everything is
there and compared, the target says so in place of its version, and nobody opens it as a memory. Of two calls that move
to one target at once, one ends with an error. The source is only read, and as of one moment; if it was written to
since, that is noticed.
"""

import os
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace

from sqlalchemy.engine import URL

from recollectx.db.engine import MEMORY, Database, resolve_url
from recollectx.db.migrate import HEAD, MIGRATING, set_version, upgrade, version
from recollectx.embeddings.base import Embedder
from recollectx.errors import (
    BackendError,
    DimensionError,
    InvalidSetting,
    MigrationUnfinished,
)
from recollectx.storage.memory_store import MemoryStore
from recollectx.storage.vector.base import VectorBackend
from recollectx.storage.vector.named import EXACT
from recollectx.storage.vector.text import TextProtocol
from recollectx.upkeep.copying import (
    BATCH,
    Origin,
    at_once,
    begin,
    copied_of,
    copy_rows,
    count_rows,
    empty,
    finish,
    origin_of,
    tables,
    under_way,
)
from recollectx.upkeep.free import check_free, refuse_taken
from recollectx.upkeep.handing_over import check_index, feed_there, own_mark
from recollectx.upkeep.indexes import index_of
from recollectx.upkeep.looking import has_memory, require_memory
from recollectx.upkeep.refusing import refuse_long, refuse_nul
from recollectx.upkeep.reindexing import PATIENCE, Progress
from recollectx.upkeep.verifying import compare_rows, compare_times

Target = str | os.PathLike[str] | URL


@dataclass(frozen=True, slots=True)
class Migrated:
    """What was moved. rows: by table.  moments: the transactions after which both were compared, each with how many
    claims were believed then.  resumed: it went on where an earlier call had stopped.  index: what was fed, if any.
    only_fed: all rows were there by an earlier call, so they were not compared again."""

    source: str
    target: str
    rows: dict[str, int]
    moments: tuple[tuple[int, int], ...]
    resumed: bool
    index: str | None = None
    only_fed: bool = False


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
    patience: float = PATIENCE,
) -> Migrated:
    """Move the memory at `source` to the database at `target`, which must be empty or half-way there.

    vectors, vectors_api_key, embedder: the index that the memory has there, as MemoryStore takes it; it is fed, from
    where it was if it is the one that the memory has here. It is asked before anything is moved; if it fails later, the
    same call feeds it.  restart: delete what an unfinished call left and begin anew.  batch: how many rows are in
    memory, and in one transaction, at once.  patience: how many seconds an index may take nothing.
    Raises InvalidSetting for a target that holds anything else and an index that cannot be had there, BackendError for
    one that does not answer, MigrationUnfinished if the source was written to since it began, or another call is moving
    there, InvalidClaim for texts
    that the target cannot hold, StorageError if what is there is not the same.
    """
    with ExitStack() as held:
        here, goal = _place(source), _place(target)
        require_memory(here)
        if here == goal:
            raise InvalidSetting("the memory is there already; name another database to move it to")
        refuse_taken(goal)
        origin = held.enter_context(closing(Database.open(here)))
        end = held.enter_context(closing(Database.open(goal)))
        _check_version(origin)
        there = None if vectors in (None, EXACT) else _there_already(origin, end)
        try:
            backend = held.enter_context(index_of(end.url, vectors, embedder, vectors_api_key))
            if isinstance(backend, VectorBackend):
                check_index([origin, end] if there else [origin], backend)
        except (DimensionError, InvalidSetting) as error:
            raise InvalidSetting(
                f"{error}; nothing was moved, --vectors names another index or `exact`"
            ) from error
        except BackendError as error:
            raise BackendError(f"{error}; nothing was moved") from error
        moved = there or _move(origin, end, restart=restart, batch=batch, progress=progress)
        if backend is None:
            return moved
        store = held.enter_context(closing(MemoryStore(end.url, backend, embedder=embedder)))
        return replace(moved, index=feed_there(origin, store, progress, patience))


def _check_version(source: Database) -> None:
    with source.read() as conn:
        found = version(conn)
    if found != HEAD:
        raise InvalidSetting(f"{source.place} is at version {found or '0.2.7'}, not {HEAD}; open it once")


def _there_already(source: Database, target: Database) -> Migrated | None:
    """What an earlier call has moved, if all of the source is in the target."""
    if not has_memory(target.url):
        return None
    with source.read() as conn, target.read() as there:
        if version(there) != HEAD or not origin_of(conn, source.place).is_in(there):
            return None
        counts = {table.name: count_rows(conn, table) for table in tables()}
    return Migrated(source.place, target.place, counts, (), resumed=True, only_fed=True)


def _move(source: Database, target: Database, *, restart: bool, batch: int, progress: Progress) -> Migrated:
    place = source.place
    with source.read() as conn:
        if (conn.dialect.name, target.engine.dialect.name) == ("sqlite", "postgresql"):
            refuse_nul(conn)
            refuse_long(conn, target)
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
        if under_way(conn) is not None:
            finish(conn)
            own_mark(conn)
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
    """See that the target is free, or half-way there; whether it was."""
    with target.read() as conn:
        kept, found = under_way(conn), version(conn)
        if found == HEAD:
            check_free(conn, target.place)
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
        if version(conn) == MIGRATING:
            raise at_once(target.place)
        check_free(conn, target.place)
        begin(conn, origin)
        set_version(conn, MIGRATING)
    return False


def _check_unchanged(before: Origin, now: Origin, target: Database) -> None:
    if not before.same_moment(now):
        then, last = (0 if each.last is None else each.last[0] for each in (before, now))
        raise MigrationUnfinished(
            f"{now.place} was written to since it was moved to {target.place}: it was at transaction {then} and is at "
            f"{last}; begin anew with --restart, while nobody writes"
        )


def _place(target: Target) -> URL:
    url = resolve_url(target)
    if url.database == MEMORY:
        raise InvalidSetting("a memory in memory cannot be moved; name a file or a server's database")
    return url
