"""Revising: the changes that give a claim other fields under the same id."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from recollectx.candidates import says_the_same
from recollectx.changes import Change, Reinforce, Revise
from recollectx.claims import Claim, assertion_of
from recollectx.errors import InvalidClaim
from recollectx.storage.reading import Identity, Reader

WORDING = frozenset({"object", "predicate", "summary"})
_REVISABLE = WORDING | {
    "importance",
    "category",
    "entities",
    "metadata",
    "valid_from",
    "valid_to",
    "due_at",
    "review_after",
    "session",
    "position",
}
_REASSERTED = frozenset({"confidence", "evidence"})


def revised(claim: Claim, changes: Mapping[str, Any]) -> Claim:
    """`claim` with other fields; InvalidClaim for one that it lacks or that would make it another claim."""
    if not changes:
        raise InvalidClaim("update was given nothing to change; name a field")
    unknown = set(changes) - _REVISABLE - _REASSERTED
    if unknown:
        raise InvalidClaim(
            f"update cannot change {sorted(unknown)[0]!r}; that would be another claim: store it"
        )
    missing = set(changes) - {field.name for field in fields(claim)}
    if missing:
        raise InvalidClaim(f"a {claim.type} claim has no {sorted(missing)[0]}")
    return replace(claim, **changes)


def revision(reader: Reader, known: Identity, changes: Mapping[str, Any]) -> list[Change]:
    """The changes; confidence, evidence and the date of its beginning replace what the claim's own source asserted.

    Raises InvalidClaim if the claim would then say the same as another one.
    """
    old = reader.claims([known.pk])[known.pk]
    new = revised(old, changes)
    for other in reader.candidates(old.scope, new, rivals=False):
        if other.holds(new.since) and other.claim.id != old.id and says_the_same(other.claim, new):
            raise InvalidClaim(f"that says the same as claim {other.claim.id}; forget one of them instead")
    made: list[Change] = [Revise(new)]
    asserted = {name: value for name, value in changes.items() if name in _REASSERTED}
    said = [each for _, each in reader.assertions([known.pk]).get(known.pk, ())]
    own = next((each for each in said if each.source == old.source), None)
    if own is not None and own.dates and new.since != old.since:
        asserted["dates"] = (new.since, *(date for date in own.dates if date > new.since))
    if asserted:
        made.append(Reinforce(old.id, replace(own or assertion_of(old), **asserted), replace=True))
    return made
