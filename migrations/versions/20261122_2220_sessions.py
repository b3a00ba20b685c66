"""Create the sessions of people who signed in."""

from __future__ import annotations

revision = "20261122_2220"
down_revision = "20261122_2210"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass
