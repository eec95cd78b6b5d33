"""The vectors of the tokens of a wording, for comparing it with a question word by word

Revision ID: 0007
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "rx_token_vectors",
        sa.Column("text", _BIG, autoincrement=False, nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("vectors", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["text"],
            ["rx_vectors.text"],
            name=op.f("fk_rx_token_vectors_text_rx_vectors"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("text", name=op.f("pk_rx_token_vectors")),
    )


def downgrade() -> None:
    op.drop_table("rx_token_vectors")
