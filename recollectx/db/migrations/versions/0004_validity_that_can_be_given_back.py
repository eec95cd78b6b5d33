"""What a supersession took from a validity, derivations that share a premise, aliases that come again

Revision ID: 0004
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
LIVE = sa.text("tx_to IS NULL")


def _live_edges(*columns: str) -> None:
    op.drop_index("ix_rx_edges_live", table_name="rx_edges")
    op.create_index(
        "ix_rx_edges_live",
        "rx_edges",
        list(columns),
        unique=True,
        sqlite_where=LIVE,
        postgresql_where=LIVE,
    )


def _alias_key(*columns: str) -> None:
    with op.batch_alter_table("rx_aliases", recreate="auto") as batch_op:
        batch_op.drop_constraint("pk_rx_aliases", type_="primary")
        batch_op.create_primary_key("pk_rx_aliases", list(columns))


def upgrade() -> None:
    op.add_column("rx_revisions", sa.Column("stated_to", BIG, nullable=True))
    op.execute("UPDATE rx_revisions SET stated_to = valid_to WHERE status <> 'superseded'")
    op.add_column("rx_edges", sa.Column("at", BIG, nullable=True))
    _live_edges("dst", "relation", "src", "derivation")
    _alias_key("id", "tx_from")


def downgrade() -> None:
    _alias_key("id")
    _live_edges("dst", "relation", "src")
    op.drop_column("rx_edges", "at")
    op.drop_column("rx_revisions", "stated_to")
