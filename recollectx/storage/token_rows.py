"""The rows of token vectors: what recollectx.storage.token_vectors asks for and apply writes."""

from typing import Any

import numpy as np
from sqlalchemy import Connection, bindparam, exists, func, insert, select

from recollectx.claims import in_words
from recollectx.db.tables import ClaimRow, RevisionRow, TextRow, TokenVectorsRow, VectorRow
from recollectx.late_interaction import Tokens
from recollectx.storage.reading import Reader

_BARE = (
    select(TextRow.pk, TextRow.subject, TextRow.predicate, TextRow.object, ClaimRow.type)
    .join(VectorRow, VectorRow.text == TextRow.pk)
    .join(ClaimRow, ClaimRow.pk == TextRow.claim)
    .where(TextRow.pk > bindparam("after"), ~exists().where(TokenVectorsRow.text == TextRow.pk))
    .order_by(TextRow.pk)
    .limit(bindparam("most"))
)
_HOW_MANY = (
    select(func.count().label("waiting"))
    .select_from(VectorRow)
    .where(~exists().where(TokenVectorsRow.text == VectorRow.text))
)
_ANY = select(TokenVectorsRow.text).limit(1)
_OF_CLAIMS = (
    select(RevisionRow.claim, TokenVectorsRow.width, TokenVectorsRow.vectors)
    .join(TokenVectorsRow, TokenVectorsRow.text == RevisionRow.text)
    .where(RevisionRow.claim.in_(bindparam("keys", expanding=True)), RevisionRow.tx_to.is_(None))
)


def put_tokens(conn: Connection, text: int, tokens: Tokens) -> None:
    """Keep the token vectors of a wording, unless another process did meanwhile. tokens: shape (tokens, width)."""
    known = conn.execute(select(TokenVectorsRow.text).where(TokenVectorsRow.text == text)).first()
    if known is None:
        width, packed = int(tokens.shape[1]), tokens.tobytes()
        conn.execute(insert(TokenVectorsRow).values(text=text, width=width, vectors=packed))


def has_tokens(reader: Reader) -> bool:
    """Whether any wording has token vectors."""
    return bool(reader.rows(_ANY))


def count_waiting(reader: Reader) -> int:
    """How many wordings have a vector and none for their tokens."""
    return int(reader.rows(_HOW_MANY)[0].waiting)


def waiting(reader: Reader, *, after: int, most: int) -> list[tuple[int, str]]:
    """Key and words of up to `most` such wordings with keys above `after`, in order of keys."""
    return [
        (row.pk, row.object if row.type == "episodic" else in_words(row.subject, row.predicate, row.object))
        for row in reader.rows(_BARE, after=after, most=most)
    ]


def tokens_of(reader: Reader, claims: Any, width: int) -> dict[int, Tokens]:
    """Token vectors by claim key, in the wordings the reader sees; claims that have none of this width are left out."""
    return {
        row.claim: np.frombuffer(row.vectors, np.int8).reshape(-1, width)
        for row in reader.rows_in(_OF_CLAIMS, claims)
        if row.width == width
    }
