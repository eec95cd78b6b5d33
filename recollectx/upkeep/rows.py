"""Mending rows that are bookkeeping: what points nowhere, what nobody has, what was made of words that are there.

None of it is belief, and none of it was ever said, so rows are written as they should have been, each kind in one
transaction, and no change is logged. Other processes see the mended rows when they next read the scope as a whole.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from sqlalchemy import (
    Connection,
    FromClause,
    Table,
    bindparam,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from recollectx.db.tables import (
    Base,
    ClaimRow,
    DeliveryRow,
    RevisionRow,
    TextRow,
    TokenVectorsRow,
    Tx,
    VectorRow,
)
from recollectx.storage.memory_store import MemoryStore
from recollectx.storage.reading import chunks
from recollectx.storage.rows import table_of
from recollectx.upkeep.checks import ASTRAY, LIVE_REVISIONS, UNDONE, UNUSED, WITHOUT_TX
from recollectx.upkeep.vectors import BAD_TOKENS, bad_vectors
from recollectx.upkeep.wordings import wordings

LOST = "lost, put back by doctor"
"""The cause of a transaction whose own row was missing."""


def rebuild_indexes(store: MemoryStore) -> str:
    """Make the indexes of a SQLite file anew; a torn table stays torn."""
    with store.database.write() as conn:
        conn.exec_driver_sql("REINDEX")
    return "the database's own indexes were made anew"


def drop_dangling(store: MemoryStore) -> str:
    """Delete rows that point to rows that are not there, and those that point to such; a claim whose wording is gone
    keeps the rest."""
    dropped: dict[str, int] = {}
    with store.database.write() as conn:
        # Children go first: a server refuses to delete what is pointed to.
        for table in reversed(Base.metadata.sorted_tables):
            if table.foreign_keys:
                dropped[table.name] = conn.execute(delete(table).where(_is_lost(table, table))).rowcount
    told = ", ".join(f"{count:,} of {name}" for name, count in dropped.items() if count)
    return f"rows that pointed nowhere were deleted: {told}" if told else ""


def _is_lost(table: Table, rows: FromClause) -> Any:
    """Whether a row of `rows`, which is `table` or an alias of it, points to none that is there and not lost itself."""
    lost = []
    for key in table.foreign_keys:
        if key.parent is not table_of(RevisionRow).c.text:
            parents = key.column.table.alias()
            there = exists().where(parents.c[key.column.name] == rows.c[key.parent.name])
            if key.column.table.foreign_keys:
                there = there.where(~_is_lost(key.column.table, parents))
            lost.append(rows.c[key.parent.name].is_not(None) & ~there)
    return or_(*lost)


def repoint_wordings(store: MemoryStore) -> str:
    """Give revisions back the wording of their claim, where there is but one that it can be."""
    with store.database.write() as conn:
        astray: dict[int, list[int]] = defaultdict(list)
        for row in conn.execute(select(RevisionRow.pk, RevisionRow.claim).where(ASTRAY)):
            astray[row.claim].append(row.pk)
        mended = 0
        for claim, revisions in astray.items():
            own = list(conn.execute(_UNNAMED, {"claim": claim}).scalars())
            if len(own) == 1:
                mended += 1
                conn.execute(update(RevisionRow).where(RevisionRow.pk.in_(revisions)).values(text=own[0]))
    return f"{mended:,} claims got their wording back" if mended else ""


_UNNAMED = select(TextRow.pk).where(
    TextRow.claim == bindparam("claim"),
    TextRow.object != "",
    ~exists().where(RevisionRow.text == TextRow.pk, RevisionRow.claim == TextRow.claim),
)


def reopen_revisions(store: MemoryStore) -> str:
    """Let the last revision of a claim that has none in force be in force."""
    last = (
        select(func.max(RevisionRow.pk))
        .join(ClaimRow, ClaimRow.pk == RevisionRow.claim)
        .where(ClaimRow.erased.is_(None), LIVE_REVISIONS == 0, ~UNDONE)
        .group_by(RevisionRow.claim)
    )
    with store.database.write() as conn:
        found = list(conn.execute(last).scalars())
        for chunk in chunks(found):
            conn.execute(update(RevisionRow).where(RevisionRow.pk.in_(chunk)).values(tx_to=None))
    return f"{len(found):,} claims got their last revision back" if found else ""


def drop_unused(store: MemoryStore) -> str:
    """Delete wordings that no revision has; not those of a claim that lacks its own."""
    astray = select(RevisionRow.claim).where(ASTRAY)
    with store.database.write() as conn:
        unused = list(conn.execute(select(TextRow.pk).where(UNUSED, TextRow.claim.not_in(astray))).scalars())
        for chunk in chunks(unused):
            conn.execute(delete(VectorRow).where(VectorRow.text.in_(chunk)))
            conn.execute(delete(TextRow).where(TextRow.pk.in_(chunk)))
    return f"{len(unused):,} texts that no revision has were deleted" if unused else ""


def put_back_transactions(store: MemoryStore) -> str:
    """Give every transaction that rows speak of its own row again, at the time of the one before it."""
    with store.database.write() as conn:
        lost = sorted({row.seq for row in conn.execute(WITHOUT_TX)})
        for seq in lost:
            conn.execute(insert(Tx).values(seq=seq, at=_time_of(conn, seq), cause=LOST))
    return f"{len(lost):,} lost transactions are told again: {_short(lost)}" if lost else ""


def _time_of(conn: Connection, seq: int) -> int:
    before = conn.execute(select(func.max(Tx.at)).where(Tx.seq < seq)).scalar()
    after = conn.execute(select(func.min(Tx.at)).where(Tx.seq > seq)).scalar()
    return int(before if before is not None else after or 0)


def remake_search(store: MemoryStore) -> str:
    """Make search tokens and hashes of the words anew."""
    table = table_of(TextRow)
    change = (
        update(table)
        .where(table.c.pk == bindparam("key"))
        .values({name: bindparam(f"new_{name}") for name in ("tokens", "said", "slot")})
    )
    mended = 0
    with store.database.write() as conn:
        stale = (each for each in wordings(conn) if each.stale_tokens or each.stale_hashes)
        for each in stale:
            mended += 1
            values = {"key": each.pk, "new_tokens": each.tokens, "new_said": each.said, "new_slot": each.slot}
            conn.execute(change, values)
    return f"{mended:,} wordings are found by their words again" if mended else ""


def drop_bad_vectors(store: MemoryStore) -> str:
    """Delete vectors that are none of the model's."""
    with store.database.write() as conn:
        bad = list(bad_vectors(conn))
        _delete(conn, VectorRow, bad)
        tokens = list(conn.execute(select(TokenVectorsRow.text).where(BAD_TOKENS)).scalars())
        _delete(conn, TokenVectorsRow, tokens)
    if not bad and not tokens:
        return ""
    return f"{len(bad):,} vectors and {len(tokens):,} rows of token vectors that are none were deleted"


def _delete(conn: Connection, mapped: Any, texts: Iterable[int]) -> None:
    for chunk in chunks(list(texts)):
        conn.execute(delete(mapped).where(mapped.text.in_(chunk)))


def rewind(store: MemoryStore, name: str, n: int) -> None:
    """Let an index count as fed up to change `n`."""
    with store.database.write() as conn:
        conn.execute(update(DeliveryRow).where(DeliveryRow.name == name).values(n=n))


def _short(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers[:5])) + (", …" if len(numbers) > 5 else "")
