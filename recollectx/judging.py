"""Judging: what may come of a model's proposal about a new claim. The model proposes, these rules decide.

The rule decider has the first word: where it finds that a known claim says the same, or knows a value's place, a
proposal changes nothing of that. Beyond it

- a claim is joined to a known one only where the result still says, word by word and in order, what both said, and
  nothing else, of the same subject; never where one holds a word that denies or limits and the other does not; and only the source that stands behind a claim alone may reword it, so that nobody
  is made to say what somebody else said;
- a known claim is ended only by the one source that stands behind it, about as surely as it was said, and only by a claim
  with the same predicate and nearly the same words, numbers aside: a subject has many allergies, and only a number of cats.
  Short of that both stay and contradict each other, which puts them into the queue of disputes; with another predicate or
  little in common both just stay. Values that replace each other belong into `single_valued`, where the rules see to it;
- whatever cannot be carried out is left to the rule decider, and the reason says so.

Likeness is the cosine of the stored vectors, or without vectors the share of telling words in common. Measured with the
embedded model: 9 of 10 pairs of which one replaces the other .54 to .91 (one .33), ten unrelated facts about one person
up to .43, other facts of the same kind (another drink, another pet) .54 to .81, which no number tells from the first.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from recollectx.candidates import Candidate, says_the_same
from recollectx.changes import Action, WriteDecision
from recollectx.claims import Claim, SemanticClaim, check_metadata
from recollectx.deciding import with_content
from recollectx.edges import Relation
from recollectx.errors import InvalidClaim
from recollectx.text import fold, query_tokens, tokens
from recollectx.wording import says_all

SHOWN = 0.3
"""The least likeness at which a model is asked about a known claim."""
RELATED = 0.5
REPLACES = 0.65
SAME_WORDS = 0.8
"""The least share of telling words in common, numbers aside, at which one claim may end another."""
AS_SURE = 0.75
"""The least confidence of a claim that ends another, as a part of that one's."""
DAY = 86_400.0
LONGEST_REASON = 300
BY_RULE = "decided by rule"
"""What a reason says where a model made no decision that could be carried out."""
_NUMBERS = frozenset(tokens("one two three four five six seven eight nine ten eleven twelve"))
_OF_VALUES = (str(Relation.SUPERSEDES), str(Relation.CONTRADICTS))


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a model proposes for a new claim.

    target: the known claim it is about, as it was shown.  content: other words for it.  relations: (relation, id).
    likeness: of the claims that were shown, by id.  oddities: what of the reply was left out, and why.
    """

    action: Action
    reason: str = ""
    target: Claim | None = None
    content: str | None = None
    relations: tuple[tuple[str, str], ...] = ()
    likeness: Mapping[str, float] = field(default_factory=dict)
    oddities: tuple[str, ...] = ()


def likeness(new: Claim, known: Claim, cosine: float | None) -> float:
    """How alike two claims are, in [0, 1]: the cosine, or the share of telling words; the subject does not count."""
    if cosine is not None:
        return min(1.0, max(0.0, cosine))
    one, other = _predication(new), _predication(known)
    return 2 * len(one & other) / (len(one) + len(other)) if one and other else 0.0


def _predication(claim: Claim) -> set[str]:
    words = set(query_tokens(claim.text))
    return words - set(tokens(claim.subject)) if isinstance(claim, SemanticClaim) else words


def judged(
    proposal: Proposal | str, rule: WriteDecision, claim: Claim, candidates: Sequence[Candidate]
) -> WriteDecision:
    """The decision on `claim`. proposal: or why there is none.  rule: what the rule decider says."""
    if isinstance(proposal, str):
        return _noted(rule, f"{BY_RULE}, {proposal}")
    if rule.action in (Action.UPDATE, Action.NONE):
        return rule
    known = {each.claim.id: each for each in candidates}
    related, odd = _relations(proposal, claim, known)
    decision: WriteDecision | str = rule
    if proposal.action != Action.ADD:
        target = known.get(proposal.target.id) if proposal.target is not None else None
        if target is None or proposal.target is None or target.claim.text != proposal.target.text:
            decision = "the claim it chose has changed meanwhile"
        elif proposal.action == Action.DELETE:
            decision = _ended(proposal, rule, claim, target)
        else:
            decision = _joined(proposal, rule, claim, target, candidates)
    if isinstance(decision, str):
        return _with(
            _noted(rule, f"{BY_RULE}, the model's {proposal.action} is refused: {decision}"),
            related,
            odd,
        )
    if decision is rule or decision.reason == "":
        decision = replace(decision, reason=proposal.reason or f"the model says {proposal.action}")
        if rule.relations and decision.relations == rule.relations:
            decision = _noted(decision, rule.reason)
    return _with(decision, related, odd)


def _noted(decision: WriteDecision, more: str) -> WriteDecision:
    return replace(decision, reason=f"{decision.reason}; {more}")


def _with(decision: WriteDecision, related: Iterable[tuple[str, str]], odd: Sequence[str]) -> WriteDecision:
    """The decision with further edges, to claims that it says nothing else about."""
    settled = {other for _, other in decision.relations}
    if decision.action in (Action.UPDATE, Action.NONE):
        settled.add(str(decision.target))
    more = tuple(pair for pair in related if pair[1] not in settled)
    decision = replace(decision, relations=decision.relations + more)
    return _noted(decision, f"left out: {'; '.join(odd)}") if odd else decision


def _relations(
    proposal: Proposal, claim: Claim, known: Mapping[str, Candidate]
) -> tuple[list[tuple[str, str]], list[str]]:
    """The proposed edges that may be made, and what is wrong with the others."""
    kept: list[tuple[str, str]] = []
    odd = list(proposal.oddities)
    for relation, other in dict.fromkeys(proposal.relations):
        if other not in known or not known[other].holds(claim.since):
            odd.append(f"{relation} with a claim that is out of use by now")
        elif sum(each == other for _, each in dict.fromkeys(proposal.relations)) > 1:
            odd.append(f"{relation} beside another relation with the same claim")
        elif relation == Relation.CONTRADICTS and proposal.likeness.get(other, 0.0) < RELATED:
            odd.append("contradicts with a claim about something else")
        else:
            kept.append((relation, other))
    return kept, odd


def _ended(proposal: Proposal, rule: WriteDecision, claim: Claim, target: Candidate) -> WriteDecision | str:
    """What becomes of a known claim that, by the model, is no longer true."""
    old = target.claim
    if any(other == old.id for _, other in rule.relations):
        return rule
    alike = 0.0 if _other_subject(claim, old) else proposal.likeness.get(old.id, 0.0)
    if alike < RELATED:
        return f"{_quoted(old)} is about something else"
    if not _same_predicate(claim, old):
        return f"{_quoted(old)} has another predicate, both stay"
    if not target.holds(claim.since):
        return f"{_quoted(old)} does not hold then"
    why = _keeps(claim, target, alike)
    if not why:
        relations = (*rule.relations, (str(Relation.SUPERSEDES), old.id))
        return WriteDecision(Action.DELETE, "", old.id, relations)
    relations = (*rule.relations, (str(Relation.CONTRADICTS), old.id))
    reason = f"{rule.reason}; the model would replace {_quoted(old)}, but {why}: both stay, in dispute"
    return WriteDecision(rule.action, reason, rule.target, relations)


def _keeps(claim: Claim, target: Candidate, alike: float) -> str:
    """Why a claim does not end a known one, "" if it does."""
    old = target.claim
    told_later = any(date > claim.since for voice in target.voices for date in voice.dates)
    if set(target.sources) != {claim.source} or old.since > claim.since or told_later:
        return "another source, or a later word, stands behind it"
    if claim.confidence < AS_SURE * old.confidence:
        return "the new claim is less sure"
    if alike < REPLACES or _shared(_content(claim), _content(old)) < SAME_WORDS:
        return "they are too little alike"
    return ""


def _shared(one: str, other: str) -> float:
    """The share of telling words in common, numbers aside; 0 if either has no others."""
    here, there = (
        {word for word in query_tokens(text) if word not in _NUMBERS and not word[0].isnumeric()}
        for text in (one, other)
    )
    return 2 * len(here & there) / (len(here) + len(there)) if here and there else 0.0


def _same_predicate(claim: Claim, old: Claim) -> bool:
    """Whether two facts have one predicate; two events count as having one."""
    if isinstance(claim, SemanticClaim) and isinstance(old, SemanticClaim):
        return query_tokens(claim.predicate) == query_tokens(old.predicate)
    return claim.type == old.type


def _joined(
    proposal: Proposal, rule: WriteDecision, claim: Claim, target: Candidate, candidates: Sequence[Candidate]
) -> WriteDecision | str:
    """The new claim as a part of a known one, or why it is none."""
    old = target.claim
    fault = _apart(claim, target) or _displaced(rule, claim, old)
    if fault:
        return fault
    content = proposal.content
    if content is not None and content != _content(old):
        fault = _misworded(claim, target, content, candidates)
        return fault or WriteDecision(Action.UPDATE, "", old.id, content=content)
    if not says_all(old.text, claim.text):
        return f"{_quoted(old)} does not say all of it"
    if set(target.sources) != {claim.source} and not says_all(claim.text, old.text):
        return f"another source says {_quoted(old)}, which is more"
    nothing_new = claim.source in target.sources and set(claim.evidence) <= set(old.evidence)
    action = Action.NONE if proposal.action == Action.NONE and nothing_new else Action.UPDATE
    return WriteDecision(action, "", old.id)


def _displaced(rule: WriteDecision, claim: Claim, old: Claim) -> str:
    """Why a value cannot be joined to a known one, by what the rules know of values; "" if it can."""
    if not set(rule.relations) <= {(relation, old.id) for relation in _OF_VALUES}:
        return "it has a place of its own among the known values"
    if rule.relations and not says_all(old.text, claim.text) and not says_all(claim.text, old.text):
        return f"{_quoted(old)} is another value"
    return ""


def _misworded(claim: Claim, target: Candidate, content: str, candidates: Sequence[Candidate]) -> str:
    """Why a known claim cannot be worded so, "" if it can."""
    old = target.claim
    if set(target.sources) != {claim.source}:
        return "it would put new words into the mouth of another source"
    try:
        merged = with_content(old, content)
    except InvalidClaim as error:
        return str(error)
    left_out = [said for said in (old.text, claim.text) if not says_all(merged.text, said)]
    if left_out:
        return f"the merged words leave out some of {_short(left_out[0])!r}"
    if not set(query_tokens(merged.text)) <= {*tokens(old.text), *tokens(claim.text)}:
        return "the merged words say more than either"
    if any(each.claim.id != old.id and says_the_same(each.claim, merged) for each in candidates):
        return "another claim says the merged words already"
    return ""


def _apart(claim: Claim, target: Candidate) -> str:
    """Why a new claim and a known one cannot be one, "" if they can."""
    old = target.claim
    if claim.type != old.type:
        return f"{_quoted(old)} is {old.type}, the new one {claim.type}"
    if not target.holds(claim.since):
        return f"{_quoted(old)} does not hold then"
    if _other_subject(claim, old):
        return f"{_quoted(old)} is about another subject"
    try:
        check_metadata({**old.metadata, **claim.metadata})
    except InvalidClaim as error:
        return str(error)
    if isinstance(claim, SemanticClaim) and isinstance(old, SemanticClaim):
        return (
            ""
            if _same_predicate(claim, old)
            else f"the predicates {claim.predicate!r} and {old.predicate!r} differ"
        )
    return "" if abs(claim.since - old.since) <= DAY else f"{_quoted(old)} happened at another time"


def _other_subject(claim: Claim, old: Claim) -> bool:
    return (
        isinstance(claim, SemanticClaim)
        and isinstance(old, SemanticClaim)
        and fold(claim.subject) != fold(old.subject)
    )


def _content(claim: Claim) -> str:
    return claim.object if isinstance(claim, SemanticClaim) else claim.text


def _quoted(claim: Claim) -> str:
    return repr(_short(claim.text))


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
