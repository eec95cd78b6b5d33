"""Changes: the closed set of what can happen to a memory, and what came of a write.

Rules return changes, `MemoryStore.apply` makes them; nothing else writes. Claims are named by id.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from recollectx.claims import Assertion, Claim, Status
from recollectx.edges import Edge


@dataclass(frozen=True, slots=True)
class Assert:
    """A new claim with the assertion that brings it."""

    claim: Claim
    assertion: Assertion


@dataclass(frozen=True, slots=True)
class Reinforce:
    """A further assertion of a claim.

    From a source that already stands behind it, evidence is united and the greater confidence kept;
    with `replace`, the new assertion takes the place of the old one.
    """

    claim_id: str
    assertion: Assertion
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Retract:
    """A source takes back what it asserted of a claim.

    settle: what that means for other claims is settled before the next change is decided on.
    """

    claim_id: str
    source: str | None
    settle: bool = False


@dataclass(frozen=True, slots=True)
class Revise:
    """New wording or fields of a claim under the same id; both versions stay in history."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Alias:
    """A further id by which a claim is known."""

    id: str
    claim_id: str


@dataclass(frozen=True, slots=True)
class Link:
    """A new edge; one that is there already is replaced if its strength differs.

    A premise may serve several derivations of one claim: derives edges of other names are other edges.
    at: of supersedes, when dst ceased to hold (seconds since 1970 UTC); None is when src began to.
    """

    edge: Edge
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Unlink:
    """Take an edge away."""

    src: str
    dst: str
    relation: str


@dataclass(frozen=True, slots=True)
class Retire:
    """Put a claim out of use; its history stays."""

    claim_id: str


@dataclass(frozen=True, slots=True)
class Restore:
    """Bring a claim back as what it was when it was last in use, valid as long as was stated."""

    claim_id: str


@dataclass(frozen=True, slots=True)
class Correct:
    """A claim was never true: out of use, and valid at no time."""

    claim_id: str


@dataclass(frozen=True, slots=True)
class Undo:
    """Take back transaction `seq`: what it opened is closed, what it closed is opened again."""

    seq: int


@dataclass(frozen=True, slots=True)
class Restatus:
    """Another status, and with it perhaps an end of validity (seconds since 1970 UTC)."""

    claim_id: str
    status: Status
    valid_to: float | None = None


@dataclass(frozen=True, slots=True)
class Trust:
    """How far a source is trusted, in [0, 1], in one scope or (scope None) everywhere."""

    source: str
    level: float
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class Configure:
    """A setting kept in the database."""

    name: str
    value: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Embed:
    """The vector of a wording, named by its key in rx_texts, or those of its tokens.

    vector: float32, any length but that of the others is refused.  tokens: int8, shape (tokens, width); kept for a
    wording that has its vector.
    """

    text: int
    vector: Any = None
    tokens: Any = None


@dataclass(frozen=True, slots=True)
class Erase:
    """Remove every word of a claim for good; a tombstone without content stays."""

    claim_id: str


@dataclass(frozen=True, slots=True)
class Resolve:
    """Settle a dispute: `drop` goes out of use, `keep` stays."""

    keep: str
    drop: str


@dataclass(frozen=True, slots=True)
class Confirm:
    """A claim turned out to be true: kept as an outcome, no evidence, so no confidence moves."""

    claim_id: str


@dataclass(frozen=True, slots=True)
class Used:
    """A claim that an answer had to go on. parts: what its score was made of.  confidence: as it was read."""

    claim_id: str
    rank: int
    score: float
    confidence: float
    parts: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Trace:
    """An answer that was given, with what it was asked and the claims it had to go on; response None: erased."""

    id: str
    scope: str
    question: str | None
    response: str | None
    metadata: Mapping[str, Any]
    used: tuple[Used, ...]


@dataclass(frozen=True, slots=True)
class Untrace:
    """Remove for good what a scope holds beside its claims: recorded answers, and whom it trusted how far."""

    scope: str


Change: TypeAlias = (
    Assert
    | Reinforce
    | Retract
    | Revise
    | Alias
    | Link
    | Unlink
    | Retire
    | Restore
    | Correct
    | Undo
    | Restatus
    | Trust
    | Configure
    | Embed
    | Erase
    | Resolve
    | Confirm
    | Trace
    | Untrace
)


class Action(StrEnum):
    """What a write came to. ADD: a new claim. UPDATE: a known claim gained. DELETE: a new claim took the
    place of an old one, which history keeps. NONE: nothing new. REJECT: the policy refused it."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    NONE = "NONE"
    REJECT = "REJECT"


@dataclass(frozen=True, slots=True)
class WriteDecision:
    """What a decider makes of a new claim: an action, the known claim it is about, and edges to add.

    relations: (relation, id of a candidate) pairs; the new claim is the src of each edge.
    content: other words for the target of an UPDATE, its object or summary; both versions stay in history.
    """

    action: Action
    reason: str
    target: str | None = None
    relations: tuple[tuple[str, str], ...] = ()
    content: str | None = None


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What came of one claim: the action, its canonical id (None if rejected or about no claim), the changes, and why.

    tx: the transaction that wrote it, as `Memory.undo` takes it; 0 if nothing was written.
    calls, tokens: what models cost to decide on it, failed calls included; a question about several claims is told with one
    of them.  completion_tokens: those of the tokens that the models wrote.
    """

    action: Action
    claim_id: str | None
    changes: tuple[Change, ...]
    reason: str
    tx: int = field(default=0, compare=False)
    calls: int = field(default=0, compare=False)
    tokens: int = field(default=0, compare=False)
    completion_tokens: int = field(default=0, compare=False)

    def written_by(self, tx: int) -> "WriteResult":
        """The same under a transaction."""
        return WriteResult(
            self.action,
            self.claim_id,
            self.changes,
            self.reason,
            tx,
            self.calls,
            self.tokens,
            self.completion_tokens,
        )


class Retracted(list[str]):
    """Ids of the claims that a source took back. tx: the transaction, as `Memory.undo` takes it; 0 if there were none."""

    def __init__(self, ids: Iterable[str], tx: int) -> None:
        super().__init__(ids)
        self.tx = tx


@dataclass(frozen=True, slots=True)
class Undone:
    """What taking a transaction back came to.

    undone: the transaction taken back, and its cause.  tx: the one that did it; undoing that is redoing.
    claim_ids: the claims it touched.
    """

    undone: int
    cause: str
    tx: int
    claim_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EraseReceipt:
    """What an erasure removed: ids, rows, when (seconds since 1970 UTC); never content.

    pending: a reader still holds old pages of the file, or an index outside still holds the vectors; both are tried
    again with the next writes and questions, and the file also at closing and by `recollectx doctor`.  cut: ids of claims that stay, without what they quoted.  answers: how
    many recorded answers lost their words.
    """

    ids: tuple[str, ...]
    rows: int
    at: float
    pending: bool
    cut: tuple[str, ...] = ()
    answers: int = 0
