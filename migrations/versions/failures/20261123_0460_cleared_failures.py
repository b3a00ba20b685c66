"""Store the failures that a retry cleared, which count for nothing but the evidence about their signatures.

A service of the previous version stores none, and takes those that it reads for failures that count: a failed
build then needs known failures of them too.
"""

from __future__ import annotations

from alembic import op

revision = "20261123_0460"
down_revision = "20261123_0450"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE failure ADD COLUMN is_cleared boolean NOT NULL DEFAULT false")


def downgrade() -> None:
    op.execute("DELETE FROM failure WHERE is_cleared")
    op.execute("ALTER TABLE failure DROP COLUMN is_cleared")
