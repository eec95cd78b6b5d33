"""Copying the rows of a memory to an empty database, with what was copied so far kept beside them.

The table that keeps it is there until the migration is finished: what was moved from where, and of each table the key
of the last row that is there, how many rows are, and the sum of their digests.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from typing import Any

from sqlalchemy import Column, Connection, MetaData, Table, Text, delete, func, inspect, select

from recollectx.db.bulk import Rows, batches, key_of, put_rows
from recollectx.db.engine import Database
from recollectx.db.migrate import OURS
from recollectx.db.tables import Base, ChangeRow, DeliveryRow, Tx
from recollectx.errors import MigrationUnfinished
from recollectx.storage.rows import table_of

BATCH = 2_000
DIGEST = 16
ORIGIN = "origin"

_kept = Table("rx_migration", MetaData(), Column("name", Text, primary_key=True), Column("value", Text))


@dataclass(frozen=True, slots=True)
class Origin:
    """Which memory is moved, and as of when. first: its first transaction and when it was.  last: the last one.

    changes: the last change.  place: where it is, for people.
    """

    place: str
    first: tuple[int, int] | None
    last: tuple[int, int] | None
    changes: int

    def same_memory(self, other: "Origin") -> bool:
        """Whether both are one memory, be it at another place or time."""
        return self.first == other.first

    def same_moment(self, other: "Origin") -> bool:
        """Whether nothing was written in between."""
        return (self.last, self.changes) == (other.last, other.changes)

    def is_in(self, conn: Connection) -> bool:
        """Whether another database holds all of its transactions, as a copy does, be it written to since."""
        if self.last is None or _transaction(conn, Tx.seq) != self.first:
            return False
        seq, at = self.last
        changes = select(func.max(ChangeRow.n)).where(ChangeRow.seq <= seq)
        known = conn.execute(select(Tx.at).where(Tx.seq == seq)).scalar()
        return known == at and (conn.execute(changes).scalar() or 0) == self.changes


@dataclass(frozen=True, slots=True)
class Copied:
    """How far a table is copied. after: the key of the last row.  digest: see digest_of.  done: it is all there."""

    after: list[Any] | None = None
    rows: int = 0
    digest: int = 0
    done: bool = False


def tables() -> list[Table]:
    """All tables of a memory but that of deliveries, which is about indexes; parents before children."""
    left_out = DeliveryRow.__tablename__
    return [each for each in Base.metadata.sorted_tables if each.name in OURS - {left_out}]


def origin_of(conn: Connection, place: str) -> Origin:
    """What tells a memory from others, and from itself at another time."""
    first, last = (_transaction(conn, order) for order in (Tx.seq, Tx.seq.desc()))
    return Origin(place, first, last, conn.execute(select(func.max(ChangeRow.n))).scalar() or 0)


def _transaction(conn: Connection, order: Any) -> tuple[int, int] | None:
    row = conn.execute(select(Tx.seq, Tx.at).order_by(order).limit(1)).first()
    return None if row is None else (row.seq, row.at)


def count_rows(conn: Connection, table: Table) -> int:
    """How many rows a table has."""
    return int(conn.execute(select(func.count()).select_from(table)).scalar_one())


def digest_of(rows: Rows) -> int:
    """The sum of a digest of each row: the same in any order, and for the same values from any database."""
    total = 0
    for row in rows:
        written = repr(tuple(row)).encode("utf-8", "surrogatepass")
        total += int.from_bytes(blake2b(written, digest_size=DIGEST).digest(), "big")
    return total % (1 << 8 * DIGEST)


def added(one: int, other: int) -> int:
    """The digest of two lots of rows together."""
    return (one + other) % (1 << 8 * DIGEST)


def copy_rows(
    source: Connection,
    target: Database,
    table: Table,
    *,
    progress: Callable[[int], None],
    batch: int = BATCH,
) -> Copied:
    """Copy what is not there yet of a table, `batch` rows in a transaction.

    Raises MigrationUnfinished where somebody else goes on with it at the same time.
    """
    with target.read() as conn:
        copied = copied_of(conn, table)
    if copied.done:
        progress(copied.rows)
        return copied
    progress(copied.rows)
    for rows in batches(source, table, after=copied.after, most=batch):
        digest = added(copied.digest, digest_of(rows))
        more = Copied(key_of(table, rows[-1]), copied.rows + len(rows), digest, done=len(rows) < batch)
        with _going_on(target, table, copied) as conn:
            put_rows(conn, table, rows)
            _keep(conn, table.name, asdict(more))
        copied = more
        progress(len(rows))
    if not copied.done:
        with _going_on(target, table, copied) as conn:
            copied = replace(copied, done=True)
            _keep(conn, table.name, asdict(copied))
    return copied


@contextmanager
def _going_on(target: Database, table: Table, copied: Copied) -> Iterator[Connection]:
    """A write to a table of which as much is there as was copied by this run."""
    with target.write() as conn:
        if under_way(conn) is None or copied_of(conn, table) != copied:
            raise at_once(target.place)
        yield conn


def at_once(place: str) -> MigrationUnfinished:
    """What is told of two runs at the same time."""
    return MigrationUnfinished(
        f"another run moves a memory to {place} at this moment; wait until it is done, and run it once more if it was "
        "not finished"
    )


def begin(conn: Connection, origin: Origin) -> None:
    """Keep what is moved, in an empty database."""
    _kept.create(conn, checkfirst=True)
    _keep(conn, ORIGIN, asdict(origin))


def under_way(conn: Connection) -> Origin | None:
    """What was to be moved here, None if nothing was."""
    if not inspect(conn).has_table(_kept.name):
        return None
    value = conn.execute(select(_kept.c.value).where(_kept.c.name == ORIGIN)).scalar()
    if value is None:
        return None
    kept = json.loads(value)
    pairs = {name: None if kept[name] is None else tuple(kept[name]) for name in ("first", "last")}
    return Origin(**{**kept, **pairs})


def copied_of(conn: Connection, table: Table) -> Copied:
    """How far a table is copied."""
    value = conn.execute(select(_kept.c.value).where(_kept.c.name == table.name)).scalar()
    return Copied() if value is None else Copied(**json.loads(value))


def finish(conn: Connection) -> None:
    """Let what was kept go."""
    _kept.drop(conn)


def empty(conn: Connection) -> None:
    """Delete all rows that were copied."""
    for table in (table_of(DeliveryRow), *reversed(tables())):
        conn.execute(delete(table))
    _kept.drop(conn, checkfirst=True)


def _keep(conn: Connection, name: str, value: Mapping[str, Any]) -> None:
    conn.execute(delete(_kept).where(_kept.c.name == name))
    conn.execute(_kept.insert().values(name=name, value=json.dumps(value)))
