"""Store what the review server shows to readers who do not sign in.

Nothing is public until the server was asked, also nothing that was stored before.
"""

from __future__ import annotations

from alembic import op

revision = "20261122_2230"
down_revision = "20261122_2220"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
        ALTER TABLE change ADD COLUMN is_public boolean NOT NULL DEFAULT false;
        CREATE TABLE public_branch (
            instance text NOT NULL,
            project text NOT NULL,
            branch text NOT NULL,
            PRIMARY KEY (instance, project, branch)
        );
        CREATE INDEX change_hidden ON change (instance, project, branch, number) WHERE NOT is_public;
    """)


def downgrade() -> None:
    op.execute("""
        DROP INDEX change_hidden;
        DROP TABLE public_branch;
        ALTER TABLE change DROP COLUMN is_public;
    """)
