"""Deciding: what a new claim means for the claims already known, without a model.

The rule decider knows three cases. A claim that says the same as a known one reinforces it. A new value of a
predicate that has one value at a time supersedes the old value if its source may say so, else the two contradict.
Anything else is new. `changes_for` turns any decision into changes; neither looks at a clock.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from recollectx.changes import (
    Action,
    Alias,
    Assert,
    Change,
    Link,
    Reinforce,
    Restatus,
    Restore,
    Revise,
    WriteDecision,
)
from recollectx.claims import CURRENT, Basis, Claim, SemanticClaim, Status, assertion_of
from recollectx.edges import Edge, Relation
from recollectx.errors import InvalidSetting, NotFound
from recollectx.text import fold, fold_claim, slot

SINGLE_VALUED = frozenset(
    {
        "lives in",
        "works as",
        "works at",
        "name",
        "is named",
        "age",
        "birthday",
        "born on",
        "born in",
        "email",
        "phone",
        "phone number",
        "address",
        "home town",
        "hometown",
        "nationality",
        "time zone",
        "timezone",
        "job title",
        "married to",
        "relationship status",
        "goal",
    }
)
SINGLE_VALUED_PREFIXES = ("favorite ", "favourite ", "current ", "preferred ")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A known claim shown to a decider, with the trust in each source that stands behind it."""

    claim: Claim
    sources: Mapping[str | None, float]

    def holds(self, at: float) -> bool:
        """Whether recall would return it unasked, at a time in seconds since 1970 UTC."""
        return self.claim.status in CURRENT and (self.claim.valid_to is None or self.claim.valid_to > at)

    def held_then(self, at: float) -> bool:
        """Whether it has been superseded, and held at that time."""
        ends = self.claim.valid_to
        return (
            self.claim.status == Status.SUPERSEDED
            and self.claim.since <= at
            and ends is not None
            and at < ends
        )

    def withdrawn(self, at: float) -> bool:
        """Whether it is out of use at that time only because nothing stands behind it any more."""
        forsaken = self.claim.status == Status.RETIRED and not self.sources
        over = self.claim.valid_to is not None and self.claim.valid_to <= at
        return (forsaken or self.claim.status == Status.UNSUPPORTED) and not over


Decider: TypeAlias = Callable[[Claim, Sequence[Candidate], float], WriteDecision]
"""(new claim, candidates, trust in the new claim's source) -> decision."""


class RuleDecider:
    """Decides without a model.

    single_valued: predicates with one value at a time, beside SINGLE_VALUED and every predicate that begins with
    favorite, favourite, current or preferred; underscores and case do not matter.
    """

    def __init__(self, single_valued: Iterable[str] = ()) -> None:
        if isinstance(single_valued, str):
            raise InvalidSetting(f"single_valued takes several predicates; write [{single_valued!r}]")
        self.single_valued = SINGLE_VALUED | {fold(name) for name in single_valued}

    def __call__(self, claim: Claim, candidates: Sequence[Candidate], trust: float) -> WriteDecision:
        """The decision on `claim` among the known claims that say the same or give a value to the same thing."""
        same = [each for each in candidates if says_the_same(each.claim, claim)]
        if not isinstance(claim, SemanticClaim):
            return _episode(claim, same)
        known = next((each for each in same if each.holds(claim.since)), None)
        known = known or next((each for each in same if each.withdrawn(claim.since)), None)
        past = next((each for each in same if each.held_then(claim.since)), None)
        if past is not None and (known is None or known.claim.since > claim.since):
            return WriteDecision(Action.UPDATE, "says what is known to have held then", past.claim.id)
        relations = (
            self._relations(claim, candidates, trust) if self.is_single_valued(claim.predicate) else ()
        )
        if known is not None:
            if not known.withdrawn(claim.since):
                # What it contradicts is known since the later of the two was stored.
                relations = tuple(pair for pair in relations if pair[0] == Relation.SUPERSEDES)
            return WriteDecision(Action.UPDATE, "says the same as a known claim", known.claim.id, relations)
        replaced = [other for relation, other in relations if relation == Relation.SUPERSEDES]
        if replaced:
            reason = f"a newer value of {claim.predicate} takes the place of the old one"
            return WriteDecision(Action.DELETE, reason, replaced[0], relations)
        reason = f"contradicts a known value of {claim.predicate}" if relations else "new"
        return WriteDecision(Action.ADD, reason, relations=relations)

    def is_single_valued(self, predicate: str) -> bool:
        """Whether a subject has one value of `predicate` at a time."""
        name = fold(predicate)
        return name in self.single_valued or name.startswith(SINGLE_VALUED_PREFIXES)

    def _relations(
        self, claim: SemanticClaim, candidates: Sequence[Candidate], trust: float
    ) -> tuple[tuple[str, str], ...]:
        """How `claim` stands to the other values of the same thing that hold."""
        relations = []
        for candidate in candidates:
            rival = candidate.claim
            if (
                not isinstance(rival, SemanticClaim)
                or slot(rival) != slot(claim)
                or says_the_same(rival, claim)
            ):
                continue
            if candidate.holds(claim.since):
                entitled = claim.source in candidate.sources or trust > max(
                    candidate.sources.values(), default=0.0
                )
                newer = claim.since >= rival.since
                relation = Relation.SUPERSEDES if entitled and newer else Relation.CONTRADICTS
                relations.append((str(relation), rival.id))
        return tuple(relations)


