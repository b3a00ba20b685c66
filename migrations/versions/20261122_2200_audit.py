"""Check that the audit log exists, which an administrator creates."""

from __future__ import annotations

revision = "20261122_2200"
down_revision = "20261122_0320"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass
