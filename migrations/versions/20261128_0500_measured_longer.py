"""Let idle pools measure merged commits longer that are still undecided.

The version before starts no such run, and cannot read those that there are.
"""

from __future__ import annotations

from alembic import op

revision = "20261128_0500"
down_revision = "20261128_0400"
branch_labels = None
depends_on = None


_OLD = "'check', 'post-submit', 'calibration', 'anchor'"


def _allow(kinds: str, idle: str) -> None:
    op.execute("ALTER TABLE run DROP CONSTRAINT run_kind_check")
    op.execute(f"ALTER TABLE run ADD CONSTRAINT run_kind_check CHECK (kind IN ({kinds}))")
    op.execute("DROP INDEX run_one_anchor")
    op.execute(
        f"CREATE UNIQUE INDEX run_one_anchor ON run (pool) WHERE kind IN ({idle})"
        " AND state IN ('planning', 'running')"
    )


def upgrade() -> None:
    _allow(f"{_OLD}, 'longer'", "'anchor', 'longer'")
    op.execute("CREATE INDEX run_longer ON run (previous_id) WHERE kind = 'longer'")
    op.execute(
        "CREATE INDEX run_landed"
        " ON run (instance, project, branch, (coalesce(nullif(merged_as, ''), revision)))"
        " WHERE kind = 'post-submit'"
    )
    op.execute("DELETE FROM setback WHERE task = 'measure_anchors'")  # it has another name now


def downgrade() -> None:
    op.execute("DROP INDEX run_longer, run_landed")
    op.execute(
        "UPDATE build SET state = 'finished', outcome = 'cancelled', result = 'ABORTED', finished_at = now()"
        " WHERE spec ->> 'kind' = 'longer' AND state <> 'finished'"
    )
    op.execute("DELETE FROM run_build WHERE run_id IN (SELECT id FROM run WHERE kind = 'longer')")
    op.execute("DELETE FROM run WHERE kind = 'longer'")
    op.execute("DELETE FROM comparison WHERE kind = 4")
    op.execute("DELETE FROM setback WHERE task = 'use_idle_pools'")
    _allow(_OLD, "'anchor'")
