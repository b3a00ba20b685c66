"""Record up to which moment inline comments were ignored, so that no old one becomes a command.

The version before ignores the column and inline comments.
"""

from __future__ import annotations

from alembic import op

revision = "20261127_0200"
down_revision = "20261127_0100"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE server ADD COLUMN inline_after timestamptz")
    op.execute("UPDATE server SET inline_after = seen_until")


def downgrade() -> None:
    op.execute("ALTER TABLE server DROP COLUMN inline_after")
