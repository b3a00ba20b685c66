"""Let operators close hosts: their machines claim nothing.

Workers of the version before ask the same functions, so a closure holds for them too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from alembic import op

revision = "20261128_1600"
down_revision = "20261128_1500"
branch_labels = None
depends_on = None

_FUNCTIONS: Final = Path(__file__).with_suffix(".sql")


def upgrade() -> None:
    op.execute("""
    CREATE TABLE closure (
        id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        host      text NOT NULL,
        begins_at timestamptz NOT NULL DEFAULT now(),
        ends_at   timestamptz,
        reason    text NOT NULL,
        closed_by text NOT NULL
    )
    """)
    op.execute("CREATE INDEX closure_of_host ON closure (host)")
    # The closure that keeps a host from builds now; of several, the one that lasts longest.
    op.execute("""
    CREATE VIEW current_closure AS
        SELECT DISTINCT ON (host) * FROM closure
        WHERE begins_at <= now() AND (ends_at IS NULL OR ends_at > now())
        ORDER BY host, ends_at DESC NULLS FIRST, begins_at, id
    """)
    # Not now(): a claim may have begun, and waited for its host, before the host was closed.
    op.execute("""
    CREATE FUNCTION machine.is_closed(p_machine text) RETURNS boolean
    LANGUAGE sql SET search_path = public, pg_temp AS $$
        SELECT EXISTS (
            SELECT FROM machine AS own JOIN closure AS shut ON shut.host = own.host
            WHERE own.name = p_machine AND shut.begins_at <= clock_timestamp()
              AND (shut.ends_at IS NULL OR shut.ends_at > clock_timestamp()));
    $$
    """)
    op.execute("REVOKE ALL ON FUNCTION machine.is_closed(text) FROM PUBLIC")
    op.execute(_FUNCTIONS.read_text(encoding="utf-8"))


def downgrade() -> None:
    functions = _FUNCTIONS.read_text(encoding="utf-8")
    op.execute(functions.replace("machine.is_closed(p_machine)", "false"))
    op.execute("DROP FUNCTION machine.is_closed(text)")
    op.execute("DROP VIEW current_closure")
    op.execute("DROP TABLE closure")
