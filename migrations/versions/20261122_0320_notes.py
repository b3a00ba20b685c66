"""Add the notes of a build beside its causes: sentences for pages only.

A service of the previous version leaves them empty.
"""

from __future__ import annotations

from alembic import op

revision = "20261122_0320"
down_revision = "20261122_0310"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE build ADD COLUMN notes jsonb NOT NULL DEFAULT '[]'")


def downgrade() -> None:
    op.execute("ALTER TABLE build DROP COLUMN notes")
