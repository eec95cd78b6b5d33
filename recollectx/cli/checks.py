"""What must be true of every database of ours, one check each; a check says what is wrong, or "" if nothing is."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import CompoundSelect, Connection, Select, and_, exists, func, or_, select, union_all
from sqlalchemy.orm import aliased

from recollectx.db.tables import (
    AliasRow,
    AssertionRow,
    ChangeRow,
    ClaimRow,
    EdgeRow,
    RevisionRow,
    StrengthRow,
    TextRow,
    TraceClaimRow,
    Tx,
)
from recollectx.propagation import LogOdds, Neighbours
from recollectx.storage.belief import StoredGraph
from recollectx.storage.reading import Reader, chunks
from recollectx.storage.transactions import KIND
from recollectx.text import tokens

TOLERANCE = 4e-3
"""How far a stored strength may be from the exact one: moves under 1e-4 are not passed on, and may add up to this."""

_BATCH = 2_000
_NAMED = 5
_VERSIONED = (RevisionRow, AssertionRow, StrengthRow, AliasRow)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. detail: what is wrong, or what was measured."""

    check: str
    ok: bool
    detail: str = ""


def file_findings(conn: Connection) -> Iterator[Finding]:
    """The file as SQLite sees it."""
    told = [str(row[0]) for row in conn.exec_driver_sql("PRAGMA integrity_check(20)")]
    yield Finding("integrity", told == ["ok"], "" if told == ["ok"] else "; ".join(told[:_NAMED]))
    broken = conn.exec_driver_sql("PRAGMA foreign_key_check").all()
    tables = ", ".join(sorted({str(row[0]) for row in broken}))
    yield Finding(
        "foreign keys", not broken, f"{len(broken)} rows of {tables} point nowhere" if broken else ""
    )
    mode = str(conn.exec_driver_sql("PRAGMA journal_mode").scalar())
    yield Finding("journal mode", mode == "wal", mode)


def content_findings(conn: Connection) -> Iterator[Finding]:
    """The rows as recollectx means them, and every belief evaluated anew."""
    for name, statement, what in _ROWS:
        found = [str(row[0]) for row in conn.execute(statement)]
        named = ", ".join(found[:_NAMED]) + (", …" if len(found) > _NAMED else "")
        yield Finding(name, not found, f"{len(found)} {what}: {named}" if found else "")
    for name, check in (
        ("search tokens", _search_tokens),
        ("confidence history", _journal),
        ("strengths", _beliefs),
    ):
        try:
            wrong, detail = check(conn)
        except (KeyError, ValueError, TypeError) as error:
            # Broken rows do not make claims, and the report must not end at the first of them.
            wrong, detail = True, f"rows that cannot be read: {error}"
        yield Finding(name, not wrong, detail)


def _live() -> Select[Any]:
    return select(ClaimRow.id).where(ClaimRow.erased.is_(None))


def _erased(pk: Any) -> Any:
    return exists().where(ClaimRow.pk == pk, ClaimRow.erased.is_not(None))


_LIVE_REVISIONS = (
    select(func.count())
    .select_from(RevisionRow)
    .where(RevisionRow.claim == ClaimRow.pk, RevisionRow.tx_to.is_(None))
    .scalar_subquery()
)
_UNDONE = exists().where(ChangeRow.claim == ClaimRow.pk, ChangeRow.kind == KIND)
_WORDING = (
    select(RevisionRow.pk)
    .join(TextRow, and_(TextRow.pk == RevisionRow.text, TextRow.claim == RevisionRow.claim))
    .where(RevisionRow.claim == ClaimRow.pk, RevisionRow.tx_to.is_(None), TextRow.object != "")
    .exists()
)
_SAID = [
    mapped.claim == ClaimRow.pk
    for mapped in (TextRow, RevisionRow, AssertionRow, StrengthRow, AliasRow, TraceClaimRow)
]
_OTHER = aliased(RevisionRow)

_ROWS: tuple[tuple[str, Select[Any] | CompoundSelect[Any], str], ...] = (
    (
        "one live revision",
        _live().where(_LIVE_REVISIONS != 1, or_(_LIVE_REVISIONS != 0, ~_UNDONE)),
        "claims without exactly one",
    ),
    ("text", _live().where(_LIVE_REVISIONS == 1, ~_WORDING), "claims without words"),
    (
        "erased claims",
        select(ClaimRow.id).where(
            ClaimRow.erased.is_not(None), or_(*(exists().where(part) for part in _SAID))
        ),
        "erased claims with rows left",
    ),
    (
        "edges",
        select(EdgeRow.pk).where(EdgeRow.tx_to.is_(None), or_(_erased(EdgeRow.src), _erased(EdgeRow.dst))),
        "edges to erased claims",
    ),
    (
        "unused wordings",
        select(TextRow.pk).where(~exists().where(_OTHER.text == TextRow.pk)),
        "texts that no revision has",
    ),
    (
        "transactions",
        union_all(
            *(select(mapped.claim).where(~exists().where(Tx.seq == mapped.tx_from)) for mapped in _VERSIONED)
        ),
        "rows of claims without a transaction",
    ),
)


def _search_tokens(conn: Connection) -> tuple[bool, str]:
    """Whether a claim is not found by the words it has."""
    reader = Reader(conn)
    stale = []
    statement = (
        select(RevisionRow.claim, TextRow.tokens)
        .join(TextRow, TextRow.pk == RevisionRow.text)
        .where(RevisionRow.tx_to.is_(None))
    )
    for batch in chunks(conn.execute(statement).all(), _BATCH):
        claims = reader.claims(row.claim for row in batch)
        stale += [
            claims[row.claim].id
            for row in batch
            if row.claim in claims and row.tokens != " ".join(tokens(claims[row.claim].text))
        ]
    named = ", ".join(stale[:_NAMED])
    return bool(stale), f"{len(stale)} claims with others than their words: {named}" if stale else ""


def _journal(conn: Connection) -> tuple[bool, str]:
    """Whether the last confidence in the journal is not the one that is read."""
    later = aliased(StrengthRow)
    last = ~exists().where(later.claim == StrengthRow.claim, later.tx_from > StrengthRow.tx_from)
    agrees = select(StrengthRow.claim).where(
        StrengthRow.claim == ClaimRow.pk, last, func.abs(StrengthRow.value - ClaimRow.confidence) < 1e-9
    )
    found = [row.id for row in conn.execute(_live().where(~agrees.exists()))]
    detail = f"{len(found)} claims whose confidence is not the last recorded: {', '.join(found[:_NAMED])}"
    return bool(found), detail if found else ""


def _beliefs(conn: Connection) -> tuple[bool, str]:
    """Whether a strength is not what its assertions and neighbours make of it."""
    reader = Reader(conn)
    rule = reader.rule() or LogOdds()
    worst, off, seen = 0.0, 0, 0
    keys = [row.pk for row in conn.execute(select(ClaimRow.pk).where(ClaimRow.erased.is_(None)))]
    for batch in chunks(keys, _BATCH):
        graph = StoredGraph(reader)
        neighbours = Neighbours(graph, rule.low_trust)
        neighbours.load(batch)
        for pk in batch:
            belief = rule.local(graph.node(pk), neighbours)
            shift = max(
                abs(belief.strength - graph.strength(pk)), abs(belief.confidence - graph.confidence(pk))
            )
            worst, off, seen = max(worst, shift), off + (shift > TOLERANCE), seen + 1
    detail = f"{off} of {seen:,} off by more than {TOLERANCE:g}; greatest difference {worst:.2g}"
    return off > 0, detail
