"""New claims with what their sources assert of them, any number at once.

Rows are made table by table: a thousand claims take half as long as one by one.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, select

from recollectx.changes import Assert
from recollectx.claims import Assertion, Basis, Claim, EpisodicClaim, SemanticClaim
from recollectx.db.statements import fetch, insert_new
from recollectx.db.tables import ClaimRow
from recollectx.errors import InvalidClaim
from recollectx.instants import to_micros
from recollectx.propagation import Belief
from recollectx.storage.claim_rows import micros
from recollectx.storage.rows import table_of
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
        pks = self._new(claims, beliefs) if fresh else [self._placed(claims[0], beliefs[0])]
        self.reader.forget_names(ids)
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
            rows += _row(pk, claim, belief)
        return pks

    def _placed(self, claim: Claim, belief: Belief) -> int:
        """The key of a claim of which nobody knows whether its id is free: that is found out by taking it."""
        pk = self.next_key(ClaimRow)
        if insert_new(self.conn, table_of(ClaimRow), _row(pk, claim, belief), unique="id"):
            return self.key(ClaimRow)
        return self._reopened(claim, belief)

    def _reopened(self, claim: Claim, belief: Belief) -> int:
        """The key of a claim that comes again after its first coming was undone."""
        row = fetch(self.conn, _OF_ID, {"id": claim.id})[0]
        same = (row.type, row.scope) == (claim.type, claim.scope)
        if row.erased is not None or not same or self.reader.resolve(claim.id) is not None:
            raise InvalidClaim(f"the id {claim.id!r} is taken by another claim; leave id out, or use update")
        self._believe(row.pk, belief.strength, belief.confidence)
        return int(row.pk)


def _row(pk: int, claim: Claim, belief: Belief) -> tuple[Any, ...]:
    made = to_micros(claim.created_at)
    return pk, claim.id, claim.scope, claim.type, made, belief.strength, belief.confidence, None
