"""Keep the standard error of a comparison, so that a trend need not read the samples.

It is null for rows of the version before.
"""

from __future__ import annotations

from alembic import op

revision = "20261128_0700"
down_revision = "20261128_0600"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE comparison ADD COLUMN error double precision")


def downgrade() -> None:
    op.execute("ALTER TABLE comparison DROP COLUMN error")
