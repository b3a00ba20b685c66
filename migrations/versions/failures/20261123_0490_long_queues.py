"""Look at few builds of a long queue when a machine asks for its next one.

Each queued build of a pool was compared with all of the other pools of the host: with 15,000 of them, a claim
took longer than a lease lasts.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "20261123_0490"
down_revision = "20261123_0480"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    before = Path(__file__).with_name("20261123_0450_order_of_pools.sql")
    op.execute(before.read_text(encoding="utf-8"))
