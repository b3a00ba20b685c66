"""Keep weekly digests beside the notices of regressions, so that each leaves once.

A digest is about a project's week instead of a regression. The version before does not see them.
"""

from __future__ import annotations

from alembic import op

revision = "20261128_1200"
down_revision = "20261128_0900"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
    ALTER TABLE notice
        ALTER COLUMN regression_id DROP NOT NULL,
        ADD COLUMN week date,
        ADD COLUMN instance text NOT NULL DEFAULT '',
        ADD COLUMN project text NOT NULL DEFAULT '',
        ADD CHECK ((week IS NULL) = (regression_id IS NOT NULL))
    """)
    op.execute(
        "CREATE UNIQUE INDEX notice_of_week ON notice (week, instance, project, channel, address)"
        " WHERE week IS NOT NULL"
    )


def downgrade() -> None:
    op.execute("DROP INDEX notice_of_week")
    op.execute("DELETE FROM notice WHERE week IS NOT NULL")
    op.execute("""
    ALTER TABLE notice
        DROP COLUMN week, DROP COLUMN instance, DROP COLUMN project, ALTER COLUMN regression_id SET NOT NULL
    """)
