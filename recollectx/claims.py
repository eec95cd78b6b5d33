"""Claims: immutable typed beliefs, and the assertions by which sources stand behind them.

`confidence` on a fresh claim is what its source asserts; on a claim read back it is what the belief
graph makes of it, and `prior` keeps the asserted number. Values never change: read again to see a change.

Bounds, checked when a claim is built: MAX_TEXT characters for a summary, an object and one piece of
evidence, MAX_NAME for every name (id, subject, predicate, scope, source, session, entity), MAX_TEXT for
the metadata as JSON.
"""

import json
import math
import time
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from numbers import Real
from typing import Any, Literal, TypeVar, cast

from recollectx.errors import InvalidClaim
from recollectx.instants import Instant, from_micros, to_micros

MAX_TEXT = 100_000
MAX_NAME = 1_000
MAX_COUNT = 2**31 - 1
GLOBAL = "global"
STATES = "states"

VALID_CLAIM_TYPES = frozenset({"", "episodic", "semantic"})


class Status(StrEnum):
    """Where a claim is in its life; CURRENT lists those that recall returns unasked."""

    ACTIVE = "active"
    HYPOTHESIS = "hypothesis"
    COMPLETED = "completed"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    RETIRED = "retired"
    UNSUPPORTED = "unsupported"


CURRENT = frozenset({Status.ACTIVE, Status.HYPOTHESIS, Status.COMPLETED})


class Basis(StrEnum):
    """Whether a source said it, or it stands only on other claims."""

    ASSERTED = "asserted"
    DERIVED = "derived"


class Category(StrEnum):
    """What a claim is about, coarsely: loci's eight, and persona."""

    ROUTINE = "routine"
    STUDY = "study"
    PREFERENCES = "preferences"
    FINANCE = "finance"
    GOALS = "goals"
    RELATIONSHIPS = "relationships"
    CONSTRAINTS = "constraints"
    EPHEMERAL = "ephemeral"
    PERSONA = "persona"


_Closed = TypeVar("_Closed", bound=StrEnum)


def check_text(value: object, name: str, limit: int = MAX_NAME, *, blank: bool = False) -> str:
    """`value` if it is text that every backend can hold; InvalidClaim names `name` and the fix otherwise."""
    if not isinstance(value, str):
        raise InvalidClaim(f"{name} must be text, got {value!r}")
    if not blank and not value.strip():
        raise InvalidClaim(f"{name} is empty; say something there")
    if len(value) > limit:
        raise InvalidClaim(
            f"{name} has {len(value):,} characters, at most {limit:,} fit; split or shorten it"
        )
    if "\0" in value:
        raise InvalidClaim(f"{name} holds a NUL character at {value.index(chr(0))}; remove it")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        bad = value[error.start : error.end]
        raise InvalidClaim(
            f"{name} holds the lone surrogate {bad!r} at {error.start}; decode it properly"
        ) from None
    return value


def check_unit(value: object, name: str) -> float:
    """`value` as a float in [0, 1]; InvalidClaim for anything else, NaN and infinities included."""
    if type(value) is float and 0 <= value <= 1:
        return value
    number = math.nan
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError):
            number = float(value)
    if not 0 <= number <= 1:
        raise InvalidClaim(f"{name} must be a number in [0, 1], got {value!r}")
    return number


def check_time(value: Instant, name: str) -> float:
    """`value` as seconds since 1970 UTC, to the microsecond; InvalidClaim names `name` otherwise."""
    try:
        return from_micros(to_micros(value, name))
    except ValueError as error:
        raise InvalidClaim(str(error)) from None


def check_member(value: object, name: str, closed: type[_Closed]) -> _Closed:
    """The member of `closed` with this value; InvalidClaim lists them otherwise."""
    if isinstance(value, closed):
        return value
    try:
        return closed(cast(str, value))
    except ValueError:
        known = ", ".join(closed)
        raise InvalidClaim(f"{name} {value!r} is none of {known}") from None


