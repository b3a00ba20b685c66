"""Keep since when something keeps a machine from work."""

from __future__ import annotations

from alembic import op

revision = "20261128_1500"
down_revision = "20261128_1400"
branch_labels = None
depends_on = None

_SEE = """
CREATE OR REPLACE FUNCTION machine.see(p_name text, p_obstacle text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    UPDATE machine SET last_seen_at = now(), obstacle = coalesce(p_obstacle, obstacle){since}
    WHERE name = p_name;
$$
"""
_SINCE = """,
        obstacle_since = CASE
            WHEN coalesce(p_obstacle, obstacle) <> '' THEN coalesce(obstacle_since, now())
        END"""


def upgrade() -> None:
    op.execute("ALTER TABLE machine ADD COLUMN obstacle_since timestamptz")
    op.execute("UPDATE machine SET obstacle_since = now() WHERE obstacle <> ''")
    op.execute(_SEE.format(since=_SINCE))


def downgrade() -> None:
    op.execute(_SEE.format(since=""))
    op.execute("ALTER TABLE machine DROP COLUMN obstacle_since")
