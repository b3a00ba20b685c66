"""Store which series continues the one of its benchmark's former name; each is continued by one at most."""

from __future__ import annotations

from alembic import op

revision = "20261123_0500"
down_revision = "20261123_0490"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE series ADD COLUMN continues bigint UNIQUE REFERENCES series (id)")


def downgrade() -> None:
    op.execute("ALTER TABLE series DROP COLUMN continues")
