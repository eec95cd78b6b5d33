"""Correcting: a claim that was never true, one that no longer is, and the way back from both.

A correction says that the old claim was never true: it is out of use and valid at no time, while the past before the
correction still shows it. A supersession says that it is no longer true from some time on. Both keep the old claim,
and both can be taken back.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from recollectx.candidates import of_one_thing, overlap, says_the_same
from recollectx.changes import (
    Action,
    Change,
    Correct,
    Link,
    Restore,
    Undo,
    Undone,
    Unlink,
    WriteDecision,
    WriteResult,
)
from recollectx.claims import CURRENT, Basis, Claim, EpisodicClaim, SemanticClaim, Status, check_text
from recollectx.deciding import Decider, RuleDecider
from recollectx.edges import Edge, Relation
from recollectx.errors import InvalidClaim, InvalidQuery, ScopeError
from recollectx.instants import from_micros, iso
from recollectx.intake import Around, Intake
from recollectx.reach import find
from recollectx.storage.memory_store import MemoryStore
from recollectx.storage.reading import Identity, Reader
from recollectx.storage.reasons import REASON
from recollectx.storage.transactions import cause_of, claims_of, scopes_of

LAST = 2**63 - 1
"""No transaction has a greater number."""


def reworded(old: Claim, text: str, *, source: str | None, now: float, since: float) -> Claim:
    """`old` with another object or summary, as a new claim of `source` that holds from `since` on.

    Whoever said the old one did not say this, and what was quoted for it is no evidence for this.
    """
    fresh: dict[str, Any] = {
        "id": str(uuid4()),
        "source": source,
        "evidence": (),
        "metadata": {name: value for name, value in old.metadata.items() if name != REASON},
        "confidence": old.confidence if old.prior is None else old.prior,
        "created_at": now,
        "last_reinforced_at": now,
        "support_count": 1,
        "status": Status.ACTIVE,
        "basis": Basis.ASSERTED,
        "valid_from": since,
    }
    if isinstance(old, EpisodicClaim):
        return replace(old, summary=text, **fresh)
    if isinstance(old, SemanticClaim):
        return replace(old, object=text, **fresh)
    raise InvalidClaim(f"a {type(old).__name__} has no words to change; give a whole claim")


@dataclass
class _Places:
    """Whom the old claim superseded and by whom it was, by id, with the times: its successor takes its place."""

    below: list[tuple[str, float | None]] = field(default_factory=list)
    above: list[tuple[str, float | None]] = field(default_factory=list)

    @classmethod
    def of(cls, reader: Reader, pk: int) -> "_Places":
        """The places of a claim."""
        below = [edge for edge in reader.edges_out([pk]) if edge.relation == Relation.SUPERSEDES]
        above = [edge for edge in reader.edges_in([pk]) if edge.relation == Relation.SUPERSEDES]
        ids = reader.identities([edge.dst for edge in below] + [edge.src for edge in above])
        return cls(
            [(ids[edge.dst].id, _seconds(edge.at)) for edge in below],
            [(ids[edge.src].id, _seconds(edge.at)) for edge in above],
        )

    def known(self) -> set[str]:
        return {claim_id for claim_id, _ in self.below + self.above}

    def links(self, target: str) -> Iterator[Change]:
        for other, at in self.below:
            if other != target:
                yield Link(Edge(target, other, Relation.SUPERSEDES), at)
        for other, at in self.above:
            if other != target:
                yield Link(Edge(other, target, Relation.SUPERSEDES), at)


def _seconds(micros: int | None) -> float | None:
    return None if micros is None else from_micros(micros)


class Correcting:
    """Corrections in one scope. place: makes a given claim one of this scope, or refuses it."""

    def __init__(
        self,
        storage: MemoryStore,
        scope: str,
        intake: Intake,
        *,
        decider: Decider,
        place: Callable[[Claim], Claim],
    ) -> None:
        self._storage = storage
        self._scope = scope
        self._intake = intake
        self._decider = decider if isinstance(decider, RuleDecider) else RuleDecider()
        self._place = place

    def correct(self, old_id: str, new: Claim | str, reason: str, source: str | None) -> WriteResult:
        """See Memory.correct."""
        old = self._old(old_id, "correct")
        until = self._stated_end(old_id) if isinstance(new, str) else None
        new = self._new(old, new, source=source, since=old.since, until=until)
        if reason:
            check_text(reason, "reason", 100_000)
            new = replace(new, metadata={**new.metadata, REASON: reason})
        places = _Places()

        def before(reader: Reader) -> Iterator[Change]:
            known, present = _usable(reader, self._scope, old_id, "correct")
            _differs(present, new)
            if of_one_thing(present, new):
                found = _Places.of(reader, known.pk)
                places.below, places.above = found.below, found.above
            yield Correct(known.id)

        def after(reader: Reader, target: str) -> Iterator[Change]:
            yield Link(Edge(target, old.id, Relation.CORRECTS))
            yield from places.links(target)

        around = Around(before, after, lambda decision: _without(decision, places.known() | {old.id}))
        return self._intake.exchange(new, around, cause="correct", reason=f"corrects {old.id}")

    def supersede(self, old_id: str, new: Claim | str, at: float | None, source: str | None) -> WriteResult:
        """See Memory.supersede. at: seconds since 1970 UTC."""
        old = self._old(old_id, "supersede")
        new = self._new(old, new, source=source, since=at, until=None)
        if at is not None and new.valid_from is None:
            new = replace(new, valid_from=at)
        ends = new.since if at is None else at

        def before(reader: Reader) -> Iterator[Change]:
            _, present = _usable(reader, self._scope, old_id, "supersede")
            _differs(present, new)
            if ends < present.since:
                raise InvalidClaim(
                    f"claim {present.id} begins at {iso(present.since)}, it cannot end before that, at {iso(ends)}; "
                    "if it was never true, correct it"
                )
            yield from ()

        def after(reader: Reader, target: str) -> Iterator[Change]:
            yield Link(Edge(target, old.id, Relation.SUPERSEDES), ends)

        around = Around(before, after, lambda decision: _without(decision, {old.id}))
        return self._intake.exchange(new, around, cause="supersede", reason=f"supersedes {old.id}")

    def _new(
        self, old: Claim, new: Claim | str, *, source: str | None, since: float | None, until: float | None
    ) -> Claim:
        """The claim that takes the place of `old`; a text holds from `since` (None: now) to `until`."""
        if isinstance(new, str):
            now = self._storage.clock()
            if source is not None:
                check_text(source, "source")
            made = reworded(old, new, source=source, now=now, since=now if since is None else since)
            return self._place(replace(made, valid_to=until))
        if source is not None:
            raise InvalidClaim(f"source={source!r} is whose word a text is; a whole claim states its own")
        return self._place(new)

    def restore(self, claim_id: str) -> WriteResult:
        """See Memory.restore."""
        made: list[Change] = []
        reasons = ["it is in use"]

        def plan(reader: Reader) -> Iterator[Change]:
            known = find(reader, self._scope, claim_id)
            old = reader.claims([known.pk])[known.pk]
            if old.status in CURRENT:
                return
            if old.status == Status.UNSUPPORTED:
                reasons[0] = "it comes back by itself once something holds it up"
                return
            back = Relation.SUPERSEDES if old.status == Status.SUPERSEDED else Relation.CORRECTS
            incoming = reader.edges_in([known.pk])
            self._stands(reader, known, rests=any(edge.relation == Relation.DERIVES for edge in incoming))
            edges = [edge for edge in incoming if edge.relation == back]
            ids = reader.identities(edge.src for edge in edges)
            made.extend(Unlink(ids[edge.src].id, known.id, back) for edge in edges)
            made.append(Restore(known.id))
            yield from tuple(made)
            # A superseded claim that was forgotten is superseded again, and in nobody's way.
            if old.status == Status.SUPERSEDED or not _superseded(reader, known):
                disputes = list(self._disputes(reader, known))
                made.extend(disputes)
                yield from disputes

        done = self._storage.apply(plan, cause="restore")
        canonical = self._canonical(claim_id)
        if not made:
            return WriteResult(Action.NONE, canonical, (), reasons[0])
        return WriteResult(Action.UPDATE, canonical, tuple(made), "restored", done.seq)

    def _stands(self, reader: Reader, known: Identity, *, rests: bool) -> None:
        if not rests and not reader.assertions([known.pk]):
            raise InvalidClaim(f"nobody stands behind claim {known.id} any more; store it again")

    def _disputes(self, reader: Reader, known: Identity) -> Iterator[Change]:
        """Contradictions between a claim that is back and the other values that its subject has meanwhile."""
        claim = reader.claims([known.pk])[known.pk]
        if not isinstance(claim, SemanticClaim) or not self._decider.is_single_valued(claim.predicate):
            return
        for each in reader.candidates(self._scope, claim, rivals=True):
            rival = each.claim
            if rival.id == claim.id or rival.status not in CURRENT or not of_one_thing(claim, rival):
                continue
            if not says_the_same(claim, rival) and overlap(claim, rival):
                yield Link(Edge(claim.id, rival.id, Relation.CONTRADICTS))

    def undo(self, tx: int) -> Undone:
        """See Memory.undo."""
        if isinstance(tx, bool) or not isinstance(tx, int) or not 1 <= tx <= LAST:
            raise InvalidQuery(f"undo takes the number of a transaction, from 1 to {LAST}, got {tx!r}")
        told: list[str] = []

        def plan(reader: Reader) -> Iterator[Change]:
            foreign = scopes_of(reader.conn, tx) - {self._scope}
            if foreign:
                raise ScopeError(
                    f"transaction {tx} acted on scope {min(foreign)!r}; take it back from a Memory of that scope"
                )
            told.append(cause_of(reader.conn, tx))
            yield Undo(tx)

        done = self._storage.apply(plan, cause=f"undo {tx}")
        with self._storage.reader() as reader:
            return Undone(tx, told[0], done.seq, tuple(claims_of(reader.conn, done.seq, self._scope)))

    def _stated_end(self, claim_id: str) -> float | None:
        with self._storage.reader() as reader:
            return _seconds(reader.stated_to(find(reader, self._scope, claim_id).pk))

    def _old(self, old_id: str, verb: str) -> Claim:
        with self._storage.reader() as reader:
            return _usable(reader, self._scope, old_id, verb)[1]

    def _canonical(self, claim_id: str) -> str:
        with self._storage.reader() as reader:
            return find(reader, self._scope, claim_id).id


def _usable(reader: Reader, scope: str, claim_id: str, verb: str) -> tuple[Identity, Claim]:
    known = find(reader, scope, claim_id)
    claim = reader.claims([known.pk])[known.pk]
    if claim.status == Status.RETIRED:
        raise InvalidClaim(f"claim {known.id} is out of use; restore it before you {verb} it")
    return known, claim


def _differs(old: Claim, new: Claim) -> None:
    if says_the_same(old, new):
        raise InvalidClaim(f"that says the same as claim {old.id}; use update to change its other fields")


def _superseded(reader: Reader, known: Identity) -> bool:
    over = [edge.src for edge in reader.edges_in([known.pk]) if edge.relation == Relation.SUPERSEDES]
    return any(claim.status != Status.RETIRED for claim in reader.claims(over).values())


def _without(decision: WriteDecision, others: Iterable[str]) -> WriteDecision:
    """The decision without a say on these claims: what becomes of them is settled."""
    settled = set(others)
    kept = tuple(pair for pair in decision.relations if pair[1] not in settled)
    return replace(decision, relations=kept)
