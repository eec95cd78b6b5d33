"""Queries: what is asked of a memory, and what comes back."""

import math
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, Final

from recollectx.claims import CURRENT, VALID_CLAIM_TYPES, Category, Claim, Status, check_text
from recollectx.doubt import FITTING, Dispute
from recollectx.errors import InvalidClaim, InvalidQuery
from recollectx.instants import to_seconds

MAX_K = 10_000
MAX_OFFSET = 2**63 - 1


class AllScopes(Enum):
    """The type of ALL_SCOPES."""

    ALL = "all scopes"


ALL_SCOPES: Final = AllScopes.ALL
"""Ask every scope: nothing else reads across scopes, no string does."""


def check_count(value: object, name: str, *, least: int = 1, most: int = MAX_K) -> int:
    """`value` as a whole number in these bounds; InvalidQuery names `name` otherwise."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidQuery(f"{name} must be a whole number from {least} to {most:,}, got {value!r}")
    return value


def _listed(value: object, name: str) -> tuple[Any, ...]:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable):
        raise InvalidQuery(f"{name} must be one or more names, got {value!r}")
    return tuple(value)


@dataclass(frozen=True, slots=True)
class Weights:
    """How a hit's score is made; every weight is at least 0.

    dense, keyword: weight of meaning (vectors) and of words; 0 switches that arm off, and not both may be 0.
    neighbours: share of the score of the turn next to it in its session; half of it of the one after that.
    session: share of the best score in its session.
    speaker, date: what it gains if the question names its source, or the time it began, in standard deviations.
    ended: share that a turn loses when nothing that was read from it holds any more at the time asked about.
    doubted: share that is lost by a claim that is hardly believed, and by a turn all of whose claims are; in proportion
    less by one believed more, and nothing from even odds on, at 0 (which states nothing), or where confidence is weighed.
    tokens: weight of comparing the first hits word by word, where the memory has token vectors.
    confidence, importance: weight of the claim's own numbers beside relevance; 0 leaves order to relevance.
    recency_bias: exponent of the decay; 0 leaves time out.
    """

    dense: float = 1.0
    keyword: float = 1.0
    neighbours: float = 0.4
    session: float = 0.3
    speaker: float = 3.0
    date: float = 4.0
    tokens: float = 1.8
    ended: float = 0.8
    doubted: float = 0.6
    confidence: float = 0.0
    importance: float = 0.0
    recency_bias: float = 0.0

    def __post_init__(self) -> None:
        for name in (each.name for each in fields(self)):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
                raise InvalidQuery(f"weight {name} must be a number from 0, got {value!r}")
        for name in ("ended", "doubted"):
            if getattr(self, name) > 1:
                raise InvalidQuery(f"weight {name} must be in [0, 1], got {getattr(self, name)!r}")
        if not self.dense and not self.keyword:
            raise InvalidQuery("weights dense and keyword are both 0, which leaves nothing to find claims by")


@dataclass(frozen=True, slots=True)
class Query:
    """One question to a memory; every filter applies before the cut to k.

    text: words to look for; None asks for everything that passes the filters, newest first.
    scopes: names, or ALL_SCOPES.  status: None means current ones (and, with valid_at, superseded ones).
    entities: all of them must be on the claim.  metadata: keys with the values they must have.
    since, until: the claim's created_at, both inclusive.  valid_at: only what held at that time.
    as_of: what was believed at that time, in the words and with the numbers of then; what has run out is judged then.
    k: at most this many; None is no cut.  offset: hits to skip.
    Raises InvalidQuery for a filter that could not be meant.
    """

    text: str | None = None
    scopes: tuple[str, ...] | AllScopes = ("global",)
    type: str | None = None
    category: Category | None = None
    status: frozenset[Status] | None = None
    entities: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    session: str | None = None
    min_confidence: float = 0.0
    since: float | None = None
    until: float | None = None
    valid_at: float | None = None
    as_of: float | None = None
    k: int | None = 10
    offset: int = 0
    weights: Weights = field(default_factory=Weights)

    def __post_init__(self) -> None:
        if self.text is not None and not isinstance(self.text, str):
            raise InvalidQuery(f"the question must be text, got {self.text!r}")
        if self.type is not None and self.type not in VALID_CLAIM_TYPES - {""}:
            raise InvalidQuery(f"type {self.type!r} is none of episodic, semantic")
        if self.k is not None:
            check_count(self.k, "k")
        check_count(self.offset, "offset", least=0, most=MAX_OFFSET)
        if not isinstance(self.min_confidence, int | float) or not 0 <= self.min_confidence <= 1:
            raise InvalidQuery(f"min_confidence must be in [0, 1], got {self.min_confidence!r}")
        self._check_sets()
        for name in ("since", "until", "valid_at", "as_of"):
            if getattr(self, name) is not None:
                try:
                    object.__setattr__(self, name, to_seconds(getattr(self, name), name))
                except ValueError as error:
                    raise InvalidQuery(str(error)) from None

    def _check_sets(self) -> None:
        if self.scopes is not ALL_SCOPES:
            names = _listed(self.scopes, "scopes")
            try:
                names = tuple(check_text(name, "a scope") for name in names)
            except InvalidClaim as error:
                raise InvalidQuery(f"scopes must be names or ALL_SCOPES: {error}") from None
            if not names:
                raise InvalidQuery("scopes is empty; name one or give ALL_SCOPES")
            object.__setattr__(self, "scopes", names)
        try:
            if self.category is not None:
                object.__setattr__(self, "category", Category(self.category))
            if self.status is not None:
                wanted = _listed(self.status, "status")
                object.__setattr__(self, "status", frozenset(Status(name) for name in wanted))
        except ValueError as error:
            raise InvalidQuery(str(error)) from None
        object.__setattr__(self, "entities", _listed(self.entities, "entities"))

    @property
    def statuses(self) -> frozenset[Status]:
        """The statuses that pass."""
        if self.status is not None:
            return self.status
        return CURRENT if self.valid_at is None else CURRENT | {Status.SUPERSEDED}


@dataclass(frozen=True, slots=True)
class Parts:
    """What a score is made of; a part that had no say is None.

    cosine: of the claim's vector with the question's.
    keyword: BM25 of the claim's own words.  share: of the question's IDF, matched by the claim, in [0, 1].
    neighbours, session: what the turns beside it and the best of its session added.  speaker, date: what being said by
    the one, or at the time, that the question names added. All in standard deviations beside a cosine, and may be
    negative; else as a share of the most that BM25 could reach.  ended: what is left of the
    score of a turn of which nothing holds.  doubted: what is left of the score of what is more likely false than true.
    tokens: MaxSim, see
    recollectx.late_interaction.  recency: the decay factor, in (0, 1].
    """

    cosine: float | None = None
    keyword: float | None = None
    share: float | None = None
    neighbours: float | None = None
    session: float | None = None
    speaker: float | None = None
    date: float | None = None
    tokens: float | None = None
    ended: float | None = None
    doubted: float | None = None
    recency: float | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One claim found. score orders the hits of one recall, in [0, 1].

    disputed_by: ids of current claims that contradict it.  disputes: those of them against which neither it nor
    they clearly win (see recollectx.doubt), with both confidences.
    """

    claim: Claim
    score: float
    parts: Parts
    disputed_by: tuple[str, ...] = ()
    disputes: tuple[Dispute, ...] = ()


@dataclass(frozen=True, slots=True)
class Recall:
    """The answer to a query: hits, best first. Iterates over them."""

    query: Query
    hits: tuple[Hit, ...]
    id: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def claims(self) -> list[Claim]:
        """The claims of the hits, in order."""
        return [hit.claim for hit in self.hits]

    @property
    def relevance(self) -> float:
        """How well the best of these hits fits the question, in [0, 1]: see recollectx.doubt. Without a question
        every hit fits. An index of texts gives ranks for cosines, so there the best hit always fits."""
        if self.query.text is None:
            return 1.0 if self.hits else 0.0
        cosines = [hit.parts.cosine for hit in self.hits if hit.parts.cosine is not None]
        shares = [hit.parts.share for hit in self.hits if hit.parts.share is not None]
        return min(1.0, max(0.0, max(cosines or shares, default=0.0)))

    @property
    def nothing_fits(self) -> bool:
        """Whether nothing relevant is held: no hit, or none that fits the question well enough."""
        return self.relevance < FITTING

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)
