"""Reach: what an id means to a Memory of one scope. Claims of other scopes are as if they did not exist."""

from recollectx.claims import GLOBAL, check_text
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
