"""What a memory holds, in counts: claims, disputes, erasures, and the bytes of a file."""

from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, select
from sqlalchemy.orm import aliased

from recollectx.claims import CURRENT
from recollectx.db.tables import ClaimRow, EdgeRow, RevisionRow
from recollectx.edges import Relation


def held(conn: Connection) -> dict[str, Any]:
    """How many claims of each kind, and how many pairs of current ones contradict each other."""
    kinds = (
        select(ClaimRow.scope, ClaimRow.type, RevisionRow.status, func.count())
        .join(RevisionRow, RevisionRow.claim == ClaimRow.pk)
        .where(RevisionRow.tx_to.is_(None), ClaimRow.erased.is_(None))
        .group_by(ClaimRow.scope, ClaimRow.type, RevisionRow.status)
        .order_by(ClaimRow.scope, ClaimRow.type, RevisionRow.status)
    )
    one, other = aliased(RevisionRow), aliased(RevisionRow)
    disputes = (
        select(func.count())
        .select_from(EdgeRow)
        .join(one, one.claim == EdgeRow.src)
        .join(other, other.claim == EdgeRow.dst)
        .where(
            EdgeRow.relation == Relation.CONTRADICTS,
            *(row.tx_to.is_(None) for row in (EdgeRow, one, other)),
            *(row.status.in_(CURRENT) for row in (one, other)),
        )
    )
    erased = select(func.count()).where(ClaimRow.erased.is_not(None))
    return {
        "claims": [
            {"scope": scope, "type": type_, "status": status, "count": count}
            for scope, type_, status, count in conn.execute(kinds)
        ],
        "disputes": conn.execute(disputes).scalar(),
        "erased": conn.execute(erased).scalar(),
    }


def sizes(path: Path, holds: dict[str, Any]) -> dict[str, Any]:
    """The bytes of a file and of its log; pending: whether erased words may be left in the log."""
    found: dict[str, Any] = {
        "file_bytes": _size(path),
        "log_bytes": _size(path.with_name(path.name + "-wal")),
    }
    if "erased" in holds:
        found["pending"] = bool(holds["erased"] and found["log_bytes"])
    return found


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
