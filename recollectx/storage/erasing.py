"""Erasing: every row that holds words of a claim goes, from the present and from every past.

The row in rx_claims stays as a tombstone: an id and no content. What 0.2.7's own tables say of a claim in the same
file goes as well.
"""

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
    TraceRow,
    TrustRow,
    Tx,
    VectorRow,
)


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


def holds_more(conn: Connection, scope: str) -> bool:
    """Whether a scope holds more than claims: recorded answers, or trust in somebody."""
    for row in (TraceRow, TrustRow):
        if conn.execute(select(row.pk).where(row.scope == scope).limit(1)).first() is not None:
            return True
    return False


def erase_trust(conn: Connection, scope: str) -> int:
    """Delete whom a scope trusts, and ever trusted, how far; returns how many rows went."""
    return conn.execute(delete(TrustRow).where(TrustRow.scope == scope)).rowcount


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
