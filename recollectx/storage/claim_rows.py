"""The rows that make up a claim: its wordings with their vectors, its revisions, its assertions, its numbers."""

import json
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np
from sqlalchemy import Connection, bindparam, select

from recollectx.claims import Assertion, Claim, SemanticClaim
from recollectx.db.statements import fetch
from recollectx.db.tables import AssertionRow, RevisionRow, TextRow, VectorRow
from recollectx.embeddings.base import Vectors
from recollectx.errors import ModelMismatch, NotFound
from recollectx.instants import to_micros
from recollectx.storage.reading import keys_of, setting_of
from recollectx.storage.rows import Rows

_LIVE_REVISION = select(RevisionRow.pk, RevisionRow.text, RevisionRow.stated_to).where(
    RevisionRow.claim == bindparam("claim"), RevisionRow.tx_to.is_(None)
)


def micros(seconds: float | None) -> int | None:
    """A time as it is stored, None for none."""
    return None if seconds is None else to_micros(seconds)


_encoded = json.JSONEncoder(ensure_ascii=False).encode
HALF = np.dtype("<f2")


def _json(value: Any) -> str | None:
    return _encoded(value) if value else None


def _dates(assertion: Assertion) -> str | None:
    """The same of its dates."""
    dates = assertion.dates
    if len(dates) == 1:
        return f"[{to_micros(dates[0])}]"
    return f"[{', '.join([str(to_micros(date)) for date in dates])}]" if dates else None


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

    def _texts(
        self, pks: Sequence[int], claims: Sequence[Claim], vectors: Sequence[bytes | None]
    ) -> Sequence[int]:
        """One wording for each of these claims, with its vector where there is one; returns their keys."""
        texts = self.keys(TextRow, len(claims))
        rows, embedded = self.waiting(TextRow), self.waiting(VectorRow)
        keys = self.reader.keys if len(claims) == 1 else keys_of
        for text, pk, claim, vector in zip(texts, pks, claims, vectors, strict=True):
            said, slot, words = keys(claim.scope, claim)
            if isinstance(claim, SemanticClaim):
                rows += (text, pk, said, slot, claim.subject, claim.predicate, claim.object, words)
            else:
                rows += (text, pk, said, slot, None, None, claim.text, words)
            if vector is None:
                self.bare = True
            else:
                embedded += (text, vector)
        return texts

    def _vectors_of(self, ids: Sequence[str]) -> list[bytes | None]:
        """The vectors that were given for claims, once: they may be reworded in the same transaction."""
        found = [self._vectors.pop(each, None) for each in ids]
        self._check({len(vector) for vector in found if vector is not None})
        return [None if vector is None else vector.astype(HALF).tobytes() for vector in found]

    def _check(self, dimensions: Set[int]) -> None:
        """Raise ModelMismatch for vectors that are not those of the model that the memory is embedded by now."""
        if self._dimension is None:
            since, model = self._model_held
            if model is not None and (self._model is None or since == self._model):
                self._dimension = setting_of(model)["dimension"]
        if dimensions - {self._dimension}:
            raise ModelMismatch(
                "the memory was embedded by another model meanwhile; nothing was written, try again"
            )

    def _revisions(
        self,
        pks: Sequence[int],
        texts: Sequence[int],
        claims: Sequence[Claim],
        *,
        stated_to: Sequence[int | None],
    ) -> None:
        rows, seq = self.waiting(RevisionRow), self.seq
        keys = self.keys(RevisionRow, len(claims))
        for key, pk, text, claim, stated in zip(keys, pks, texts, claims, stated_to, strict=True):
            rows += (
                key,
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
                stated,
                micros(claim.due_at),
                micros(claim.review_after),
                claim.session,
                claim.position,
                seq,
                None,
            )

    def _live_revision(self, pk: int) -> Any:
        self.flush()
        return fetch(self.conn, _LIVE_REVISION, {"claim": pk})[0]

    def _assertions(self, pks: Sequence[int], said: Sequence[Assertion]) -> None:
        rows, seq = self.waiting(AssertionRow), self.seq
        for key, pk, each in zip(self.keys(AssertionRow, len(said)), pks, said, strict=True):
            rows += (
                key,
                pk,
                each.source,
                each.confidence,
                _json(each.evidence),
                each.span,
                to_micros(each.said_at),
                each.session,
                each.times,
                _dates(each),
                seq,
                None,
            )
