"""Runs the migrations on the connection that `recollectx.db.migrate` passes in."""

from alembic import context

from recollectx.db.migrate import VERSION_TABLE
from recollectx.db.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
