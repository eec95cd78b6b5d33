"""Transactions: what they did, to whom, and which of them were taken back, read from rx_tx and rx_changes."""

from typing import Any

from sqlalchemy import Connection, select

from recollectx.db.tables import ChangeRow, ClaimRow, Tx
from recollectx.errors import NotFound

KIND = "undo"
FOLLOWING = frozenset({"strength", "restatus"})
"""Kinds of change that follow from others, in whatever scope."""


def changes_of(conn: Connection, seq: int) -> list[Any]:
    """The changes that a transaction made."""
    columns = (ChangeRow.scope, ChangeRow.kind, ChangeRow.detail, ChangeRow.claim, ChangeRow.other)
    return list(conn.execute(select(*columns).where(ChangeRow.seq == seq)))


def cause_of(conn: Connection, seq: int) -> str:
    """What caused a transaction. Raises NotFound if there is none."""
    cause = conn.execute(select(Tx.cause).where(Tx.seq == seq)).scalar()
    if cause is None:
        raise NotFound(f"there is no transaction {seq}")
    return str(cause)


def last_of(conn: Connection, scope: str) -> int:
    """The last transaction that wrote to `scope`, 0 if there is none."""
    statement = select(ChangeRow.seq).where(ChangeRow.scope == scope).order_by(ChangeRow.n.desc()).limit(1)
    return int(conn.execute(statement).scalar() or 0)


def claims_of(conn: Connection, seq: int, scope: str) -> list[str]:
    """Ids of the claims of `scope` that a transaction touched, in the order of their coming."""
    statement = (
        select(ClaimRow.id)
        .join(ChangeRow, ChangeRow.claim == ClaimRow.pk)
        .where(ChangeRow.seq == seq, ClaimRow.scope == scope, ClaimRow.erased.is_(None))
        .group_by(ClaimRow.pk, ClaimRow.id)
        .order_by(ClaimRow.pk)
    )
    return list(conn.execute(statement).scalars())


def scopes_of(conn: Connection, seq: int) -> set[str]:
    """The scopes that a transaction acted on; what moved elsewhere in consequence is not counted."""
    return {change.scope for change in _meant(conn, seq) if change.kind not in FOLLOWING} - {None}


def confirmed(conn: Connection, seq: int) -> set[int]:
    """The claims that a transaction confirmed, or the one that it took back or did again."""
    return {change.claim for change in _meant(conn, seq) if change.kind == "confirm"}


def _meant(conn: Connection, seq: int) -> list[Any]:
    """The changes of a transaction, or of the one that it took back or did again."""
    found: list[Any] = []
    waiting = {seq}
    while waiting:
        changes = changes_of(conn, waiting.pop())
        targets = {int(change.detail) for change in changes if change.kind == KIND}
        waiting |= targets
        found += [] if targets else changes
    return found


def taken_back(conn: Connection) -> set[int]:
    """The transactions that were taken back, and not done again."""
    return set(undone(conn, 0)[0])


def undone(conn: Connection, seq: int) -> tuple[dict[int, int], set[int]]:
    """What was taken back by which later transaction that still counts, and those later ones that come to nothing:
    taken back, or taking back one later than `seq`."""
    statement = (
        select(ChangeRow.seq, ChangeRow.detail)
        .where(ChangeRow.seq > seq, ChangeRow.kind == KIND)
        .distinct()
        .order_by(ChangeRow.seq.desc())
    )
    cancelled: dict[int, int] = {}
    neutral = set()
    for row in conn.execute(statement):
        target = int(row.detail)
        if row.seq not in cancelled:
            cancelled[target] = row.seq
        if target > seq:
            neutral.add(row.seq)
    return cancelled, neutral | set(cancelled)
