"""Look at the first builds of each class when a machine asks for its next one.

A machine with an obstacle claims only ordinary builds. If twenty exclusive ones were queued before them, it
claimed none.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "20261123_0510"
down_revision = "20261123_0500"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    before = Path(__file__).with_name("20261123_0490_long_queues.sql")
    op.execute(before.read_text(encoding="utf-8"))
