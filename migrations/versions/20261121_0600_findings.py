"""Store the findings of builds by file and line, and index the reviews with comments."""

from __future__ import annotations

from alembic import op

revision = "20261121_0600"
down_revision = "20261121_0500"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # A default that is a constant rewrites nothing; code that does not know the column fills it so.
    op.execute("ALTER TABLE build ADD COLUMN findings jsonb NOT NULL DEFAULT '[]'")
    op.execute(
        "CREATE INDEX outbox_with_comments ON outbox ((payload -> 'number')) WHERE payload ? 'comments'"
    )


def downgrade() -> None:
    op.execute("DROP INDEX outbox_with_comments")
    op.execute("ALTER TABLE build DROP COLUMN findings")
