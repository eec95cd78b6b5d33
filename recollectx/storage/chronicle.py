"""The chronicle: what happened to claims and when, read from rx_changes and from the rows' own transactions.

Nothing here shows a trace of an erased claim but the event of its erasure.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

from sqlalchemy import BindParameter, Connection, Select, and_, bindparam, or_, select
from sqlalchemy.orm import aliased

from recollectx.claims import Assertion, Basis, Category, FrozenMetadata, Status, in_words
from recollectx.db.causes import WORDS
from recollectx.db.tables import AssertionRow, ChangeRow, ClaimRow, EdgeRow, RevisionRow, TextRow, Tx
from recollectx.instants import from_micros, to_micros
from recollectx.query import ALL_SCOPES, AllScopes
from recollectx.storage.reading import Reader, assertion_from

PAGE = 500
Scopes: TypeAlias = Sequence[str] | AllScopes
TOLD = {
    **WORDS,
    "assert": "asserted",
    "revise": "revised",
    "confirm": "confirmed",
    "alias": "known by one more id",
    "erase": "erased",
}
"""The kinds of change that are events, in words; the others are bookkeeping, or follow from these."""
_EVENTS = frozenset(TOLD) - {"configure", "moved_in"}


@dataclass(frozen=True, slots=True)
class Cause:
    """A transaction: its number, when it was written (seconds since 1970 UTC), and what it was for."""

    seq: int
    at: float
    cause: str


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened.

    kind: the change, such as assert, revise, retract, link, restatus, trust.  what: the same in words.
    claim_id: whom it happened to; None where it was the trust in a source.  other_id: the other end of an edge.
    detail: a relation, or the new status.  text: the claim as it was worded then, None once it is erased.
    """

    cause: Cause
    scope: str | None
    kind: str
    what: str
    claim_id: str | None
    other_id: str | None
    detail: str | None
    text: str | None

    @property
    def at(self) -> float:
        """When it was written, in seconds since 1970 UTC."""
        return self.cause.at


@dataclass(frozen=True, slots=True)
class Version:
    """What a claim was like from one transaction to another; until None means still. Times: seconds since 1970 UTC.

    began, ended: the transactions.  valid_from, valid_to: when it was said to hold in the world.
    """

    text: str
    status: Status
    basis: Basis
    importance: float
    category: Category | None
    entities: tuple[str, ...]
    metadata: FrozenMetadata
    valid_from: float | None
    valid_to: float | None
    due_at: float | None
    review_after: float | None
    session: str | None
    position: int | None
    began: Cause
    ended: Cause | None


@dataclass(frozen=True, slots=True)
class Stand:
    """A source standing behind a claim from one transaction to another; ended None means still."""

    assertion: Assertion
    began: Cause
    ended: Cause | None


@dataclass(frozen=True, slots=True)
class EdgeSpan:
    """An edge between claim keys from one transaction to another; ended None means still."""

    src: int
    dst: int
    relation: str
    strength: float
    derivation: str | None
    began: Cause
    ended: Cause | None

    def stood(self, seq: int) -> bool:
        """Whether it stood after a transaction."""
        return self.began.seq <= seq and (self.ended is None or self.ended.seq > seq)


def _within(statement: Any, column: Any) -> tuple[Select[Any], Select[Any]]:
    """The statement about every scope, and about those named `scopes`; both are made once, as making takes longer
    than asking."""
    return statement, statement.where(column.in_(bindparam("scopes", expanding=True)))


_KEYS: BindParameter[Any] = bindparam("keys", expanding=True)
_Claim, _Other, _Then = aliased(ClaimRow), aliased(ClaimRow), aliased(RevisionRow)
_Ended = aliased(Tx)

