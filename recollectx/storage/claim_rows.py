"""The rows that make up a claim: its wordings with their vectors, its revisions, its assertions, its numbers."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, select

from recollectx.claims import Assertion, Claim, SemanticClaim
from recollectx.db.statements import fetch
from recollectx.db.tables import AssertionRow, RevisionRow, TextRow, VectorRow
from recollectx.embeddings.base import Vectors
from recollectx.errors import ModelMismatch, NotFound
from recollectx.instants import to_micros
from recollectx.storage.reading import hashes, setting_of
from recollectx.storage.rows import Rows
from recollectx.text import tokens

_LIVE_REVISION = select(RevisionRow.pk, RevisionRow.text, RevisionRow.stated_to).where(
    RevisionRow.claim == bindparam("claim"), RevisionRow.tx_to.is_(None)
)


def micros(seconds: float | None) -> int | None:
    """A time as it is stored, None for none."""
    return None if seconds is None else to_micros(seconds)


def _json(value: Any) -> str | None:
    return json.dumps(value, ensure_ascii=False) if value else None


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
        self._vectors = vectors or {}
        self._model = model
        self._model_held: tuple[int | None, str | None] = (self.head.model_since, self.head.model)
        self._dimension: int | None = None
        self.bare = False

    def _find(self, claim_id: str) -> tuple[int, str]:
        found = self.reader.resolve(claim_id)
        if found is None or found.erased:
            raise NotFound(f"no claim has the id {claim_id!r}")
        return found.pk, found.scope

    def _text(self, pk: int, claim: Claim) -> int:
        semantic = claim if isinstance(claim, SemanticClaim) else None
        said, slot = hashes(claim.scope, claim)
        text = self.add(
            TextRow,
            claim=pk,
            said=said,
            slot=slot,
            subject=semantic.subject if semantic else None,
            predicate=semantic.predicate if semantic else None,
            object=semantic.object if semantic else claim.text,
            tokens=" ".join(tokens(claim.text)),
        )
        if claim.id in self._vectors:
            self._vector(text, self._vectors[claim.id])
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
        self.put(VectorRow, {"text": text, "vector": vector.astype("<f2").tobytes()})

    def _revision(self, pk: int, text: int, claim: Claim, *, stated_to: int | None) -> None:
        self.begin(
            RevisionRow,
            claim=pk,
            text=text,
            importance=claim.importance,
            category=claim.category,
            status=claim.status,
            basis=claim.basis,
            entities=_json(claim.entities),
            meta=_json(claim.metadata),
            valid_from=micros(claim.valid_from),
            valid_to=micros(claim.valid_to),
            stated_to=stated_to,
            due_at=micros(claim.due_at),
            review_after=micros(claim.review_after),
            session=claim.session,
            position=claim.position,
        )

    def _live_revision(self, pk: int) -> Any:
        self.flush()
        return fetch(self.conn, _LIVE_REVISION, {"claim": pk})[0]

    def _assertion(self, pk: int, assertion: Assertion) -> None:
        self.begin(
            AssertionRow,
            claim=pk,
            source=assertion.source,
            confidence=assertion.confidence,
            evidence=_json(assertion.evidence),
            span=assertion.span,
            said_at=to_micros(assertion.said_at),
            session=assertion.session,
            times=assertion.times,
            dates=_json([to_micros(date) for date in assertion.dates]),
        )
