"""Keep when a regression was found and when it was fixed, so that a week counts each once.

What the version before records is found when it is recorded. It stores no time for what people fix meanwhile,
which no week counts.
"""

from __future__ import annotations

from alembic import op

revision = "20261128_1210"
down_revision = "20261128_1200"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("""
    ALTER TABLE regression
        ADD COLUMN found_at timestamptz NOT NULL DEFAULT now(), ADD COLUMN fixed_at timestamptz
    """)
    op.execute("""
    UPDATE regression AS g SET
        found_at = coalesce((
            SELECT max(b.created_at) FROM regressed_result AS x JOIN build AS b ON b.id = x.build_id
            WHERE x.regression_id = g.id
        ), g.found_at),
        fixed_at = CASE WHEN g.state = 'fixed' THEN g.changed_at END
    """)
    op.execute("CREATE INDEX run_after_merge ON run (finished_at) WHERE kind = 'post-submit'")


def downgrade() -> None:
    op.execute("DROP INDEX run_after_merge")
    op.execute("ALTER TABLE regression DROP COLUMN found_at, DROP COLUMN fixed_at")
