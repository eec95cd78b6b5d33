"""What a row of 0.2.7's claims becomes: a claim, as it is where it can be, mended where it must be.

A mended claim keeps under the metadata key MENDED what its row held instead. A row without any words, or without an
id, can be no claim.
"""

import json
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from recollectx.claims import MAX_NAME, MAX_TEXT, STATES, Claim, EpisodicClaim, SemanticClaim
from recollectx.errors import InvalidClaim
from recollectx.instants import to_seconds

MENDED = "mended from 0.2.7"
_SHORT = 200
_WORDS = ("summary", "subject", "predicate", "object")


class Arrival(NamedTuple):
    """A claim that arrives, and whether it had to be mended."""

    claim: Claim
    mended: bool


def claim_of(row: Any, asserted: float | None, now: float) -> Arrival | None:
    """The claim of a row; None for one that can be none. asserted: its number before any recorded move.

    now: seconds since 1970 UTC, the time of a row that has none.
    """
    with suppress(InvalidClaim, ValueError, TypeError, RecursionError):
        return Arrival(_build(row, _as_is(row, asserted)), mended=False)
    with suppress(InvalidClaim):
        return Arrival(_mended(row, asserted, now), mended=True)
    return None


def _as_is(row: Any, asserted: float | None) -> dict[str, Any]:
    evidence = json.loads(row.evidence)
    if not isinstance(evidence, list):
        raise InvalidClaim("evidence is no list")
    return {
        "id": row.id,
        "confidence": row.confidence if asserted is None else asserted,
        "importance": row.importance,
        "evidence": evidence,
        "created_at": row.created_at,
        "last_reinforced_at": row.last_reinforced_at,
        "support_count": row.support_count,
    }


def _build(row: Any, shared: dict[str, Any]) -> Claim:
    if row.type == "episodic":
        return EpisodicClaim(summary=row.summary, **shared)
    if row.type == "semantic":
        return SemanticClaim(subject=row.subject, predicate=row.predicate, object=row.object, **shared)
    raise InvalidClaim(f"no type {row.type!r}")


def _mended(row: Any, asserted: float | None, now: float) -> Claim:
    was: dict[str, Any] = {}

    def mend(name: str, repair: Callable[[Any], Any]) -> Any:
        value = getattr(row, name)
        fit = repair(value)
        if fit != value:
            was[name] = value if isinstance(value, int) or value is None else str(value)[:_SHORT]
        return fit

    confidence = mend("confidence", lambda value: _unit(value, 0.0))
    created_at = mend("created_at", lambda value: _time(value, now))
    shared = {
        "id": row.id,
        "confidence": confidence if asserted is None else asserted,
        "importance": mend("importance", lambda value: _unit(value, 0.5)),
        "evidence": _evidence(row.evidence),
        "created_at": created_at,
        "last_reinforced_at": mend("last_reinforced_at", lambda value: _time(value, created_at)),
        "support_count": mend("support_count", _count),
    }
    if list(shared["evidence"]) != _list(row.evidence):
        was["evidence"] = str(row.evidence)[:_SHORT]
    was |= {name: str(value)[:_SHORT] for name in _WORDS if (value := getattr(row, name)) is not None}
    was["type"] = str(row.type)
    return _worded(row, {**shared, "metadata": {MENDED: was}})


def _worded(row: Any, shared: dict[str, Any]) -> Claim:
    """As its type says if its words allow it, else as a text of all its words."""
    words = {name: _clean(getattr(row, name)) for name in _WORDS}
    triple = [words[name] for name in ("subject", "predicate", "object")]
    if row.type != "semantic" and words["summary"]:
        return EpisodicClaim(summary=words["summary"], **shared)
    if all(triple) and len(triple[0]) <= MAX_NAME and len(triple[1]) <= MAX_NAME:
        return SemanticClaim(subject=triple[0], predicate=triple[1], object=triple[2], **shared)
    text = " ".join(word for word in (*triple, words["summary"]) if word)
    return SemanticClaim(subject="", predicate=STATES, object=text[:MAX_TEXT], **shared)


def _clean(value: Any) -> str:
    if value is None:
        return ""
    return str(value).encode("utf-8", "replace").decode().replace("\0", " ").strip()[:MAX_TEXT]


def _list(value: Any) -> list[Any] | None:
    with suppress(ValueError, TypeError, RecursionError):
        found = json.loads(value)
        return found if isinstance(found, list) else None
    return None


def _evidence(value: Any) -> tuple[str, ...]:
    items = _list(value)
    cleaned = [_clean(item) for item in ([value] if items is None else items)]
    return tuple(dict.fromkeys(item for item in cleaned if item))


def _unit(value: Any, otherwise: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return otherwise
    return min(max(float(value), 0.0), 1.0)


def _time(value: Any, otherwise: float) -> float:
    with suppress(ValueError, TypeError):
        return to_seconds(value)
    return otherwise


def _count(value: Any) -> int:
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
    return value if whole else 1
