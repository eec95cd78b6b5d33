"""A vector index outside against the database: whose it is, how far it has come, and where the two differ.

An index in this process is filled when a scope is first asked, so it may lack anything, but hold nothing else. What
changes while it is looked at, or waits to be sent, is no gap; nor is what a service shows only a moment after it took it.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import bindparam, func, select
from sqlalchemy.engine import URL

from recollectx.db.engine import Database
from recollectx.db.tables import ChangeRow, ClaimRow
from recollectx.embeddings.base import Embedder, Vectors
from recollectx.errors import BackendError, DimensionError, InvalidSetting
from recollectx.storage.feeding import Feed
from recollectx.storage.ownership import OWNER
from recollectx.storage.reading import Reader, chunks
from recollectx.storage.vector.base import VectorBackend
from recollectx.storage.vector.named import EXACT, backend_from
from recollectx.upkeep.findings import Finding, listed

BATCH = 1_000
SAME = 0.999
"""The cosine from which on two vectors are one: half-precision moves it by under 1e-4."""
SHOWING = 10.0
"""Seconds within which a service shows what it took; Pinecone names a few."""
LOOKS = 1.0

_IN_SCOPE = (
    select(ClaimRow.pk, ClaimRow.id)
    .where(ClaimRow.scope == bindparam("scope"), ClaimRow.erased.is_(None), ClaimRow.pk > bindparam("after"))
    .order_by(ClaimRow.pk)
    .limit(bindparam("most"))
)
_LAST = select(func.max(ChangeRow.n).label("n"))


@dataclass(slots=True)
class Gaps:
    """The ids of a scope by which index and database differ.

    missing: the index lacks them.  left: it should not hold them: erased, unknown or of another scope.
    differing: it has another vector of them.
    """

    scope: str
    missing: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)

    @property
    def ids(self) -> list[str]:
        """All of them."""
        return self.missing + self.left + self.differing


@contextmanager
def index_of(
    url: URL, vectors: Any, embedder: Embedder | None, api_key: str | None
) -> Iterator[VectorBackend | None]:
    """The index that is meant beside the database at `url`, None for the exact one; one made from its name is closed in the end."""
    if not isinstance(vectors, str):
        yield vectors
        return
    if vectors == EXACT:
        yield None
        return
    if embedder is None:
        raise InvalidSetting("no embedder is configured that tells how long the vectors of the index are")
    address = url.render_as_string(hide_password=False)
    backend = backend_from(vectors, embedder=embedder, database=address, api_key=api_key)
    try:
        yield backend
    finally:
        if backend is not None:
            backend.close()


def reading_feed(database: Database, backend: VectorBackend) -> Feed:
    """A feed to ask what an index has and should have, which never feeds it."""
    return Feed(database, backend, _refuse)


def _refuse(*_: Any, **__: Any) -> Any:
    raise AssertionError("looking a memory over writes nothing")


def index_findings(database: Database, feed: Feed, *, showing: float = SHOWING) -> Iterator[Finding]:
    """What is wrong with the index that `feed` feeds; nothing is changed.

    showing: for how many seconds, in all, a remote index is looked at again before a gap counts.
    """
    try:
        if feed.foreign():
            told = f"{feed.name} holds what this memory never fed it; `recollectx reindex --take-over` empties it"
            yield Finding("index owner", False, told)
            return
        yield Finding("index owner", True, feed.name)
        if feed.backend.placement != "process":
            yield _behind(database, feed)
        yield from _compared(database, feed, showing)
    except (BackendError, DimensionError, InvalidSetting) as error:
        yield Finding("index", False, str(error))


def _behind(database: Database, feed: Feed) -> Finding:
    if is_ahead(database, feed):
        return Finding("index place", False, "the index counts as fed beyond the last change")
    lag = feed.lag()
    if lag.attempts:
        told = f"{lag.changes:,} changes wait, and were tried {lag.attempts} times in vain: {lag.error}"
        return Finding("index place", False, told)
    return Finding("index place", True, f"{lag.changes:,} changes wait to be sent" if lag.changes else "")


def is_ahead(database: Database, feed: Feed) -> bool:
    """Whether the index counts as fed with changes that there never were; it would miss those to come."""
    with database.read() as conn:
        return feed.place(conn) > (Reader(conn).rows(_LAST)[0].n or 0)


def _compared(database: Database, feed: Feed, showing: float) -> Iterator[Finding]:
    found: dict[str, list[str]] = {"missing": [], "left": [], "differing": []}
    looked = 0
    for gaps in all_gaps(database, feed, showing=showing):
        looked += 1
        for name in found:
            found[name] += getattr(gaps, name)
    for name, what in _TOLD.items():
        ids = found[name]
        told = f"{len(ids):,} vectors {what}: {listed(ids)}" if ids else f"{looked:,} scopes compared"
        yield Finding(f"index {name}", not ids, told)


_TOLD = {
    "missing": "that the database has and the index lacks",
    "left": "in the index of claims that are erased, unknown or of another scope",
    "differing": "of which the index has others than the database",
}


def all_gaps(database: Database, feed: Feed, *, showing: float = 0.0) -> Iterator[Gaps]:
    """The gaps of each scope that the database or the index has; see index_findings."""
    with database.read() as conn:
        scopes = set(Reader(conn).scopes())
    until = None
    for scope in sorted((scopes | set(feed.backend.scopes())) - {OWNER}):
        gaps = scope_gaps(database, feed, scope)
        while gaps.ids and feed.backend.placement == "remote":
            until = time.monotonic() + showing if until is None else until
            if time.monotonic() >= until:
                break
            time.sleep(min(LOOKS, showing))
            gaps = scope_gaps(database, feed, scope)
        yield gaps


def scope_gaps(database: Database, feed: Feed, scope: str) -> Gaps:
    """Where one scope differs; of what is in memory at once, only the ids grow with it."""
    with database.read() as conn:
        began = (
            feed.place(conn) if feed.backend.placement != "process" else Reader(conn).rows(_LAST)[0].n or 0
        )
    gaps = Gaps(scope)
    held = set(feed.backend.ids(scope))
    for ids in chunks(sorted(held), BATCH):
        found = feed.backend.vectors_of(scope, ids)
        with database.read() as conn:
            wanted = feed.wanted(Reader(conn), scope, ids)
        gaps.left += [id for id in ids if id not in wanted]
        gaps.differing += [id for id, vector in wanted.items() if not _same(found.get(id), vector)]
    if feed.backend.placement != "process":
        gaps.missing += _missing(database, feed, scope, held)
    return _settled(database, feed, gaps, began) if gaps.ids else gaps


def _missing(database: Database, feed: Feed, scope: str, held: set[str]) -> Iterator[str]:
    for ids in claims_of(database, scope):
        with database.read() as conn:
            wanted = feed.wanted(Reader(conn), scope, ids)
        yield from (id for id in wanted if id not in held)


def claims_of(database: Database, scope: str) -> Iterator[list[str]]:
    """The ids of the claims of a scope, in batches."""
    after = 0
    while True:
        with database.read() as conn:
            rows = Reader(conn).rows(_IN_SCOPE, scope=scope, after=after, most=BATCH)
        if not rows:
            return
        yield [row.id for row in rows]
        after = rows[-1].pk


def _settled(database: Database, feed: Feed, gaps: Gaps, began: int) -> Gaps:
    """The gaps without those of claims that changed meanwhile or wait to be sent."""
    with database.read() as conn:
        reader = Reader(conn)
        known = reader.identities(feed.since(reader, gaps.scope, began))
    moving = {each.id for each in known.values()}
    left = ([id for id in ids if id not in moving] for ids in (gaps.missing, gaps.left, gaps.differing))
    return Gaps(gaps.scope, *left)


def _same(held: Vectors | None, vector: Vectors) -> bool:
    if held is None:
        return False
    return bool(float(held @ vector) >= SAME * float(np.linalg.norm(vector)))
