"""0.2.7's own tables in a SQLite file: whether they are there, their rows in batches, and what was added later.

They carry no prefix, so a host's table of the same name is told apart by its columns. Values are given as they stand:
SQLite holds any value in any column.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection

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
_VALID = "typeof({0}) IN ('real', 'integer') AND {0} BETWEEN 0 AND 1"


def present(conn: Connection) -> frozenset[str]:
    """Which of 0.2.7's tables the database holds; none unless its claims are there."""
    if conn.dialect.name != "sqlite":
        return frozenset()
    found = set()
    for table, columns in _COLUMNS.items():
        there = {row[1] for row in conn.exec_driver_sql(f"PRAGMA table_info({table})")}
        if there >= set(columns):
            found.add(table)
        elif table == "claims":
            return frozenset()
    return frozenset(found)


def highest(conn: Connection) -> dict[str, int]:
    """The last row of each table, by its row number."""
    return {
        table: conn.exec_driver_sql(f"SELECT coalesce(max(rowid), 0) FROM {table}").scalar_one()
        for table in sorted(present(conn))
    }


def rows(conn: Connection, table: str) -> Iterator[Sequence[Any]]:
    """The rows of claims or belief_edges in batches, in the order they were written."""
    columns, last = ", ".join(_COLUMNS[table]), 0
    while batch := conn.exec_driver_sql(
        f"SELECT {columns}, rowid AS place FROM {table} WHERE rowid > ? ORDER BY rowid LIMIT ?", (last, BATCH)
    ).all():
        yield batch
        last = batch[-1].place


def history(conn: Connection) -> Iterator[Sequence[Any]]:
    """The recorded moves of confidences in batches, oldest first; those outside [0, 1] are left out."""
    columns = ", ".join(_COLUMNS["confidence_history"])
    found = conn.exec_driver_sql(
        f"SELECT {columns} FROM confidence_history WHERE {_VALID.format('old_confidence')} "
        f"AND {_VALID.format('new_confidence')} ORDER BY timestamp, id"
    )
    yield from found.partitions(BATCH)


def first_numbers(conn: Connection) -> dict[str, float]:
    """By claim, the confidence that its oldest recorded move started from."""
    found = conn.exec_driver_sql(
        "SELECT claim_id, old_confidence FROM (SELECT claim_id, old_confidence, row_number() OVER "
        f"(PARTITION BY claim_id ORDER BY timestamp, id) AS place FROM confidence_history "
        f"WHERE {_VALID.format('old_confidence')} AND {_VALID.format('new_confidence')}) WHERE place = 1"
    )
    return {claim: float(number) for claim, number in found}


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
            deleted += conn.exec_driver_sql(f"DELETE FROM {table} WHERE {where}", {"id": claim_id}).rowcount
    return deleted


def drop_evidence(conn: Connection, claim_ids: Sequence[str]) -> None:
    """Empty the evidence of claims in 0.2.7's table."""
    if claim_ids and present(conn):
        conn.exec_driver_sql(
            "UPDATE claims SET evidence = '[]' WHERE id = ?", [(each,) for each in claim_ids]
        )
