"""Statements compiled once and sent to the driver as text.

Source of the choice, in time against raw sqlite3: writing, the ORM's unit of work takes 3-4x, Core 1.5-2.5x, compiled
strings about 1.2x; reading a row or two, Core takes 11x, Core with compiled strings 8x, the cursor itself 1.5x.
"""

from collections import namedtuple
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, cast

from sqlalchemy import Connection, Dialect, Table, insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql import Executable
from sqlalchemy.sql.compiler import SQLCompiler

Shape: TypeAlias = tuple[tuple[str, int | None], ...]


@lru_cache(maxsize=64)
def _insert_sql(table: Table, dialect: Dialect) -> tuple[str, tuple[str, ...] | None]:
    compiled = insert(table).compile(dialect=dialect, column_keys=[column.key for column in table.columns])
    positions = getattr(compiled, "positiontup", None)
    return str(compiled), None if positions is None else tuple(positions)


def insert_rows(conn: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert `rows`, each a full mapping from column key to value."""
    sql, positions = _insert_sql(table, conn.dialect)
    if positions is None:
        conn.exec_driver_sql(sql, [dict(row) for row in rows])
    else:
        conn.exec_driver_sql(sql, [tuple(row[name] for name in positions) for row in rows])


def fetch(conn: Connection, statement: Executable, params: Mapping[str, Any]) -> list[Any]:
    """All rows of a select, as named tuples; a list in `params` fills an expanding parameter.

    For statements that are made once and whose values need no conversion. Raises what `conn.execute` does.
    """
    given = {name: _padded(value) if isinstance(value, list) else value for name, value in params.items()}
    shape = [(name, len(value) if isinstance(value, list) else None) for name, value in given.items()]
    query = _select_sql(statement, conn.dialect, tuple(shape))
    given |= query.constants
    values = [given[name] for name in query.places]
    for at in query.lists:
        values[at : at + 1] = values[at]
    told = conn.engine.dispatch
    if told.before_cursor_execute or told.after_cursor_execute:
        # Whoever listens to the engine is told of reads as of anything else.
        return [query.row(row) for row in conn.exec_driver_sql(query.sql, tuple(values))]
    dbapi = conn.dialect.loaded_dbapi
    cursor = conn.connection.cursor()
    try:
        cursor.execute(query.sql, values)
        return list(map(query.row, cursor.fetchall()))
    except dbapi.Error as error:
        raise DBAPIError.instance(query.sql, values, error, dbapi.Error, dialect=conn.dialect) from error
    finally:
        cursor.close()


class _Query(NamedTuple):
    """places: for each value in order the parameter that gives it, or the constant; a list fills one place.

    lists: the places of lists, the last one first.
    """

    sql: str
    places: tuple[str, ...]
    lists: tuple[int, ...]
    constants: Mapping[str, Any]
    row: Any


class _Slot(NamedTuple):
    """Where the value of a parameter goes, or the nth of its values."""

    name: str
    nth: int = 0


def _padded(values: list[Any]) -> list[Any]:
    """The same set in a list of 1, 2, 4, 8 ... values, so that few texts are compiled and prepared."""
    size = 1 << (len(values) - 1).bit_length() if values else 0
    return values + values[-1:] * (size - len(values))


@lru_cache(maxsize=1_024)
def _select_sql(statement: Executable, dialect: Dialect, shape: Shape) -> _Query:
    compiled = _compiled(statement, dialect)
    sizes = dict(shape)
    slots = {
        name: _Slot(name) if size is None else [_Slot(name, nth) for nth in range(size)]
        for name, size in shape
    }
    expanded = compiled.construct_expanded_state(slots)
    places: list[str] = []
    constants: dict[str, Any] = {}
    for value in expanded.positional_parameters:
        if not isinstance(value, _Slot):
            places.append(f"constant {len(places)}")
            constants[places[-1]] = value
        elif value.nth == 0:
            places.append(value.name)
    lists = tuple(at for at in reversed(range(len(places))) if sizes.get(places[at]) is not None)
    columns = cast(Any, statement).selected_columns.keys()
    row: Any = namedtuple("Row", list(columns), rename=True)  # type: ignore[misc]
    return _Query(expanded.statement, tuple(places), lists, constants, row._make)


@lru_cache(maxsize=256)
def _compiled(statement: Executable, dialect: Dialect) -> SQLCompiler:
    return cast(SQLCompiler, cast(Any, statement).compile(dialect=dialect))
