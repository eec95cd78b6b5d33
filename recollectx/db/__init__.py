"""The database: tables, engine, migrations; sessions for reading."""

from recollectx.db.database import Base, SessionLocal, create_tables, get_db, get_engine, reset_engine

__all__ = ["Base", "SessionLocal", "create_tables", "get_db", "get_engine", "reset_engine"]
