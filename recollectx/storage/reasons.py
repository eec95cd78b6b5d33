"""Reasons of corrections: said of the claim that was corrected, kept with the one that took its place.

So a reason goes when the claim that it is about is erased, out of every version of the other one.
"""

import json

from sqlalchemy import Connection, select, update

from recollectx.db.tables import EdgeRow, RevisionRow
from recollectx.edges import Relation

REASON = "correction_reason"
"""The name of the reason in the metadata of the claim that corrects."""


def drop_reasons(conn: Connection, pk: int) -> set[int]:
    """Delete why claim `pk` was corrected, before it is erased; returns the claims that said so."""
    corrections = select(RevisionRow.pk, RevisionRow.claim, RevisionRow.meta).where(
        RevisionRow.meta.is_not(None),
        RevisionRow.claim.in_(
            select(EdgeRow.src).where(EdgeRow.dst == pk, EdgeRow.relation == Relation.CORRECTS)
        ),
    )
    found = set()
    for row in conn.execute(corrections).all():
        kept = json.loads(row.meta)
        if kept.pop(REASON, None) is not None:
            meta = json.dumps(kept, ensure_ascii=False) if kept else None
            conn.execute(update(RevisionRow).where(RevisionRow.pk == row.pk).values(meta=meta))
            found.add(row.claim)
    return found
