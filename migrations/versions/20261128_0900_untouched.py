"""Find the commits that touched no file of a job by its builds that were not built."""

from __future__ import annotations

from alembic import op

revision = "20261128_0900"
down_revision = "20261128_0800"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE INDEX build_not_built ON build (job, created_at) WHERE result = 'NOT_BUILT'")


def downgrade() -> None:
    op.execute("DROP INDEX build_not_built")
