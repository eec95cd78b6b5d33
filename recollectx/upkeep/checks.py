"""What must be true of the rows of every database of ours, one check each."""

from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import Connection, Select, exists, func, or_, select, union_all
from sqlalchemy.orm import aliased

from recollectx.db.tables import (
    AliasRow,
    AssertionRow,
    Base,
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
from recollectx.storage.reading import Reader
from recollectx.storage.transactions import KIND
from recollectx.upkeep.findings import Finding, finding_of, listed
from recollectx.upkeep.vectors import vector_findings
from recollectx.upkeep.wordings import wordings

TOLERANCE = 4e-3
"""How far a stored strength may be from the exact one: moves under 1e-4 are not passed on, and may add up to this."""

SAME = 1e-9
_BATCH = 2_000
VERSIONED = (RevisionRow, AssertionRow, StrengthRow, AliasRow)


def file_findings(conn: Connection) -> Iterator[Finding]:
    """The file as SQLite sees it."""
    told = [str(row[0]) for row in conn.exec_driver_sql("PRAGMA integrity_check(20)")]
    yield Finding("integrity", told == ["ok"], "" if told == ["ok"] else "; ".join(told[:5]))
    broken = conn.exec_driver_sql("PRAGMA foreign_key_check").all()
    tables = ", ".join(sorted({str(row[0]) for row in broken}))
    yield Finding(
        "foreign keys", not broken, f"{len(broken)} rows of {tables} point nowhere" if broken else ""
    )
    mode = str(conn.exec_driver_sql("PRAGMA journal_mode").scalar())
    yield Finding("journal mode", mode == "wal", mode)


def server_findings(conn: Connection) -> Iterator[Finding]:
    """What PostgreSQL has no command of its own to look for."""
    counts: dict[str, int] = {}
    for table in Base.metadata.sorted_tables:
        for key in table.foreign_keys:
            nowhere = key.parent.is_not(None) & ~exists().where(key.column == key.parent)
            found = conn.execute(select(func.count()).select_from(table).where(nowhere)).scalar_one()
            counts[table.name] = counts.get(table.name, 0) + found
    total, tables = sum(counts.values()), ", ".join(name for name, count in counts.items() if count)
    yield Finding("foreign keys", not total, f"{total} rows of {tables} point nowhere" if total else "")


def content_findings(conn: Connection) -> Iterator[Finding]:
    """The rows as recollectx means them, and every belief evaluated anew."""
    for name, statement, what in _ROWS:
        yield finding_of(name, [str(row[0]) for row in conn.execute(statement)], what)
    for name, check in _CHECKS:
        try:
            yield from check(conn)
        except (KeyError, ValueError, TypeError) as error:
            # Broken rows do not make claims, and the report must not end at the first of them.
            yield Finding(name, False, f"rows that cannot be read: {error}")


def live_claims() -> Select[Any]:
    """The ids of claims that are not erased."""
    return select(ClaimRow.id).where(ClaimRow.erased.is_(None))


def erased(pk: Any) -> Any:
    """Whether the claim of this key is erased."""
    return exists().where(ClaimRow.pk == pk, ClaimRow.erased.is_not(None))


_LIVE = aliased(RevisionRow)
LIVE_REVISIONS = (
    select(func.count())
    .select_from(_LIVE)
    .where(_LIVE.claim == ClaimRow.pk, _LIVE.tx_to.is_(None))
    .scalar_subquery()
)
"""Of a claim: how many revisions are in force."""
UNDONE = exists().where(ChangeRow.claim == ClaimRow.pk, ChangeRow.kind == KIND)
ASTRAY = ~exists().where(
    TextRow.pk == RevisionRow.text, TextRow.claim == RevisionRow.claim, TextRow.object != ""
)
"""Of a revision: it names no wording of its claim."""
LEFT = or_(
    *(
        exists().where(mapped.claim == ClaimRow.pk)
        for mapped in (TextRow, RevisionRow, AssertionRow, StrengthRow, AliasRow, TraceClaimRow)
    )
)
"""Of a claim: there are rows about it."""
_OTHER = aliased(RevisionRow)
UNUSED = ~exists().where(_OTHER.text == TextRow.pk)
"""Of a wording: no revision has it."""
LAST_NUMBERS = aliased(StrengthRow)
_LATER = aliased(StrengthRow)
IS_LAST = ~exists().where(_LATER.claim == LAST_NUMBERS.claim, _LATER.tx_from > LAST_NUMBERS.tx_from)
WITHOUT_TX = union_all(
    *(
        select(mapped.claim.label("claim"), mapped.tx_from.label("seq")).where(
            ~exists().where(Tx.seq == mapped.tx_from)
        )
        for mapped in VERSIONED
    ),
    select(ChangeRow.n, ChangeRow.seq).where(~exists().where(Tx.seq == ChangeRow.seq)),
)

_ROWS: tuple[tuple[str, Any, str], ...] = (
    (
        "one live revision",
        live_claims().where(LIVE_REVISIONS != 1, or_(LIVE_REVISIONS != 0, ~UNDONE)),
        "claims without exactly one",
    ),
    (
        "text",
        live_claims().join(RevisionRow, RevisionRow.claim == ClaimRow.pk).where(ASTRAY).distinct(),
        "claims without words",
    ),
    (
        "erased claims",
        select(ClaimRow.id).where(ClaimRow.erased.is_not(None), LEFT),
        "erased claims with rows left",
    ),
    (
        "edges",
        select(EdgeRow.pk).where(or_(erased(EdgeRow.src), erased(EdgeRow.dst))),
        "edges to erased claims",
    ),
    ("unused wordings", select(TextRow.pk).where(UNUSED), "texts that no revision has"),
    ("transactions", WITHOUT_TX, "rows without a transaction"),
)


def _found_by(conn: Connection) -> Iterator[Finding]:
    """Whether a claim is not found by the words it has or had, or by what it says."""
    unlike: dict[str, None] = {}
    unfound: dict[str, None] = {}
    for each in wordings(conn):
        if each.stale_tokens:
            unlike[each.id] = None
        if each.stale_hashes:
            unfound[each.id] = None
    yield finding_of("search tokens", unlike, "claims with others than their words")
    yield finding_of("hashes", unfound, "claims that are not found by what they say")


def _journal(conn: Connection) -> Iterator[Finding]:
    """Whether the last confidence in the journal is not the one that is read."""
    agrees = select(LAST_NUMBERS.claim).where(
        LAST_NUMBERS.claim == ClaimRow.pk,
        IS_LAST,
        func.abs(LAST_NUMBERS.value - ClaimRow.confidence) < SAME,
        func.abs(LAST_NUMBERS.strength - ClaimRow.strength) < SAME,
    )
    found = [row.id for row in conn.execute(live_claims().where(~agrees.exists()))]
    yield finding_of("confidence history", found, "claims whose confidence is not the last recorded")


def _beliefs(conn: Connection) -> Iterator[Finding]:
    """Whether a strength is not what its assertions and neighbours make of it."""
    reader = Reader(conn)
    rule = reader.rule() or LogOdds()
    off: list[str] = []
    worst, seen, last = 0.0, 0, 0
    keys = (
        select(ClaimRow.pk, ClaimRow.id).where(ClaimRow.erased.is_(None)).order_by(ClaimRow.pk).limit(_BATCH)
    )
    while rows := conn.execute(keys.where(ClaimRow.pk > last)).all():
        graph = StoredGraph(reader)
        neighbours = Neighbours(graph, rule.low_trust)
        neighbours.load([row.pk for row in rows])
        for pk, id in rows:
            belief = rule.local(graph.node(pk), neighbours)
            shift = max(
                abs(belief.strength - graph.strength(pk)), abs(belief.confidence - graph.confidence(pk))
            )
            worst, seen = max(worst, shift), seen + 1
            off += [id] if shift > TOLERANCE else []
        last = rows[-1].pk
    detail = f"{len(off):,} of {seen:,} off by more than {TOLERANCE:g}; greatest difference {worst:.2g}"
    yield Finding("strengths", not off, detail + (f": {listed(off)}" if off else ""))


_CHECKS: tuple[tuple[str, Callable[[Connection], Iterator[Finding]]], ...] = (
    ("search tokens", _found_by),
    ("vectors", vector_findings),
    ("confidence history", _journal),
    ("strengths", _beliefs),
)
