"""Mending what looking a memory over has found, step by step; what is belief goes through `MemoryStore.apply`.

The confidence history is only ever added to: present numbers are set to the last recorded, everything is solved anew
in one transaction, and what is not as it should be moves there, with that transaction as its cause.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import bindparam, delete, func, or_, select, update

from recollectx.changes import Change, Configure, Erase
from recollectx.db.tables import ClaimRow, EdgeRow
from recollectx.embeddings import token_embedder
from recollectx.errors import InvalidSetting, RecollectxError
from recollectx.propagation import LogOdds
from recollectx.storage.feeding import Feed
from recollectx.storage.memory_store import MemoryStore
from recollectx.storage.ownership import OWNER
from recollectx.storage.reading import RULE, Reader, chunks
from recollectx.storage.rows import table_of
from recollectx.storage.token_rows import has_tokens
from recollectx.storage.token_vectors import TokenVectors
from recollectx.storage.vector.base import VectorBackend
from recollectx.upkeep.checks import IS_LAST, LAST_NUMBERS, LEFT, LIVE_REVISIONS, SAME
from recollectx.upkeep.indexes import BATCH, all_gaps, is_ahead
from recollectx.upkeep.reindexing import PATIENCE, Progress, unmark, wait_until_fed
from recollectx.upkeep.rows import (
    drop_bad_vectors,
    drop_dangling,
    drop_unused,
    put_back_transactions,
    rebuild_indexes,
    remake_search,
    reopen_revisions,
    repoint_wordings,
    rewind,
)

CAUSE = "repair"


@dataclass(slots=True)
class Mended:
    """What was done, in words, and what could not be."""

    done: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


def mend(
    store: MemoryStore, wrong: Collection[str], *, progress: Progress, patience: float = PATIENCE
) -> Mended:
    """Mend what these checks found, as far as it goes. A step that fails leaves the others to be done."""
    outcome = Mended()
    steps = [(name, step) for name, checks, step in _STEPS if checks & set(wrong)]
    if _NEEDS_VECTORS & set(wrong):
        steps.append(("vectors", lambda store: embed(store, progress)))
    if store.backend is not None:
        # Whoever feeds it may be quicker than the other steps.
        waited = 0 if store.feed is None else store.feed.lag().changes
        steps.append(("index", lambda store: mend_index(store, waited, progress, patience)))
    for name, step in steps:
        try:
            told = step(store)
        except (RecollectxError, KeyError, ValueError, TypeError) as error:
            # Broken rows do not make claims, and the others are still to be mended.
            outcome.failed.append(f"{name}: {error}")
        else:
            outcome.done += [told] if told else []
    if not store.truncate_log() and _any_erased(store):
        outcome.failed.append("somebody is reading what was erased; run doctor again once they are done")
    return outcome


def _any_erased(store: MemoryStore) -> bool:
    with store.reader() as reader:
        return bool(reader.rows(select(ClaimRow.pk).where(ClaimRow.erased.is_not(None)).limit(1)))


def finish_erasures(store: MemoryStore) -> str:
    """Erase again what is left of erased claims, words and edges, with all that quotes it."""
    edges = 0

    def plan(reader: Reader) -> Iterator[Change]:
        nonlocal edges
        conn = reader.conn
        half = conn.execute(select(ClaimRow.pk, ClaimRow.id).where(ClaimRow.erased.is_not(None), LEFT)).all()
        whole = select(ClaimRow.pk).where(ClaimRow.erased.is_not(None), LIVE_REVISIONS == 0)
        edges = conn.execute(
            delete(EdgeRow).where(or_(EdgeRow.src.in_(whole), EdgeRow.dst.in_(whole)))
        ).rowcount
        # Erasing refuses what is erased already, so they count as being there until it has come to each.
        for row in half:
            conn.execute(update(ClaimRow).where(ClaimRow.pk == row.pk).values(erased=None))
        for row in reversed(half):
            known = reader.resolve(row.id, undone=True)
            if known is not None and not known.erased:
                yield Erase(row.id)

    done = store.apply(plan, cause=CAUSE)
    return f"{len(done.erased_ids):,} erasures were finished, {done.erased_rows + edges:,} rows deleted"


def solve_anew(store: MemoryStore) -> str:
    """Let every confidence be what the graph makes of it, and the history say so."""

    def plan(reader: Reader) -> Iterator[Change]:
        _to_last_recorded(reader)
        yield Configure(RULE, (reader.rule() or LogOdds()).settings())

    done = store.apply(plan, cause=CAUSE)
    return f"every belief was solved anew, in transaction {done.seq}"


def _to_last_recorded(reader: Reader) -> None:
    """Set the present numbers to the last in the history, so that what is solved anew is compared with those."""
    table = table_of(ClaimRow)
    other = or_(
        func.abs(LAST_NUMBERS.value - ClaimRow.confidence) >= SAME,
        func.abs(LAST_NUMBERS.strength - ClaimRow.strength) >= SAME,
    )
    last = (
        select(ClaimRow.pk.label("key"), LAST_NUMBERS.value, LAST_NUMBERS.strength)
        .join(LAST_NUMBERS, LAST_NUMBERS.claim == ClaimRow.pk)
        .where(IS_LAST, ClaimRow.erased.is_(None), other)
    )
    values: dict[str, Any] = {"confidence": bindparam("value"), "strength": bindparam("new_strength")}
    change = update(table).where(table.c.pk == bindparam("key")).values(values)
    for key, value, strength in reader.conn.execute(last).all():
        reader.conn.execute(change, {"key": key, "value": value, "new_strength": strength})
    unrecorded = ~select(LAST_NUMBERS.claim).where(LAST_NUMBERS.claim == ClaimRow.pk).exists()
    # No confidence is below 0: whatever these come to is recorded.
    reader.conn.execute(update(ClaimRow).where(ClaimRow.erased.is_(None), unrecorded).values(confidence=-1.0))


def embed(store: MemoryStore, progress: Progress) -> str:
    """Give every wording a vector, and one of each token where those are kept."""
    if store.embedding is None:
        raise InvalidSetting("no embedder is configured that could make the vectors that are missing")
    with store.reader() as reader:
        total, tokens = reader.count_unembedded(), has_tokens(reader)
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        progress(done, total)

    store.embedding.embed_waiting(count)
    offered = token_embedder(store.embedding.embedder)
    if tokens and offered is not None:
        TokenVectors(store.database, offered, store.apply).embed_waiting()
    return f"{done:,} wordings were embedded with {store.embedding.embedder.name}" if done else ""


def mend_index(store: MemoryStore, waited: int, progress: Progress, patience: float) -> str:
    """Make the index hold what the database does: first what waits is sent, then each gap is closed.

    waited: how many changes did before anything was mended.
    """
    if store.backend is None:
        return ""
    feed = store.feed or Feed(store.database, store.backend, store.apply)
    told = [] if store.feed is None else _sent(store, store.feed, waited, progress, patience)
    closed = 0
    for gaps in all_gaps(store.database, feed):
        for ids in chunks(gaps.ids, BATCH):
            feed.mend(gaps.scope, ids)
            closed += len(ids)
    store.backend.settle(patience)
    told += [f"{closed:,} vectors of the index {feed.name} were put right"] if closed else []
    return "; ".join(told)


def _sent(store: MemoryStore, feed: Feed, waited: int, progress: Progress, patience: float) -> list[str]:
    """What was done to have all sent that waits."""
    if feed.foreign():
        raise InvalidSetting(f"{feed.name} holds what this memory never fed it")
    if is_ahead(store.database, feed):
        rewind(store, feed.name, 0)
        unmark(store.database, feed)
        waited = feed.lag().changes
    before = _held(feed.backend)
    wait_until_fed(feed, progress, patience=patience)
    after = _held(feed.backend)
    told = [f"{waited:,} changes that waited were sent to the index {feed.name}"] if waited else []
    if before != after:
        told.append(f"the index {feed.name} was fed: it holds {after:,} vectors, {before:,} before")
    return told


def _held(backend: VectorBackend) -> int:
    return sum(backend.count(scope) for scope in backend.scopes() if scope != OWNER)


_NEEDS_VECTORS = frozenset({"vectors", "every wording has a vector", "token vectors"})
_BELIEF = frozenset(
    {
        "confidence history",
        "strengths",
        "foreign keys",
        "edges",
        "erased claims",
        "one live revision",
        "text",
    }
)
_STEPS: tuple[tuple[str, frozenset[str], Callable[[MemoryStore], str]], ...] = (
    ("integrity", frozenset({"integrity"}), rebuild_indexes),
    ("foreign keys", frozenset({"foreign keys"}), drop_dangling),
    ("text", frozenset({"text"}), repoint_wordings),
    ("one live revision", frozenset({"one live revision"}), reopen_revisions),
    ("erased claims", frozenset({"erased claims", "edges"}), finish_erasures),
    ("unused wordings", frozenset({"unused wordings"}), drop_unused),
    ("transactions", frozenset({"transactions"}), put_back_transactions),
    ("search", frozenset({"search tokens", "hashes"}), remake_search),
    ("vectors", frozenset({"vectors", "token vectors"}), drop_bad_vectors),
    ("belief", _BELIEF, solve_anew),
)
