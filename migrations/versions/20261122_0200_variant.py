"""Add the variant of a launch: a column instead of a part of the pair's number.

Workers of the previous version keep the functions that they call, with variant × 10,000 in the number.
"""

from __future__ import annotations

from alembic import op

revision = "20261122_0200"
down_revision = "20261122_0100"
branch_labels = None
depends_on = None
needs_stop = "a control worker would count pairs of relinks as pairs of the programs as built"

_ADD_COLUMN = (
    "ALTER TABLE launch DROP CONSTRAINT launch_pkey",
    "ALTER TABLE launch ADD COLUMN variant integer NOT NULL DEFAULT 0",
    "ALTER TABLE launch ALTER COLUMN variant DROP DEFAULT",
    "UPDATE launch SET variant = pair / 10000, pair = pair % 10000 WHERE pair >= 10000",
    "ALTER TABLE launch ADD PRIMARY KEY (sequence_id, variant, pair, suite, side)",
)
_DROP_COLUMN = (
    "ALTER TABLE launch DROP CONSTRAINT launch_pkey",
    "UPDATE launch SET pair = variant * 10000 + pair WHERE variant > 0",
    "ALTER TABLE launch DROP COLUMN variant",
    "ALTER TABLE launch ADD PRIMARY KEY (sequence_id, pair, suite, side)",
)
_READ_PAIRS = """
CREATE FUNCTION machine.read_pairs(p_build bigint, p_token bigint)
RETURNS TABLE (variant integer, pair integer, artifact text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM machine.hold(p_build, p_token);
    RETURN QUERY SELECT DISTINCT l.variant, l.pair, l.artifact FROM launch l
        WHERE l.sequence_id = (SELECT sequence_id FROM build WHERE id = p_build) ORDER BY 1, 2;
END $$
"""
# A whole pair at once: half a pair is never stored, so a resumed build repeats it. The first one stored
# stays, also when two builds measure the same sequence and one of them lacks a suite.
_RECORD_PAIR = """
CREATE FUNCTION machine.record_pair(
    p_build bigint, p_token bigint, p_variant integer, p_pair integer, p_artifact text, p_launches jsonb)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM machine.hold(p_build, p_token);
    PERFORM FROM sequence WHERE id = (SELECT sequence_id FROM build WHERE id = p_build)
        FOR NO KEY UPDATE;
    IF EXISTS (
        SELECT FROM launch l JOIN build b USING (sequence_id)
        WHERE b.id = p_build AND l.variant = p_variant AND l.pair = p_pair
    ) THEN
        RETURN;
    END IF;
    INSERT INTO launch (sequence_id, variant, pair, suite, side, build_id, artifact, facts)
        SELECT b.sequence_id, p_variant, p_pair, l.item ->> 'suite', l.item ->> 'side', p_build, p_artifact,
               l.item -> 'facts'
        FROM build b, jsonb_array_elements(p_launches) AS l (item) WHERE b.id = p_build
        ON CONFLICT DO NOTHING;
END $$
"""
_PAIRS_BY_NUMBER = """
CREATE OR REPLACE FUNCTION machine.pairs(p_build bigint, p_token bigint)
RETURNS TABLE (pair integer, artifact text)
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT variant * 10000 + pair, artifact FROM machine.read_pairs(p_build, p_token) ORDER BY 1;
$$
"""
_RECORD_PAIR_BY_NUMBER = """
CREATE OR REPLACE FUNCTION machine.record_pair(
    p_build bigint, p_token bigint, p_pair integer, p_artifact text, p_launches jsonb)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT machine.record_pair(p_build, p_token, p_pair / 10000, p_pair % 10000, p_artifact, p_launches);
$$
"""
_PAIRS_BEFORE = """
CREATE OR REPLACE FUNCTION machine.pairs(p_build bigint, p_token bigint)
RETURNS TABLE (pair integer, artifact text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM machine.hold(p_build, p_token);
    RETURN QUERY SELECT DISTINCT l.pair, l.artifact FROM launch l
        WHERE l.sequence_id = (SELECT sequence_id FROM build WHERE id = p_build) ORDER BY 1;
END $$
"""
_RECORD_PAIR_BEFORE = """
CREATE OR REPLACE FUNCTION machine.record_pair(
    p_build bigint, p_token bigint, p_pair integer, p_artifact text, p_launches jsonb)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM machine.hold(p_build, p_token);
    PERFORM FROM sequence WHERE id = (SELECT sequence_id FROM build WHERE id = p_build)
        FOR NO KEY UPDATE;
    IF EXISTS (
        SELECT FROM launch l JOIN build b USING (sequence_id) WHERE b.id = p_build AND l.pair = p_pair
    ) THEN
        RETURN;
    END IF;
    INSERT INTO launch (sequence_id, pair, suite, side, build_id, artifact, facts)
        SELECT b.sequence_id, p_pair, l.item ->> 'suite', l.item ->> 'side', p_build, p_artifact,
               l.item -> 'facts'
        FROM build b, jsonb_array_elements(p_launches) AS l (item) WHERE b.id = p_build
        ON CONFLICT DO NOTHING;
END $$
"""
_NEW = (
    "machine.read_pairs(bigint, bigint)",
    "machine.record_pair(bigint, bigint, integer, integer, text, jsonb)",
)


def upgrade() -> None:
    for statement in (*_ADD_COLUMN, _READ_PAIRS, _RECORD_PAIR, _PAIRS_BY_NUMBER, _RECORD_PAIR_BY_NUMBER):
        op.execute(statement)
    for function in _NEW:
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO benchgate_machine")


def downgrade() -> None:
    for statement in (
        _PAIRS_BEFORE,
        _RECORD_PAIR_BEFORE,
        *(f"DROP FUNCTION {function}" for function in _NEW),
        *_DROP_COLUMN,
    ):
        op.execute(statement)
