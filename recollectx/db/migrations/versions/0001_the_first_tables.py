"""The first tables

Revision ID: 0001
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
LIVE = sa.text("tx_to IS NULL")


def upgrade() -> None:
    op.create_table(
        "rx_changes",
        sa.Column("n", BIG, autoincrement=False, nullable=False),
        sa.Column("seq", BIG, nullable=False),
        sa.Column("scope", sa.Text(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("claim", BIG, nullable=True),
        sa.Column("other", BIG, nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_rx_changes")),
    )
    with op.batch_alter_table("rx_changes", schema=None) as batch_op:
        batch_op.create_index("ix_rx_changes_claim_n", ["claim", "n"], unique=False)
        batch_op.create_index("ix_rx_changes_scope_n", ["scope", "n"], unique=False)
        batch_op.create_index(batch_op.f("ix_rx_changes_seq"), ["seq"], unique=False)

    op.create_table(
        "rx_claims",
        sa.Column("pk", BIG, autoincrement=False, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("created_at", BIG, nullable=False),
        sa.Column("strength", sa.Float(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("erased", BIG, nullable=True),
        sa.PrimaryKeyConstraint("pk", name=op.f("pk_rx_claims")),
        sa.UniqueConstraint("id", name=op.f("uq_rx_claims_id")),
    )
    with op.batch_alter_table("rx_claims", schema=None) as batch_op:
        batch_op.create_index("ix_rx_claims_scope_pk", ["scope", "pk"], unique=False)

    op.create_table(
        "rx_settings",
        sa.Column("pk", BIG, autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("tx_from", BIG, nullable=False),
        sa.Column("tx_to", BIG, nullable=True),
        sa.PrimaryKeyConstraint("pk", name=op.f("pk_rx_settings")),
    )
    with op.batch_alter_table("rx_settings", schema=None) as batch_op:
        batch_op.create_index(
            "ix_rx_settings_live", ["name"], unique=True, sqlite_where=LIVE, postgresql_where=LIVE
        )

    op.create_table(
        "rx_trust",
        sa.Column("pk", BIG, autoincrement=False, nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=True),
        sa.Column("level", sa.Float(), nullable=False),
        sa.Column("tx_from", BIG, nullable=False),
        sa.Column("tx_to", BIG, nullable=True),
        sa.PrimaryKeyConstraint("pk", name=op.f("pk_rx_trust")),
    )
    with op.batch_alter_table("rx_trust", schema=None) as batch_op:
        batch_op.create_index("ix_rx_trust_source_tx_from", ["source", "tx_from"], unique=False)

    op.create_table(
        "rx_tx",
        sa.Column("seq", BIG, autoincrement=False, nullable=False),
        sa.Column("at", BIG, nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_rx_tx")),
    )
    op.create_table(
        "rx_aliases",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("claim", BIG, nullable=False),
        sa.Column("tx_from", BIG, nullable=False),
        sa.Column("tx_to", BIG, nullable=True),
        sa.ForeignKeyConstraint(["claim"], ["rx_claims.pk"], name=op.f("fk_rx_aliases_claim_rx_claims")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rx_aliases")),
    )
    with op.batch_alter_table("rx_aliases", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_rx_aliases_claim"), ["claim"], unique=False)

    op.create_table(
        "rx_assertions",
        sa.Column("pk", BIG, autoincrement=False, nullable=False),
        sa.Column("claim", BIG, nullable=False),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("evidence", sa.Text(), nullable=True),
        sa.Column("span", sa.Text(), nullable=True),
        sa.Column("said_at", BIG, nullable=False),
        sa.Column("session", sa.Text(), nullable=True),
        sa.Column("times", sa.Integer(), nullable=False),
        sa.Column("tx_from", BIG, nullable=False),
        sa.Column("tx_to", BIG, nullable=True),
        sa.ForeignKeyConstraint(["claim"], ["rx_claims.pk"], name=op.f("fk_rx_assertions_claim_rx_claims")),
        sa.PrimaryKeyConstraint("pk", name=op.f("pk_rx_assertions")),
    )
    with op.batch_alter_table("rx_assertions", schema=None) as batch_op:
        batch_op.create_index("ix_rx_assertions_claim_tx_from", ["claim", "tx_from"], unique=False)
        batch_op.create_index(
            "ix_rx_assertions_source_live", ["source"], unique=False, sqlite_where=LIVE, postgresql_where=LIVE
        )

    op.create_table(
        "rx_edges",
        sa.Column("pk", BIG, autoincrement=False, nullable=False),
        sa.Column("dst", BIG, nullable=False),
        sa.Column("relation", sa.Text(), nullable=False),
        sa.Column("src", BIG, nullable=False),
        sa.Column("strength", sa.Float(), nullable=False),
        sa.Column("derivation", sa.Text(), nullable=True),
        sa.Column("tx_from", BIG, nullable=False),
        sa.Column("tx_to", BIG, nullable=True),
        sa.ForeignKeyConstraint(["dst"], ["rx_claims.pk"], name=op.f("fk_rx_edges_dst_rx_claims")),
        sa.ForeignKeyConstraint(["src"], ["rx_claims.pk"], name=op.f("fk_rx_edges_src_rx_claims")),
        sa.PrimaryKeyConstraint("pk", name=op.f("pk_rx_edges")),
    )
    with op.batch_alter_table("rx_edges", schema=None) as batch_op:
        batch_op.create_index("ix_rx_edges_dst_tx_from", ["dst", "tx_from"], unique=False)
        batch_op.create_index(
            "ix_rx_edges_live",
            ["dst", "relation", "src"],
            unique=True,
            sqlite_where=LIVE,
            postgresql_where=LIVE,
        )
        batch_op.create_index(
            "ix_rx_edges_out_live",
            ["src", "relation", "dst"],
            unique=False,
            sqlite_where=LIVE,
            postgresql_where=LIVE,
        )
        batch_op.create_index("ix_rx_edges_src_tx_from", ["src", "tx_from"], unique=False)

    op.create_table(
        "rx_strengths",
        sa.Column("claim", BIG, nullable=False),
        sa.Column("tx_from", BIG, nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.Column("strength", sa.Float(), nullable=False),
        sa.Column("change", BIG, nullable=False),
        sa.ForeignKeyConstraint(["claim"], ["rx_claims.pk"], name=op.f("fk_rx_strengths_claim_rx_claims")),
        sa.PrimaryKeyConstraint("claim", "tx_from", name=op.f("pk_rx_strengths")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "rx_texts",
        sa.Column("pk", BIG, autoincrement=False, nullable=False),
        sa.Column("claim", BIG, nullable=False),
        sa.Column("said", BIG, nullable=False),
        sa.Column("slot", BIG, nullable=True),
        sa.Column("subject", sa.Text(), nullable=True),
        sa.Column("predicate", sa.Text(), nullable=True),
        sa.Column("object", sa.Text(), nullable=False),
        sa.Column("tokens", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["claim"], ["rx_claims.pk"], name=op.f("fk_rx_texts_claim_rx_claims")),
        sa.PrimaryKeyConstraint("pk", name=op.f("pk_rx_texts")),
    )
    with op.batch_alter_table("rx_texts", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_rx_texts_claim"), ["claim"], unique=False)
        batch_op.create_index(batch_op.f("ix_rx_texts_said"), ["said"], unique=False)
        batch_op.create_index(batch_op.f("ix_rx_texts_slot"), ["slot"], unique=False)

    op.create_table(
        "rx_revisions",
        sa.Column("pk", BIG, autoincrement=False, nullable=False),
        sa.Column("claim", BIG, nullable=False),
        sa.Column("text", BIG, nullable=False),
        sa.Column("importance", sa.Float(), nullable=False),
        sa.Column("category", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("basis", sa.Text(), nullable=False),
        sa.Column("entities", sa.Text(), nullable=True),
        sa.Column("meta", sa.Text(), nullable=True),
        sa.Column("valid_from", BIG, nullable=True),
        sa.Column("valid_to", BIG, nullable=True),
        sa.Column("due_at", BIG, nullable=True),
        sa.Column("review_after", BIG, nullable=True),
        sa.Column("session", sa.Text(), nullable=True),
        sa.Column("position", BIG, nullable=True),
        sa.Column("tx_from", BIG, nullable=False),
        sa.Column("tx_to", BIG, nullable=True),
        sa.ForeignKeyConstraint(["claim"], ["rx_claims.pk"], name=op.f("fk_rx_revisions_claim_rx_claims")),
        sa.ForeignKeyConstraint(["text"], ["rx_texts.pk"], name=op.f("fk_rx_revisions_text_rx_texts")),
        sa.PrimaryKeyConstraint("pk", name=op.f("pk_rx_revisions")),
    )
    with op.batch_alter_table("rx_revisions", schema=None) as batch_op:
        batch_op.create_index("ix_rx_revisions_claim_tx_from", ["claim", "tx_from"], unique=False)
        batch_op.create_index(
            "ix_rx_revisions_live", ["claim"], unique=True, sqlite_where=LIVE, postgresql_where=LIVE
        )
        batch_op.create_index(batch_op.f("ix_rx_revisions_text"), ["text"], unique=False)


def downgrade() -> None:
    for table in (
        "rx_revisions",
        "rx_texts",
        "rx_strengths",
        "rx_edges",
        "rx_assertions",
        "rx_aliases",
        "rx_tx",
        "rx_trust",
        "rx_settings",
        "rx_claims",
        "rx_changes",
    ):
        op.drop_table(table)
