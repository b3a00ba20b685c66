"""Keep the sizes of what is stored, as the last round of deletion measured them, and name the site.

A store of artifacts and a backup have the site's name too: nothing is deleted there for another database.
"""

from __future__ import annotations

from alembic import op

revision = "20261128_1710"
down_revision = "20261128_1620"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # The table unneeded_artifact stays: the version before writes to it until it is stopped.
    op.execute("""
    CREATE TABLE stored_size (
        name text NOT NULL,
        part text NOT NULL,
        records bigint NOT NULL DEFAULT 0,
        database_bytes bigint NOT NULL DEFAULT 0,
        artifacts bigint NOT NULL DEFAULT 0,
        artifact_bytes bigint NOT NULL DEFAULT 0,
        PRIMARY KEY (name, part)
    )
    """)
    op.execute("CREATE TABLE site (id uuid PRIMARY KEY DEFAULT gen_random_uuid())")
    op.execute("INSERT INTO site DEFAULT VALUES")


def downgrade() -> None:
    op.execute("DROP TABLE site")
    op.execute("DROP TABLE stored_size")
