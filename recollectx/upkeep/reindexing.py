"""Feeding a vector index anew: emptied, and filled from the database.

An index outside that is stopped half-way goes on where it was, by the next `reindex` or whoever opens the memory with
it; once it has come to where the database was when it was emptied, the next `reindex` empties it again. At the end what
it holds is counted. An index in this process is cleared and filled scope by scope.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, select

from recollectx.db.engine import Database
from recollectx.db.tables import ClaimRow, DeliveryRow, RevisionRow, VectorRow
from recollectx.errors import BackendError, InvalidSetting
from recollectx.storage.batches import last, waiting
from recollectx.storage.feeding import Feed
from recollectx.storage.memory_store import MemoryStore
from recollectx.storage.ownership import OWNER
from recollectx.storage.places import MARGIN
from recollectx.storage.vector.base import VectorBackend
from recollectx.upkeep.findings import listed
from recollectx.upkeep.indexes import SHOWING, all_gaps, claims_of

PATIENCE = 60.0
"""Seconds without a step after which an index counts as away, at least."""
LOOK = 0.1
UNDER_WAY = "reindex: "
"""What the name of an index in rx_deliveries begins with while it is fed anew; n is the last change when it was emptied."""
_WANTED = (
    select(ClaimRow.scope, func.count())
    .join(RevisionRow, RevisionRow.claim == ClaimRow.pk)
    .join(VectorRow, VectorRow.text == RevisionRow.text)
    .where(RevisionRow.tx_to.is_(None))
    .group_by(ClaimRow.scope)
)

Progress = Callable[[int, int], None]
"""Is told how much is done, and of how much."""


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What feeding an index anew came to. resumed: it went on where an earlier run had stopped."""

    index: str
    vectors: int
    scopes: int
    resumed: bool


def reindex(
    store: MemoryStore,
    *,
    take_over: bool = False,
    progress: Progress = lambda done, total: None,
    patience: float = PATIENCE,
    showing: float = SHOWING,
) -> Reindexed:
    """Empty the index of an open memory and feed it again; back when the index has and shows everything.

    take_over: also an index that another memory feeds, or that holds what nobody is known to have fed.
    patience: see wait_until_fed.  showing: how many seconds a service may take to show what it took.
    Raises InvalidSetting without an index, or for such an index; BackendError if it does not take what is sent, or took
    it and does not hold it.
    """
    backend = store.backend
    if backend is None:
        raise InvalidSetting("no vector index is configured that could be fed; name one with --vectors")
    feed = store.feed
    if feed is None:
        _refill(store, backend, progress)
        return Reindexed(backend.address, backend.count(), len(backend.scopes()), False)
    if feed.foreign() and not take_over:
        raise InvalidSetting(
            f"{feed.name} holds what this memory never fed it; `recollectx reindex --take-over` empties it all the same"
        )
    resumed = not feed.foreign() and _is_under_way(store.database, feed)
    if not resumed:
        feed.start_over()
        _mark(store.database, feed)
    wait_until_fed(feed, progress, patience=patience)
    unmark(store.database, feed)
    held = {scope: backend.count(scope) for scope in backend.scopes() if scope != OWNER}
    _check(store.database, feed, held, showing)
    return Reindexed(feed.name, sum(held.values()), len(held), resumed)


def _check(database: Database, feed: Feed, held: dict[str, int], showing: float) -> None:
    """Raise BackendError unless the index holds what the database has for it, by the counts of each scope."""
    zeros = bytes(2 * feed.backend.dimension)
    with database.read() as conn:
        wanted = {row[0]: row[1] for row in conn.execute(_WANTED.where(VectorRow.vector != zeros))}
    if held == wanted:
        return
    # Others may write meanwhile, and a service may be late: only what stays different by id is wrong.
    gaps = list(all_gaps(database, feed, showing=showing))
    if ids := [id for each in gaps for id in each.ids]:
        lacking, left = (sum(len(getattr(each, name)) for each in gaps) for name in ("missing", "left"))
        raise BackendError(
            f"{feed.name} took everything, but lacks {lacking:,} vectors, holds {left:,} that it should not and has "
            f"{len(ids) - lacking - left:,} others than the database: {listed(ids)}; run `recollectx reindex` once more"
        )


def wait_until_fed(
    feed: Feed, progress: Progress = lambda done, total: None, *, patience: float = PATIENCE
) -> None:
    """Back when the index has and shows all that is written now, whatever is written meanwhile.

    Raises BackendError if it took nothing for `patience` seconds, or for longer than the lease of a process that was
    killed while it fed.
    """
    goal, patience = feed.goal(), max(patience, MARGIN * feed.spot.lease)
    total = left = feed.lag(goal).changes
    moved_at = time.monotonic()
    while not feed.settle(0.0, goal):
        lag = feed.lag(goal)
        if lag.changes != left:
            total, left, moved_at = max(total, lag.changes), lag.changes, time.monotonic()
            progress(total - left, total)
        if time.monotonic() > moved_at + patience:
            told = lag.error or f"nothing moved for {patience:g} s"
            raise BackendError(f"{lag.changes:,} changes still wait for {feed.name}: {told}")
        time.sleep(LOOK)
    progress(total, total)


def _refill(store: MemoryStore, backend: VectorBackend, progress: Progress) -> None:
    """Fill an index of this process."""
    feed = Feed(store.database, backend, store.apply)
    backend.clear()
    with store.reader() as reader:
        scopes = reader.scopes()
        total = sum(len(reader.in_scope(scope)) for scope in scopes)
    done = 0
    for scope in scopes:
        for ids in claims_of(store.database, scope):
            feed.mend(scope, ids)
            done += len(ids)
            progress(done, total)


def _is_under_way(database: Database, feed: Feed) -> bool:
    """Whether an earlier run stopped before the index had all that the database held when it was emptied."""
    with database.read() as conn:
        row = conn.execute(select(DeliveryRow.n).where(DeliveryRow.name == UNDER_WAY + feed.name)).first()
        return row is not None and waiting(conn, feed.place(conn)) > waiting(conn, row.n)


def _mark(database: Database, feed: Feed) -> None:
    with database.write() as conn:
        _unmarked(conn, feed)
        conn.execute(insert(DeliveryRow).values(name=UNDER_WAY + feed.name, n=last(conn), attempts=0))


def unmark(database: Database, feed: Feed) -> None:
    """Let no run count as stopped half-way any more."""
    with database.write() as conn:
        _unmarked(conn, feed)


def _unmarked(conn: Connection, feed: Feed) -> None:
    conn.execute(delete(DeliveryRow).where(DeliveryRow.name == UNDER_WAY + feed.name))
