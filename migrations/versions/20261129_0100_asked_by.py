"""Tell a machine for which run, change and patch set it works, so that the lines of its log name them."""

from __future__ import annotations

from typing import Final

from alembic import op

revision = "20261129_0100"
down_revision = "20261128_1720"
branch_labels = None
depends_on = None

_FUNCTION: Final = "machine.asked_by(bigint, bigint)"


def upgrade() -> None:
    # Of several runs that wait for the build, the newest is the one that people look at.
    op.execute("""
    CREATE FUNCTION machine.asked_by(p_build bigint, p_token bigint)
    RETURNS TABLE (run bigint, change text, patch_set integer)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT r.id, c.instance || '~' || c.number, p.number
        FROM lease AS l
        JOIN run_build AS rb ON rb.build_id = l.build_id
        JOIN run AS r ON r.id = rb.run_id
        LEFT JOIN patch_set AS p ON p.id = r.patch_set_id
        LEFT JOIN change AS c ON c.id = p.change_id
        WHERE l.build_id = p_build AND l.token = p_token
        ORDER BY r.id DESC LIMIT 1;
    $$
    """)
    op.execute(f"REVOKE ALL ON FUNCTION {_FUNCTION} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {_FUNCTION} TO benchgate_machine")


def downgrade() -> None:
    op.execute(f"DROP FUNCTION {_FUNCTION}")
