"""How far each index outside has come

Revision ID: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "rx_deliveries",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("n", _BIG, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", _BIG, nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("holder", sa.Text(), nullable=True),
        sa.Column("until", _BIG, nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_rx_deliveries")),
    )


def downgrade() -> None:
    op.drop_table("rx_deliveries")
