"""What PostgreSQL cannot hold of a SQLite file, found and named before anything is copied."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Index,
    LargeBinary,
    MetaData,
    Row,
    Table,
    Text,
    UniqueConstraint,
    cast,
    false,
    func,
    insert,
    literal,
    or_,
    select,
)
from sqlalchemy.exc import DBAPIError

from recollectx.db.bulk import key_of
from recollectx.db.engine import Database
from recollectx.db.tables import ClaimRow
from recollectx.errors import InvalidClaim
from recollectx.storage.rows import table_of
from recollectx.upkeep.copying import tables
from recollectx.upkeep.findings import listed

FITS = 2_600
"""Bytes of names that every index takes, beside its numbers; of more it depends on how far they can be compressed."""
_TOO_LONG = "54000"
_SHOWN = 20


def refuse_nul(conn: Connection) -> None:
    """Raise InvalidClaim, naming the claims, if a SQLite file holds a text that PostgreSQL refuses."""
    found = list(dict.fromkeys(_with_nul(conn)))
    if found:
        raise InvalidClaim(
            f"PostgreSQL holds no NUL characters; {len(found):,} texts have one: {listed(found)}; erase them, or "
            "stay with SQLite"
        )


def _with_nul(conn: Connection) -> Iterable[str]:
    """What names the rows that hold a NUL character."""
    for table in tables():
        texts = (column for column in table.columns if isinstance(column.type, Text))
        holds = or_(false(), *(func.instr(column, func.char(0)) > 0 for column in texts))
        yield from (_name_of(conn, table, row) for row in conn.execute(select(table).where(holds)))


def _name_of(conn: Connection, table: Table, row: Any) -> str:
    if table is table_of(ClaimRow):
        return f"claim {row.id!r}"
    if "claim" in table.columns and row.claim is not None:
        id = conn.execute(select(ClaimRow.id).where(ClaimRow.pk == row.claim)).scalar()
        return f"claim {id!r}"
    return f"{table.name} {', '.join(map(str, key_of(table, row)))}"


def refuse_long(conn: Connection, target: Database) -> None:
    """Raise InvalidClaim, naming them, if a SQLite file holds names that the indexes of a target on PostgreSQL refuse.

    Which those are the target says: each that may be too long is put into such an index, and taken out again.
    """
    found = list(dict.fromkeys(chain.from_iterable(_too_long(conn, target, each) for each in _indexed())))
    if found:
        raise InvalidClaim(
            f"PostgreSQL cannot index names that take over {FITS:,} bytes when compressed; {len(found):,} do: {listed(found)}; "
            "stay with SQLite"
        )


def _indexed() -> Iterator[Sequence[Column[Any]]]:
    """The columns of every index that holds text."""
    for table in tables():
        unique = [each.columns for each in table.constraints if isinstance(each, UniqueConstraint)]
        indexes = [each.columns for each in table.indexes]
        for columns in (table.primary_key.columns, *unique, *indexes):
            if any(isinstance(column.type, Text) for column in columns):
                yield list(columns)


def _too_long(conn: Connection, target: Database, columns: Sequence[Column[Any]]) -> Iterator[str]:
    texts = [column for column in columns if isinstance(column.type, Text)]
    sizes = (func.coalesce(func.length(cast(column, LargeBinary)), 0) for column in texts)
    size: ColumnElement[int] = sum(sizes, literal(0))
    rows = conn.execute(select(*texts).where(size > FITS).distinct()).all()
    if not rows:
        return
    probe = Table("rx_probe", MetaData(), *(Column(column.name, column.type) for column in columns))
    Index("ix_rx_probe", *probe.columns)
    with target.write() as there:
        whole = there.begin_nested()
        probe.create(there)
        for row in rows:
            if not _is_taken(there, probe, row):
                name, value = max(row._mapping.items(), key=lambda item: len((item[1] or "").encode()))
                yield f"{name} {value[:_SHOWN]!r}… of {len(value.encode()):,} bytes"
        whole.rollback()


def _is_taken(conn: Connection, probe: Table, row: Row[Any]) -> bool:
    """Whether an index takes some texts, with numbers beside them."""
    numbers = {column.name: 0 for column in probe.columns if not isinstance(column.type, Text)}
    trial = conn.begin_nested()
    try:
        conn.execute(insert(probe).values({**numbers, **row._mapping}))
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != _TOO_LONG:
            raise
        return False
    finally:
        trial.rollback()
    return True
