"""Erasing: every row that holds words of a claim goes, from the present and from every past.

What another claim quoted from it goes too: evidence and spans that stand in the erased text are cut out of the
assertions of whatever derives from it, and a claim that then has nothing left to stand on in any past is erased
with it. The row in rx_claims stays as a tombstone: an id and no content. What 0.2.7's own tables say of a claim in
the same file goes as well.
"""

import json

from sqlalchemy import Connection, delete, or_, select, update

from recollectx.db import legacy
from recollectx.db.causes import RECORDED
from recollectx.db.tables import (
    AliasRow,
    AssertionRow,
    ChangeRow,
    ClaimRow,
    EdgeRow,
    RevisionRow,
    StrengthRow,
    TextRow,
    Tx,
)
from recollectx.edges import Relation


def erase_rows(conn: Connection, pk: int, seq: int) -> int:
    """Delete every row of claim `pk` but its tombstone; returns how many were deleted."""
    rows = 0
    for statement in (
        delete(EdgeRow).where(or_(EdgeRow.src == pk, EdgeRow.dst == pk)),
        delete(StrengthRow).where(StrengthRow.claim == pk),
        delete(AssertionRow).where(AssertionRow.claim == pk),
        delete(RevisionRow).where(RevisionRow.claim == pk),
        delete(TextRow).where(TextRow.claim == pk),
        delete(AliasRow).where(AliasRow.claim == pk),
    ):
        rows += conn.execute(statement).rowcount
    rows += legacy.erase(conn, conn.execute(select(ClaimRow.id).where(ClaimRow.pk == pk)).scalar_one())
    # A reason that 0.2.7 recorded may quote the claim.
    recorded = select(ChangeRow.seq).where(
        ChangeRow.kind == RECORDED, or_(ChangeRow.claim == pk, ChangeRow.other == pk)
    )
    conn.execute(update(Tx).where(Tx.seq.in_(recorded)).values(cause="recorded by 0.2.7"))
    conn.execute(
        update(ClaimRow)
        .where(ClaimRow.pk == pk)
        .values(erased=seq, strength=0.5, confidence=0.0, created_at=0)
    )
    return rows


def unquote(conn: Connection, pk: int) -> tuple[list[int], list[int]]:
    """Cut quotations of claim `pk` out of what derives from it.

    Returns the claims that lost a quotation, and those of them that have no assertion left in any past.
    """
    wordings = [row.object for row in conn.execute(select(TextRow.object).where(TextRow.claim == pk))]
    derived = conn.execute(
        select(EdgeRow.dst).where(EdgeRow.src == pk, EdgeRow.relation == Relation.DERIVES).distinct()
    )
    touched, bare = [], []
    for (claim,) in derived.all():
        rows = conn.execute(
            select(AssertionRow.pk, AssertionRow.evidence, AssertionRow.span).where(
                AssertionRow.claim == claim
            )
        ).all()
        left = sum(_cut(conn, row.pk, row.evidence, row.span, wordings) for row in rows)
        if left < len(rows):
            touched.append(claim)
            bare.extend([claim] if not left else [])
    quoting = select(ClaimRow.id).where(ClaimRow.pk.in_(touched))
    legacy.drop_evidence(conn, list(conn.execute(quoting).scalars()))
    return touched, bare


def _cut(conn: Connection, pk: int, evidence: str | None, span: str | None, wordings: list[str]) -> bool:
    """Whether the assertion stays, without its quotations."""
    pieces = json.loads(evidence) if evidence else []
    kept = [piece for piece in pieces if not _quotes(piece, wordings)]
    quoted = span is not None and _quotes(span, wordings)
    if len(kept) == len(pieces) and not quoted:
        return True
    if not kept:
        conn.execute(delete(AssertionRow).where(AssertionRow.pk == pk))
        return False
    changed = {"evidence": json.dumps(kept, ensure_ascii=False), "span": None if quoted else span}
    conn.execute(update(AssertionRow).where(AssertionRow.pk == pk).values(changed))
    return True


def _quotes(piece: str, wordings: list[str]) -> bool:
    return any(piece in text or text in piece for text in wordings)
