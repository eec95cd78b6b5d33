"""ConfidencePropagator: 0.2.7's way to say that claims contradict or support each other.

What it moves follows from the edge it stores, so saying the same again moves nothing, and taking the edge away with
`delete_edge` moves it back.
"""

from collections.abc import Callable

from recollectx.claims import Claim
from recollectx.edges import Relation
from recollectx.errors import NotFound
from recollectx.graph.edges import BeliefEdge
from recollectx.propagation import ConfidenceChangeEvent, Rule
from recollectx.storage.memory_store import MemoryStore


class ConfidencePropagator:
    """Stores edges and says what moved.

    config: how confidence follows from the graph, kept in the database; None leaves it as it is.
    on_event: called for each of the two claims whose confidence moved, after it was written.
    """

    def __init__(
        self,
        storage: MemoryStore,
        config: Rule | None = None,
        on_event: Callable[[ConfidenceChangeEvent], None] | None = None,
    ) -> None:
        self.storage = storage
        self.on_event = on_event
        if config is not None:
            storage.use_rule(config)

    @property
    def config(self) -> Rule:
        """How confidence follows from the graph."""
        return self.storage.rule()

    def on_contradiction(self, claim_a: Claim, claim_b: Claim) -> tuple[Claim, Claim]:
        """Say that `claim_a` contradicts `claim_b`; both as they read afterwards. Raises NotFound."""
        return self._joined(claim_a, Relation.CONTRADICTS, claim_b)

    def on_support(self, supporting_claim: Claim, supported_claim: Claim) -> Claim:
        """Say that one claim supports another; the supported one as it reads afterwards. Raises NotFound."""
        return self._joined(supporting_claim, Relation.SUPPORTS, supported_claim)[1]

    def _joined(self, src: Claim, relation: Relation, dst: Claim) -> tuple[Claim, Claim]:
        before = self._read(src), self._read(dst)
        self.storage.put_edge(BeliefEdge(src.id, dst.id, relation))
        after = self._read(src), self._read(dst)
        for old, new in zip(reversed(before), reversed(after), strict=True):
            if self.on_event is not None and old.confidence != new.confidence:
                self.on_event(self.storage.get_confidence_history(new.id)[0])
        return after

    def _read(self, claim: Claim) -> Claim:
        found = self.storage.get(claim.id)
        if found is None:
            raise NotFound(f"claim {claim.id!r} is not in the store; put it there first")
        return found
