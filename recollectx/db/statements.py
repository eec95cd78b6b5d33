"""Statements compiled once and sent to the driver as text.

Source of the choice, in time against raw sqlite3: writing, the ORM's unit of work takes 3-4x, Core 1.5-2.5x, compiled
strings about 1.2x; reading a row or two, Core takes 11x, Core with compiled strings 8x, the cursor itself 1.5x.
"""

from collections import namedtuple
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias, cast

from sqlalchemy import Connection, Dialect, Table, insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql import Executable
from sqlalchemy.sql.compiler import SQLCompiler

Shape: TypeAlias = tuple[tuple[str, int | None], ...]


def send(conn: Connection, sql: str, values: Sequence[Any] = ()) -> Any:
    """The cursor after one statement as text; close it. Raises what `conn.execute` does."""
    if _listened(conn):
        return conn.exec_driver_sql(sql, tuple(values))
    cursor = conn.connection.cursor()
    try:
        cursor.execute(sql, values)
    except conn.dialect.loaded_dbapi.Error as error:
        cursor.close()
        raise fault(conn, sql, error) from error
    return cursor


def _listened(conn: Connection) -> bool:
    """Whether somebody listens to the engine, and must be told of this as of anything else."""
    return bool(conn.dispatch.before_cursor_execute or conn.dispatch.after_cursor_execute)


def fault(conn: Connection, sql: str, error: Exception) -> Exception:
    """A fault of the driver as SQLAlchemy tells it."""
    return DBAPIError.instance(sql, (), error, conn.dialect.loaded_dbapi.Error, dialect=conn.dialect)


@lru_cache(maxsize=64)
def _insert_sql(table: Table, dialect: Dialect) -> tuple[str, int]:
    columns = list(table.columns.keys())
    return str(insert(table).compile(dialect=dialect, column_keys=columns)), len(columns)


def insert_values(conn: Connection, waiting: Iterable[tuple[Table, list[Any]]]) -> None:
    """Insert rows into one table after another, of each table the values of all columns, row after row."""
    cursor = None if _listened(conn) else conn.connection.cursor()
    for table, values in waiting:
        sql, width = _insert_sql(table, conn.dialect)
        rows = zip(*[iter(values)] * width, strict=True)
        if cursor is None:
            conn.exec_driver_sql(sql, tuple(values) if len(values) == width else list(rows))
            continue
        try:
            if len(values) == width:
                cursor.execute(sql, values)
            else:
                cursor.executemany(sql, cast(Any, rows))
        except conn.dialect.loaded_dbapi.Error as error:
            raise fault(conn, sql, error) from error
    if cursor is not None:
        cursor.close()


def insert_rows(conn: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert `rows`, each a full mapping from column key to value."""
    values_of = itemgetter(*table.columns.keys())
    insert_values(conn, [(table, [value for row in rows for value in values_of(row)])])


def fetch(conn: Connection, statement: Executable, params: Mapping[str, Any]) -> list[Any]:
    """All rows of a select, as named tuples; a list in `params` fills an expanding parameter.

    For statements that are made once and whose values need no conversion. Raises what `conn.execute` does.
    """
    query, values = _ready(conn, statement, params)
    cursor = send(conn, query.sql, values)
    rows = list(map(query.row, cursor.fetchall()))
    cursor.close()
    return rows


def execute(conn: Connection, statement: Executable, params: Mapping[str, Any]) -> None:
    """Carry out an update or delete that is made once, as `fetch` reads."""
    query, values = _ready(conn, statement, params)
    send(conn, query.sql, values).close()


def _ready(conn: Connection, statement: Executable, params: Mapping[str, Any]) -> tuple["_Query", list[Any]]:
    """The text of a statement, and its values in order."""
    given: dict[str, Any] = {}
    shape = []
    for name, value in params.items():
        given[name] = listed = _padded(value) if isinstance(value, list) else value
        shape.append((name, len(listed) if isinstance(value, list) else None))
    query = _text_of(statement, conn.dialect, tuple(shape))
    values: list[Any] = []
    for place, constant in query.places:
        value = constant if place is None else given[place]
        if isinstance(value, list):
            values += value
        else:
            values.append(value)
    return query, values


class _Query(NamedTuple):
    """places: for each value, or list of values, in order the parameter that gives it, or a constant."""

    sql: str
    places: tuple[tuple[str | None, Any], ...]
    row: Any


class _Slot(NamedTuple):
    name: str


def _padded(values: list[Any]) -> list[Any]:
    """The same set in a list of 1, 2, 4, 8 ... values, so that few texts are compiled and prepared."""
    size = 1 << (len(values) - 1).bit_length() if values else 0
    return values + values[-1:] * (size - len(values))


@lru_cache(maxsize=1_024)
def _text_of(statement: Executable, dialect: Dialect, shape: Shape) -> _Query:
    compiled = _compiled(statement, dialect)
    slots = {name: _Slot(name) if size is None else [_Slot(name)] * size for name, size in shape}
    expanded = compiled.construct_expanded_state(slots)
    lists = {name for name, size in shape if size is not None}
    places: list[tuple[str | None, Any]] = []
    run = 0
    sizes = dict(shape)
    for value in expanded.positional_parameters:
        if isinstance(value, _Slot) and value.name in lists:
            run += 1
            if run == sizes[value.name]:
                places.append((value.name, None))
                run = 0
        elif isinstance(value, _Slot):
            places.append((value.name, None))
        else:
            places.append((None, value))
    columns = getattr(statement, "selected_columns", None)
    row: Any = namedtuple("Row", [] if columns is None else list(columns.keys()), rename=True)  # type: ignore[misc]
    return _Query(expanded.statement, tuple(places), row._make)


@lru_cache(maxsize=256)
def _compiled(statement: Executable, dialect: Dialect) -> SQLCompiler:
    return cast(SQLCompiler, cast(Any, statement).compile(dialect=dialect))
