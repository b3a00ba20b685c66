"""Store the log of a build in chunks while it grows.

A chunk is an artifact and never changes; the unfinished end is one row that a running build overwrites. Both
have the token of the lease under which they were written, so an attempt shows its own log only. Logs are the
first artifacts that are deleted.
"""

from __future__ import annotations

from alembic import op

revision = "20261123_0420"
down_revision = "20261123_0410"
branch_labels = None
depends_on = None

_TABLES = """
CREATE TABLE log_chunk (
    build_id bigint NOT NULL REFERENCES build,
    token    bigint NOT NULL,
    number   integer NOT NULL,
    start    bigint NOT NULL,  -- bytes of the log before it, including those that were left out
    line     bigint NOT NULL,  -- line ends before it
    size     integer NOT NULL CHECK (size BETWEEN 1 AND 1048576),
    artifact text NOT NULL,
    PRIMARY KEY (build_id, token, number)
);
-- The newest attempt that wrote a log, and the end of its log that is not in a chunk yet.
CREATE TABLE log_end (
    build_id bigint PRIMARY KEY REFERENCES build,
    token    bigint NOT NULL,
    start    bigint NOT NULL,
    line     bigint NOT NULL,
    data     bytea NOT NULL CHECK (octet_length(data) <= 262144)
);
-- Chunks of logs that were deleted. The file of one goes later, if no row names it then.
CREATE TABLE unneeded_artifact (
    artifact text PRIMARY KEY,
    since    timestamptz NOT NULL DEFAULT now()
);
"""
# The limits keep a machine from filling the disk of the control plane with one build.
_FUNCTIONS = """
CREATE FUNCTION machine.add_log_chunk(
    p_build bigint, p_token bigint, p_number integer, p_start bigint, p_line bigint, p_size integer,
    p_artifact text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    chunks integer;
    bytes  bigint;
    ended  bigint;
BEGIN
    PERFORM machine.hold(p_build, p_token);
    IF EXISTS (
        SELECT FROM log_chunk WHERE build_id = p_build AND token = p_token AND number = p_number
            AND start = p_start AND line = p_line AND size = p_size AND artifact = p_artifact
    ) THEN
        RETURN;  -- the answer to the first call was lost
    END IF;
    SELECT count(*), coalesce(sum(size), 0), coalesce(max(start + size), 0) INTO chunks, bytes, ended
        FROM log_chunk WHERE build_id = p_build AND token = p_token;
    IF p_number <> chunks OR p_start < ended OR p_line < 0 OR bytes + p_size > 1073741824
        OR p_artifact !~ '^[0-9a-f]{64}$'
    THEN
        RAISE EXCEPTION 'not the next chunk of the log of build %', p_build USING ERRCODE = 'check_violation';
    END IF;
    INSERT INTO log_chunk (build_id, token, number, start, line, size, artifact)
        VALUES (p_build, p_token, p_number, p_start, p_line, p_size, p_artifact);
END $$;

CREATE FUNCTION machine.show_log_end(
    p_build bigint, p_token bigint, p_start bigint, p_line bigint, p_data bytea)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM machine.hold(p_build, p_token);
    INSERT INTO log_end (build_id, token, start, line, data)
        VALUES (p_build, p_token, p_start, p_line, p_data)
        ON CONFLICT (build_id) DO UPDATE SET token = excluded.token, start = excluded.start,
            line = excluded.line, data = excluded.data;
END $$;

REVOKE ALL ON FUNCTION machine.add_log_chunk, machine.show_log_end FROM PUBLIC;
GRANT EXECUTE ON FUNCTION machine.add_log_chunk, machine.show_log_end TO benchgate_machine;
"""


def upgrade() -> None:
    op.execute(_TABLES)
    op.execute(_FUNCTIONS)


def downgrade() -> None:
    op.execute("DROP FUNCTION machine.add_log_chunk, machine.show_log_end")
    op.execute("DROP TABLE log_chunk, log_end, unneeded_artifact")