def texts(value: str | Iterable[str], name: str, limit: int, *, blank: bool = False) -> tuple[str, ...]:
    """A bare string is one item; duplicates are kept out, order is kept."""
    if isinstance(value, tuple) and not value:
        return value
    if not isinstance(value, Iterable):
        raise InvalidClaim(f"{name} must be a text or several, got {value!r}")
    items = (value,) if isinstance(value, str) else tuple(value)
    return tuple(dict.fromkeys(check_text(item, name, limit, blank=blank) for item in items))


class FrozenMetadata(dict[str, Any]):
    """A JSON object that refuses to be changed."""

    def _refuse(self, *_: object, **__: object) -> Any:
        raise TypeError("metadata of a claim cannot be changed; build a new claim")

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = _refuse

    def __reduce__(self) -> tuple[type["FrozenMetadata"], tuple[dict[str, Any]]]:
        return FrozenMetadata, (dict(self),)


def check_metadata(value: Mapping[str, Any]) -> FrozenMetadata:
    """A private copy of a JSON object; InvalidClaim if it is anything else."""
    if isinstance(value, FrozenMetadata):
        return value
    if not isinstance(value, Mapping) or any(not isinstance(key, str) for key in value):
        raise InvalidClaim(f"metadata must be a mapping with text keys, got {value!r}")
    try:
        encoded = json.dumps(dict(value), allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidClaim(f"metadata is not JSON: {error}; use text, numbers, lists and objects") from None
    check_text(encoded, "metadata", MAX_TEXT)
    return FrozenMetadata(json.loads(encoded))


_UNSET: Any = None


@dataclass(frozen=True, slots=True)
class Claim:
    """What every claim carries; build a SemanticClaim or an EpisodicClaim.

    confidence, importance: in [0, 1].  evidence: texts; a bare string is one piece.
    created_at, last_reinforced_at, valid_from, valid_to, due_at, review_after: seconds since 1970 UTC;
    datetimes and ISO strings are accepted (without a zone: UTC). valid_from None means since created_at,
    valid_to None means still.  position: place of a turn in its session, from 0.
    Raises InvalidClaim, a ValueError, for anything that could not be stored as given.
    """

    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    type: str = ""
    confidence: float = 0.0
    importance: float = 0.5
    evidence: tuple[str, ...] = ()
    created_at: float = field(default_factory=time.time)
    last_reinforced_at: float = _UNSET
    support_count: int = 1
    scope: str = GLOBAL
    entities: tuple[str, ...] = ()
    category: Category | None = None
    status: Status = Status.ACTIVE
    source: str | None = None
    basis: Basis = Basis.ASSERTED
    valid_from: float | None = None
    valid_to: float | None = None
    due_at: float | None = None
    review_after: float | None = None
    session: str | None = None
    position: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=FrozenMetadata, hash=False)
    prior: float | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        self._check_shared()
        if self.type not in VALID_CLAIM_TYPES:
            raise InvalidClaim(f"type {self.type!r} is none of episodic, semantic")

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check_shared(self) -> None:
        check_text(self.id, "id")
        self._set("confidence", check_unit(self.confidence, "confidence"))
        self._set("importance", check_unit(self.importance, "importance"))
        self._set("evidence", texts(self.evidence, "evidence", MAX_TEXT))
        self._set("entities", texts(self.entities, "entity", MAX_NAME))
        for name in ("support_count", "position"):
            value = getattr(self, name)
            if name == "position" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_COUNT:
                raise InvalidClaim(f"{name} must be a whole number from 0, got {value!r}")
        check_text(self.scope, "scope")
        for name in ("source", "session"):
            if getattr(self, name) is not None:
                check_text(getattr(self, name), name)
        self._set("status", check_member(self.status, "status", Status))
        self._set("basis", check_member(self.basis, "basis", Basis))
        if self.category is not None:
            self._set("category", check_member(self.category, "category", Category))
        self._set("metadata", check_metadata(self.metadata))
        self._check_times()
        if self.prior is not None:
            self._set("prior", check_unit(self.prior, "prior"))

    def _check_times(self) -> None:
        self._set("created_at", check_time(self.created_at, "created_at"))
        reinforced = self.created_at if self.last_reinforced_at is None else self.last_reinforced_at
        self._set("last_reinforced_at", check_time(reinforced, "last_reinforced_at"))
        for name in ("valid_from", "valid_to", "due_at", "review_after"):
            if getattr(self, name) is not None:
                self._set(name, check_time(getattr(self, name), name))
        if self.valid_to is not None and self.valid_to < self.since:
            raise InvalidClaim(f"valid_to {self.valid_to} is before valid_from {self.since}; swap them")

    @property
    def since(self) -> float:
        """When the claim begins to hold: valid_from, else created_at."""
        return self.created_at if self.valid_from is None else self.valid_from

    @property
    def text(self) -> str:
        """The claim as one line of plain words."""
        return ""


