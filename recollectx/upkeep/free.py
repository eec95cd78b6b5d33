"""Whether a database is free to take a memory that is moved to it: nothing may be there but our tables without a row."""

from sqlalchemy import Connection, inspect, select
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from recollectx.db import legacy
from recollectx.db.migrate import HEAD, MIGRATING, OURS, VERSION_TABLE, version
from recollectx.db.urls import shown
from recollectx.errors import InvalidSetting
from recollectx.upkeep.copying import tables
from recollectx.upkeep.findings import listed
from recollectx.upkeep.looking import file_of, looked_at


def refuse_taken(url: URL) -> None:
    """Raise InvalidSetting if somebody else's tables are at `url`, or a memory of another release; nothing is written there.

    What cannot be read is left to be told by whoever opens it, and a memory of this release to `check_free`.
    """
    path = file_of(url)
    if path is not None and not path.exists():
        return
    try:
        with looked_at(url) as conn:
            found = version(conn)
            if found is None:
                _refuse_others(conn, shown(url), set())
            elif found not in (HEAD, MIGRATING):
                raise _taken(shown(url), f"a memory at version {found}")
    except DBAPIError:
        return


def check_free(conn: Connection, place: str) -> None:
    """Raise InvalidSetting for a database that holds anything but our tables, or a row in one of those."""
    for table in tables():
        if conn.execute(select(table).limit(1)).first() is not None:
            raise _taken(place, "a memory")
    _refuse_others(conn, place, OURS)


def _refuse_others(conn: Connection, place: str, known: set[str] | frozenset[str]) -> None:
    if legacy.present(conn):
        raise _taken(place, "a memory of 0.2.7, which is moved in when it is opened")
    if others := sorted(set(inspect(conn).get_table_names()) - known - {VERSION_TABLE}):
        raise _taken(place, f"tables already ({listed(others)})")


def _taken(place: str, what: str) -> InvalidSetting:
    return InvalidSetting(f"{place} holds {what}; name an empty database to move this one to")
