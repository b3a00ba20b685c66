"""Store bugs as their tracker described them last, and the counts that Benchgate posted there."""

from __future__ import annotations

from alembic import op

revision = "20261123_0480"
down_revision = "20261123_0470"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "CREATE TABLE bug ("
        " bug text PRIMARY KEY,"  # as a person wrote it: an id or an address
        " title text NOT NULL DEFAULT '', state text NOT NULL DEFAULT '',"
        " is_closed boolean NOT NULL DEFAULT false,"
        " url text NOT NULL DEFAULT '',"  # empty: the tracker knows no such bug
        " read_at timestamptz,"  # the tracker's last answer; NULL: there was none
        " asked_at timestamptz NOT NULL DEFAULT now())"
    )

    op.execute(
        "CREATE TABLE bug_count ("
        " url text PRIMARY KEY,"
        " builds bigint NOT NULL,"
        " posted_at timestamptz)"  # NULL: this number of builds is to be posted
    )


def downgrade() -> None:
    op.execute("DROP TABLE bug_count")
    op.execute("DROP TABLE bug")
