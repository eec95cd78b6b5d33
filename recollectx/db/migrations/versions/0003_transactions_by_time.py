"""Find a transaction by its time

Revision ID: 0003
"""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_rx_tx_at_seq", "rx_tx", ["at", "seq"])


def downgrade() -> None:
    op.drop_index("ix_rx_tx_at_seq", table_name="rx_tx")
