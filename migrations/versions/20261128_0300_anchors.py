"""Let runs compare two merged commits that are far apart: anchors of the trends.

The version before starts none, and cannot read those that there are.
"""

from __future__ import annotations

from alembic import op

revision = "20261128_0300"
down_revision = "20261128_0200"
branch_labels = None
depends_on = None


_OLD = "'check', 'post-submit', 'calibration'"


def _allow(kinds: str) -> None:
    op.execute("ALTER TABLE run DROP CONSTRAINT run_kind_check")
    op.execute(f"ALTER TABLE run ADD CONSTRAINT run_kind_check CHECK (kind IN ({kinds}))")


def upgrade() -> None:
    _allow(f"{_OLD}, 'anchor'")
    # Checking a wider condition would lock the largest table while all of it is read.
    op.execute("ALTER TABLE comparison DROP CONSTRAINT comparison_kind_check")
    op.execute(
        "CREATE UNIQUE INDEX run_one_anchor ON run (pool)"
        " WHERE kind = 'anchor' AND state IN ('planning', 'running')"
    )
    op.execute(
        "CREATE INDEX run_of_anchor ON run (pool, instance, project, branch, created_at)"
        " WHERE kind = 'anchor'"
    )


def downgrade() -> None:
    op.execute("DROP INDEX run_one_anchor, run_of_anchor")
    op.execute(
        "UPDATE build SET state = 'finished', outcome = 'cancelled', result = 'ABORTED', finished_at = now()"
        " WHERE spec ->> 'kind' = 'anchor' AND state <> 'finished'"
    )
    op.execute("DELETE FROM run_build WHERE run_id IN (SELECT id FROM run WHERE kind = 'anchor')")
    op.execute("DELETE FROM run WHERE kind = 'anchor'")
    op.execute("DELETE FROM comparison WHERE kind = 3")
    op.execute("DELETE FROM setback WHERE task IN ('follow', 'measure_anchors')")
    _allow(_OLD)
    op.execute("ALTER TABLE comparison ADD CONSTRAINT comparison_kind_check CHECK (kind IN (0, 1, 2))")
