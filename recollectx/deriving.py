"""Deriving: a claim that stands on other claims, and falls and rises with them."""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from recollectx.changes import Alias, Change, Link, Restore, WriteDecision, WriteResult
from recollectx.claims import Basis, Claim, Status, check_text
from recollectx.edges import Edge, Relation
from recollectx.errors import InvalidClaim
from recollectx.intake import Around, Intake
from recollectx.reach import find
from recollectx.storage.reading import Identity, Reader
from recollectx.weighing import UNSAID


def derive(
    intake: Intake, scope: str, claim: Claim, premises: Sequence[str], *, strength: float, name: str | None
) -> WriteResult:
    """See Memory.derive."""
    if isinstance(premises, str) or not isinstance(premises, Collection) or not premises:
        raise InvalidClaim(f"derive takes the ids of one or more premises, in a list, got {premises!r}")
    for premise in premises:
        check_text(premise, "premise")
    if name is not None:
        check_text(name, "name")
    claim = replace(claim, basis=Basis.DERIVED, confidence=claim.confidence or UNSAID)
    found: list[Identity] = []

    def before(reader: Reader) -> Iterator[Change]:
        for premise in premises:
            known = find(reader, scope, premise, also_global=True)
            if known not in found:
                found.append(known)
        yield from ()

    def amend(decision: WriteDecision) -> WriteDecision:
        # A conclusion does not take the place of what it rests on.
        ids = {known.id for known in found}
        return replace(decision, relations=tuple(pair for pair in decision.relations if pair[1] not in ids))

    def joining(reader: Reader, target: str) -> Iterator[Change]:
        """A known claim is not asserted once more: it gains a derivation."""
        known = find(reader, scope, target)
        if reader.claims([known.pk])[known.pk].status == Status.RETIRED:
            yield Restore(known.id)
        if claim.id != known.id and reader.resolve(claim.id) is None:
            yield Alias(claim.id, known.id)

    def after(reader: Reader, target: str) -> Iterator[Change]:
        label = name or _label([known.id for known in found])
        for known in found:
            yield Link(Edge(known.id, target, Relation.DERIVES, strength, label))

    around = Around(before, after, amend, joining)
    return intake.exchange(claim, around, cause="derive", reason=f"derived from {', '.join(premises)}")


def _label(ids: Sequence[str]) -> str:
    """The same for the same premises, in whatever order."""
    return hashlib.blake2b("\x1e".join(sorted(ids)).encode(), digest_size=8).hexdigest()
