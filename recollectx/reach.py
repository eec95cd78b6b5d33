"""Reach: what an id means to a Memory of one scope. Claims of other scopes are as if they did not exist."""

from sqlalchemy import and_, select

from recollectx.claims import GLOBAL, Claim, check_text
from recollectx.db.tables import AliasRow, ClaimRow
from recollectx.errors import NotFound
from recollectx.storage.reading import Identity, Reader


def known(
    reader: Reader, scope: str, claim_id: str, *, also_global: bool = False, undone: bool = False
) -> Identity | None:
    """The claim of this id or alias in `scope` (or in global); None if there is none, or it was erased.

    undone: also one whose coming was undone.
    """
    found = reader.resolve(check_text(claim_id, "id"), undone=undone)
    reachable = (scope, GLOBAL) if also_global else (scope,)
    return None if found is None or found.erased or found.scope not in reachable else found


def find(
    reader: Reader, scope: str, claim_id: str, *, also_global: bool = False, undone: bool = False
) -> Identity:
    """The same; NotFound if there is none."""
    found = known(reader, scope, claim_id, also_global=also_global, undone=undone)
    if found is None:
        raise NotFound(f"scope {scope!r} holds no claim with the id {claim_id!r}")
    return found


def beginning(reader: Reader, scope: str, prefix: str, most: int) -> list[Claim]:
    """The claims of `scope` with an id or alias that begins with `prefix`, oldest first; about `most` at most."""
    # A range can use the index of ids, LIKE cannot.
    end = prefix + "\U0010ffff"
    here = (ClaimRow.scope == scope, ClaimRow.erased.is_(None))
    own = select(ClaimRow.pk).where(ClaimRow.id >= prefix, ClaimRow.id <= end, *here)
    other = (
        select(ClaimRow.pk)
        .join(AliasRow, and_(AliasRow.claim == ClaimRow.pk, AliasRow.tx_to.is_(None)))
        .where(AliasRow.id >= prefix, AliasRow.id <= end, *here)
    )
    keys = {row.pk for statement in (own, other) for row in reader.conn.execute(statement.limit(most))}
    return [claim for _, claim in sorted(reader.claims(keys).items())]
