"""Keep with the run of a merged change the merge commit that brought it to the branch.

The version before measured the change against its own parent; runs of it have none.
"""

from __future__ import annotations

from alembic import op

revision = "20261128_0400"
down_revision = "20261128_0300"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE run ADD COLUMN merged_as text NOT NULL DEFAULT ''")


def downgrade() -> None:
    op.execute("ALTER TABLE run DROP COLUMN merged_as")
