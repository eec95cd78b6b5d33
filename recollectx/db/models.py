"""What the database holds, in the columns of 0.2.7's tables, for reading with a Session.

Each is mapped over a query of our own tables, so it is never out of date: `session.query(ClaimModel).filter(...)`.
ClaimModel has the claims in use of every scope, its `confidence` being what the graph makes of it. Objects can be
built, as the converters do, but not saved: MemoryStore alone writes.
"""

from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, Float, Text, and_, case, cast, event, func, or_, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Mapper, aliased
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from recollectx.claims import CURRENT, Status
from recollectx.db.causes import EDGE_KINDS, EDGE_TYPES, FURTHER_UP, OTHERWISE, RECORDED, TYPES, WORDS
from recollectx.db.tables import (
    AssertionRow,
    Base,
    ChangeRow,
    ClaimRow,
    EdgeRow,
    RevisionRow,
    StrengthRow,
    TextRow,
    Tx,
)
from recollectx.errors import StorageError


def _seconds(micros: Any) -> ColumnElement[Any]:
    return cast(micros, Float) / 1_000_000


class _Evidence(FunctionElement[str]):
    """The evidence of all open assertions of a claim as one JSON list, each piece where it was first."""

    name = "evidence"
    type = Text()
    inherit_cache = True


_EVIDENCE = {
    "sqlite": """(
        SELECT json_group_array(DISTINCT piece.value)
        FROM rx_assertions AS said, json_each(said.evidence) AS piece
        WHERE said.claim = {pk} AND said.tx_to IS NULL
    )""",
    "postgresql": """(
        SELECT coalesce(json_agg(value ORDER BY pk, place), '[]'::json)::text FROM (
            SELECT DISTINCT ON (piece.value) piece.value, said.pk, piece.place
            FROM rx_assertions AS said,
                json_array_elements_text(said.evidence::json) WITH ORDINALITY AS piece (value, place)
            WHERE said.claim = {pk} AND said.tx_to IS NULL
            ORDER BY piece.value, said.pk, piece.place
        ) AS pieces
    )""",
}


@compiles(_Evidence)
def _evidence_sql(element: _Evidence, compiler: SQLCompiler, **kw: Any) -> str:
    pk = compiler.process(element.clauses, **kw)
    return _EVIDENCE[compiler.dialect.name].format(pk=pk)


def _of_voices(value: Any) -> Any:
    """A value over the open assertions of a claim."""
    open_ones = select(value).where(AssertionRow.claim == ClaimRow.pk, AssertionRow.tx_to.is_(None))
    return open_ones.correlate(ClaimRow).scalar_subquery()


def _claims() -> Any:
    columns = {
        "id": ClaimRow.id,
        "type": ClaimRow.type,
        "confidence": ClaimRow.confidence,
        "importance": RevisionRow.importance,
        "evidence": _Evidence(ClaimRow.pk),
        "created_at": _seconds(ClaimRow.created_at),
        "last_reinforced_at": _seconds(
            func.coalesce(_of_voices(func.max(AssertionRow.said_at)), ClaimRow.created_at)
        ),
        "support_count": func.coalesce(_of_voices(func.sum(AssertionRow.times)), 0),
        "summary": case((ClaimRow.type == "episodic", TextRow.object)),
        "subject": TextRow.subject,
        "predicate": TextRow.predicate,
        "object": case((ClaimRow.type == "semantic", TextRow.object)),
        "scope": ClaimRow.scope,
        "status": RevisionRow.status,
    }
    return (
        select(*(column.label(name) for name, column in columns.items()))
        .join(RevisionRow, RevisionRow.claim == ClaimRow.pk)
        .join(TextRow, TextRow.pk == RevisionRow.text)
        .where(RevisionRow.tx_to.is_(None), RevisionRow.status.in_(sorted(CURRENT)))
        .subquery("claims")
    )


