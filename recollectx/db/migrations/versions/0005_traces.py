"""The answers that were given, and the claims they had to go on

Revision ID: 0005
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "rx_traces",
        sa.Column("pk", _BIG, autoincrement=False, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("seq", _BIG, nullable=False),
        sa.Column("question", sa.Text(), nullable=True),
        sa.Column("response", sa.Text(), nullable=True),
        sa.Column("meta", sa.Text(), nullable=True),
        sa.Column("erased", _BIG, nullable=True),
        sa.PrimaryKeyConstraint("pk", name=op.f("pk_rx_traces")),
        sa.UniqueConstraint("id", name=op.f("uq_rx_traces_id")),
    )
    op.create_index("ix_rx_traces_scope_pk", "rx_traces", ["scope", "pk"])
    op.create_table(
        "rx_trace_claims",
        sa.Column("trace", _BIG, nullable=False),
        sa.Column("claim", _BIG, nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("score", sa.Float(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("parts", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["trace"], ["rx_traces.pk"], name=op.f("fk_rx_trace_claims_trace_rx_traces")),
        sa.ForeignKeyConstraint(["claim"], ["rx_claims.pk"], name=op.f("fk_rx_trace_claims_claim_rx_claims")),
        sa.PrimaryKeyConstraint("trace", "claim", name=op.f("pk_rx_trace_claims")),
    )
    op.create_index("ix_rx_trace_claims_claim", "rx_trace_claims", ["claim"])


def downgrade() -> None:
    op.drop_table("rx_trace_claims")
    op.drop_table("rx_traces")
