"""The vectors in the database: one for every wording, of the model's length, with finite numbers."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sqlalchemy import Connection, bindparam, exists, func, or_, select

from recollectx.db.statements import fetch
from recollectx.db.tables import ClaimRow, TextRow, TokenVectorsRow, VectorRow
from recollectx.storage.batches import unpacked
from recollectx.storage.reading import MODEL, Reader
from recollectx.storage.token_rows import count_waiting
from recollectx.upkeep.findings import Finding, finding_of

_BATCH = 2_000
_BARE = (
    select(ClaimRow.id)
    .join(TextRow, TextRow.claim == ClaimRow.pk)
    .where(ClaimRow.erased.is_(None), ~exists().where(VectorRow.text == TextRow.pk))
    .distinct()
)
_VECTORS = (
    select(VectorRow.text, VectorRow.vector)
    .where(VectorRow.text > bindparam("after"))
    .order_by(VectorRow.text)
    .limit(bindparam("most"))
)
BAD_TOKENS = or_(
    TokenVectorsRow.width < 1,
    func.length(TokenVectorsRow.vectors) == 0,
    func.length(TokenVectorsRow.vectors) % TokenVectorsRow.width != 0,
)


def vector_findings(conn: Connection) -> Iterator[Finding]:
    """What is wrong with the vectors kept; wordings wait for those of their tokens until the next question."""
    reader = Reader(conn)
    model = reader.setting(MODEL)
    yield finding_of("vectors", bad_vectors(conn), "wordings with vectors of another length or no numbers")
    told = "no model is known" if model is None else f"{model['name']}, {model['dimension']} numbers each"
    bare = [] if model is None else [row.id for row in conn.execute(_BARE)]
    yield finding_of("every wording has a vector", bare, "claims with wordings without", well=told)
    bad = list(conn.execute(select(TokenVectorsRow.text).where(BAD_TOKENS)).scalars())
    yield finding_of("token vectors", bad, "wordings with broken ones", well=_tokens_told(reader))


def bad_vectors(conn: Connection) -> Iterator[int]:
    """The wordings whose vector is none of the model's."""
    model = Reader(conn).setting(MODEL)
    after = 0
    while rows := fetch(conn, _VECTORS, {"after": after, "most": _BATCH}):
        yield from (row.text for row in rows if not _sound(row.vector, model))
        after = rows[-1].text


def _sound(vector: bytes, model: dict[str, Any] | None) -> bool:
    if model is None or len(vector) != 2 * model["dimension"]:
        return False
    return bool(np.isfinite(unpacked(vector)).all())


def _tokens_told(reader: Reader) -> str:
    if not reader.conn.execute(select(TokenVectorsRow.text).limit(1)).first():
        return "none are kept"
    waiting = count_waiting(reader)
    return f"{waiting:,} wordings wait for theirs" if waiting else ""
