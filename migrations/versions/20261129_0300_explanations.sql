-- As `execute`, but the machine keeps the lease: it is still at work, and ends with `explain` or `release`,
-- which leave the state of a build alone that does not run.
CREATE FUNCTION machine.report(p_build bigint, p_token bigint, p_execution jsonb, p_log text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM machine.hold(p_build, p_token);
    UPDATE build SET state = 'executed', phase = 'analyse', execution = p_execution, log = p_log,
            executed_at = now()
        WHERE id = p_build AND state = 'running';
    IF FOUND THEN
        INSERT INTO outbox (kind, payload)
            VALUES ('task', jsonb_build_object('task', 'analyse', 'entity', p_build, 'pool', 'control'));
    END IF;
END $$;

-- Stores the explanation of a reported build, and ends the lease.
CREATE FUNCTION machine.explain(p_build bigint, p_token bigint, p_packed bytea)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM machine.hold(p_build, p_token);
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
-- or 'lost'. Only a running build has a phase of the machine.
CREATE OR REPLACE FUNCTION machine.renew(p_build bigint, p_token bigint, p_seconds double precision, p_phase text)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    answer text;
BEGIN
    UPDATE lease SET renewed_at = clock_timestamp(),
            expires_at = clock_timestamp() + make_interval(secs => p_seconds)
        WHERE build_id = p_build AND token = p_token AND expires_at > clock_timestamp();
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