def _edges() -> Any:
    src, dst = aliased(ClaimRow), aliased(ClaimRow)
    src_now, dst_now = aliased(RevisionRow), aliased(RevisionRow)
    found = select(EdgeRow.pk.label("id"), src.id.label("src_id"), dst.id.label("dst_id"), EdgeRow.relation)
    for end, claim, now in ((EdgeRow.src, src, src_now), (EdgeRow.dst, dst, dst_now)):
        in_use = and_(now.claim == end, now.tx_to.is_(None), now.status != Status.RETIRED)
        found = found.join(claim, claim.pk == end).join(now, in_use)
    return found.where(EdgeRow.tx_to.is_(None)).subquery("belief_edges")


def _history() -> Any:
    moved, by = aliased(ClaimRow), aliased(ClaimRow)
    kind, detail = ChangeRow.kind, func.coalesce(ChangeRow.detail, "")
    before = func.lag(StrengthRow.value).over(partition_by=StrengthRow.claim, order_by=StrengthRow.tx_from)
    other = case((ChangeRow.claim == StrengthRow.claim, ChangeRow.other), else_=ChangeRow.claim)
    near = or_(
        ChangeRow.claim == StrengthRow.claim, ChangeRow.other == StrengthRow.claim, ChangeRow.claim.is_(None)
    )
    words = case(
        *((kind == name, func.replace(text, "{detail}", detail)) for name, text in WORDS.items()), else_=kind
    )
    types = [(and_(kind.in_(EDGE_KINDS), detail == name), text) for name, text in EDGE_TYPES.items()]
    types += [(kind == name, text) for name, text in TYPES.items()]
    found = (
        select(
            func.row_number().over(order_by=(StrengthRow.tx_from, StrengthRow.claim)).label("id"),
            moved.id.label("claim_id"),
            before.label("old_confidence"),
            StrengthRow.value.label("new_confidence"),
            case((kind == RECORDED, Tx.cause), (near, words), else_=words + FURTHER_UP).label("reason"),
            case((kind == RECORDED, detail), *types, else_=OTHERWISE).label("change_type"),
            by.id.label("caused_by_id"),
            _seconds(Tx.at).label("timestamp"),
        )
        .join(moved, moved.pk == StrengthRow.claim)
        .join(Tx, Tx.seq == StrengthRow.tx_from)
        .join(ChangeRow, ChangeRow.n == StrengthRow.change)
        .join(by, and_(by.pk == other, by.pk != StrengthRow.claim), isouter=True)
        .subquery("moves")
    )
    return select(found).where(found.c.old_confidence.is_not(None)).subquery("confidence_history")


_CLAIMS, _EDGES, _HISTORY = _claims(), _edges(), _history()


class ClaimModel(Base):
    """A claim in use. evidence: a JSON list of texts. Times are seconds since 1970 UTC."""

    __table__ = _CLAIMS
    __mapper_args__ = {"primary_key": [_CLAIMS.c.id]}  # noqa: RUF012 (SQLAlchemy's own way)

    if TYPE_CHECKING:
        id: Any
        type: Any
        confidence: Any
        importance: Any
        evidence: Any
        created_at: Any
        last_reinforced_at: Any
        support_count: Any
        summary: Any
        subject: Any
        predicate: Any
        object: Any
        scope: Any
        status: Any


class BeliefEdgeModel(Base):
    """A live edge between claims in use."""

    __table__ = _EDGES
    __mapper_args__ = {"primary_key": [_EDGES.c.id]}  # noqa: RUF012

    if TYPE_CHECKING:
        id: Any
        src_id: Any
        dst_id: Any
        relation: Any


class ConfidenceHistoryModel(Base):
    """One move of a confidence, as `get_confidence_history` tells it. id: its place among all moves."""

    __table__ = _HISTORY
    __mapper_args__ = {"primary_key": [_HISTORY.c.id]}  # noqa: RUF012

    if TYPE_CHECKING:
        id: Any
        claim_id: Any
        old_confidence: Any
        new_confidence: Any
        reason: Any
        change_type: Any
        caused_by_id: Any
        timestamp: Any


def _refuse(_mapper: Mapper[Any], _connection: Connection, target: object) -> None:
    raise StorageError(
        f"{type(target).__name__} is for reading; write through MemoryStore (put, update, delete, put_edge)"
    )


for _model in (ClaimModel, BeliefEdgeModel, ConfidenceHistoryModel):
    for _moment in ("before_insert", "before_update", "before_delete"):
        event.listen(_model, _moment, _refuse)
