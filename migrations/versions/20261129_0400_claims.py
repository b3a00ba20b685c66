"""Keep the claims of commit messages, and find the runs of a merged commit by its revision."""

from __future__ import annotations

from alembic import op

revision = "20261129_0400"
down_revision = "20261129_0300"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
    CREATE TABLE revision_claims (
        instance   text NOT NULL,
        project    text NOT NULL,
        revision   text NOT NULL,
        claims     jsonb NOT NULL CHECK (jsonb_array_length(claims) BETWEEN 1 AND 200),
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (instance, project, revision)
    )
    """)
    op.execute("CREATE INDEX run_of_merged_revision ON run (revision) WHERE kind = 'post-submit'")


def downgrade() -> None:
    op.execute("DROP INDEX run_of_merged_revision")
    op.execute("DROP TABLE revision_claims")