_HAPPENED = _within(
    select(
        ChangeRow.n,
        ChangeRow.seq,
        ChangeRow.scope,
        ChangeRow.kind,
        ChangeRow.detail,
        Tx.at,
        Tx.cause,
        _Claim.id.label("claim_id"),
        _Other.id.label("other_id"),
        _Then.entities,
        TextRow.subject,
        TextRow.predicate,
        TextRow.object,
    )
    .join(Tx, Tx.seq == ChangeRow.seq)
    .join(_Claim, _Claim.pk == ChangeRow.claim, isouter=True)
    .join(_Other, _Other.pk == ChangeRow.other, isouter=True)
    .join(
        _Then,
        and_(
            _Then.claim == ChangeRow.claim,
            _Then.tx_from <= ChangeRow.seq,
            or_(_Then.tx_to.is_(None), _Then.tx_to > ChangeRow.seq),
        ),
        isouter=True,
    )
    .join(TextRow, TextRow.pk == _Then.text, isouter=True)
    .where(
        ChangeRow.n < bindparam("before"),
        ChangeRow.kind.in_(sorted(_EVENTS)),
        or_(_Claim.erased.is_(None), ChangeRow.kind == "erase"),
        _Other.erased.is_(None),
    )
    .order_by(ChangeRow.n.desc())
    .limit(bindparam("most")),
    ChangeRow.scope,
)
_TOUCHED = _within(
    select(ChangeRow.claim, ChangeRow.seq, Tx.at, Tx.cause)
    .join(Tx, Tx.seq == ChangeRow.seq)
    .where(
        ChangeRow.seq > bindparam("after"), ChangeRow.seq <= bindparam("last"), ChangeRow.claim.is_not(None)
    )
    .distinct()
    .order_by(ChangeRow.seq),
    ChangeRow.scope,
)
_TURNED = _within(
    select(RevisionRow.claim)
    .join(ClaimRow, ClaimRow.pk == RevisionRow.claim)
    .where(
        or_(
            *(
                and_(bound > bindparam("after"), bound <= bindparam("last"))
                for bound in (RevisionRow.valid_from, RevisionRow.valid_to)
            )
        )
    )
    .distinct(),
    ClaimRow.scope,
)
_SPAN = (
    Tx.seq,
    Tx.at,
    Tx.cause,
    _Ended.seq.label("end"),
    _Ended.at.label("ended"),
    _Ended.cause.label("ender"),
)
_EDGES = (
    select(
        EdgeRow.pk,
        EdgeRow.src,
        EdgeRow.dst,
        EdgeRow.relation,
        EdgeRow.strength,
        EdgeRow.derivation,
        *_SPAN,
    )
    .join(Tx, Tx.seq == EdgeRow.tx_from)
    .join(_Ended, _Ended.seq == EdgeRow.tx_to, isouter=True)
    .where(or_(EdgeRow.dst.in_(_KEYS), EdgeRow.src.in_(_KEYS)))
    .order_by(EdgeRow.pk)
)
_VERSIONS = (
    select(
        RevisionRow.status,
        RevisionRow.basis,
        RevisionRow.importance,
        RevisionRow.category,
        RevisionRow.entities,
        RevisionRow.meta,
        RevisionRow.valid_from,
        RevisionRow.valid_to,
        RevisionRow.due_at,
        RevisionRow.review_after,
        RevisionRow.session,
        RevisionRow.position,
        TextRow.subject,
        TextRow.predicate,
        TextRow.object,
        *_SPAN,
    )
    .join(TextRow, TextRow.pk == RevisionRow.text)
    .join(Tx, Tx.seq == RevisionRow.tx_from)
    .join(_Ended, _Ended.seq == RevisionRow.tx_to, isouter=True)
    .where(RevisionRow.claim == bindparam("claim"), RevisionRow.tx_from.is_distinct_from(RevisionRow.tx_to))
    .order_by(RevisionRow.pk)
)
_STANDS = (
    select(
        AssertionRow.source,
        AssertionRow.confidence,
        AssertionRow.evidence,
        AssertionRow.span,
        AssertionRow.said_at,
        AssertionRow.session,
        AssertionRow.times,
        AssertionRow.dates,
        *_SPAN,
    )
    .join(Tx, Tx.seq == AssertionRow.tx_from)
    .join(_Ended, _Ended.seq == AssertionRow.tx_to, isouter=True)
    .where(
        AssertionRow.claim == bindparam("claim"), AssertionRow.tx_from.is_distinct_from(AssertionRow.tx_to)
    )
    .order_by(AssertionRow.pk)
)
_PAGE = _within(
    select(ClaimRow.pk)
    .where(ClaimRow.erased.is_(None), ClaimRow.pk > bindparam("after"))
    .order_by(ClaimRow.pk)
    .limit(bindparam("most")),
    ClaimRow.scope,
)


def _about_scopes(
    pair: tuple[Select[Any], Select[Any]], scopes: Scopes
) -> tuple[Select[Any], dict[str, Any]]:
    everywhere, named = pair
    return (everywhere, {}) if scopes is ALL_SCOPES else (named, {"scopes": list(scopes)})


