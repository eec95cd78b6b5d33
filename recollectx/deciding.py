"""Deciding: what a new claim means for the claims already known, without a model.

The rule decider knows three cases. A claim that says the same as a known one reinforces it. A new value of a
predicate that has one value at a time takes its place among the known values (values.py). Anything else is new.
`changes_for` turns any decision into changes; neither looks at a clock.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeAlias

from recollectx.candidates import Candidate, says_the_same
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
from recollectx.claims import CURRENT, Basis, Claim, EpisodicClaim, SemanticClaim, Status, assertion_of
from recollectx.edges import Edge, Relation
from recollectx.errors import InvalidClaim, InvalidSetting, NotFound
from recollectx.text import fold
from recollectx.values import SAME, SUPERSEDED_BY, THEN, among_values

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


Decider: TypeAlias = Callable[[Claim, Sequence[Candidate], float], WriteDecision]
"""(new claim, candidates, trust in the new claim's source) -> decision."""


class Advice(Protocol):
    """What was found out about some claims before the write lock was taken: a decider for them alone."""

    def __call__(self, claim: Claim, candidates: Sequence[Candidate], trust: float) -> WriteDecision:
        """The decision, given also the candidates that `shown` and `rewordings` ask for."""

    def shown(self, claim: Claim) -> Collection[str]:
        """Ids of further known claims that it may choose among."""

    def rewordings(self, claim: Claim) -> Sequence[Claim]:
        """Known claims as it would word them; claims that say the same are candidates too."""

    def cost(self, claim: Claim) -> tuple[int, int, int]:
        """Calls of models, tokens spent on a claim, and how many of these the models wrote."""


class Adviser(Protocol):
    """A decider that takes its time: it is consulted once for several claims, before the write lock is taken."""

    def consult(self, claims: Sequence[Claim]) -> Advice:
        """What it makes of claims that are about to be stored."""


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
        if self.is_single_valued(claim.predicate):
            return among_values(claim, candidates, trust)
        known = next((each for each in same if each.holds(claim.since)), None)
        known = known or next((each for each in same if each.withdrawn(claim.since)), None)
        past = next((each for each in same if each.held_then(claim.since)), None)
        if past is not None and (known is None or known.claim.since > claim.since):
            return WriteDecision(Action.UPDATE, THEN, past.claim.id)
        if known is not None:
            return WriteDecision(Action.UPDATE, SAME, known.claim.id)
        return WriteDecision(Action.ADD, "new")

    def is_single_valued(self, predicate: str) -> bool:
        """Whether a subject has one value of `predicate` at a time."""
        name = fold(predicate)
        return name in self.single_valued or name.startswith(SINGLE_VALUED_PREFIXES)


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


def checked(decision: object) -> WriteDecision:
    """What a decider answered, InvalidSetting if that is no decision."""
    if not isinstance(decision, WriteDecision):
        raise InvalidSetting(f"the decider answered {decision!r}; return a WriteDecision")
    return decision


def changes_for(
    decision: WriteDecision,
    claim: Claim,
    candidates: Collection[Candidate],
    *,
    now: float,
    span: str | None = None,
) -> list[Change]:
    """The changes that carry out `decision`.

    Raises NotFound if it names a claim outside `candidates`: deciders choose among what they were shown.
    """
    known = {candidate.claim.id: candidate for candidate in candidates}
    joins = decision.action in (Action.UPDATE, Action.NONE)
    named = {other for _, other in decision.relations} | ({decision.target or ""} if joins else set())
    if named - set(known):
        raise NotFound(
            f"the decider named {sorted(named - set(known))[0]!r}, which is none of the claims it was shown"
        )
    if joins:
        made = _join(decision, claim, known[str(decision.target)], span)
    else:
        made = [Assert(claim, assertion_of(claim, span))]
    return made + _related(decision, claim, known, now) if decision.relations else made


def _related(
    decision: WriteDecision, claim: Claim, known: Mapping[str, Candidate], now: float
) -> list[Change]:
    """The edges of a decision, and what became of the claims that they end."""
    joins = decision.action in (Action.UPDATE, Action.NONE)
    target = str(decision.target) if joins else claim.id
    changes: list[Change] = []
    starts = [known[other].claim.since for relation, other in decision.relations if relation == SUPERSEDED_BY]
    if starts and not joins:
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


def with_content(known: Claim, content: str) -> Claim:
    """`known` with another object or summary. Raises InvalidClaim if that cannot be stored."""
    if isinstance(known, SemanticClaim):
        return replace(known, object=content)
    if isinstance(known, EpisodicClaim):
        return replace(known, summary=content)
    raise InvalidClaim(f"a {type(known).__name__} has no words to change")


def _join(decision: WriteDecision, claim: Claim, candidate: Candidate, span: str | None) -> list[Change]:
    known = candidate.claim
    changes: list[Change] = []
    if decision.action == Action.UPDATE:
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
        if decision.content is not None:
            united = with_content(united, decision.content)
        if united != known:
            changes.append(Revise(united))
        if back:
            # Last, for it holds as long as was stated, not as long as it was seen here.
            changes.append(Restore(known.id))
    if claim.id != known.id:
        changes.append(Alias(claim.id, known.id))
    return changes
