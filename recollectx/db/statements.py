"""Statements compiled once and sent to the driver as text.

Source of the choice, in time against raw sqlite3: writing, the ORM's unit of work takes 3-4x, Core 1.5-2.5x, compiled
strings about 1.2x; reading a row or two, Core takes 11x, Core with compiled strings 8x, the cursor itself 1.5x. On
PostgreSQL waiting for answers is what takes time, so rows go there in one pipeline.
"""

from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias, cast

from sqlalchemy import Connection, Dialect, Table, insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql import Executable
from sqlalchemy.sql.compiler import SQLCompiler

Shape: TypeAlias = tuple[str | tuple[str, int], ...]
"""The parameters of a statement by name, a list with its length."""


def send(conn: Connection, sql: str, values: Sequence[Any] = ()) -> Any:
    """The cursor after one statement as text; close it. Raises what `conn.execute` does."""
    if _listened(conn):
        return conn.exec_driver_sql(sql, tuple(values))
    raw: Any = conn.connection.dbapi_connection
    try:
        return raw.execute(sql, values)
    except conn.dialect.loaded_dbapi.Error as error:
        raise fault(conn, sql, error) from error


def _listened(conn: Connection) -> bool:
    """Whether somebody listens to the engine, and must be told of this as of anything else."""
    told = conn.engine.dispatch
    return bool(told.before_cursor_execute or told.after_cursor_execute)


def fault(conn: Connection, sql: str, error: Exception) -> Exception:
    """A fault of the driver as SQLAlchemy tells it."""
    return DBAPIError.instance(sql, (), error, conn.dialect.loaded_dbapi.Error, dialect=conn.dialect)


@lru_cache(maxsize=64)
def _insert_sql(table: Table, dialect: Dialect) -> tuple[str, int]:
    columns = list(table.columns.keys())
    return str(insert(table).compile(dialect=dialect, column_keys=columns)), len(columns)


def insert_values(conn: Connection, waiting: Iterable[tuple[Table, list[Any]]]) -> None:
    """Insert rows into one table after another, of each table the values of all columns, row after row."""
    raw: Any = conn.connection.dbapi_connection
    cursor = None if _listened(conn) else raw.cursor()
    sql = ""
    try:
        with at_once(conn):
            for table, values in waiting:
                sql, width = _insert_sql(table, conn.dialect)
                if len(values) == width:
                    if cursor is None:
                        conn.exec_driver_sql(sql, tuple(values))
                    else:
                        cursor.execute(sql, values)
                    continue
                rows = zip(*[iter(values)] * width, strict=True)
                if cursor is None:
                    conn.exec_driver_sql(sql, list(rows))
                else:
                    cursor.executemany(sql, rows)
    except conn.dialect.loaded_dbapi.Error as error:
        raise fault(conn, sql, error) from error
    if cursor is not None:
        cursor.close()


def insert_new(conn: Connection, table: Table, values: Sequence[Any], *, unique: str) -> bool:
    """Insert a row of all columns; False if there is one that has the same in the column `unique`."""
    sql = f"{_insert_sql(table, conn.dialect)[0]} ON CONFLICT ({unique}) DO NOTHING"
    cursor = send(conn, sql, values)
    done: int = cursor.rowcount
    cursor.close()
    return done > 0


_ONE_BY_ONE = nullcontext()


def at_once(conn: Connection) -> AbstractContextManager[Any]:
    """Around statements that wait for no answer: a driver of a server sends them in one go. Raises the first error."""
    pipeline = getattr(conn.connection.dbapi_connection, "pipeline", None)
    return _ONE_BY_ONE if pipeline is None else _piped(conn, pipeline)


@contextmanager
def _piped(conn: Connection, pipeline: Callable[[], AbstractContextManager[Any]]) -> Iterator[None]:
    failed: Exception | None = None
    faults = (conn.dialect.loaded_dbapi.Error, DBAPIError)
    try:
        with pipeline():
            try:
                yield
            except faults as error:
                # Kept from the pipeline, which at its end would print what follows from it to stderr.
                failed = error
    except faults:
        if failed is None:
            raise
    if failed is not None:
        raise failed


def insert_rows(conn: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert `rows`, each a full mapping from column key to value."""
    values_of = itemgetter(*table.columns.keys())
    insert_values(conn, [(table, [value for row in rows for value in values_of(row)])])


def fetch(conn: Connection, statement: Executable, params: Mapping[str, Any]) -> list[Any]:
    """All rows of a select, as named tuples; a list in `params` fills an expanding parameter.

    For statements that are made once and whose values need no conversion. Raises what `conn.execute` does.
    """
    query, rows = _fetched(conn, statement, params)
    return list(map(query.row, rows))


def fetch_bare(conn: Connection, statement: Executable, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """The same as plain tuples: to name the values of thousands of rows takes about half as long as to read them."""
    return _fetched(conn, statement, params)[1]


def _fetched(
    conn: Connection, statement: Executable, params: Mapping[str, Any]
) -> tuple["_Query", list[tuple[Any, ...]]]:
    query, values = _ready(conn, statement, params)
    cursor = send(conn, query.sql, values)
    rows = cursor.fetchall()
    cursor.close()
    return query, rows


def execute(conn: Connection, statement: Executable, params: Mapping[str, Any]) -> None:
    """Carry out an update or delete that is made once, as `fetch` reads."""
    query, values = _ready(conn, statement, params)
    send(conn, query.sql, values).close()


def _ready(conn: Connection, statement: Executable, params: Mapping[str, Any]) -> tuple["_Query", list[Any]]:
    """The text of a statement, and its values in order."""
    lists = {name: _padded(value) for name, value in params.items() if isinstance(value, list)}
    shape: Shape = tuple(params)
    if lists:
        shape = tuple([(name, len(lists[name])) if name in lists else name for name in params])
    query = _text_of(statement, conn.dialect, shape)
    given = {**params, **lists, **query.constants} if lists or query.constants else params
    values = [given[name] for name in query.places]
    for at in query.lists:
        values[at : at + 1] = values[at]
    return query, values


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
    return values if size == len(values) else values + values[-1:] * (size - len(values))


@lru_cache(maxsize=1_024)
def _text_of(statement: Executable, dialect: Dialect, shape: Shape) -> _Query:
    compiled = _compiled(statement, dialect)
    sizes = dict([each for each in shape if isinstance(each, tuple)])
    slots: dict[str, Any] = {each: _Slot(each) for each in shape if isinstance(each, str)}
    slots |= {name: [_Slot(name, nth) for nth in range(size)] for name, size in sizes.items()}
    expanded = compiled.construct_expanded_state(slots)
    places: list[str] = []
    constants: dict[str, Any] = {}
    for value in expanded.positional_parameters:
        if not isinstance(value, _Slot):
            places.append(f"constant {len(places)}")
            constants[places[-1]] = value
        elif value.nth == 0:
            places.append(value.name)
    lists = tuple(at for at in reversed(range(len(places))) if places[at] in sizes)
    columns = getattr(statement, "selected_columns", None)
    row: Any = namedtuple("Row", [] if columns is None else list(columns.keys()), rename=True)  # type: ignore[misc]
    # What _make checks besides takes as long again, for every row read.
    make = partial(tuple.__new__, row)
    return _Query(expanded.statement, tuple(places), lists, constants, make)


@lru_cache(maxsize=256)
def _compiled(statement: Executable, dialect: Dialect) -> SQLCompiler:
    return cast(SQLCompiler, cast(Any, statement).compile(dialect=dialect))
