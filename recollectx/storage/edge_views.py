"""The live edges of a scope as BeliefEdges, and which claims are similar."""

from collections.abc import Callable, Collection
from typing import Any

from sqlalchemy import BindParameter, bindparam, or_, select
from sqlalchemy.orm import aliased

from recollectx.claims import Claim, Status
from recollectx.db.tables import ClaimRow, EdgeRow, RevisionRow
from recollectx.edges import Relation
from recollectx.graph.edges import BeliefEdge
from recollectx.query import MAX_K, Query, Recall
from recollectx.storage.reading import Reader

_Src, _Dst = aliased(ClaimRow), aliased(ClaimRow)
_SrcNow, _DstNow = aliased(RevisionRow), aliased(RevisionRow)
_KEYS: BindParameter[str] = bindparam("keys", expanding=True)

# An edge of a claim that was deleted waits with it, in case it is restored, and is out of sight until then.
_EDGES = (
    select(EdgeRow.pk, _Src.id.label("src_id"), _Dst.id.label("dst_id"), EdgeRow.relation)
    .join(_Src, _Src.pk == EdgeRow.src)
    .join(_Dst, _Dst.pk == EdgeRow.dst)
    .join(_SrcNow, _SrcNow.claim == EdgeRow.src)
    .join(_DstNow, _DstNow.claim == EdgeRow.dst)
    .where(
        EdgeRow.tx_to.is_(None),
        _SrcNow.tx_to.is_(None),
        _DstNow.tx_to.is_(None),
        _SrcNow.status != Status.RETIRED,
        _DstNow.status != Status.RETIRED,
        _Dst.scope == bindparam("scope"),
    )
    .order_by(EdgeRow.pk)
)
_BEARING = _EDGES.where(
    or_(_Dst.id.in_(_KEYS), (EdgeRow.relation == Relation.CONTRADICTS) & _Src.id.in_(_KEYS))
)


def edges_between(
    reader: Reader,
    scope: str,
    *,
    src_id: str | None = None,
    dst_id: str | None = None,
    relation: str | None = None,
) -> list[BeliefEdge]:
    """Live edges into claims of `scope`, oldest first; each of the three that is given must match."""
    statement, given = _EDGES, {"src": src_id, "dst": dst_id}
    for name, claim_id in given.items():
        if claim_id is not None:
            known = reader.resolve(claim_id)
            if known is None:
                return []
            statement = statement.where(getattr(EdgeRow, name) == known.pk)
    if relation is not None:
        statement = statement.where(EdgeRow.relation == relation)
    return [_edge(row) for row in reader.conn.execute(statement, {"scope": scope})]


def edges_bearing(reader: Reader, scope: str, claim_ids: Collection[str]) -> list[BeliefEdge]:
    """Live edges into these claims of `scope`, and contradictions out of them, in one query per batch."""
    found = {row.pk: _edge(row) for row in reader.rows_in(_BEARING, claim_ids, scope=scope)}
    return [found[pk] for pk in sorted(found)]


def _edge(row: Any) -> BeliefEdge:
    return BeliefEdge(row.src_id, row.dst_id, row.relation)


def similar_claims(
    recall: Callable[[Query], Recall], claim: Claim, *, threshold: float, most: int
) -> list[Claim]:
    """The current claims of the same scope that are closest to `claim`, at most `most`, best first.

    threshold: the least cosine; where no vectors are kept, the least share of the claim's words that are matched.
    """
    if most < 1:
        return []
    found = recall(Query(text=claim.text, scopes=(claim.scope,), k=min(most + 1, MAX_K)))
    near = [hit.claim for hit in found if hit.claim.id != claim.id and _closeness(hit.parts) >= threshold]
    return near[:most]


def _closeness(parts: Any) -> float:
    cosine = getattr(parts, "cosine", None)
    return float((parts.share if cosine is None else cosine) or 0.0)
