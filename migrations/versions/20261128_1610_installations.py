"""Keep which installation of a host a machine is, since when, and the version of its worker.

Workers of the version before name neither: their version is unknown, and their machine stays what it is. A
machine whose installation becomes known keeps its A/A sessions, and loses them when another installation
takes its name. Series that differ by branch only, which share the sessions, get a key in common.
"""

from __future__ import annotations

from alembic import op

revision = "20261128_1610"
down_revision = "20261128_1600"
branch_labels = None
depends_on = None

_FORM = "machine.introduce(text, text, text, text, integer, text, jsonb, jsonb)"
_SILENCE = "machine.seconds_silent(text)"
# All parts but the branch. Authors choose some, so the hash must have no collisions that can be computed. The
# version before stores series without knowing the column.
_KIN = "kin_of(VARIADIC ARRAY[instance, project, machine_class, job, suite, benchmark, metric])"
_INTRODUCE = """
CREATE OR REPLACE FUNCTION machine.introduce(
    p_name text, p_class text, p_pool text, p_host text, p_builds_beside integer, p_fingerprint text,
    p_facts jsonb)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO environment (fingerprint, facts) VALUES (p_fingerprint, p_facts)
        ON CONFLICT (fingerprint) DO NOTHING;
    INSERT INTO machine (name, class, pool, host, builds_beside, environment_id)
        VALUES (p_name, p_class, p_pool, p_host, p_builds_beside,
                (SELECT id FROM environment WHERE fingerprint = p_fingerprint))
        ON CONFLICT (name) DO UPDATE SET class = excluded.class, pool = excluded.pool, host = excluded.host,
            builds_beside = excluded.builds_beside, environment_id = excluded.environment_id,{version}
            last_seen_at = now();
END $$
"""


def upgrade() -> None:
    op.execute("""
    ALTER TABLE machine
        ADD COLUMN install text,
        ADD COLUMN version text NOT NULL DEFAULT '',
        ADD COLUMN since timestamptz NOT NULL DEFAULT now()
    """)
    op.execute("UPDATE machine SET since = first_seen_at")
    op.execute("""
    CREATE FUNCTION kin_of(VARIADIC p_parts text[]) RETURNS bytea
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
        SELECT sha256(convert_to(to_jsonb(p_parts)::text, 'UTF8'));
    $$
    """)
    op.execute("REVOKE ALL ON FUNCTION kin_of(text[]) FROM PUBLIC")
    op.execute(f"ALTER TABLE series ADD COLUMN kin bytea NOT NULL GENERATED ALWAYS AS ({_KIN}) STORED")
    op.execute("CREATE INDEX series_of_kin ON series (kin)")
    op.execute(_INTRODUCE.format(version=" version = '',"))
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
    # A host whose system got another name asks whether its former one is in use.
    op.execute("""
    CREATE FUNCTION machine.seconds_silent(p_host text) RETURNS double precision
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
        SELECT cast(extract(epoch FROM clock_timestamp() - max(last_seen_at)) AS float) FROM machine
        WHERE host = p_host;
    $$
    """)
    for each in (_FORM, _SILENCE):
        op.execute(f"REVOKE ALL ON FUNCTION {each} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {each} TO benchgate_machine")


def downgrade() -> None:
    op.execute(f"DROP FUNCTION {_FORM}")
    op.execute(f"DROP FUNCTION {_SILENCE}")
    op.execute(_INTRODUCE.format(version=""))
    op.execute("ALTER TABLE series DROP COLUMN kin")
    op.execute("DROP FUNCTION kin_of(text[])")
    op.execute("ALTER TABLE machine DROP COLUMN install, DROP COLUMN version, DROP COLUMN since")
