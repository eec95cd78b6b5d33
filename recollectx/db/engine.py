"""The database behind a path or URL: SQLite files, `:memory:` and PostgreSQL, all by the same face.

`Database.open` gives one per place in a process; recollectx.db.server is what they share.
"""

from recollectx.db.postgres import Postgres
from recollectx.db.server import BUSY_SECONDS, Database
from recollectx.db.sqlite import SQLite, make_folder
from recollectx.db.urls import MEMORY, resolve_url, shown

__all__ = ["BUSY_SECONDS", "MEMORY", "Database", "Postgres", "SQLite", "make_folder", "resolve_url", "shown"]
