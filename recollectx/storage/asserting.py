"""New claims with what their sources assert of them, any number at once.

Rows are made table by table: a thousand claims take half as long as one by one.
"""

from collections.abc import Sequence

from sqlalchemy import bindparam, select

from recollectx.changes import Assert
from recollectx.claims import Assertion, Basis, Claim, EpisodicClaim, SemanticClaim
from recollectx.db.statements import fetch
from recollectx.db.tables import ClaimRow
from recollectx.errors import InvalidClaim
from recollectx.instants import to_micros
from recollectx.propagation import Belief
from recollectx.storage.claim_rows import micros
from recollectx.storage.ruling import Ruling
from recollectx.storage.settling import alone

_DERIVED = Basis.DERIVED
_STORABLE = (SemanticClaim, EpisodicClaim)
_OF_ID = select(ClaimRow.pk, ClaimRow.scope, ClaimRow.type, ClaimRow.erased).where(
    ClaimRow.id == bindparam("id")
)


class Asserting(Ruling):
    """The new claims of one transaction."""

    def assert_all(self, changes: Sequence[Assert]) -> None:
        """Write new claims, in this order."""
        ids = [change.claim.id for change in changes]
        distinct = set(ids)
        fresh = len(distinct) == len(ids) and self.reader.absent.issuperset(distinct)
        if not fresh and len(changes) > 1:
            for change in changes:
                # So that each sees the ids of those before it.
                self.flush()
                self.assert_all([change])
            return
        claims, said = [change.claim for change in changes], [change.assertion for change in changes]
        beliefs = self._believed(claims, said)
        self.reader.absent -= distinct
        known = None if fresh else self._reopened(claims[0], beliefs[0])
        self.reader.forget_names(ids)
        pks = self._new(claims, beliefs) if known is None else [known]
        texts = self._texts(pks, claims, self._vectors_of(ids))
        self._revisions(pks, texts, claims, stated_to=[micros(claim.valid_to) for claim in claims])
        self._assertions(pks, said)
        self._move(pks, beliefs, self.log_all("assert", [claim.scope for claim in claims], pks))
        self._unsure.update([pk for pk, claim in zip(pks, claims, strict=True) if claim.basis is _DERIVED])

    def _believed(self, claims: Sequence[Claim], said: Sequence[Assertion]) -> list[Belief]:
        """What is believed of claims of which nothing is known but these assertions; one for what is alike."""
        found: dict[tuple[str | None, str, float, Basis], Belief] = {}
        beliefs = []
        for claim, each in zip(claims, said, strict=True):
            if not isinstance(claim, _STORABLE):
                raise InvalidClaim(
                    f"a {type(claim).__name__} cannot be stored; build a SemanticClaim or an EpisodicClaim"
                )
            place = each.source, claim.scope, each.confidence, claim.basis
            belief = found.get(place)
            if belief is None:
                trust = self.reader.trust(each.source, claim.scope)
                belief = found[place] = alone(self.rule, each.confidence, trust, claim.basis is _DERIVED)
            beliefs.append(belief)
        return beliefs

    def _new(self, claims: Sequence[Claim], beliefs: Sequence[Belief]) -> Sequence[int]:
        """Rows of claims that there never were; returns their keys."""
        pks = self.keys(ClaimRow, len(claims))
        rows = self.waiting(ClaimRow)
        for pk, claim, belief in zip(pks, claims, beliefs, strict=True):
            made = to_micros(claim.created_at)
            rows += (pk, claim.id, claim.scope, claim.type, made, belief.strength, belief.confidence, None)
        return pks

    def _reopened(self, claim: Claim, belief: Belief) -> int | None:
        """The key of a claim that comes again after its first coming was undone, None for a new one."""
        rows = fetch(self.conn, _OF_ID, {"id": claim.id})
        if not rows:
            return None
        row = rows[0]
        same = (row.type, row.scope) == (claim.type, claim.scope)
        if row.erased is not None or not same or self.reader.resolve(claim.id) is not None:
            raise InvalidClaim(f"the id {claim.id!r} is taken by another claim; leave id out, or use update")
        self._believe(row.pk, belief.strength, belief.confidence)
        return int(row.pk)
