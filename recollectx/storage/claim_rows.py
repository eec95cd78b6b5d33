"""The rows that make up a claim: its wordings with their vectors, its revisions, its assertions, its numbers."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sqlalchemy import Connection, bindparam, select

from recollectx.claims import Assertion, Claim, SemanticClaim
from recollectx.db.statements import fetch
from recollectx.db.tables import AssertionRow, ClaimRow, RevisionRow, TextRow, VectorRow
from recollectx.embeddings.base import Vectors
from recollectx.errors import ModelMismatch, NotFound
from recollectx.instants import to_micros
from recollectx.propagation import Belief
from recollectx.storage.reading import hashes, setting_of
from recollectx.storage.rows import Rows
from recollectx.text import tokens

_LIVE_REVISION = select(RevisionRow.pk, RevisionRow.text, RevisionRow.stated_to).where(
    RevisionRow.claim == bindparam("claim"), RevisionRow.tx_to.is_(None)
)


def micros(seconds: float | None) -> int | None:
    """A time as it is stored, None for none."""
    return None if seconds is None else to_micros(seconds)


_encoded = json.JSONEncoder(ensure_ascii=False).encode
_HALF = np.dtype("<f2")


def _json(value: Any) -> str | None:
    return _encoded(value) if value else None


def _dates(assertion: Assertion) -> str | None:
    """The same of its dates."""
    if not assertion.dates:
        return None
    return f"[{', '.join([str(to_micros(date)) for date in assertion.dates])}]"


class ClaimRows(Rows):
    """Rows of claims.

    vectors: by claim id.  model: the transaction that named the model they are of.  bare: whether some wording came
    without its vector.
    """

    def __init__(
        self,
        conn: Connection,
        *,
        clock: Callable[[], float],
        vectors: Mapping[str, Vectors] | None = None,
        model: int | None = None,
    ) -> None:
        super().__init__(conn, clock=clock)
        self._vectors = dict(vectors or {})
        self._model = model
        self._model_held: tuple[int | None, str | None] = (self.head.model_since, self.head.model)
        self._dimension: int | None = None
        self.bare = False

    def _find(self, claim_id: str) -> tuple[int, str]:
        found = self.reader.resolve(claim_id)
        if found is None or found.erased:
            raise NotFound(f"no claim has the id {claim_id!r}")
        return found.pk, found.scope

    def _identity(self, claim: Claim, belief: Belief) -> int:
        pk, created = self.key(ClaimRow), to_micros(claim.created_at)
        numbers = (belief.strength, belief.confidence)
        self.lay(ClaimRow, (pk, claim.id, claim.scope, claim.type, created, *numbers, None))
        return pk

    def _text(self, pk: int, claim: Claim) -> int:
        said, slot = hashes(claim.scope, claim)
        text, words = self.key(TextRow), claim.text
        wording = (
            (claim.subject, claim.predicate, claim.object)
            if isinstance(claim, SemanticClaim)
            else (None, None, words)
        )
        self.lay(TextRow, (text, pk, said, slot, *wording, " ".join(tokens(words))))
        if claim.id in self._vectors:
            # Of one wording only: the claim may be reworded in the same transaction.
            self._vector(text, self._vectors.pop(claim.id))
        else:
            self.bare = True
        return text

    def _vector(self, text: int, vector: Vectors) -> None:
        if self._dimension is None:
            since, model = self._model_held
            if model is not None and (self._model is None or since == self._model):
                self._dimension = setting_of(model)["dimension"]
        if self._dimension != len(vector):
            raise ModelMismatch(
                "the memory was embedded by another model meanwhile; nothing was written, try again"
            )
        self.lay(VectorRow, (text, vector.astype(_HALF).tobytes()))

    def _revision(self, pk: int, text: int, claim: Claim, *, stated_to: int | None) -> None:
        values = (
            self.key(RevisionRow),
            pk,
            text,
            claim.importance,
            claim.category,
            claim.status,
            claim.basis,
            _json(claim.entities),
            _json(claim.metadata),
            micros(claim.valid_from),
            micros(claim.valid_to),
            stated_to,
            micros(claim.due_at),
            micros(claim.review_after),
            claim.session,
            claim.position,
        )
        self.lay(RevisionRow, (*values, self.seq, None))

    def _live_revision(self, pk: int) -> Any:
        self.flush()
        return fetch(self.conn, _LIVE_REVISION, {"claim": pk})[0]

    def _assertion(self, pk: int, assertion: Assertion) -> None:
        values = (
            self.key(AssertionRow),
            pk,
            assertion.source,
            assertion.confidence,
            _json(assertion.evidence),
            assertion.span,
            to_micros(assertion.said_at),
            assertion.session,
            assertion.times,
            _dates(assertion),
        )
        self.lay(AssertionRow, (*values, self.seq, None))
