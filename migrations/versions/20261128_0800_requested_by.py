"""Keep who asked to measure two commits together, to tell such runs from automatic ones."""

from __future__ import annotations

from alembic import op

revision = "20261128_0800"
down_revision = "20261128_0700"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE run ADD COLUMN requested_by text NOT NULL DEFAULT ''")


def downgrade() -> None:
    op.execute("ALTER TABLE run DROP COLUMN requested_by")