@dataclass(frozen=True, slots=True)
class SemanticClaim(Claim):
    """A fact: subject, predicate, object. `from_text` holds a fact that is only free text."""

    type: str = "semantic"
    subject: str = ""
    predicate: str = ""
    object: str = ""

    def __post_init__(self) -> None:
        self._check_shared()
        if self.type != "semantic":
            raise InvalidClaim(f"type of a SemanticClaim is semantic, got {self.type!r}")
        check_text(self.object, "object", MAX_TEXT)
        check_text(self.predicate, "predicate")
        check_text(self.subject, "subject", blank=self.predicate == STATES)

    @classmethod
    def from_text(cls, text: str, **shared: Any) -> "SemanticClaim":
        """A fact that is only free text: subject "", predicate "states", object `text`."""
        return cls(subject="", predicate=STATES, object=text, **shared)

    @property
    def text(self) -> str:
        """Subject, predicate and object as words; a free text as it is."""
        return in_words(self.subject, self.predicate, self.object)


def in_words(subject: str, predicate: str, value: str) -> str:
    """Subject, predicate and object as words; a free text as it is."""
    if not subject and predicate == STATES:
        return value
    return f"{subject} {predicate.replace('_', ' ')} {value}"


@dataclass(frozen=True, slots=True)
class EpisodicClaim(Claim):
    """Something that happened or was said at a time."""

    type: str = "episodic"
    summary: str = ""

    def __post_init__(self) -> None:
        self._check_shared()
        if self.type != "episodic":
            raise InvalidClaim(f"type of an EpisodicClaim is episodic, got {self.type!r}")
        check_text(self.summary, "summary", MAX_TEXT)

    @property
    def text(self) -> str:
        """The summary."""
        return self.summary


ClaimKind = Literal["semantic", "episodic"]


@dataclass(frozen=True, slots=True)
class Assertion:
    """One source standing behind a claim; assertions without a source are one source.

    confidence: in [0, 1].  span: the words of the source, verbatim.  said_at: seconds since 1970 UTC.
    times: how often this source has said it.  dates: since when it says that the claim holds, each time it said so
    of a fact, sorted; the first and the latest ninety-nine.
    """

    source: str | None
    confidence: float
    said_at: float
    evidence: tuple[str, ...] = ()
    span: str | None = None
    session: str | None = None
    times: int = 1
    dates: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "confidence", check_unit(self.confidence, "confidence"))
        object.__setattr__(self, "said_at", check_time(self.said_at, "said_at"))
        object.__setattr__(self, "evidence", texts(self.evidence, "evidence", MAX_TEXT))
        for name in ("source", "session"):
            if getattr(self, name) is not None:
                check_text(getattr(self, name), name)
        if self.span is not None:
            check_text(self.span, "span", MAX_TEXT)


def assertion_of(claim: Claim, span: str | None = None) -> Assertion:
    """What the source of a fresh claim asserts by it."""
    return Assertion(
        source=claim.source,
        confidence=claim.confidence,
        said_at=claim.last_reinforced_at,
        evidence=claim.evidence,
        span=span,
        session=claim.session,
        times=claim.support_count,
        dates=(claim.since,) if isinstance(claim, SemanticClaim) else (),
    )
