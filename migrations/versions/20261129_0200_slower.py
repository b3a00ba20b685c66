"""Find the slow-downs of a build without reading its other comparisons, which may be thousands."""

from __future__ import annotations

from alembic import op

revision = "20261129_0200"
down_revision = "20261129_0100"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE INDEX comparison_slower ON comparison (build_id) WHERE verdict = 'slower'")


def downgrade() -> None:
    op.execute("DROP INDEX comparison_slower")
