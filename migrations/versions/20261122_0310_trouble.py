"""Add the trouble of a part of the service beside its note, which is only for people.

A listener of the previous version leaves it empty: whether it is connected is not shown until it is upgraded.
"""

from __future__ import annotations

from alembic import op

revision = "20261122_0310"
down_revision = "20261122_0300"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE pulse ADD COLUMN trouble text NOT NULL DEFAULT ''")


def downgrade() -> None:
    op.execute("ALTER TABLE pulse DROP COLUMN trouble")
