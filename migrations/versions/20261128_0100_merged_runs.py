"""Find the runs of a branch's merged commits since a moment.

The version before ignores the index.
"""

from __future__ import annotations

from alembic import op

revision = "20261128_0100"
down_revision = "20261127_0400"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "CREATE INDEX run_of_branch ON run (instance, project, branch, created_at) WHERE kind = 'post-submit'"
    )


def downgrade() -> None:
    op.execute("DROP INDEX run_of_branch")
