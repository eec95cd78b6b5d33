"""A vector for every wording

Revision ID: 0002
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "rx_vectors",
        sa.Column(
            "text", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["text"], ["rx_texts.pk"], name=op.f("fk_rx_vectors_text_rx_texts")),
        sa.PrimaryKeyConstraint("text", name=op.f("pk_rx_vectors")),
    )


def downgrade() -> None:
    op.drop_table("rx_vectors")
