"""Recorded answers in the database: written, found, and taken back word for word when a claim is erased.

An erased claim leaves every answer that had it to go on, and the words of that answer (question, response, metadata)
go with it, for nobody can tell which of them were its own. Words also go from every other answer of its scope that
quotes it (recollectx.storage.quoting).
"""

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, or_, select, update

from recollectx.changes import Trace
from recollectx.db.tables import ChangeRow, ClaimRow, RevisionRow, TextRow, TraceClaimRow, TraceRow, Tx
from recollectx.storage.quoting import Quoted

_TRACE = select(
    TraceRow.pk,
    TraceRow.id,
    TraceRow.seq,
    TraceRow.question,
    TraceRow.response,
    TraceRow.meta,
    TraceRow.erased,
    Tx.at,
).join(Tx, Tx.seq == TraceRow.seq)
_IN_SCOPE = _TRACE.where(TraceRow.scope == bindparam("scope")).order_by(TraceRow.pk.desc())
_ONE = _IN_SCOPE.where(TraceRow.id == bindparam("id"))
_USING = _IN_SCOPE.where(
    TraceRow.pk.in_(select(TraceClaimRow.trace).where(TraceClaimRow.claim == bindparam("claim")))
)
_USED = (
    select(
        TraceClaimRow.trace,
        TraceClaimRow.claim,
        TraceClaimRow.rank,
        TraceClaimRow.score,
        TraceClaimRow.confidence,
        TraceClaimRow.parts,
        ClaimRow.id,
        ClaimRow.scope,
        RevisionRow.status,
        TextRow.subject,
        TextRow.predicate,
        TextRow.object,
    )
    .join(TraceRow, TraceRow.pk == TraceClaimRow.trace)
    .join(ClaimRow, ClaimRow.pk == TraceClaimRow.claim)
    .join(
        RevisionRow,
        (RevisionRow.claim == TraceClaimRow.claim)
        & (RevisionRow.tx_from <= TraceRow.seq)
        & or_(RevisionRow.tx_to.is_(None), RevisionRow.tx_to > TraceRow.seq),
    )
    .join(TextRow, TextRow.pk == RevisionRow.text)
    .where(TraceClaimRow.trace.in_(bindparam("keys", expanding=True)))
    .order_by(TraceClaimRow.trace, TraceClaimRow.rank)
)


def insert_trace(conn: Connection, change: Trace, seq: int, pks: Mapping[str, int]) -> None:
    """Write an answer with its claims; pks: their keys by id."""
    pk = (conn.execute(select(func.max(TraceRow.pk))).scalar() or 0) + 1
    conn.execute(
        insert(TraceRow).values(
            pk=pk,
            id=change.id,
            scope=change.scope,
            seq=seq,
            question=change.question,
            response=change.response,
            meta=json.dumps(dict(change.metadata), ensure_ascii=False) if change.metadata else None,
            erased=seq if change.response is None else None,
        )
    )
    rows = {
        pks[each.claim_id]: {
            "trace": pk,
            "claim": pks[each.claim_id],
            "rank": each.rank,
            "score": each.score,
            "confidence": each.confidence,
            "parts": json.dumps(dict(each.parts)),
        }
        for each in change.used
    }
    if rows:
        conn.execute(insert(TraceClaimRow), list(rows.values()))


def traces_in(conn: Connection, scope: str, *, limit: int, offset: int) -> list[Any]:
    """The answers of a scope, newest first."""
    return list(conn.execute(_IN_SCOPE.limit(limit).offset(offset), {"scope": scope}))


def trace_of(conn: Connection, scope: str, trace_id: str) -> Any:
    """One answer of a scope, None if it has none of this id."""
    return conn.execute(_ONE, {"scope": scope, "id": trace_id}).first()


def traces_using(conn: Connection, scope: str, pk: int) -> list[Any]:
    """The answers of a scope that had claim `pk` to go on, newest first."""
    return list(conn.execute(_USING, {"scope": scope, "claim": pk}))


def used_in(conn: Connection, traces: list[int]) -> list[Any]:
    """The claims that answers had to go on, each with its wording and status of then, by rank."""
    return list(conn.execute(_USED, {"keys": traces}))


def untrace(conn: Connection, scope: str) -> int:
    """Delete every answer of a scope; returns how many rows went."""
    of_scope = select(TraceRow.pk).where(TraceRow.scope == scope)
    rows = conn.execute(delete(TraceClaimRow).where(TraceClaimRow.trace.in_(of_scope))).rowcount
    return rows + conn.execute(delete(TraceRow).where(TraceRow.scope == scope)).rowcount


def traced_erasure(conn: Connection, pk: int, seq: int) -> tuple[int, int]:
    """Take claim `pk` and its words out of every answer, before it is erased.

    Returns how many rows changed, and how many answers lost their words.
    """
    using = set(conn.execute(select(TraceClaimRow.trace).where(TraceClaimRow.claim == pk)).scalars())
    hit = using | _quoting(conn, pk)
    wiped = 0
    if hit:
        wiped = conn.execute(
            update(TraceRow)
            .where(TraceRow.pk.in_(hit), TraceRow.erased.is_(None))
            .values(question=None, response=None, meta=None, erased=seq)
        ).rowcount
    conn.execute(delete(TraceClaimRow).where(TraceClaimRow.claim == pk))
    # The reason that was given for settling a dispute may quote the claim.
    settled = select(ChangeRow.seq).where(
        ChangeRow.kind == "resolve", or_(ChangeRow.claim == pk, ChangeRow.other == pk)
    )
    conn.execute(update(Tx).where(Tx.seq.in_(settled)).values(cause="resolve"))
    return wiped + len(using), wiped


def _quoting(conn: Connection, pk: int) -> set[int]:
    """The answers of the claim's scope that hold one of its wordings, or enough of it to tell which it is."""
    scope = conn.execute(select(ClaimRow.scope).where(ClaimRow.pk == pk)).scalar_one()
    wordings = select(TextRow.subject, TextRow.predicate, TextRow.object).where(TextRow.claim == pk)
    quoted = Quoted(conn.execute(wordings))
    kept = select(TraceRow.pk, TraceRow.question, TraceRow.response, TraceRow.meta).where(
        TraceRow.scope == scope, TraceRow.erased.is_(None)
    )
    # A question and its answer tell together what neither tells alone.
    return {
        row.pk
        for row in conn.execute(kept)
        if quoted.found_in(" ; ".join(filter(None, (row.question, row.response, row.meta))))
    }
