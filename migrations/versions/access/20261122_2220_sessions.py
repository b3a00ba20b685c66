"""Create the sessions of people who signed in.

A service of the previous version does not know them.
"""

from __future__ import annotations

from alembic import op

revision = "20261122_2220"
down_revision = "20261122_2210"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
    CREATE TABLE session (
        digest    bytea PRIMARY KEY,
        subject   text NOT NULL,
        name      text NOT NULL,
        email     text NOT NULL,
        role      text NOT NULL,
        opened_at timestamptz NOT NULL DEFAULT now(),
        seen_at   timestamptz NOT NULL DEFAULT now()
    );
    CREATE INDEX session_of_subject ON session (subject);
    """)


def downgrade() -> None:
    op.execute("DROP TABLE session")