def says_the_same(one: Claim, other: Claim) -> bool:
    """Whether two claims are one: equal facts, or the very same episode."""
    return one.type == other.type and fold_claim(one) == fold_claim(other)


def _episode(claim: Claim, same: Sequence[Candidate]) -> WriteDecision:
    if not same:
        return WriteDecision(Action.ADD, "new")
    current = next((each for each in same if each.claim.status in CURRENT), None)
    if current is not None and claim.source in current.sources:
        return WriteDecision(Action.NONE, "this very episode is known", current.claim.id)
    known = current or next((each for each in same if each.withdrawn(claim.since)), None)
    if known is not None:
        return WriteDecision(Action.UPDATE, "this very episode is asserted again", known.claim.id)
    return WriteDecision(Action.NONE, "this very episode is known, and was forgotten", same[0].claim.id)


def changes_for(
    decision: WriteDecision,
    claim: Claim,
    candidates: Collection[Candidate],
    *,
    now: float,
    span: str | None = None,
) -> list[Change]:
    """The changes that carry out `decision`.

    Raises InvalidSetting if the decision is none, NotFound if it names a claim outside `candidates`: deciders choose
    among what they were shown.
    """
    if not isinstance(decision, WriteDecision):
        raise InvalidSetting(f"the decider answered {decision!r}; return a WriteDecision")
    known = {candidate.claim.id: candidate for candidate in candidates}
    joins = decision.action in (Action.UPDATE, Action.NONE)
    named = {other for _, other in decision.relations} | ({decision.target or ""} if joins else set())
    if named - set(known):
        raise NotFound(
            f"the decider named {sorted(named - set(known))[0]!r}, which is none of the claims it was shown"
        )
    if joins:
        target = str(decision.target)
        changes = _join(decision.action, claim, known[target], span)
    else:
        target, changes = claim.id, [Assert(claim, assertion_of(claim, span))]
    for relation, other in decision.relations:
        old = known[other].claim
        if relation == Relation.SUPERSEDES:
            status = Status.SUPERSEDED if claim.since <= now else old.status
            ends = max(claim.since, old.since)
            changes.append(Restatus(old.id, status, valid_to=min(ends, old.valid_to or ends)))
        changes.append(Link(Edge(target, other, relation)))
    return changes


def _join(action: Action, claim: Claim, candidate: Candidate, span: str | None) -> list[Change]:
    known = candidate.claim
    changes: list[Change] = []
    if action == Action.UPDATE:
        if candidate.withdrawn(claim.since) and known.status == Status.RETIRED:
            changes.append(Restore(known.id))
        changes.append(Reinforce(known.id, assertion_of(claim, span)))
        united = replace(
            known,
            metadata={**known.metadata, **claim.metadata},
            entities=known.entities + claim.entities,
            importance=max(known.importance, claim.importance),
            category=known.category or claim.category,
            basis=Basis.ASSERTED if claim.basis == Basis.ASSERTED else known.basis,
            status=Status.ACTIVE if known.status == Status.RETIRED else known.status,
        )
        if united != known:
            changes.append(Revise(united))
    if claim.id != known.id:
        changes.append(Alias(claim.id, known.id))
    return changes
