"""Batches: what an index outside must hold after the next changes of the log, read from the database.

A batch says what the claims of some changes are now, not what they were: taking it twice does no harm.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy import Connection, and_, bindparam, func, or_, select

from recollectx.db.statements import fetch
from recollectx.db.tables import ChangeRow, ClaimRow, RevisionRow, TextRow, VectorRow
from recollectx.embeddings.base import Vectors
from recollectx.errors import InvalidSetting
from recollectx.storage.reading import MODEL, Reader

BATCH = 500

_MOVES = or_(
    # What is undone of no claim, as trust is, moves no vector.
    and_(ChangeRow.kind.in_(("assert", "revise", "embed", "undo", "erase")), ChangeRow.claim.is_not(None)),
    and_(ChangeRow.kind == "configure", ChangeRow.detail == MODEL),
)
_NEXT = (
    select(ChangeRow.n, ChangeRow.claim)
    .where(ChangeRow.n > bindparam("after"), _MOVES)
    .order_by(ChangeRow.n)
    .limit(bindparam("most"))
)
_WAITING = select(func.count()).select_from(ChangeRow).where(ChangeRow.n > bindparam("after"), _MOVES)
_WAITING_UNTIL = _WAITING.where(ChangeRow.n <= bindparam("until"))
_SINCE = (
    select(ChangeRow.claim)
    .where(
        ChangeRow.scope == bindparam("scope"),
        ChangeRow.n > bindparam("after"),
        ChangeRow.claim.is_not(None),
        _MOVES,
    )
    .distinct()
)
_MODEL = select(func.max(ChangeRow.n).label("n")).where(
    ChangeRow.n > bindparam("after"),
    ChangeRow.scope.is_(None),
    ChangeRow.kind == "configure",
    ChangeRow.detail == MODEL,
)
_LAST = select(func.max(ChangeRow.n).label("n"))
_NOW = (
    select(ClaimRow.pk, ClaimRow.id, ClaimRow.scope, VectorRow.vector)
    .join(RevisionRow, and_(RevisionRow.claim == ClaimRow.pk, RevisionRow.tx_to.is_(None)), isouter=True)
    .join(TextRow, TextRow.pk == RevisionRow.text, isouter=True)
    .join(VectorRow, VectorRow.text == TextRow.pk, isouter=True)
    .where(ClaimRow.pk.in_(bindparam("keys", expanding=True)))
)
_OF_SCOPE = select(ClaimRow.pk).where(
    ClaimRow.id.in_(bindparam("keys", expanding=True)), ClaimRow.scope == bindparam("scope")
)


@dataclass(slots=True)
class Batch:
    """What to send: by scope the ids that have no vector any more, and the vectors by id.

    last: the change that it leads up to.  anew: the index is to be emptied.  empty: nothing waits.
    """

    last: int
    anew: bool = False
    empty: bool = False
    gone: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    there: defaultdict[str, dict[str, Vectors]] = field(default_factory=lambda: defaultdict(dict))


def after(conn: Connection, at: int, dimension: int) -> Batch:
    """What comes after change `at`. dimension: of the vectors that the index takes."""
    model = fetch(conn, _MODEL, {"after": at})[0].n
    if model is not None:
        # Another model from there on: what the index holds, and what came before, means nothing any more.
        return Batch(int(model), anew=True)
    rows = fetch(conn, _NEXT, {"after": at, "most": BATCH})
    if not rows:
        return Batch(max(at, last(conn)), empty=True)
    return as_now(Reader(conn), [row.claim for row in rows], dimension, last=rows[-1].n)


def as_now(reader: Reader, pks: Iterable[int], dimension: int, *, last: int = 0) -> Batch:
    """What an index must hold of these claims. Raises InvalidSetting if their vectors are of another length."""
    batch = Batch(last)
    for row in reader.rows_in(_NOW, pks):
        vector = None if row.vector is None else unpacked(row.vector)
        if vector is None or not vector.any():
            batch.gone[row.scope].append(row.id)
            continue
        if len(vector) != dimension:
            raise InvalidSetting(
                f"the memory holds {len(vector)}-d vectors, the index takes {dimension}-d ones; "
                "give the index its dimension"
            )
        batch.there[row.scope][row.id] = vector
    return batch


def wanted(reader: Reader, scope: str, ids: Collection[str], dimension: int) -> dict[str, Vectors]:
    """What an index must hold of these ids in a scope; nothing of those that are left out."""
    pks = [row.pk for row in reader.rows_in(_OF_SCOPE, ids, scope=scope)]
    return dict(as_now(reader, pks, dimension).there[scope])


def beginning(conn: Connection) -> int:
    """The change from which on an empty index is fed: the last that named a model, as no vector from before means anything."""
    return int(fetch(conn, _MODEL, {"after": 0})[0].n or 0)


def waiting(conn: Connection, at: int, until: int | None = None) -> int:
    """How many changes that matter to an index come after change `at`, and not after change `until`."""
    if until is None:
        return int(fetch(conn, _WAITING, {"after": at})[0][0])
    return int(fetch(conn, _WAITING_UNTIL, {"after": at, "until": until})[0][0])


def is_waited_for(conn: Connection, at: int) -> bool:
    """Whether one comes."""
    return bool(fetch(conn, _NEXT, {"after": at, "most": 1}))


def moved_since(reader: Reader, scope: str, n: int) -> list[int]:
    """The claims of a scope whose vector may have changed after change `n`."""
    return [row.claim for row in reader.rows(_SINCE, scope=scope, after=n)]


def last(conn: Connection) -> int:
    """The last change of all."""
    return int(fetch(conn, _LAST, {})[0].n or 0)


def unpacked(vector: bytes) -> Vectors:
    """A vector as it is kept in rx_vectors."""
    return np.frombuffer(vector, "<f2").astype(np.float32)
