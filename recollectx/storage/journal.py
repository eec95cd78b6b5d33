"""The journal: how the confidence of a claim moved, and what moved it."""

from dataclasses import dataclass
from itertools import pairwise

from sqlalchemy import bindparam, select

from recollectx.db.causes import EDGE_KINDS, EDGE_TYPES, FURTHER_UP, OTHERWISE, RECORDED, TYPES, WORDS
from recollectx.db.tables import ChangeRow, StrengthRow, Tx
from recollectx.instants import from_micros
from recollectx.propagation import ConfidenceChangeEvent
from recollectx.storage.reading import Identity, Reader

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
        if row.kind == RECORDED:
            found.append(
                Moved(before.value, row.value, from_micros(row.at), row.seq, row.detail, row.cause, other)
            )
            continue
        where = "" if pk in (row.claim, row.other) or row.claim is None else FURTHER_UP
        found.append(
            Moved(
                old=before.value,
                new=row.value,
                at=from_micros(row.at),
                seq=row.seq,
                kind=_type(row.kind, row.detail),
                reason=WORDS.get(row.kind, row.kind).format(detail=row.detail) + where,
                by=None if other == pk else other,
            )
        )
    return found


def events(reader: Reader, known: Identity) -> list[ConfidenceChangeEvent]:
    """Every move of a claim's confidence with its cause, newest first."""
    moved = moves(reader, known.pk)
    others = reader.identities(move.by for move in moved if move.by is not None)
    return [
        ConfidenceChangeEvent(
            claim_id=known.id,
            old_confidence=move.old,
            new_confidence=move.new,
            reason=move.reason,
            change_type=move.kind,
            timestamp=move.at,
            # What was erased keeps no name, also as a cause.
            caused_by_id=None if move.by is None or others[move.by].erased else others[move.by].id,
        )
        for move in reversed(moved)
    ]


def _type(kind: str, detail: str | None) -> str:
    found = EDGE_TYPES.get(detail or "") if kind in EDGE_KINDS else TYPES.get(kind)
    return found or OTHERWISE
