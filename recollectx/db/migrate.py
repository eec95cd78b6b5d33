"""Bringing a database to the tables of this release, with Alembic.

Opening reads one row; Alembic is imported only when that row is missing or names another version. Our versions
live in a table of their own, so a host application's Alembic never meets them. `Base.metadata.create_all` makes the
tables of this release, so it leaves the version of this release with them, and `drop_all` takes it away.
"""

from importlib import resources
from typing import TYPE_CHECKING

from sqlalchemy import Column, Connection, MetaData, String, Table, event, inspect

from recollectx.db.engine import Database
from recollectx.db.tables import Base
from recollectx.errors import DatabaseTooNew, MigrationUnfinished
from recollectx.forks import Lock

if TYPE_CHECKING:
    from alembic.config import Config

HEAD = "0008"
MIGRATING = "migrating"
"""What stands in place of a version while a memory is moved here from another database."""
VERSION_TABLE = "recollectx_alembic_version"

# Before others can map classes of their own on Base.
OURS = frozenset(Base.metadata.tables)
_versions = Table(VERSION_TABLE, MetaData(), Column("version_num", String(32), primary_key=True))

# Alembic keeps its context in module globals, so one migration at a time in a process.
_migrating = Lock()


def version(conn: Connection) -> str | None:
    """The version a database is at, None if it holds no tables of ours."""
    if not inspect(conn).has_table(VERSION_TABLE):
        return None
    row = conn.exec_driver_sql(f"SELECT version_num FROM {VERSION_TABLE}").first()
    return None if row is None else str(row[0])


def set_version(conn: Connection, named: str) -> None:
    """Let a database that has a version be at another one."""
    conn.execute(_versions.update().values(version_num=named))


@event.listens_for(Base.metadata, "after_create")
def _stamp(_metadata: MetaData, conn: Connection, **_: object) -> None:
    """Leave the version with tables that were all made at once."""
    if set(inspect(conn).get_table_names()) >= OURS and version(conn) is None:
        _versions.create(conn, checkfirst=True)
        conn.execute(_versions.insert().values(version_num=HEAD))


@event.listens_for(Base.metadata, "after_drop")
def _unstamp(_metadata: MetaData, conn: Connection, **_: object) -> None:
    if not OURS & set(inspect(conn).get_table_names()):
        _versions.drop(conn, checkfirst=True)


def upgrade(database: Database) -> None:
    """Bring `database` to HEAD, safely from many processes at once.

    Raises DatabaseTooNew, by name, and MigrationUnfinished where only a part of a memory is.
    """
    with database.read() as conn:
        found = version(conn)
    if found == HEAD:
        return
    if found == MIGRATING:
        raise _unfinished(database)
    from alembic import command
    from alembic.script import ScriptDirectory

    with _migrating, database.write() as conn, conn.begin():
        found = version(conn)
        if found == HEAD:
            return
        if found == MIGRATING:
            raise _unfinished(database)
        config = alembic_config(conn)
        known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
        if found is not None and found not in known:
            raise DatabaseTooNew(
                f"{database.place} is at version {found}, this recollectx knows up to {HEAD}; "
                "upgrade recollectx to open it"
            )
        command.upgrade(config, "head")


def _unfinished(database: Database) -> MigrationUnfinished:
    return MigrationUnfinished(
        f"not everything has been moved to {database.place} yet; run `recollectx migrate --to` once more "
        "on the memory that it comes from"
    )


def alembic_config(conn: Connection) -> "Config":
    """Alembic's configuration for our migrations on an open connection."""
    from alembic.config import Config

    config = Config()
    folder = resources.files("recollectx") / "db" / "migrations"
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.attributes["connection"] = conn
    return config
