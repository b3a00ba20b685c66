"""Leave the review server's own first lines out of comments that are still to be read.

From this version on, the adapter of the review server removes them before a comment is stored. The version
before takes a comment with or without them.
"""

from __future__ import annotations

from alembic import op

revision = "20261127_0100"
down_revision = "20261123_0510"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        r"UPDATE heard SET text = regexp_replace(text, "
        r"'^(\s*(Patch Set|Uploaded patch set) [0-9]{1,9}\y[^\n]*(\n|$))?"
        r"(\s*\([0-9]{1,9} (inline )?comments?\)[ \t\r]*(\n|$))?([ \t\r]*\n)*', '') "
        "WHERE state = 'pending' AND source = 'comment'"
    )


def downgrade() -> None:
    pass
