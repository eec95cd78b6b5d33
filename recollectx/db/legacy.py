"""0.2.7's own tables in a database: whether they are there, their rows in batches, and what was added later.

They carry no prefix, so a host's table of the same name is told apart by its columns. Values are given as they stand:
SQLite holds any value in any column.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, TextClause, text

BATCH = 5_000

_COLUMNS = {
    "claims": (
        "id",
        "type",
        "confidence",
        "importance",
        "evidence",
        "created_at",
        "last_reinforced_at",
        "support_count",
        "summary",
        "subject",
        "predicate",
        "object",
    ),
    "belief_edges": ("id", "src_id", "dst_id", "relation"),
    "confidence_history": (
        "id",
        "claim_id",
        "old_confidence",
        "new_confidence",
        "reason",
        "change_type",
        "caused_by_id",
        "timestamp",
    ),
}
TABLES = tuple(_COLUMNS)
_VALID = "{0} BETWEEN 0 AND 1"
# SQLite keeps text in columns of numbers if it is given some.
_NUMBER = {"sqlite": "typeof({0}) IN ('real', 'integer') AND "}
# What is there of a table, as its columns, and the place of a row in the order of writing.
_LISTED = {
    "sqlite": text("SELECT name FROM pragma_table_info(:name)"),
    "postgresql": text(
        "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(:name) AND attnum > 0 AND NOT attisdropped"
    ),
}
_PLACED = {"claims": "row_number() OVER (ORDER BY created_at, id)"}


def present(conn: Connection) -> frozenset[str]:
    """Which of 0.2.7's tables the database holds; none unless its claims are there."""
    found = set()
    for table, columns in _COLUMNS.items():
        there = set(conn.execute(_LISTED[conn.dialect.name], {"name": table}).scalars())
        if there >= set(columns):
            found.add(table)
        elif table == "claims":
            return frozenset()
    return frozenset(found)


def highest(conn: Connection) -> dict[str, int]:
    """The place of the last row of each table."""
    return {
        table: conn.execute(
            text(f"SELECT coalesce(max(place), 0) FROM {_with_places(conn, table)}")
        ).scalar_one()
        for table in sorted(present(conn))
    }


def rows(conn: Connection, table: str) -> Iterator[Sequence[Any]]:
    """The rows of claims or belief_edges in batches, in the order they were written."""
    columns = ", ".join(_COLUMNS[table])
    asked = text(
        f"SELECT {columns}, place FROM {_with_places(conn, table)} WHERE place > :last ORDER BY place LIMIT {BATCH}"
    )
    last = 0
    while batch := conn.execute(asked, {"last": last}).all():
        yield batch
        last = batch[-1].place


def _with_places(conn: Connection, table: str) -> str:
    """A table with the place of each row: the row number of SQLite, and where there is none its own number, or its
    place in the order of time."""
    place = "rowid" if conn.dialect.name == "sqlite" else _PLACED.get(table, "id")
    return f"(SELECT *, {place} AS place FROM {table}) AS placed"


def _recorded(conn: Connection, columns: str, then: str) -> TextClause:
    number = _NUMBER.get(conn.dialect.name, "") + _VALID
    usable = " AND ".join(number.format(column) for column in ("old_confidence", "new_confidence"))
    return text(f"SELECT {columns} FROM confidence_history WHERE {usable} {then}")


def history(conn: Connection) -> Iterator[Sequence[Any]]:
    """The recorded moves of confidences in batches, oldest first; those outside [0, 1] are left out."""
    columns = ", ".join(_COLUMNS["confidence_history"])
    found = conn.execute(_recorded(conn, columns, "ORDER BY timestamp, id"))
    yield from found.partitions(BATCH)


def first_numbers(conn: Connection) -> dict[str, float]:
    """By claim, the confidence that its oldest recorded move started from."""
    found = conn.execute(_recorded(conn, "claim_id, old_confidence", "ORDER BY timestamp DESC, id DESC"))
    return {claim: float(number) for claim, number in found}


@contextmanager
def any_bytes(conn: Connection) -> Iterator[None]:
    """Text that is no UTF-8 is read with marks in place of what cannot be decoded, instead of failing the file.

    Only SQLite takes such text.
    """
    driver: Any = conn.connection.dbapi_connection
    if conn.dialect.name != "sqlite":
        yield
        return
    before = driver.text_factory
    driver.text_factory = lambda raw: raw.decode("utf-8", "replace")
    try:
        yield
    finally:
        driver.text_factory = before


def erase(conn: Connection, claim_id: str) -> int:
    """Delete every row about a claim from 0.2.7's tables; returns how many."""
    there = present(conn)
    deleted = 0
    for table, where in (
        ("confidence_history", "claim_id = :id OR caused_by_id = :id"),
        ("belief_edges", "src_id = :id OR dst_id = :id"),
        ("claims", "id = :id"),
    ):
        if table in there:
            deleted += conn.execute(text(f"DELETE FROM {table} WHERE {where}"), {"id": claim_id}).rowcount
    return deleted


def drop_evidence(conn: Connection, claim_ids: Sequence[str]) -> None:
    """Empty the evidence of claims in 0.2.7's table."""
    if claim_ids and present(conn):
        emptied = text("UPDATE claims SET evidence = '[]' WHERE id = :id")
        conn.execute(emptied, [{"id": each} for each in claim_ids])
