"""Comparing a memory with its copy: every row, and what was believed at three past moments."""

from collections.abc import Callable

from sqlalchemy import Connection, Table, func, select

from recollectx.db.bulk import batches
from recollectx.db.tables import Tx
from recollectx.errors import StorageError
from recollectx.query import ALL_SCOPES
from recollectx.storage.chronicle import page
from recollectx.storage.reading import Reader
from recollectx.upkeep.copying import BATCH, Copied, added, count_rows, digest_of


def compare_rows(
    source: Connection, target: Connection, table: Table, copied: Copied, progress: Callable[[int], None]
) -> None:
    """Raise StorageError unless a table holds in both what was copied of it."""
    count = count_rows(source, table)
    found, digest = 0, 0
    for rows in batches(target, table, after=None, most=BATCH):
        found, digest = found + len(rows), added(digest, digest_of(rows))
        progress(len(rows))
    if (found, digest) != (count, copied.digest):
        raise StorageError(
            f"{table.name} has {count:,} rows in the source and {found:,} in the target, "
            f"{'with other values' if found == count else 'not the same'}; run it again with --restart"
        )


def compare_times(source: Connection, target: Connection) -> list[tuple[int, int]]:
    """The transactions after which both were compared, each with how many claims were believed then.

    Raises StorageError unless ids, words, status and confidences were the same after the first, the middle and the last.
    """
    compared = []
    for seq in _moments(source):
        count, digest = _state(source, seq)
        if (count, digest) != _state(target, seq):
            raise StorageError(
                f"what was believed after transaction {seq} is not the same in the target; "
                "run it again with --restart"
            )
        compared.append((seq, count))
    return compared


def _moments(conn: Connection) -> list[int]:
    count = conn.execute(select(func.count()).select_from(Tx)).scalar_one()
    places = sorted({0, count // 2, count - 1}) if count else []
    order = select(Tx.seq).order_by(Tx.seq).limit(1)
    return [conn.execute(order.offset(place)).scalar_one() for place in places]


def _state(conn: Connection, seq: int) -> tuple[int, int]:
    """How many claims were believed after a transaction, and the digest of what they were."""
    reader = Reader(conn, seq=seq)
    count, digest, after = 0, 0, 0
    while keys := page(reader, ALL_SCOPES, after=after):
        claims = reader.claims(keys).values()
        told = [(each.id, each.scope, each.text, each.status.value, each.confidence) for each in claims]
        count, digest = count + len(told), added(digest, digest_of(told))
        after = keys[-1]
    return count, digest
