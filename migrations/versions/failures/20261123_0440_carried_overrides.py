"""Store from which patch set an override was carried over; 0: a person made it here."""

from __future__ import annotations

from alembic import op

revision = "20261123_0440"
down_revision = "20261123_0430"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE ruling ADD COLUMN carried_from integer NOT NULL DEFAULT 0")


def downgrade() -> None:
    op.execute("ALTER TABLE ruling DROP COLUMN carried_from")
