"""Keep requests to measure older commits, and when the commits of their runs were made.

The version before does not serve them. It shows their runs as anchors that a person asked for.
"""

from __future__ import annotations

from alembic import op

revision = "20261128_1300"
down_revision = "20261128_1210"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE run ADD COLUMN committed_at timestamptz")
    op.execute("""
    CREATE TABLE backfill (
        id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        instance     text NOT NULL,
        project      text NOT NULL,
        branch       text NOT NULL,
        requested_by text NOT NULL,
        commits      integer NOT NULL,
        links        integer,
        remaining    integer,
        failed       integer NOT NULL DEFAULT 0,
        created_at   timestamptz NOT NULL DEFAULT now(),
        ended_at     timestamptz
    )
    """)


def downgrade() -> None:
    op.execute("DROP TABLE backfill")
    op.execute("ALTER TABLE run DROP COLUMN committed_at")
