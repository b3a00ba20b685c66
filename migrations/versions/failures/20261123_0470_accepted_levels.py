"""Store the slow-downs that vote −1 with their builds, and with an accept those that it covers.

Both are null for what a previous version stores: its accepts cover slow-downs of any size.
"""

from __future__ import annotations

from alembic import op

revision = "20261123_0470"
down_revision = "20261123_0460"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE build ADD COLUMN slowdowns jsonb")
    op.execute("ALTER TABLE ruling ADD COLUMN levels jsonb")


def downgrade() -> None:
    op.execute("ALTER TABLE ruling DROP COLUMN levels")
    op.execute("ALTER TABLE build DROP COLUMN slowdowns")
