"""No change: the columns for requests of pages are in 20261123_0200.

Databases are at this revision, so it stays.
"""

from __future__ import annotations

revision = "20261122_2240"
down_revision = "20261122_2230"
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass


def downgrade() -> None:
    pass
