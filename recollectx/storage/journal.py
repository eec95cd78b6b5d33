"""The journal: how the confidence of a claim moved, and what moved it."""

from dataclasses import dataclass
from itertools import pairwise

from sqlalchemy import bindparam, select

from recollectx.db.tables import ChangeRow, StrengthRow, Tx
from recollectx.edges import Relation
from recollectx.instants import from_micros
from recollectx.storage.reading import Reader

_MOVES = (
    select(
        StrengthRow.value,
        Tx.at,
        Tx.seq,
        Tx.cause,
        ChangeRow.kind,
        ChangeRow.claim,
        ChangeRow.other,
        ChangeRow.detail,
    )
    .join(Tx, Tx.seq == StrengthRow.tx_from)
    .join(ChangeRow, ChangeRow.n == StrengthRow.change)
    .where(StrengthRow.claim == bindparam("claim"))
    .order_by(StrengthRow.tx_from)
)
_TYPES = {
    Relation.CONTRADICTS: "contradiction",
    Relation.SUPPORTS: "support",
    Relation.DERIVES: "support",
}
_WORDS = {
    "link": "{detail} added",
    "unlink": "{detail} removed",
    "reinforce": "asserted again",
    "retract": "a source took it back",
    "retire": "forgotten",
    "restore": "brought back",
    "restatus": "now {detail}",
    "trust": "trust in a source changed",
    "configure": "another rule of belief",
    "erase": "a claim was erased",
}


@dataclass(frozen=True, slots=True)
class Moved:
    """One move. kind: contradiction, support or manual.  by: the other claim it came from, None if itself."""

    old: float
    new: float
    at: float
    seq: int
    kind: str
    reason: str
    by: int | None


def first_confidence(reader: Reader, pk: int) -> tuple[float, float] | None:
    """The confidence a claim began with, and when (seconds since 1970 UTC)."""
    row = reader.conn.execute(_MOVES, {"claim": pk}).first()
    return None if row is None else (row.value, from_micros(row.at))


def moves(reader: Reader, pk: int) -> list[Moved]:
    """Every move of a claim's confidence after its first, oldest first."""
    rows = reader.conn.execute(_MOVES, {"claim": pk}).all()
    found = []
    for before, row in pairwise(rows):
        other = row.other if row.claim == pk else row.claim
        where = "" if pk in (row.claim, other) or row.claim is None else ", further up"
        found.append(
            Moved(
                old=before.value,
                new=row.value,
                at=from_micros(row.at),
                seq=row.seq,
                kind=_TYPES.get(row.detail, "manual") if row.kind in ("link", "unlink") else _kind(row.kind),
                reason=_WORDS.get(row.kind, row.kind).format(detail=row.detail) + where,
                by=None if other == pk else other,
            )
        )
    return found


def _kind(change: str) -> str:
    return "support" if change == "reinforce" else "manual"
