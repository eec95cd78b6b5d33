"""Values: where a new value of a thing that has one at a time takes its place among the known ones.

Values hold one after another, each from its own date to that of the next, in whatever order they are told. A source
ends what it said before, and what only less trusted sources say; whoever only confirmed what a more trusted source
says cannot end it. Where neither ends the other, both hold, and contradict.

A value said again while it holds is the same claim; so is one told of earlier, which then began earlier, unless
another value held in between. It begins when those who know best say so: a rumour that comes true was a rumour until
then, and a rumour moves nobody's date.
"""

from collections.abc import Iterable, Sequence
from math import inf

from recollectx.candidates import Candidate, Word, of_one_thing, says_the_same
from recollectx.changes import Action, WriteDecision
from recollectx.claims import Claim, SemanticClaim
from recollectx.edges import Relation

SUPERSEDED_BY = "superseded by"
"""In the relations of a decision: the known claim is the src of a supersedes edge, and ends the new one's time."""
THEN = "says what is known to have held then"
SAME = "says the same as a known claim"
_ENDED = (Word.LESS, Word.OWN)
_ENDS = (Word.OWN, Word.MORE)


def among_values(claim: SemanticClaim, candidates: Sequence[Candidate], trust: float) -> WriteDecision:
    """The decision on a value among the known values of the same thing. trust: in the source of `claim`."""
    word = {each.claim.id: each.word(claim.source, trust) for each in candidates}
    same = [each for each in candidates if says_the_same(each.claim, claim)]
    rivals = [each for each in candidates if of_one_thing(each.claim, claim) and each not in same]
    hearsay = [each for each in same if each.stands() and each.sources and word[each.claim.id] == Word.LESS]
    later = [each for each in rivals if each.claim.since > claim.since and word[each.claim.id] in _ENDS]

    known = _nearest(claim, [each for each in same if each.stands() and each not in hearsay])
    if known is not None and known.claim.since > claim.since and word[known.claim.id] == Word.MORE:
        later.append(known)
        known = None
    if known is None:
        known = next((each for each in same if each.withdrawn(claim.since)), None)
    following = min(later, key=lambda each: each.claim.since, default=None)
    until = inf if following is None else following.claim.since
    if known is not None and until < known.claim.since:
        known = None
    if known is not None and known.held_then(claim.since):
        return WriteDecision(Action.UPDATE, THEN, known.claim.id)

    ended = [each for each in hearsay if each.in_force(claim.since) or claim.since < each.claim.since < until]
    ended += [each for each in rivals if each.in_force(claim.since) and word[each.claim.id] in _ENDED]
    beside = [each for each in rivals if each.holds(claim.since) and each not in ended and each not in later]
    relations = [(str(Relation.SUPERSEDES), each.claim.id) for each in ended]
    if known is None or known.withdrawn(claim.since):
        # What a claim in use contradicts is known since the later of the two was stored.
        relations += [(str(Relation.CONTRADICTS), each.claim.id) for each in beside]
        relations += [] if following is None else [(SUPERSEDED_BY, following.claim.id)]
    if known is not None:
        return WriteDecision(Action.UPDATE, SAME, known.claim.id, tuple(relations))
    if following is not None:
        return WriteDecision(Action.ADD, "told late: a later value is known", relations=tuple(relations))
    if ended:
        reason = f"a newer value of {claim.predicate} takes the place of the old one"
        return WriteDecision(Action.DELETE, reason, ended[0].claim.id, tuple(relations))
    reason = f"contradicts a known value of {claim.predicate}" if relations else "new"
    return WriteDecision(Action.ADD, reason, relations=tuple(relations))


def _nearest(claim: Claim, same: Iterable[Candidate]) -> Candidate | None:
    """Of claims that say the same the one that holds when `claim` begins, else the next that begins after it."""
    then = next((each for each in same if each.in_force(claim.since)), None)
    after = [each for each in same if each.claim.since > claim.since]
    return then or min(after, key=lambda each: each.claim.since, default=None)
