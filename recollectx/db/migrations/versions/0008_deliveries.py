"""How far each index outside has come; text compared byte by byte on every server

Revision ID: 0008
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_WORDS = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_TEXTS = {
    "rx_aliases": ("id",),
    "rx_assertions": ("source", "evidence", "span", "session", "dates"),
    "rx_changes": ("scope", "kind", "detail"),
    "rx_claims": ("id", "scope", "type"),
    "rx_edges": ("relation", "derivation"),
    "rx_revisions": ("category", "status", "basis", "entities", "meta", "session"),
    "rx_settings": ("name", "value"),
    "rx_texts": ("subject", "predicate", "object", "tokens"),
    "rx_trace_claims": ("parts",),
    "rx_traces": ("id", "scope", "question", "response", "meta"),
    "rx_trust": ("source", "scope"),
    "rx_tx": ("cause",),
}


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        for table, columns in _TEXTS.items():
            changed = ", ".join(f'ALTER COLUMN {column} TYPE TEXT COLLATE "C"' for column in columns)
            op.execute(f"ALTER TABLE {table} {changed}")
    op.create_table(
        "rx_deliveries",
        sa.Column("name", _WORDS, nullable=False),
        sa.Column("n", _BIG, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", _BIG, nullable=True),
        sa.Column("error", _WORDS, nullable=True),
        sa.Column("holder", _WORDS, nullable=True),
        sa.Column("until", _BIG, nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_rx_deliveries")),
    )


def downgrade() -> None:
    op.drop_table("rx_deliveries")
