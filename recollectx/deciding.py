"""Deciding: what a new claim means for the claims already known, without a model.

The rule decider knows three cases. A claim that says the same as a known one reinforces it. A new value of a
predicate that has one value at a time supersedes the old value if its source may say so, else the two contradict;
told late, it takes its place in time before the values that came after it.
Anything else is new. `changes_for` turns any decision into changes; neither looks at a clock.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias
from uuid import uuid4

from recollectx.changes import (
    Action,
    Alias,
    Assert,
    Change,
    Link,
    Reinforce,
    Restatus,
    Restore,
    Retract,
    Revise,
    WriteDecision,
)
from recollectx.claims import CURRENT, Assertion, Basis, Claim, SemanticClaim, Status, assertion_of
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


SUPERSEDED_BY = "superseded by"
"""In the relations of a decision: the known claim is the src of a supersedes edge, and ends the new one's time."""
THEN = "says what is known to have held then"
SAME = "says the same as a known claim"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A known claim shown to a decider, with the trust in each source that stands behind it."""

    claim: Claim
    sources: Mapping[str | None, float]
    voices: tuple[Assertion, ...] = ()

    def yields_to(self, claim: Claim, trust: float) -> bool:
        """Whether the source of `claim` may say when this one held: one of its own, or another that is more trusted.

        Whoever only confirmed what a more trusted source says may not.
        """
        most = max(self.sources.values(), default=0.0)
        return trust > most or (claim.source in self.sources and trust == most)

    def may_end(self, claim: Claim, trust: float) -> bool:
        """Whether what stands behind this one may say how long `claim` held: its source, or a more trusted one."""
        return claim.source in self.sources or max(self.sources.values(), default=0.0) > trust

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

    def stands(self) -> bool:
        """Whether it is in use, or was until another value took its place."""
        return self.claim.status in CURRENT or (self.claim.status == Status.SUPERSEDED and bool(self.sources))

    def in_force(self, at: float) -> bool:
        """Whether it held at that time, superseded since or not."""
        return self.claim.since <= at and (self.holds(at) or self.held_then(at))

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
        back = next((each for each in same if each.withdrawn(claim.since)), None)
        past = next((each for each in same if each.held_then(claim.since)), None)
        if self.is_single_valued(claim.predicate):
            return self._among_values(claim, candidates, back, trust)
        known = next((each for each in same if each.holds(claim.since)), back)
        if past is not None and (known is None or known.claim.since > claim.since):
            return WriteDecision(Action.UPDATE, THEN, past.claim.id)
        return (
            WriteDecision(Action.UPDATE, SAME, known.claim.id) if known else WriteDecision(Action.ADD, "new")
        )

    def _among_values(
        self, claim: SemanticClaim, candidates: Sequence[Candidate], back: Candidate | None, trust: float
    ) -> WriteDecision:
        """The decision on one of several values, in the order in which they hold. back: the same value, withdrawn."""
        same = [each for each in candidates if says_the_same(each.claim, claim) and each.stands()]
        lesser = [
            each
            for each in same
            if each.sources and each.yields_to(claim, trust) and not each.may_end(claim, trust)
        ]
        known = _nearest(claim, [each for each in same if each not in lesser]) or back
        rivals = [each for each in candidates if _is_rival(each.claim, claim)]
        later = [each for each in rivals if each.claim.since > claim.since and each.may_end(claim, trust)]
        better = known is not None and known.may_end(claim, trust) and not known.yields_to(claim, trust)
        if known is not None and better and known.claim.since > claim.since:
            # It begins when those who know better say so.
            later, known = [*later, known], None
        following = min(later, key=lambda each: each.claim.since, default=None)
        if known is not None and following is not None and following.claim.since < known.claim.since:
            # Another value held in between: this is a time of its own.
            known = None
        if known is not None and known.held_then(claim.since):
            return WriteDecision(Action.UPDATE, THEN, known.claim.id)
        # Whoever knows better says since when; what others said of the same value is told anew.
        relations = [
            (str(Relation.SUPERSEDES), each.claim.id)
            for each in lesser
            if each.in_force(claim.since)
            or (
                each.claim.since > claim.since and (not following or each.claim.since < following.claim.since)
            )
        ]
        for each in rivals:
            if each.claim.since <= claim.since and each.yields_to(claim, trust):
                if each.holds(claim.since) or each.held_then(claim.since):
                    relations.append((str(Relation.SUPERSEDES), each.claim.id))
            elif each.claim.since <= claim.since and each.holds(claim.since):
                relations.append((str(Relation.CONTRADICTS), each.claim.id))
        if known is not None:
            if known.withdrawn(claim.since) and following is not None:
                relations.append((SUPERSEDED_BY, following.claim.id))
            if not known.withdrawn(claim.since):
                # What it contradicts is known since the later of the two was stored.
                relations = [pair for pair in relations if pair[0] == Relation.SUPERSEDES]
            return WriteDecision(Action.UPDATE, SAME, known.claim.id, tuple(relations))
        if following is not None:
            relations.append((SUPERSEDED_BY, following.claim.id))
            return WriteDecision(Action.ADD, "told late: a later value is known", relations=tuple(relations))
        relations += [
            (str(Relation.CONTRADICTS), each.claim.id)
            for each in rivals
            if each.claim.since > claim.since and each.holds(claim.since)
        ]
        replaced = [other for relation, other in relations if relation == Relation.SUPERSEDES]
        if replaced:
            reason = f"a newer value of {claim.predicate} takes the place of the old one"
            return WriteDecision(Action.DELETE, reason, replaced[0], tuple(relations))
        reason = f"contradicts a known value of {claim.predicate}" if relations else "new"
        return WriteDecision(Action.ADD, reason, relations=tuple(relations))

    def is_single_valued(self, predicate: str) -> bool:
        """Whether a subject has one value of `predicate` at a time."""
        name = fold(predicate)
        return name in self.single_valued or name.startswith(SINGLE_VALUED_PREFIXES)


def _nearest(claim: SemanticClaim, same: Iterable[Candidate]) -> Candidate | None:
    """Of claims that say the same the one that holds when `claim` begins, else the next that begins after it."""
    then = next((each for each in same if each.in_force(claim.since)), None)
    after = [each for each in same if each.claim.since > claim.since]
    return then or min(after, key=lambda each: each.claim.since, default=None)


def _is_rival(known: Claim, claim: SemanticClaim) -> bool:
    """Whether `known` is another value of the same thing."""
    return isinstance(known, SemanticClaim) and slot(known) == slot(claim) and not says_the_same(known, claim)


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
        starts = [
            known[other].claim.since for relation, other in decision.relations if relation == SUPERSEDED_BY
        ]
        target, changes = claim.id, [Assert(claim, assertion_of(claim, span))]
        if starts:
            until = min([*starts, *([] if claim.valid_to is None else [claim.valid_to])])
            changes.append(Restatus(target, Status.SUPERSEDED, valid_to=until))
    for relation, other in decision.relations:
        if relation == SUPERSEDED_BY:
            changes.append(Link(Edge(other, target, Relation.SUPERSEDES)))
            continue
        old = known[other].claim
        if relation == Relation.SUPERSEDES:
            status = Status.SUPERSEDED if claim.since <= now else old.status
            end = max(claim.since, old.since)
            changes.append(Restatus(old.id, status, valid_to=min(end, old.valid_to or end)))
        # A known claim may hold for longer than its source says so.
        at = claim.since if joins and relation == Relation.SUPERSEDES else None
        changes.append(Link(Edge(target, other, relation), at))
    return changes


def said_again(
    decision: WriteDecision, claim: Claim, candidates: Iterable[Candidate]
) -> tuple[list[Change], list[SemanticClaim]]:
    """What was said again of claims that `decision` ends, at dates after that.

    The changes that take it from those claims, and the claims to be told anew, as if they had come after `claim`.
    """
    ended = {other for relation, other in decision.relations if relation == Relation.SUPERSEDES}
    changes: list[Change] = []
    anew: list[SemanticClaim] = []
    for known in candidates:
        old = known.claim
        if old.id not in ended or not isinstance(old, SemanticClaim):
            continue
        same = says_the_same(old, claim)
        if not same and all(voice.dates and voice.dates[0] > claim.since for voice in known.voices):
            continue
        for voice in known.voices:
            earlier = tuple(date for date in voice.dates if date <= claim.since)
            later = voice.dates[len(earlier) :]
            if earlier and later:
                kept = replace(voice, dates=earlier, times=max(1, voice.times - len(later)))
                changes.append(Reinforce(old.id, kept, replace=True))
            elif later:
                changes.append(Retract(old.id, voice.source))
            anew += [told_anew(old, voice, date) for date in later]
    return changes, sorted(anew, key=lambda each: each.since)


def told_anew(old: SemanticClaim, voice: Assertion, date: float) -> SemanticClaim:
    """What a source said of `old`, as a claim of its own from one of its dates on."""
    return replace(
        old,
        id=str(uuid4()),
        source=voice.source,
        confidence=voice.confidence,
        evidence=voice.evidence,
        last_reinforced_at=voice.said_at,
        support_count=1,
        status=Status.ACTIVE,
        valid_from=date,
        valid_to=None if old.status == Status.SUPERSEDED else old.valid_to,
    )


def _join(action: Action, claim: Claim, candidate: Candidate, span: str | None) -> list[Change]:
    known = candidate.claim
    changes: list[Change] = []
    if action == Action.UPDATE:
        back = candidate.withdrawn(claim.since) and known.status == Status.RETIRED
        changes.append(Reinforce(known.id, assertion_of(claim, span)))
        began = claim.since if claim.since < known.since else known.valid_from
        if back and claim.since > known.since:
            # Nobody says any more that it held before.
            began = claim.since
        united = replace(
            known,
            metadata={**known.metadata, **claim.metadata},
            entities=known.entities + claim.entities,
            importance=max(known.importance, claim.importance),
            category=known.category or claim.category,
            basis=Basis.ASSERTED if claim.basis == Basis.ASSERTED else known.basis,
            status=known.status if back or known.status != Status.RETIRED else Status.ACTIVE,
            valid_from=began,
        )
        if united != known:
            changes.append(Revise(united))
        if back:
            # Last, for it holds as long as was stated, not as long as it was seen here.
            changes.append(Restore(known.id))
    if claim.id != known.id:
        changes.append(Alias(claim.id, known.id))
    return changes
