"""The head of a database: what a transaction must know of it before it writes the first row.

To ask for it takes about a tenth of what else it takes to store a claim, so what a transaction leaves is kept beside
its connection. It still holds if nobody wrote since: SQLite numbers what other connections commit, and counts the rows
that this one changed, whether they were kept or not. A server that tells neither is asked every time, and so is a
connection that others have too: what `sqlite3.Connection.backup` writes into one is not counted.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from sqlalchemy import Connection, func, select

from recollectx.db.sqlite import OURS
from recollectx.db.statements import fetch
from recollectx.db.tables import (
    AssertionRow,
    ChangeRow,
    ClaimRow,
    EdgeRow,
    RevisionRow,
    SettingRow,
    TextRow,
    TrustRow,
    Tx,
)
from recollectx.storage.reading import MODEL, RULE

_NUMBERED: Mapping[type, str] = {
    mapped: "n" if mapped is ChangeRow else "pk"
    for mapped in (ClaimRow, TextRow, RevisionRow, AssertionRow, EdgeRow, TrustRow, SettingRow, ChangeRow)
}


def _live(column: Any, name: str) -> Any:
    setting = select(column).where(SettingRow.name == name, SettingRow.tx_to.is_(None))
    return setting.scalar_subquery()


# One statement in place of a dozen: asking takes longer than finding.
_HEAD = select(
    _live(SettingRow.value, RULE).label("rule"),
    _live(SettingRow.value, MODEL).label("model"),
    _live(SettingRow.tx_from, MODEL).label("model_since"),
    select(func.max(Tx.seq)).scalar_subquery().label("seq"),
    select(Tx.at).order_by(Tx.seq.desc()).limit(1).scalar_subquery().label("at"),
    *(
        select(func.max(getattr(mapped, column))).scalar_subquery().label(mapped.__name__)
        for mapped, column in _NUMBERED.items()
    ),
)


class Head(NamedTuple):
    """What a transaction that has just begun finds.

    rule, model: as they are stored.  model_since: the transaction that named the model.  seq, at: the last
    transaction and its time (microseconds), 0 if there is none.  next: by table the number of the next row.
    version: of what others committed; None where that cannot be told.
    """

    rule: str | None
    model: str | None
    model_since: int | None
    seq: int
    at: int
    next: Mapping[type, int]
    version: int | None


def head_of(conn: Connection) -> Head:
    """The head, for a transaction that has just begun."""
    pooled: Any = conn.connection
    info, raw, version = pooled.info, pooled.dbapi_connection, None
    if info.get(OURS):
        # A number that commits of other connections change.
        version = int(raw.execute("PRAGMA data_version").fetchone()[0])
        changes, known = info.get(Head, (None, None))
        if known is not None and known.version == version and changes == raw.total_changes:
            return cast(Head, known)
    row = fetch(conn, _HEAD, {})[0]
    numbers = {mapped: (getattr(row, mapped.__name__) or 0) + 1 for mapped in _NUMBERED}
    return Head(row.rule, row.model, row.model_since, row.seq or 0, row.at or 0, numbers, version)


def keeper(conn: Connection, head: Head) -> Callable[[], None]:
    """What keeps the head that a transaction leaves; to be called once all is written, and committed."""
    if head.version is None:
        return nothing
    pooled: Any = conn.connection
    # How many rows this connection ever changed.
    kept, changes = pooled.info, pooled.dbapi_connection.total_changes

    def keep() -> None:
        kept[Head] = changes, head

    return keep


def nothing() -> None:
    """Keeps no head: the next transaction has to ask."""
