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


def _allow(table: str, kinds: str) -> None:
    """Change the kinds that rows may have; checking those that are there blocks nobody."""
    op.execute(f"ALTER TABLE {table} DROP CONSTRAINT {table}_kind_check")
    op.execute(f"ALTER TABLE {table} ADD CONSTRAINT {table}_kind_check CHECK (kind IN ({kinds})) NOT VALID")
    op.execute(f"ALTER TABLE {table} VALIDATE CONSTRAINT {table}_kind_check")


def upgrade() -> None:
    _allow("run", f"{_OLD}, 'anchor'")
    _allow("comparison", "0, 1, 2, 3")
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
    op.execute("DELETE FROM run_build WHERE run_id IN (SELECT id FROM run WHERE kind = 'anchor')")
    op.execute("DELETE FROM run WHERE kind = 'anchor'")
    op.execute("DELETE FROM comparison WHERE kind = 3")
    _allow("run", _OLD)
    _allow("comparison", "0, 1, 2")
