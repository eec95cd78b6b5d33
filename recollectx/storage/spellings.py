"""The methods by which 0.2.7's programs use a MemoryStore, over `apply` and `recall`.

A claim put under an id that is taken replaces what that id says; nothing is merged by content here. The number a
claim is put with is what its source asserts: what is read back is what the graph makes of it. Deleting puts a claim
out of use, and putting it again brings it back. `similar` is a question, not an edge, and the history of a
confidence follows from what happened; both are refused politely where 0.2.7 wrote them.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TypeAlias

from recollectx.changes import Assert, Change, Link, Reinforce, Retire, Revise, Unlink
from recollectx.claims import GLOBAL, Assertion, Claim, EpisodicClaim, Status, assertion_of
from recollectx.edges import SIMILAR, Edge, Relation
from recollectx.errors import InvalidClaim, ScopeError
from recollectx.graph.edges import BeliefEdge
from recollectx.instants import to_micros
from recollectx.propagation import ConfidenceChangeEvent
from recollectx.query import MAX_K, Query, Recall, Weights
from recollectx.storage.edge_views import edges_between, similar_claims
from recollectx.storage.journal import events
from recollectx.storage.reading import Identity, Reader

Plan: TypeAlias = Callable[[Reader], Iterable[Change]]
DAY = 86_400.0


def belief_to_text(claim: Claim) -> str:
    """The claim as one line of plain words."""
    return claim.text


class Spellings(ABC):
    """0.2.7's spellings. scope: where they read and write."""

    scope: str = GLOBAL
    clock: Callable[[], float]
    similarity_threshold: float
    max_connections: int

    @abstractmethod
    def apply(self, changes: Iterable[Change] | Plan, *, cause: str) -> object:
        """Make all changes in one transaction."""

    @abstractmethod
    def recall(self, query: Query) -> Recall:
        """The hits of a query."""

    @abstractmethod
    def reader(self) -> AbstractContextManager[Reader]:
        """A reader that sees one moment."""

    @abstractmethod
    def get(self, claim_id: str) -> Claim | None:
        """The claim of this id; None if there is none or it was deleted."""

    # -- claims ----------------------------------------------------------------------------------------------

    def put(self, item: Claim) -> None:
        """Store a claim as it is; one that is there under its id is replaced, `created_at` stays.

        Raises InvalidClaim, ScopeError, or what else `apply` raises: nothing fails in silence.
        """

        def plan(reader: Reader) -> Iterator[Change]:
            claim = item
            if item.scope == GLOBAL != self.scope:
                claim = replace(item, scope=self.scope)
            known = reader.resolve(claim.id)
            if known is None:
                yield Assert(claim, assertion_of(claim))
            else:
                yield from _replacing(reader, known, claim)

        self.apply(plan, cause="put")

    def update(self, item: Claim) -> None:
        """The same as `put`."""
        self.put(item)

    def delete(self, id: str) -> bool:
        """Put a claim out of use; its history stays. False if there is none, or it was deleted before."""
        made: list[Change] = []

        def plan(reader: Reader) -> Iterator[Change]:
            known = reader.resolve(id)
            if known is None or known.erased:
                return
            if reader.claims([known.pk])[known.pk].status != Status.RETIRED:
                made.append(Retire(known.id))
            yield from made

        self.apply(plan, cause="delete")
        return bool(made)

    def query(self, type: str | None = None, min_confidence: float = 0.0) -> list[Claim]:
        """Every current claim of this type and confidence, oldest first."""
        asked = Query(scopes=(self.scope,), type=type or None, min_confidence=min_confidence, k=None)
        return self.recall(asked).claims[::-1]

    def count(self, type: str | None = None) -> int:
        """How many claims `query` gives."""
        return len(self.query(type))

    def semantic_query(
        self,
        query: str,
        *,
        type: str | None = None,
        min_confidence: float = 0.0,
        k: int = 10,
        recency_bias: float = 0.0,
        episodic_ttl_days: float | None = None,
    ) -> list[Claim]:
        """The `k` current claims that answer `query` best; none for a blank one.

        recency_bias: above 0, older and less important claims sink.  episodic_ttl_days: leaves out episodes older
        than that many days times (1 + importance). Every filter applies before the cut.
        """
        if not query.strip() or k < 1:
            return []
        asked = Query(
            text=query,
            scopes=(self.scope,),
            type=type or None,
            min_confidence=min_confidence,
            k=min(k, MAX_K),
            weights=Weights(recency_bias=recency_bias),
        )
        if episodic_ttl_days is None:
            return self.recall(asked).claims
        now, kept = self.clock(), []
        for most in (asked.k, min(8 * k, MAX_K), None):
            found = self.recall(replace(asked, k=most)).claims
            kept = [claim for claim in found if not _outlived(claim, episodic_ttl_days, now)]
            if len(kept) >= k or most is None or len(found) < most:
                break
        return kept[:k]

    def get_connections(self, claim_id: str) -> list[Claim]:
        """The claims closest in meaning, best first: at most `max_connections`, at least `similarity_threshold`."""
        claim = self.get(claim_id)
        if claim is None:
            return []
        return similar_claims(
            self.recall, claim, threshold=self.similarity_threshold, most=self.max_connections
        )

    # -- edges -----------------------------------------------------------------------------------------------

    def put_edge(self, edge: BeliefEdge) -> None:
        """Store an edge; one that is there already stays as it is, and so does a contradiction from its other end.

        Raises NotFound for an unknown claim. `similar` is not stored: a DeprecationWarning says so.
        """
        if edge.relation == SIMILAR:
            warnings.warn(
                "similar edges are not stored any more; get_connections finds what is similar",
                DeprecationWarning,
                stacklevel=2,
            )
            return

        def plan(reader: Reader) -> Iterator[Change]:
            ends = {(edge.src_id, edge.dst_id)}
            if edge.relation == Relation.CONTRADICTS:
                ends.add((edge.dst_id, edge.src_id))
            if not any(
                edges_between(reader, self.scope, src_id=src, dst_id=dst, relation=edge.relation)
                for src, dst in ends
            ):
                yield Link(Edge(edge.src_id, edge.dst_id, edge.relation))

        self.apply(plan, cause="put_edge")

    def get_edges(
        self, src_id: str | None = None, dst_id: str | None = None, relation: str | None = None
    ) -> list[BeliefEdge]:
        """The edges between claims in use, oldest first; each argument that is given must match."""
        with self.reader() as reader:
            return edges_between(reader, self.scope, src_id=src_id, dst_id=dst_id, relation=relation)

    def get_all_edges(self) -> list[BeliefEdge]:
        """Every edge between claims in use, oldest first."""
        return self.get_edges()

    def delete_edge(self, src_id: str, dst_id: str, relation: str) -> bool:
        """Take an edge away; False if there is none in this direction."""
        made: list[Change] = []

        def plan(reader: Reader) -> Iterator[Change]:
            if edges_between(reader, self.scope, src_id=src_id, dst_id=dst_id, relation=relation):
                made.append(Unlink(src_id, dst_id, relation))
            yield from made

        self.apply(plan, cause="delete_edge")
        return bool(made)

    # -- history ---------------------------------------------------------------------------------------------

    def put_confidence_event(self, event: ConfidenceChangeEvent) -> None:
        """Nothing, with a DeprecationWarning: the history is what happened, and cannot be written by hand."""
        warnings.warn(
            f"the history of {event.claim_id} follows from what happens to it; put_confidence_event writes nothing",
            DeprecationWarning,
            stacklevel=2,
        )

    def get_confidence_history(self, claim_id: str) -> list[ConfidenceChangeEvent]:
        """Every move of a claim's confidence, newest first; none for an unknown id."""
        with self.reader() as reader:
            known = reader.resolve(claim_id)
            return [] if known is None else events(reader, known)


