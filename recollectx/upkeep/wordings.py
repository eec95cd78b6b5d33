"""Every wording with the search tokens and hashes that it has, and those it should have.

The hash of an episode is made of its place and date as they were when it was worded, which may have been revised
since, so only those of facts can be made again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select

from recollectx.claims import SemanticClaim
from recollectx.db.statements import fetch
from recollectx.db.tables import ClaimRow, TextRow
from recollectx.storage.reading import as_stored, keys_of
from recollectx.text import tokens

_BATCH = 2_000
_WORDINGS = (
    select(
        TextRow.pk,
        TextRow.said,
        TextRow.slot,
        TextRow.subject,
        TextRow.predicate,
        TextRow.object,
        TextRow.tokens,
        ClaimRow.id,
        ClaimRow.scope,
        ClaimRow.type,
    )
    .join(ClaimRow, ClaimRow.pk == TextRow.claim)
    .where(TextRow.pk > bindparam("after"), ClaimRow.erased.is_(None))
    .order_by(TextRow.pk)
    .limit(bindparam("most"))
)


@dataclass(frozen=True, slots=True)
class Kept:
    """One wording of claim `id`. tokens, said, slot: what they should be."""

    pk: int
    id: str
    tokens: str
    said: int
    slot: int | None
    stale_tokens: bool
    stale_hashes: bool


def wordings(conn: Connection) -> Iterator[Kept]:
    """All wordings of claims that are there, of any time, in the memory of one batch."""
    after = 0
    while rows := fetch(conn, _WORDINGS, {"after": after, "most": _BATCH}):
        yield from (_kept(row) for row in rows if row.object != "")
        after = rows[-1].pk


def _kept(row: Any) -> Kept:
    said, slot = row.said, row.slot
    if row.type == "semantic" and row.subject is not None and row.predicate is not None:
        named = {name: getattr(row, name) for name in ("subject", "predicate", "object", "type")}
        claim = as_stored(SemanticClaim, named)
        said, slot, found = keys_of(row.scope, claim)
    else:
        found = " ".join(tokens(row.object))
    return Kept(
        row.pk,
        row.id,
        found,
        said,
        slot,
        stale_tokens=found != row.tokens,
        stale_hashes=(said, slot) != (row.said, row.slot),
    )
