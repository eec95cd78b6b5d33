"""Erasing: every row that holds words of a claim goes, from the present and from every past.

What another claim quoted from it goes too: evidence and spans that stand in the erased text are cut out of the
assertions of whatever derives from it, and a claim that then has nothing left to stand on in any past is erased
with it. The row in rx_claims stays as a tombstone: an id and no content. What 0.2.7's own tables say of a claim in
the same file goes as well.
"""

import json
from typing import Any

from sqlalchemy import Connection, delete, or_, select, update
from sqlalchemy.orm import aliased

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
    VectorRow,
)
from recollectx.edges import Relation

SENTENCE = 3
"""Words from which on evidence that contains a whole erased text quotes it; a shorter one is found in anything."""


def erase_rows(conn: Connection, pk: int, seq: int) -> int:
    """Delete every row of claim `pk` but its tombstone; returns how many were deleted."""
    rows = 0
    for statement in (
        delete(EdgeRow).where(or_(EdgeRow.src == pk, EdgeRow.dst == pk)),
        delete(StrengthRow).where(StrengthRow.claim == pk),
        delete(AssertionRow).where(AssertionRow.claim == pk),
        delete(RevisionRow).where(RevisionRow.claim == pk),
        delete(VectorRow).where(VectorRow.text.in_(select(TextRow.pk).where(TextRow.claim == pk))),
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


def unembed_next(conn: Connection, pk: int) -> list[tuple[int, str]]:
    """Delete the vectors of the turns that were embedded joined with claim `pk`; returns those turns, with scopes."""
    before, its = aliased(RevisionRow), aliased(ClaimRow)
    following = (
        select(ClaimRow.pk, ClaimRow.scope)
        .join(RevisionRow, RevisionRow.claim == ClaimRow.pk)
        .join(before, (before.session == RevisionRow.session) & (before.position + 1 == RevisionRow.position))
        .join(its, (its.pk == before.claim) & (its.scope == ClaimRow.scope))
        .where(before.claim == pk, ClaimRow.type == "episodic")
        .distinct()
    )
    found = [(row.pk, row.scope) for row in conn.execute(following)]
    for claim, _ in found:
        conn.execute(
            delete(VectorRow).where(VectorRow.text.in_(select(TextRow.pk).where(TextRow.claim == claim)))
        )
    return found


def unquote(conn: Connection, pk: int) -> tuple[list[int], list[int]]:
    """Cut quotations of claim `pk` out of what derives from it.

    Returns the claims that lost a quotation, and those of them that have no assertion left in any past.
    """
    wordings = _wordings(conn, [pk])
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
        others = conn.execute(
            select(EdgeRow.src).where(
                EdgeRow.dst == claim, EdgeRow.relation == Relation.DERIVES, EdgeRow.src != pk
            )
        )
        # What another turn says too is that turn's words, and stays.
        kept = _wordings(conn, [src for (src,) in others])
        left = sum(_cut(conn, row, wordings, kept) for row in rows)
        if left < len(rows):
            touched.append(claim)
            bare.extend([claim] if not left else [])
    quoting = select(ClaimRow.id).where(ClaimRow.pk.in_(touched))
    legacy.drop_evidence(conn, list(conn.execute(quoting).scalars()))
    return touched, bare


def _wordings(conn: Connection, pks: list[int]) -> list[str]:
    return [row.object for row in conn.execute(select(TextRow.object).where(TextRow.claim.in_(pks)))]


def _cut(conn: Connection, row: Any, wordings: list[str], others: list[str]) -> bool:
    """Whether the assertion stays, without its quotations."""

    def gone(piece: str) -> bool:
        return _quotes(piece, wordings) and not any(piece in text for text in others)

    pieces = json.loads(row.evidence) if row.evidence else []
    kept = [piece for piece in pieces if not gone(piece)]
    quoted = row.span is not None and gone(row.span)
    if len(kept) == len(pieces) and not quoted:
        return True
    if not kept:
        conn.execute(delete(AssertionRow).where(AssertionRow.pk == row.pk))
        return False
    changed = {"evidence": json.dumps(kept, ensure_ascii=False), "span": None if quoted else row.span}
    conn.execute(update(AssertionRow).where(AssertionRow.pk == row.pk).values(changed))
    return True


def _quotes(piece: str, wordings: list[str]) -> bool:
    return any(piece in text or (len(text.split()) >= SENTENCE and text in piece) for text in wordings)
