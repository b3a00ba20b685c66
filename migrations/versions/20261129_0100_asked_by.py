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
    # Of several runs that wait for the build, the newest is the one that people look at. A run that was
    # cancelled waits no more.
    op.execute("""
    CREATE FUNCTION machine.asked_by(p_build bigint, p_token bigint)
    RETURNS TABLE (run bigint, change text, patch_set integer)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    BEGIN
        PERFORM machine.hold(p_build, p_token);
        RETURN QUERY SELECT r.id, c.instance || '~' || c.number, p.number
            FROM run_build AS rb
            JOIN run AS r ON r.id = rb.run_id
            LEFT JOIN patch_set AS p ON p.id = r.patch_set_id
            LEFT JOIN change AS c ON c.id = p.change_id
            WHERE rb.build_id = p_build AND r.state IN ('planning', 'running')
            ORDER BY r.id DESC LIMIT 1;
    END $$
    """)
    op.execute(f"REVOKE ALL ON FUNCTION {_FUNCTION} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {_FUNCTION} TO benchgate_machine")


def downgrade() -> None:
    op.execute(f"DROP FUNCTION {_FUNCTION}")
