"""Intake: the one way in for claims. Policy, then decider, then one transaction.

Policies are asked before the write lock is taken; deciding happens inside it, so what a decider was shown is what
its decision is carried out on. A decider that takes its time is consulted before (`Adviser`), and its advice decides
inside. Claims that come with a correction or a derivation are decided on by rule: somebody has said what they mean.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import uuid4

from recollectx.candidates import Candidate
from recollectx.changes import Action, Change, Link, WriteDecision, WriteResult
from recollectx.claims import CURRENT, Claim, SemanticClaim, Status
from recollectx.deciding import Advice, Decider, RuleDecider, changes_for, checked
from recollectx.edges import Edge, Relation
from recollectx.errors import InvalidClaim
from recollectx.policies.base import Decision, PolicyLike, decide, describe
from recollectx.remembering import Reading, claims_of
from recollectx.reopening import reopened
from recollectx.retelling import Retelling, come_back, undisputed
from recollectx.storage.memory_store import MemoryStore
from recollectx.storage.reading import Identity, Reader
from recollectx.text import fold_claim

_MAY_SHARE = CURRENT | {Status.SUPERSEDED, Status.UNSUPPORTED}


@dataclass(frozen=True, slots=True)
class Around:
    """What happens around the storing of one claim.

    after: is given the id under which the claim is now known.  amend: what of the decision stands.
    joining: what takes the place of asserting a known claim once more; None asserts it.
    """

    before: Callable[[Reader], Iterable[Change]]
    after: Callable[[Reader, str], Iterable[Change]]
    amend: Callable[[WriteDecision], WriteDecision]
    joining: Callable[[Reader, str], Iterable[Change]] | None = None


class Intake:
    """Writes claims into one store. asker: what a policy is given as its memory."""

    def __init__(
        self, storage: MemoryStore, policy: PolicyLike | None, decider: Decider, asker: object
    ) -> None:
        self._storage = storage
        self._policy = policy
        self._decider = decider
        self._asker = asker
        rules = decider if isinstance(decider, RuleDecider) else RuleDecider()
        self.retelling = Retelling(rules, storage.clock)

    def store(self, claims: Sequence[Claim], *, advice: Advice | None = None) -> list[WriteResult]:
        """Claims in order, all or none. advice: on them; None asks for it."""
        refused = self._refused(claims)
        results: list[WriteResult] = []
        if advice is None:
            advice = self._consulted(_wanted(claims, refused))
        plan = partial(self._writes, claims=claims, refused=refused, results=results, advice=advice)
        self._apply(plan, claims, refused, results, cause="store", advice=advice)
        return results

    def planned(
        self, claims: Sequence[Claim], results: list[WriteResult]
    ) -> Callable[[Reader], Iterator[Change]]:
        """The plan by which `store` would store claims; what came of each is added to `results` as it runs."""
        refused = self._refused(claims)
        advice = self._consulted(_wanted(claims, refused))
        return partial(self._writes, claims=claims, refused=refused, results=results, advice=advice)

    def keep(self, readings: Sequence[Reading], scope: str, places: Mapping[str, int]) -> list[WriteResult]:
        """Turns with what was found in them, all or none; a turn that is known already is not read again.

        places: where each session went on when the turns were put in order.
        """
        claims = list(claims_of(readings))
        refused = self._refused(claims)
        reasons = dict(zip((claim.id for claim in claims), refused, strict=True))
        advice = self._consulted(self._unread(readings, reasons))
        results: list[WriteResult] = []

        def plan(reader: Reader) -> Iterator[Change]:
            # Somebody may have gone on with the same session since `places` were read.
            moved = {name: reader.next_position(scope, name) - at for name, at in places.items()}
            for reading in readings:
                turn = None
                if reading.episode is not None:
                    episode = reading.placed(moved)
                    yield from self._write(reader, episode, reasons[episode.id], None, results)
                    if results[-1].action == Action.NONE:
                        continue
                    turn = results[-1].claim_id
                for heard in reading.found:
                    if heard.denied:
                        yield from self._take_back(reader, heard.claim, results)
                        continue
                    refusal = reasons[heard.claim.id]
                    yield from self._write(reader, heard.claim, refusal, heard.span, results, advice=advice)
                    found = results[-1].claim_id
                    if turn is not None and found is not None:
                        yield Link(Edge(turn, found, Relation.DERIVES))

        self._apply(plan, claims, refused, results, cause="remember", advice=advice)
        return results

    def _take_back(self, reader: Reader, claim: Claim, results: list[WriteResult]) -> Iterator[Change]:
        """The source of `claim` takes back what it said of it; nothing if it never did."""
        for known in reader.candidates(claim.scope, claim, rivals=False):
            found = reader.resolve(known.claim.id)
            if found is not None and claim.source in known.sources and known.stands():
                made: list[Change] = []
                yield from _noted(self.retelling.taken_back(reader, found, claim.source), made)
                results.append(WriteResult(Action.DELETE, found.id, tuple(made), "taken back by its source"))

    def _consulted(self, claims: Iterable[Claim]) -> Advice | None:
        """What the decider has to say beforehand, None if it decides on the spot."""
        consult: Callable[[Sequence[Claim]], Advice] | None = getattr(self._decider, "consult", None)
        return None if consult is None else consult(list(claims))

    def _unread(self, readings: Sequence[Reading], reasons: Mapping[str, str | None]) -> Iterator[Claim]:
        """What was found in turns that are not known yet and is not refused."""
        with self._storage.reader() as reader:
            for reading in readings:
                if reading.episode is None or not self._is_known(reader, reading.episode):
                    yield from (
                        each.claim
                        for each in reading.found
                        if not each.denied and reasons[each.claim.id] is None
                    )

    def _is_known(self, reader: Reader, episode: Claim) -> bool:
        shown = reader.candidates(episode.scope, episode)
        decision = self._decider(episode, shown, reader.trust(episode.source, episode.scope))
        return checked(decision).action == Action.NONE

    def exchange(self, claim: Claim, around: Around, *, cause: str, reason: str) -> WriteResult:
        """One claim with what must happen around it in the same transaction; nothing if it is refused.

        reason: is added to that of the decision.
        """
        refused = self._refused([claim])
        results: list[WriteResult] = []
        made: list[Change] = []

        def plan(reader: Reader) -> Iterator[Change]:
            if refused[0] is None:
                yield from _noted(around.before(reader), made)
            yield from _noted(self._write(reader, claim, refused[0], None, results, around=around), made)
            target = results[0].claim_id
            if target is not None:
                yield from _noted(around.after(reader, target), made)

        self._apply(plan, [claim], refused, results, cause=cause)
        result = results[0]
        if result.action == Action.REJECT:
            return result
        return replace(result, changes=tuple(made), reason=f"{result.reason}; {reason}")

    def _refused(self, claims: Iterable[Claim]) -> list[str | None]:
        """For each claim why the policy refuses it, None if it does not."""
        if self._policy is None:
            return [None for _ in claims]
        reason = f"refused by {describe(self._policy)}"
        return [
            None if decide(self._policy, claim, self._asker) == Decision.ACCEPT else reason
            for claim in claims
        ]

    def _apply(
        self,
        plan: Any,
        claims: Sequence[Claim],
        refused: Sequence[str | None],
        results: list[WriteResult],
        *,
        cause: str,
        advice: Advice | None = None,
    ) -> None:
        wanted = _wanted(claims, refused)
        if advice is not None:
            reworded = [other for claim in wanted for other in advice.rewordings(claim)]
            wanted = _once(wanted, reworded)
        vectors, fault = self._storage.vectors_for(wanted)
        seq = self._storage.apply(plan, cause=cause, vectors=vectors).seq
        results[:] = [each if each.action == Action.REJECT else each.written_by(seq) for each in results]
        if fault:
            # Told where a new wording waits for its vector.
            results[:] = [
                replace(each, reason=each.reason + fault)
                if each.action in (Action.ADD, Action.DELETE)
                else each
                for each in results
            ]

    def _writes(
        self,
        reader: Reader,
        claims: Sequence[Claim],
        refused: Sequence[str | None],
        results: list[WriteResult],
        advice: Advice | None,
    ) -> Iterator[Change]:
        for claim, reason in zip(claims, refused, strict=True):
            yield from self._write(reader, claim, reason, None, results, advice=advice)

    def _has_rivals(self, claim: Claim) -> bool:
        """Whether other values of the same thing concern the decider; one that does not say is shown them."""
        tells = getattr(self._decider, "is_single_valued", None)
        return tells is None or (isinstance(claim, SemanticClaim) and tells(claim.predicate))

    def _write(
        self,
        reader: Reader,
        claim: Claim,
        refusal: str | None,
        span: str | None,
        results: list[WriteResult],
        *,
        around: Around | None = None,
        advice: Advice | None = None,
    ) -> Iterator[Change]:
        if refusal is not None:
            results.append(WriteResult(Action.REJECT, None, (), refusal))
            return
        known = reader.resolve(claim.id)
        calls, tokens, written = (0, 0, 0) if advice is None else advice.cost(claim)
        if known is not None:
            claim, advice = _under_its_id(reader, known, claim), None
        candidates = reader.candidates(claim.scope, claim, rivals=self._has_rivals(claim))
        if advice is not None:
            candidates = _and_shown(reader, claim, candidates, advice)
        decider: Decider = self._decider if advice is None else advice
        decision = checked(decider(claim, candidates, reader.trust(claim.source, claim.scope)))
        decision = decision if around is None else around.amend(decision)
        if candidates:
            decision = undisputed(reader, decision)
        if known is not None:
            claim = replace(claim, id=_id_for(reader, known, decision))
        if candidates:
            yield from come_back(reader, decision, claim, candidates)
        joining = None if around is None else around.joining
        if joining is not None and decision.action in (Action.UPDATE, Action.NONE):
            changes = list(joining(reader, str(decision.target)))
        else:
            changes = changes_for(decision, claim, candidates, now=self._storage.clock(), span=span)
            if candidates:
                changes += reopened(reader, claim, decision, candidates)
        yield from changes
        if candidates:
            yield from self.retelling.after(reader, decision, claim, candidates)
        target = decision.target if decision.action in (Action.UPDATE, Action.NONE) else claim.id
        made = tuple(changes)
        results.append(
            WriteResult(
                decision.action,
                target,
                made,
                decision.reason,
                calls=calls,
                tokens=tokens,
                completion_tokens=written,
            )
        )


def _wanted(claims: Sequence[Claim], refused: Sequence[str | None]) -> list[Claim]:
    return [claim for claim, reason in zip(claims, refused, strict=True) if reason is None]


def _once(claims: Sequence[Claim], reworded: Sequence[Claim]) -> list[Claim]:
    """The claims, and those reworded that have no other words here: vectors go by id."""
    ids = Counter(claim.id for claim in (*claims, *reworded))
    return [*claims, *(claim for claim in reworded if ids[claim.id] == 1)]


def _and_shown(
    reader: Reader, claim: Claim, candidates: Sequence[Candidate], advice: Advice
) -> list[Candidate]:
    """The candidates with those that the advice may choose, or must not say the same as."""
    known = [reader.resolve(claim_id) for claim_id in advice.shown(claim)]
    found = [*candidates, *reader.as_candidates(claim.scope, [each.pk for each in known if each is not None])]
    for other in advice.rewordings(claim):
        found += reader.candidates(claim.scope, other, rivals=False)
    return list({each.claim.id: each for each in found}.values())


def _under_its_id(reader: Reader, known: Identity, claim: Claim) -> Claim:
    """`claim`, whose id is in use, under the canonical id; InvalidClaim if the id means another claim."""
    old = reader.claims([known.pk]).get(known.pk)
    if old is None or known.scope != claim.scope or fold_claim(old) != fold_claim(claim):
        raise InvalidClaim(f"the id {claim.id!r} is taken by another claim; leave id out, or use update")
    return replace(claim, id=known.id)


def _id_for(reader: Reader, known: Identity, decision: WriteDecision) -> str:
    """The id for a claim whose own is in use: that of the claim it joins, else a new one.

    Raises InvalidClaim if its own names a claim that was put out of use.
    """
    old = reader.claims([known.pk])[known.pk]
    joins = decision.target if decision.action in (Action.UPDATE, Action.NONE) else None
    used = old.status in _MAY_SHARE or not reader.assertions([known.pk])
    if joins != known.id and not used:
        raise InvalidClaim(f"the id {known.id!r} names a claim that is out of use; store it under a new id")
    return joins or str(uuid4())


def _noted(changes: Iterable[Change], made: list[Change]) -> Iterator[Change]:
    for change in changes:
        made.append(change)
        yield change
