"""Let a machine report with its heartbeat what keeps it from taking work."""

from __future__ import annotations

from alembic import op

revision = "20261121_0400"
down_revision = "20261121_0300"
branch_labels = None
depends_on = None

# Beside the function of one argument, which earlier workers call.
_SEE = """
CREATE FUNCTION machine.see(p_name text, p_obstacle text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    UPDATE machine SET last_seen_at = now(), obstacle = coalesce(p_obstacle, obstacle) WHERE name = p_name;
$$
"""


def upgrade() -> None:
    op.execute("ALTER TABLE machine ADD COLUMN obstacle text NOT NULL DEFAULT ''")
    op.execute(_SEE)
    op.execute("REVOKE ALL ON FUNCTION machine.see(text, text) FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION machine.see(text, text) TO benchgate_machine")


def downgrade() -> None:
    op.execute("DROP FUNCTION machine.see(text, text)")
    op.execute("ALTER TABLE machine DROP COLUMN obstacle")
