"""Create the API tokens."""

from __future__ import annotations

revision = "20261122_2210"
down_revision = "20261122_2200"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass
