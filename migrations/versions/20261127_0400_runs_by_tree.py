"""Find the runs of a tree: the stored tests of a base.

The version before ignores the index.
"""

from __future__ import annotations

from alembic import op

revision = "20261127_0400"
down_revision = "20261127_0300"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE INDEX run_of_tree ON run (tree)")


def downgrade() -> None:
    op.execute("DROP INDEX run_of_tree")
