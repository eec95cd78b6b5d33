"""The rows of one transaction on their way into the database: numbered, kept back, and sent table by table.

Rows wait until a reader of the same transaction asks for anything, or the transaction ends: a thousand claims are
then a handful of statements. Numbers are handed out here, as nobody else can write meanwhile.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, cast

from sqlalchemy import Connection, Table, bindparam, update

from recollectx.db.statements import execute, insert_values
from recollectx.db.tables import (
    AliasRow,
    AssertionRow,
    ChangeRow,
    ClaimRow,
    EdgeRow,
    RevisionRow,
    SettingRow,
    StrengthRow,
    TextRow,
    TrustRow,
    Tx,
    VectorRow,
)
from recollectx.instants import to_micros
from recollectx.storage.heads import Head, head_of, keeper, nothing
from recollectx.storage.reading import Reader

_PARENTS_FIRST: tuple[type, ...] = (
    ClaimRow,
    TextRow,
    VectorRow,
    RevisionRow,
    AssertionRow,
    AliasRow,
    EdgeRow,
    TrustRow,
    SettingRow,
    ChangeRow,
    StrengthRow,
    Tx,
)
_CLOSED: tuple[type, ...] = (RevisionRow, AssertionRow, EdgeRow)


def table_of(mapped: type) -> Table:
    """The table of a mapped class."""
    return cast(Table, mapped.__table__)  # type: ignore[attr-defined]


_TABLE = {mapped: table_of(mapped) for mapped in _PARENTS_FIRST}
_VALUES: Mapping[type, Callable[[Mapping[str, Any]], tuple[Any, ...]]] = {
    mapped: itemgetter(*table_of(mapped).columns.keys()) for mapped in _PARENTS_FIRST
}
_CLOSE = {
    mapped: update(table_of(mapped))
    .where(table_of(mapped).c.pk == bindparam("key"))
    .values(tx_to=bindparam("seq"))
    for mapped in _CLOSED
}


class Rows:
    """The rows of one transaction. `seq` and `at` (microseconds) are its place on the two clocks.

    head: what the database was like when it began, the rule and the embedding model among it.
    """

    def __init__(self, conn: Connection, *, clock: Callable[[], float]) -> None:
        self.conn = conn
        self.reader = Reader(conn, self.flush)
        self.head = head_of(conn)
        self.reader.trust_is_set = self.head.next[TrustRow] > 1
        self.seq = self.head.seq + 1
        self.at = max(to_micros(clock(), "the clock"), self.head.at)
        self._next = dict(self.head.next)
        self._only_added = True
        # Value after value: an object for each row kept would set off the garbage collector over and over.
        self._pending: dict[type, list[Any]] = {mapped: [] for mapped in _PARENTS_FIRST}
        self._waiting = False

    def keeper(self) -> Callable[[], None]:
        """What keeps the head that the transaction leaves, unless the next one had better ask; for when it is committed."""
        if not self._only_added:
            return nothing
        head = self.head
        left = Head(head.rule, head.model, head.model_since, self.seq, self.at, self._next, head.version)
        return keeper(self.conn, left)

    def flush(self) -> None:
        """Write the rows that wait, parents first."""
        if not self._waiting:
            return
        self._waiting = False
        insert_values(self.conn, [(_TABLE[mapped], each) for mapped, each in self._pending.items() if each])
        for each in self._pending.values():
            each.clear()

    def next_key(self, mapped: type) -> int:
        """The number that the next row will get."""
        return self._next[mapped]

    def key(self, mapped: type) -> int:
        """A number for a row that has yet to be put."""
        key = self._next[mapped]
        self._next[mapped] = key + 1
        return key

    def lay(self, mapped: type, values: Sequence[Any]) -> None:
        """Let a row wait to be written: the values of all its columns, in their order."""
        self._pending[mapped] += values
        self._waiting = True

    def keys(self, mapped: type, count: int) -> range:
        """Numbers for as many rows."""
        first = self._next[mapped]
        self._next[mapped] = first + count
        return range(first, first + count)

    def waiting(self, mapped: type) -> list[Any]:
        """The values of the rows of a table that wait, to add those of many more."""
        self._waiting = True
        return self._pending[mapped]

    def put(self, mapped: type, row: Mapping[str, Any]) -> None:
        """The same of a row by name, which takes thrice as long."""
        self.lay(mapped, _VALUES[mapped](row))

    def add(self, mapped: type, **row: Any) -> int:
        """Number a row and let it wait; returns its number."""
        row["pk"] = key = self.key(mapped)
        self.put(mapped, row)
        return key

    def begin(self, mapped: type, **row: Any) -> int:
        """Add a row that holds from this transaction on."""
        row["tx_from"], row["tx_to"] = self.seq, None
        row["pk"] = key = self.key(mapped)
        self.put(mapped, row)
        return key

    def close(self, mapped: type, pk: int) -> None:
        """Let a row hold up to this transaction."""
        self.flush()
        execute(self.conn, _CLOSE[mapped], {"key": pk, "seq": self.seq})

    def log(
        self,
        kind: str,
        scope: str | None,
        claim: int | None,
        other: int | None = None,
        detail: str | None = None,
    ) -> int:
        """Note a change by ids alone; returns its number."""
        n = self.key(ChangeRow)
        self.lay(ChangeRow, (n, self.seq, scope, kind, claim, other, detail))
        return n

    def log_all(self, kind: str, scopes: Sequence[str], claims: Sequence[int]) -> range:
        """Note the same change of many claims; returns its numbers."""
        numbers = self.keys(ChangeRow, len(claims))
        rows, seq = self.waiting(ChangeRow), self.seq
        for n, scope, claim in zip(numbers, scopes, claims, strict=True):
            rows += (n, seq, scope, kind, claim, None, None)
        return numbers
