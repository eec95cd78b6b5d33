"""MemoryUpdater: deciding on new claims with a language model, held by fixed rules.

    memory = Memory(storage=store, updater=MemoryUpdater(store=store, llm=llm))

The model is asked before the write lock is taken, once for several claims, and only about claims that are like a known
one and say something new. What it proposes is judged inside the lock, on the claims as they are then (see
recollectx.judging). Without an answer that can be used it is the rule decider.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from recollectx.candidates import Candidate, of_one_thing
from recollectx.changes import Action, Link, WriteDecision, WriteResult
from recollectx.claims import Claim, EpisodicClaim
from recollectx.deciding import RuleDecider, with_content
from recollectx.edges import EPISTEMIC, Relation
from recollectx.errors import BackendError, DimensionError, InvalidClaim, InvalidSetting
from recollectx.graph.edges import BeliefEdge
from recollectx.intake import Intake
from recollectx.judging import SHOWN, Proposal, judged, likeness
from recollectx.llm.base import Usage
from recollectx.llm.providers import provider_from
from recollectx.proposing import Proposed, Shown, proposed
from recollectx.query import Query
from recollectx.storage.memory_store import MemoryStore
from recollectx.storage.reading import Reader

MAX_CANDIDATES = 50
TEMPERATURE = 0.2
RECENT = 16
"""Claims stored together are compared with this many before them; they have no vectors yet, so by their words."""


class SimilarityCalculator(Protocol):
    """How alike two claims are, for a store that keeps no vectors."""

    def calculate(self, claim1: Claim, claim2: Claim) -> float:
        """In [-1, 1], higher is closer."""


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """What came of one claim, as 0.2.7 spells it.

    claim: as it now reads, the known one if it was joined.  similar_ids: what the model was shown.  deleted_ids: claims
    whose place was taken; history keeps them.  calls, tokens: what the model cost.
    """

    action: Action
    claim: Claim | None
    reason: str
    similar_ids: list[str] = field(default_factory=list)
    deleted_ids: list[str] = field(default_factory=list)
    edges: list[BeliefEdge] = field(default_factory=list)
    calls: int = 0
    tokens: int = 0
    tx: int = field(default=0, compare=False)


class MemoryUpdater(RuleDecider):
    """A decider that asks a model; called by itself it is the rule decider.

    store: a MemoryStore, or a Memory for its own.  llm: a provider, a LangChain chat model, a function of a prompt, or a name
    as `provider_from` takes it.  similarity_k: known claims shown with a new one.
    single_valued: see RuleDecider.  similarity_threshold: the least likeness at which a known claim is shown.
    similarity: where `store` keeps no vectors; None, or one whose model fails, compares words.
    """

    def __init__(
        self,
        store: Any,
        llm: Any,
        similarity_k: int = 5,
        *,
        single_valued: Iterable[str] = (),
        similarity_threshold: float = SHOWN,
        similarity: SimilarityCalculator | None = None,
        temperature: float = TEMPERATURE,
    ) -> None:
        super().__init__(single_valued)
        # A Memory is what most callers have in hand.
        store = getattr(store, "storage", store)
        if not isinstance(store, MemoryStore):
            raise InvalidSetting(f"store must be a MemoryStore or a Memory, got {store!r}")
        if type(similarity_k) is not int or not 1 <= similarity_k <= MAX_CANDIDATES:
            raise InvalidSetting(
                f"similarity_k must be a whole number from 1 to {MAX_CANDIDATES}, got {similarity_k!r}"
            )
        if not 0 <= similarity_threshold <= 1:
            raise InvalidSetting(f"similarity_threshold must be in [0, 1], got {similarity_threshold!r}")
        self.store: MemoryStore = store
        self.llm, self.similarity_k = provider_from(llm), similarity_k
        self.similarity_threshold, self.similarity = similarity_threshold, similarity
        self.temperature = temperature

    def process(self, claim: Claim) -> UpdateResult:
        """Decide on one claim and store it in its scope. Raises InvalidClaim for one that cannot be stored."""
        advice = self.consult([claim])
        result = Intake(self.store, None, self, self).store([claim], advice=advice)[0]
        now = None if result.claim_id is None else self.store.get(result.claim_id, retired=True)
        ended, edges = _edges_of(result)
        return UpdateResult(
            result.action,
            now,
            result.reason,
            list(advice.shown(claim)),
            ended,
            edges,
            result.calls,
            result.tokens,
            result.tx,
        )

    def consult(self, claims: Sequence[Claim]) -> "Advice":
        """What the model proposes for these claims; nothing is written."""
        with self.store.reader() as reader:
            telling = [
                (claim, self._rivals(reader, claim)) for claim in claims if self._is_new(reader, claim)
            ]
        shown = []
        for at, (claim, rivals) in enumerate(telling):
            before = [other for other, _ in telling[max(0, at - RECENT) : at] if other.scope == claim.scope]
            each = self._shown(claim, rivals, before)
            if each.known:
                shown.append(each)
        found = zip(shown, proposed(self.llm, shown, temperature=self.temperature), strict=True)
        return Advice(self, {each.claim.id: (each, answer) for each, answer in found})

    def _is_new(self, reader: Reader, claim: Claim) -> bool:
        """Whether a claim says something that the rules do not know already; a turn is only a record."""
        turn = isinstance(claim, EpisodicClaim) and claim.session is not None and claim.position is not None
        if turn or reader.resolve(claim.id) is not None:
            return False
        known = reader.candidates(
            claim.scope, claim, rivals=self.is_single_valued(getattr(claim, "predicate", ""))
        )
        decision = self(claim, known, reader.trust(claim.source, claim.scope))
        return decision.action not in (Action.UPDATE, Action.NONE)

    def _rivals(self, reader: Reader, claim: Claim) -> list[Claim]:
        known = reader.candidates(claim.scope, claim)
        return [each.claim for each in known if each.holds(claim.since) and of_one_thing(each.claim, claim)]

    def _shown(self, claim: Claim, rivals: Sequence[Claim], before: Sequence[Claim]) -> Shown:
        """The known claims that may be concerned, the most alike first.

        rivals: other values of the same thing, shown however little alike.  before: what is stored just before it.
        """
        wanted = Query(text=claim.text, scopes=(claim.scope,), k=min(4 * self.similarity_k, MAX_CANDIDATES))
        found: dict[str, tuple[float, Claim]] = {}
        for hit in self.store.recall(wanted):
            known = hit.claim
            # A turn is where a claim comes from, nothing to compare it with.
            if isinstance(known, EpisodicClaim) and known.session is not None and known.position is not None:
                continue
            found[known.id] = (self._likeness(claim, known, hit.parts.cosine), known)
        for known in (*rivals, *before):
            if known.id not in found:
                found[known.id] = (self._likeness(claim, known, None), known)
        near = sorted(found.values(), key=lambda pair: -pair[0])
        same = {known.id for known in rivals}
        near = [pair for pair in near if pair[0] >= self.similarity_threshold or pair[1].id in same]
        near = near[: self.similarity_k]
        return Shown(claim, tuple(known for _, known in near), {known.id: alike for alike, known in near})

    def _likeness(self, claim: Claim, known: Claim, cosine: float | None) -> float:
        if cosine is None and self.similarity is not None:
            with suppress(BackendError, DimensionError):
                cosine = self.similarity.calculate(claim, known)
        return likeness(claim, known, cosine)


class Advice:
    """What a model proposed for some claims: a decider for them, for one write."""

    def __init__(self, rules: RuleDecider, found: Mapping[str, tuple[Shown, Proposed]]) -> None:
        self._rules = rules
        self._found = found

    def __call__(self, claim: Claim, candidates: Sequence[Candidate], trust: float) -> WriteDecision:
        """The decision on `claim`, given the candidates of the rules and those of `shown` and `rewordings`."""
        rule = self._rules(claim, candidates, trust)
        if claim.id not in self._found:
            return rule
        return judged(self._found[claim.id][1].proposal, rule, claim, candidates)

    def shown(self, claim: Claim) -> Collection[str]:
        """The ids of the known claims that the model was shown with this one."""
        found = self._found.get(claim.id)
        return () if found is None else [known.id for known in found[0].known]

    def rewordings(self, claim: Claim) -> Sequence[Claim]:
        """Known claims as they would read in the words proposed."""
        found = self._found.get(claim.id)
        proposal = None if found is None else found[1].proposal
        if not isinstance(proposal, Proposal) or proposal.content is None or proposal.target is None:
            return ()
        try:
            return (with_content(proposal.target, proposal.content),)
        except InvalidClaim:
            return ()

    def cost(self, claim: Claim) -> tuple[int, int, int]:
        """Calls, tokens, tokens written; those of a question about several claims are told with the first of them."""
        found = self._found.get(claim.id)
        spent = Usage() if found is None else found[1].usage
        return spent.calls, spent.total_tokens, spent.completion_tokens


def _edges_of(result: WriteResult) -> tuple[list[str], list[BeliefEdge]]:
    """The claims whose place was taken, and the epistemic edges that were made."""
    edges = [change.edge for change in result.changes if isinstance(change, Link)]
    ended = [
        edge.dst for edge in edges if edge.relation == Relation.SUPERSEDES and edge.src == result.claim_id
    ]
    return ended, [
        BeliefEdge(edge.src, edge.dst, edge.relation) for edge in edges if edge.relation in EPISTEMIC
    ]
