"""The dates from which on each source says that a fact holds

Revision ID: 0006
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

# What was said before dates were kept holds for each source since the claim does.
_FILL = """
UPDATE rx_assertions SET dates = (
    SELECT '[' || CAST(COALESCE(r.valid_from, c.created_at) AS TEXT) || ']'
    FROM rx_claims c JOIN rx_revisions r ON r.claim = c.pk AND r.tx_to IS NULL
    WHERE c.pk = rx_assertions.claim AND c.type = 'semantic'
)
"""


def upgrade() -> None:
    op.add_column("rx_assertions", sa.Column("dates", sa.Text(), nullable=True))
    op.execute(_FILL)


def downgrade() -> None:
    op.drop_column("rx_assertions", "dates")
