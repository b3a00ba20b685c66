"""Keep the range that a regression was narrowed from.

The version before narrows none, and shows a narrowed one as a regression of its commit.
"""

from __future__ import annotations

from alembic import op

revision = "20261128_1330"
down_revision = "20261128_1300"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE regression ADD COLUMN range_run_id bigint REFERENCES run")


def downgrade() -> None:
    op.execute("UPDATE regression SET run_id = range_run_id WHERE range_run_id IS NOT NULL")
    op.execute("ALTER TABLE regression DROP COLUMN range_run_id")
