"""Keep which installation of a host a machine is, since when, and the version of its worker.

Workers of the version before name neither; such a machine stays what it is. A machine whose installation
becomes known keeps its A/A sessions, and loses them when another installation takes its name.
"""

from __future__ import annotations

from alembic import op

revision = "20261128_1610"
down_revision = "20261128_1600"
branch_labels = None
depends_on = None

_FORM = "machine.introduce(text, text, text, text, integer, text, jsonb, jsonb)"


def upgrade() -> None:
    op.execute("""
    ALTER TABLE machine
        ADD COLUMN install text,
        ADD COLUMN version text NOT NULL DEFAULT '',
        ADD COLUMN since timestamptz NOT NULL DEFAULT now()
    """)
    op.execute("UPDATE machine SET since = first_seen_at")
    # Names of benchmarks can be too long for a B-tree.
    op.execute("CREATE INDEX series_of_benchmark ON series USING hash (benchmark)")
    # p_about may get more keys without another form of the function.
    op.execute("""
    CREATE FUNCTION machine.introduce(
        p_name text, p_class text, p_pool text, p_host text, p_builds_beside integer, p_fingerprint text,
        p_facts jsonb, p_about jsonb)
    RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT machine.introduce(p_name, p_class, p_pool, p_host, p_builds_beside, p_fingerprint, p_facts);
        UPDATE machine
        SET version = coalesce(p_about ->> 'version', ''),
            since = CASE WHEN install <> p_about ->> 'install' THEN now() ELSE since END,
            install = coalesce(p_about ->> 'install', install)
        WHERE name = p_name;
    $$
    """)
    op.execute(f"REVOKE ALL ON FUNCTION {_FORM} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {_FORM} TO benchgate_machine")


def downgrade() -> None:
    op.execute(f"DROP FUNCTION {_FORM}")
    op.execute("DROP INDEX series_of_benchmark")
    op.execute("ALTER TABLE machine DROP COLUMN install, DROP COLUMN version, DROP COLUMN since")
