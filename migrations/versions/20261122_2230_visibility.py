"""Store what the review server shows to anonymous readers."""

from __future__ import annotations

revision = "20261122_2230"
down_revision = "20261122_2220"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass
