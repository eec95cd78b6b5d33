"""The past: any statement about what is believed, asked as of a transaction.

A statement about now says `tx_to IS NULL` of the rows that it reads, and takes the numbers of a claim from rx_claims.
`as_of` makes of it the statement about what was believed when transaction `then` had been written:

    tx_to IS NULL                    tx_from <= :then AND (tx_to IS NULL OR tx_to > :then)
    rx_claims.confidence, .strength  those of the last row of rx_strengths up to :then, one index search
    rx_claims.erased                 null for the claims that were there then, as it is now for those that are here

So there is one set of statements, and whatever reads the present can read the past. An erased claim has no rows left,
which makes it absent from every past.
"""

from functools import lru_cache
from typing import Any, cast

from sqlalchemy import Alias, Column, Connection, and_, bindparam, case, exists, null, or_, select
from sqlalchemy.orm import aliased
from sqlalchemy.sql import Executable, operators
from sqlalchemy.sql.elements import BinaryExpression, ColumnElement
from sqlalchemy.sql.visitors import replacement_traverse

from recollectx.db.tables import ClaimRow, RevisionRow, StrengthRow, Tx
from recollectx.instants import to_micros

THEN = "then"

_SEQ = select(Tx.seq).where(Tx.at <= bindparam("at")).order_by(Tx.at.desc(), Tx.seq.desc()).limit(1)


def seq_at(conn: Connection, as_of: float) -> int:
    """The last transaction written at or before a time in seconds since 1970 UTC; 0 if there was none yet."""
    return conn.execute(_SEQ, {"at": to_micros(as_of)}).scalar() or 0


@lru_cache(maxsize=256)
def as_of(statement: Executable) -> Executable:
    """The same statement about what was believed then; it takes the number of the transaction as `then`."""
    past: Executable = replacement_traverse(cast(Any, statement), {}, _past)
    return past


def there(tx_from: Any, tx_to: Any) -> ColumnElement[bool]:
    """Whether a row was believed then."""
    return and_(tx_from <= bindparam(THEN), or_(tx_to.is_(None), tx_to > bindparam(THEN)))


def _past(element: Any, **_: Any) -> Any:
    if isinstance(element, BinaryExpression):
        live = element.operator is operators.is_ and isinstance(element.left, Column)
        if live and element.left.key == "tx_to":
            return there(element.left.table.c.tx_from, element.left)
    elif isinstance(element, Column) and element.table is not None:
        table: Any = element.table
        base: Any = table.element if isinstance(table, Alias) else table
        if base.name == ClaimRow.__tablename__ and element.key in _NUMBERS:
            return _NUMBERS[element.key](table.c.pk).label(element.key)
    return None


def _number(name: str) -> Any:
    def then(pk: Any) -> Any:
        moved = aliased(StrengthRow)
        return (
            select(getattr(moved, name))
            .where(moved.claim == pk, moved.tx_from <= bindparam(THEN))
            .order_by(moved.tx_from.desc())
            .limit(1)
            .scalar_subquery()
        )

    return then


def _erased(pk: Any) -> Any:
    revised = aliased(RevisionRow)
    return case((exists().where(revised.claim == pk, there(revised.tx_from, revised.tx_to)), null()), else_=0)


_NUMBERS = {"confidence": _number("value"), "strength": _number("strength"), "erased": _erased}
