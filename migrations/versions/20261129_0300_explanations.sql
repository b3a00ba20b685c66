-- A lease that outlasts the report is for the explanation: only these functions go on under it. All others
-- call `hold`, and refuse to write for a build that does not run any more.
CREATE OR REPLACE FUNCTION machine.hold_lease(p_build bigint, p_token bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM FROM lease
        WHERE build_id = p_build AND token = p_token AND expires_at > clock_timestamp()
        FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the lease on build % is lost', p_build USING ERRCODE = 'BG001';
    END IF;
END $$;

CREATE OR REPLACE FUNCTION machine.hold(p_build bigint, p_token bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM machine.hold_lease(p_build, p_token);
    PERFORM FROM build WHERE id = p_build AND state = 'running';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'build % does not run any more', p_build USING ERRCODE = 'BG001';
    END IF;
END $$;

CREATE OR REPLACE FUNCTION machine.find_binary(p_build bigint, p_token bigint, p_digest text)
RETURNS TABLE (artifact text, manifest jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM machine.hold_lease(p_build, p_token);
    RETURN QUERY UPDATE kept_binary SET last_used_at = now() WHERE digest = p_digest
        RETURNING kept_binary.artifact, kept_binary.manifest;
END $$;

CREATE OR REPLACE FUNCTION machine.read_pairs(p_build bigint, p_token bigint)
RETURNS TABLE (variant integer, pair integer, artifact text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM machine.hold_lease(p_build, p_token);
    RETURN QUERY SELECT DISTINCT l.variant, l.pair, l.artifact FROM launch l
        WHERE l.sequence_id = (SELECT sequence_id FROM build WHERE id = p_build) ORDER BY 1, 2;
END $$;

-- The listing that stands; a reported build only reads it.
CREATE OR REPLACE FUNCTION machine.fix_listing(p_build bigint, p_token bigint, p_listing jsonb)
RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    fixed jsonb;
BEGIN
    PERFORM machine.hold_lease(p_build, p_token);
    SELECT listing INTO fixed FROM sequence WHERE id = (SELECT sequence_id FROM build WHERE id = p_build);
    IF fixed IS NULL THEN
        PERFORM machine.hold(p_build, p_token);
        UPDATE sequence SET listing = coalesce(listing, p_listing)
            WHERE id = (SELECT sequence_id FROM build WHERE id = p_build) RETURNING listing INTO fixed;
    END IF;
    RETURN fixed;
END $$;

CREATE OR REPLACE FUNCTION machine.release(p_build bigint, p_token bigint, p_delay double precision)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM machine.hold_lease(p_build, p_token);
    UPDATE build SET state = 'queued', phase = '',
            attempt = CASE WHEN p_delay > 0 THEN attempt ELSE greatest(attempt - 1, 0) END,
            not_before = now() + make_interval(secs => p_delay)
        WHERE id = p_build AND state = 'running';
    DELETE FROM lease WHERE build_id = p_build;
END $$;

-- As `execute`, but the machine keeps the lease: it is still at work, and ends with `explain` or `release`,
-- which leave the state of a build alone that does not run.
CREATE FUNCTION machine.report(p_build bigint, p_token bigint, p_execution jsonb, p_log text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM machine.hold_lease(p_build, p_token);
    UPDATE build SET state = 'executed', phase = 'analyse', execution = p_execution, log = p_log,
            executed_at = now()
        WHERE id = p_build AND state = 'running';
    IF FOUND THEN
        INSERT INTO outbox (kind, payload)
            VALUES ('task', jsonb_build_object('task', 'analyse', 'entity', p_build, 'pool', 'control'));
    END IF;
END $$;

-- Stores the explanation of a reported build, and ends the lease. A machine that lost the answer asks again,
-- when it holds the lease no more.
CREATE FUNCTION machine.explain(p_build bigint, p_token bigint, p_packed bytea)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM explanation WHERE build_id = p_build) THEN
        RETURN;
    END IF;
    PERFORM machine.hold_lease(p_build, p_token);
    PERFORM FROM build WHERE id = p_build AND state IN ('executed', 'finished');
    IF NOT FOUND THEN
        RAISE EXCEPTION 'build % was not reported', p_build USING ERRCODE = 'check_violation';
    END IF;
    INSERT INTO explanation (build_id, packed) VALUES (p_build, p_packed) ON CONFLICT DO NOTHING;
    DELETE FROM lease WHERE build_id = p_build;
    INSERT INTO outbox (kind, payload)
        VALUES ('task', jsonb_build_object('task', 'analyse', 'entity', p_build, 'pool', 'control'));
END $$;

-- 'held', 'overdue' (still held, but past its deadline), 'cancelled' (still held, but no longer wanted)
-- or 'lost'. Only a running build has a phase of the machine. An explanation takes two minutes: nobody keeps
-- a host by renewing the lease of a reported build for longer than five.
CREATE OR REPLACE FUNCTION machine.renew(p_build bigint, p_token bigint, p_seconds double precision, p_phase text)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    answer text;
BEGIN
    UPDATE lease SET renewed_at = clock_timestamp(),
            expires_at = clock_timestamp() + make_interval(secs => p_seconds)
        WHERE build_id = p_build AND token = p_token AND expires_at > clock_timestamp()
            AND NOT EXISTS (
                SELECT FROM build WHERE id = p_build AND state <> 'running'
                    AND executed_at < now() - interval '5 minutes'
            );
    IF NOT FOUND THEN
        RETURN 'lost';
    END IF;
    UPDATE build SET phase = p_phase WHERE id = p_build AND phase <> p_phase AND state = 'running';
    UPDATE machine SET last_seen_at = now() FROM lease
        WHERE lease.build_id = p_build AND machine.name = lease.machine;
    SELECT CASE WHEN deadline_at <= now() THEN 'overdue' WHEN cancel_requested THEN 'cancelled' ELSE 'held' END
        INTO answer FROM build WHERE id = p_build;
    RETURN answer;
END $$;
