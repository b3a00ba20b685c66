"""Keep the project that an event names: a change that is not stored yet is found more surely with it.

The version before ignores the column.
"""

from __future__ import annotations

from alembic import op

revision = "20261127_0300"
down_revision = "20261127_0200"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE event ADD COLUMN project text NOT NULL DEFAULT ''")


def downgrade() -> None:
    op.execute("ALTER TABLE event DROP COLUMN project")
