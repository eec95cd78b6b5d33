"""History: what was believed at any moment, how it came about, and what changed between two moments.

Everything here reads. A past moment means the last transaction written at or before it; many may share one instant,
and then the last of them counts. A moment in the future reads what is known now. Before anything was written there
was nothing.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from recollectx.claims import Claim, Status
from recollectx.comparing import ClaimChange, Diff, EdgeChange, bears, compare
from recollectx.edges import Edge
from recollectx.errors import InvalidQuery
from recollectx.filters import holds
from recollectx.instants import Instant, to_seconds
from recollectx.propagation import ConfidenceChangeEvent
from recollectx.query import AllScopes, Query, check_count
from recollectx.reach import find
from recollectx.storage.chronicle import (
    Cause,
    Event,
    Stand,
    Version,
    happened,
    page,
    stands,
    versions,
)
from recollectx.storage.journal import events, first_confidence
from recollectx.storage.memory_store import MemoryStore
from recollectx.storage.past import seq_at
from recollectx.storage.reading import Reader, as_stored

__all__ = ["Cause", "ClaimChange", "ClaimHistory", "Diff", "EdgeChange", "Event", "History", "Snapshot"]

Scopes: TypeAlias = str | Collection[str] | AllScopes | None
Statuses: TypeAlias = Collection[Status] | Status | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was believed at `as_of` (seconds since 1970 UTC): claims, newest first, and the edges between them.

    Edges that start in "global" are there too. Iterates over the claims.
    """

    as_of: float
    claims: tuple[Claim, ...]
    edges: tuple[Edge, ...]

    def __iter__(self) -> Iterator[Claim]:
        return iter(self.claims)

    def __len__(self) -> int:
        return len(self.claims)


@dataclass(frozen=True, slots=True)
class ClaimHistory:
    """All that happened to one claim, oldest first.

    formed: when it came, and the confidence it had then.  moves: of its confidence after that, each with its cause.
    """

    claim_id: str
    formed: tuple[float, float] | None
    versions: tuple[Version, ...] = ()
    assertions: tuple[Stand, ...] = ()
    moves: tuple[ConfidenceChangeEvent, ...] = field(default=())


class History:
    """The past of one memory. scope: what is read where a call names no other; a name, several, or ALL_SCOPES.

    Times are seconds since 1970, datetimes or ISO strings; without a zone they mean UTC.
    """

    def __init__(self, storage: MemoryStore, scope: str) -> None:
        self._storage = storage
        self._scope = scope

    def get(self, claim_id: str, as_of: Instant) -> Claim | None:
        """The claim of this id or alias as it read then; None if this scope held none."""
        try:
            at = to_seconds(as_of, "as_of")
        except ValueError as error:
            raise InvalidQuery(str(error)) from None
        return self._storage.get(claim_id, scopes=(self._scope,), retired=True, as_of=at)

    def snapshot(
        self,
        as_of: Instant,
        scope: Scopes = None,
        valid_at: Instant | None = None,
        *,
        status: Statuses = None,
    ) -> Snapshot:
        """What was believed then: the claims that `retrieve(as_of=...)` gives, and the edges between them.

        valid_at, status: as in Query; without them, what was in use and had not run out then.
        """
        query = self._asked(as_of, scope, valid_at=valid_at, status=status)
        at = _time(query)
        with self._storage.reader(at) as reader:
            found: dict[int, Claim] = {}
            after = 0
            while keys := page(reader, query.scopes, after=after):
                found |= _shown(reader, keys, query)
                after = keys[-1]
            edges = _edges(reader, found)
        newest = sorted(found, key=lambda pk: (found[pk].created_at, pk), reverse=True)
        return Snapshot(at, tuple(found[pk] for pk in newest), edges)

    def iter_claims(
        self,
        as_of: Instant,
        scopes: Scopes = None,
        *,
        valid_at: Instant | None = None,
        status: Statuses = None,
    ) -> Iterator[Claim]:
        """The claims of the snapshot one by one, in the order in which they were stored, in the memory of one batch."""
        query = self._asked(as_of, scopes, valid_at=valid_at, status=status)
        with self._storage.reader() as reader:
            seq = seq_at(reader.conn, _time(query))
        return self._stream(query, seq)

    def _stream(self, query: Query, seq: int) -> Iterator[Claim]:
        after = 0
        while True:
            # One short look at the database per batch: whoever is slow to take the claims keeps nobody waiting.
            with self._storage.reader() as now:
                reader = Reader(now.conn, seq=seq)
                keys = page(reader, query.scopes, after=after)
                shown = _shown(reader, keys, query)
            if not keys:
                return
            yield from shown.values()
            after = keys[-1]

    def timeline(self, entity: str | None = None, limit: int = 100, *, scope: Scopes = None) -> list[Event]:
        """The last `limit` events, newest first in the order of writing: asserted, revised, superseded, linked, ...

        entity: only events of claims that named it then, or that it was the subject of; letter case does not matter.
        """
        check_count(limit, "limit")
        if entity is not None and not isinstance(entity, str):
            raise InvalidQuery(f"entity must be a name, got {entity!r}")
        scopes = self._asked(None, scope).scopes
        with self._storage.reader() as reader:
            return happened(reader.conn, scopes, entity=entity, limit=limit)

    def of(self, claim_id: str) -> ClaimHistory:
        """Every version of a claim of this scope, who stood behind it and when, and each move of its confidence.

        Raises NotFound.
        """
        with self._storage.reader() as reader:
            known = find(reader, self._scope, claim_id)
            return ClaimHistory(
                known.id,
                _turned(first_confidence(reader, known.pk)),
                tuple(versions(reader.conn, known.pk)),
                tuple(stands(reader.conn, known.pk)),
                tuple(reversed(events(reader, known))),
            )

    def diff(self, t1: Instant, t2: Instant, scope: Scopes = None) -> Diff:
        """What changed from one moment to a later one, and why. Raises InvalidQuery if they are the other way round."""
        first, second = self._asked(t1, scope), self._asked(t2, scope)
        if _time(first) > _time(second):
            raise InvalidQuery("the first time is after the second; swap them")
        with self._storage.reader() as reader:
            return compare(reader.conn, first, second)

    def _asked(self, as_of: Instant | None, scope: Scopes = None, **filters: Any) -> Query:
        scopes: Any = (self._scope,) if scope is None else scope
        return Query(scopes=scopes, as_of=as_of, **filters)  # type: ignore[arg-type]


def _time(query: Query) -> float:
    if query.as_of is None:
        raise InvalidQuery("as_of must be a time, got None")
    return query.as_of


def _shown(reader: Reader, keys: Collection[int], query: Query) -> dict[int, Claim]:
    return {
        pk: claim for pk, claim in sorted(reader.claims(keys).items()) if holds(claim, query, _time(query))
    }


def _edges(reader: Reader, shown: Mapping[int, Claim]) -> tuple[Edge, ...]:
    """The edges between the claims shown, and those from a claim in use of global."""
    stored = reader.edges_in(shown)
    outside = reader.claims({edge.src for edge in stored} - set(shown))
    ends = {pk: claim.id for pk, claim in outside.items() if bears(claim)}
    ends |= {pk: claim.id for pk, claim in shown.items()}
    return tuple(
        as_stored(
            Edge,
            {
                "src": ends[edge.src],
                "dst": ends[edge.dst],
                "relation": edge.relation,
                "strength": edge.strength,
                "derivation": edge.derivation,
            },
        )
        for edge in stored
        if edge.src in ends
    )


def _turned(pair: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if pair is None else (pair[1], pair[0])