def page(reader: Reader, scopes: Scopes, *, after: int) -> list[int]:
    """The next keys, in order, of claims that were there; empty at the end."""
    statement, named = _about_scopes(_PAGE, scopes)
    return [row.pk for row in reader.rows(statement, **named, after=after, most=PAGE)]


def happened(conn: Connection, scopes: Scopes, *, entity: str | None, limit: int) -> list[Event]:
    """The last `limit` events, newest first. entity: only of claims that named it then."""
    rows = _rows_back(conn, scopes, PAGE if entity else min(limit, PAGE))
    return [_event(row) for row in islice((row for row in rows if _about(row, entity)), limit)]


def _rows_back(conn: Connection, scopes: Scopes, most: int) -> Iterator[Any]:
    statement, named = _about_scopes(_HAPPENED, scopes)
    before = 2**62
    while True:
        rows = conn.execute(statement, {**named, "before": before, "most": most}).all()
        yield from rows
        if len(rows) < most:
            return
        before = rows[-1].n


def _about(row: Any, entity: str | None) -> bool:
    if entity is None:
        return True
    named = {row.subject or "", *(json.loads(row.entities) if row.entities else ())}
    return entity.casefold() in {name.casefold() for name in named}


def _event(row: Any) -> Event:
    return Event(
        cause=_cause(row),
        scope=row.scope,
        kind=row.kind,
        what=TOLD[row.kind].format(detail=row.detail),
        claim_id=row.claim_id,
        other_id=row.other_id,
        detail=row.detail,
        text=None if row.object is None else _words(row),
    )


def _cause(row: Any) -> Cause:
    return Cause(row.seq, from_micros(row.at), row.cause)


def _words(row: Any) -> str:
    return row.object if row.subject is None else in_words(row.subject, row.predicate, row.object)


def touched(conn: Connection, scopes: Scopes, *, after: int, last: int) -> dict[int, list[Cause]]:
    """The claims that something happened to in the transactions after `after` up to `last`, and those."""
    found: dict[int, list[Cause]] = defaultdict(list)
    statement, named = _about_scopes(_TOUCHED, scopes)
    for row in conn.execute(statement, {**named, "after": after, "last": last}):
        found[row.claim].append(_cause(row))
    return found


def turned(conn: Connection, scopes: Scopes, *, after: float, last: float) -> set[int]:
    """The claims of which some version began or stopped to hold between two times."""
    statement, named = _about_scopes(_TURNED, scopes)
    given = {**named, "after": to_micros(after), "last": to_micros(last)}
    return set(conn.execute(statement, given).scalars())


def edge_spans(reader: Reader, keys: Iterable[int]) -> list[EdgeSpan]:
    """Every edge there ever was into and out of these claims, oldest first."""
    found = {row.pk: row for row in reader.rows_in(_EDGES, keys)}
    return [
        EdgeSpan(row.src, row.dst, row.relation, row.strength, row.derivation, _cause(row), _end(row))
        for _, row in sorted(found.items())
    ]


def versions(conn: Connection, pk: int) -> list[Version]:
    """Every version of a claim, oldest first; one that gave way within its own transaction was never to be seen."""
    return [
        Version(
            text=_words(row),
            status=Status(row.status),
            basis=Basis(row.basis),
            importance=row.importance,
            category=None if row.category is None else Category(row.category),
            entities=tuple(json.loads(row.entities)) if row.entities else (),
            metadata=FrozenMetadata(json.loads(row.meta) if row.meta else {}),
            valid_from=_seconds(row.valid_from),
            valid_to=_seconds(row.valid_to),
            due_at=_seconds(row.due_at),
            review_after=_seconds(row.review_after),
            session=row.session,
            position=row.position,
            began=_cause(row),
            ended=_end(row),
        )
        for row in conn.execute(_VERSIONS, {"claim": pk})
    ]


def stands(conn: Connection, pk: int) -> list[Stand]:
    """Every assertion of a claim there ever was, oldest first."""
    return [
        Stand(assertion_from(row), _cause(row), _end(row)) for row in conn.execute(_STANDS, {"claim": pk})
    ]


def _end(row: Any) -> Cause | None:
    return None if row.end is None else Cause(row.end, from_micros(row.ended), row.ender)


def _seconds(micros: int | None) -> float | None:
    return None if micros is None else from_micros(micros)
