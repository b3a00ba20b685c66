"""Keep which commits of a range most of a benchmark's slow-down came with.

The version before narrows none, and shows the range as before.
"""

from __future__ import annotations

from alembic import op

revision = "20261128_1330"
down_revision = "20261128_1300"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
    ALTER TABLE regression
        ADD COLUMN narrowed_run_id bigint REFERENCES run,
        ADD COLUMN narrowed_series_id bigint REFERENCES series,
        ADD COLUMN narrowed_commits integer
    """)


def downgrade() -> None:
    op.execute("""
    ALTER TABLE regression
        DROP COLUMN narrowed_run_id, DROP COLUMN narrowed_series_id, DROP COLUMN narrowed_commits
    """)