def _outlived(claim: Claim, ttl_days: float, now: float) -> bool:
    return isinstance(claim, EpisodicClaim) and now - claim.created_at > ttl_days * DAY * (
        1 + claim.importance
    )


def _replacing(reader: Reader, known: Identity, claim: Claim) -> Iterator[Change]:
    """The changes after which the known claim says what `claim` says."""
    old = reader.claims([known.pk]).get(known.pk)
    if old is None:
        raise InvalidClaim(f"the id {claim.id!r} names a claim that was erased; store it under a new id")
    if old.scope != claim.scope:
        raise ScopeError(f"claim {claim.id} is in scope {old.scope!r}, not {claim.scope!r}")
    if old.type != claim.type:
        raise InvalidClaim(f"claim {claim.id} is {old.type}; put a {claim.type} one under an id of its own")
    worded = replace(
        claim,
        id=old.id,
        confidence=old.confidence,
        evidence=old.evidence,
        created_at=old.created_at,
        last_reinforced_at=old.last_reinforced_at,
        support_count=old.support_count,
        source=old.source,
    )
    if worded != old:
        yield Revise(worded)
    voices = [voice for _, voice in reader.assertions([known.pk]).get(known.pk, ())]
    mine = next((voice for voice in voices if voice.source == claim.source), None)
    said = _said(claim, old, mine, [voice for voice in voices if voice is not mine])
    if said != mine:
        yield Reinforce(old.id, said, replace=True)


def _said(claim: Claim, old: Claim, mine: Assertion | None, others: list[Assertion]) -> Assertion:
    """What the source of `claim` asserts by it, beside what others do; what was only read back counts as unsaid."""
    alone = assertion_of(claim)
    unchanged = mine is not None and claim.confidence == old.confidence
    earlier = mine is not None and to_micros(claim.last_reinforced_at) == to_micros(old.last_reinforced_at)
    known = {piece for voice in others for piece in voice.evidence}
    return replace(
        alone,
        confidence=mine.confidence if mine and unchanged else alone.confidence,
        said_at=mine.said_at if mine and earlier else alone.said_at,
        evidence=tuple(piece for piece in alone.evidence if piece not in known),
        times=max(claim.support_count - sum(voice.times for voice in others), 0),
        span=mine.span if mine else None,
    )
