-- All that a machine may do, as functions: its role holds no right on any table.
-- Each write checks the lease's fencing token on the database's clock, in the same transaction.

CREATE SCHEMA machine;

CREATE FUNCTION machine.hold(p_build bigint, p_token bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM FROM lease
        WHERE build_id = p_build AND token = p_token AND expires_at > clock_timestamp()
        FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the lease on build % is lost', p_build USING ERRCODE = 'BG001';
    END IF;
END $$;

CREATE FUNCTION machine.introduce(p_name text, p_class text, p_pool text, p_fingerprint text, p_facts jsonb)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO environment (fingerprint, facts) VALUES (p_fingerprint, p_facts)
        ON CONFLICT (fingerprint) DO NOTHING;
    INSERT INTO machine (name, class, pool, environment_id)
        VALUES (p_name, p_class, p_pool, (SELECT id FROM environment WHERE fingerprint = p_fingerprint))
        ON CONFLICT (name) DO UPDATE SET class = excluded.class, pool = excluded.pool,
            environment_id = excluded.environment_id, last_seen_at = now();
END $$;

CREATE FUNCTION machine.see(p_name text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    UPDATE machine SET last_seen_at = now() WHERE name = p_name;
$$;

-- The next build of the pool, or no row. One machine holds one live lease at a time.
CREATE FUNCTION machine.claim(p_machine text, p_seconds double precision)
RETURNS TABLE (build_id bigint, job text, number integer, token bigint, attempt integer, spec jsonb,
               seed text, listing jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    chosen build%ROWTYPE;
    host   machine%ROWTYPE;
    fence  bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('machine ' || p_machine));
    UPDATE machine SET last_seen_at = now() WHERE name = p_machine RETURNING * INTO host;
    IF NOT FOUND OR EXISTS (
        SELECT FROM lease WHERE machine = p_machine AND expires_at > clock_timestamp()
    ) THEN
        RETURN;
    END IF;
    SELECT * INTO chosen FROM build
        WHERE pool = host.pool AND state = 'queued' AND NOT cancel_requested AND not_before <= now()
            AND deadline_at > now()
        ORDER BY priority, id LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    fence := nextval('lease_token');
    INSERT INTO lease (build_id, machine, token, renewed_at, expires_at)
        VALUES (chosen.id, p_machine, fence, clock_timestamp(),
                clock_timestamp() + make_interval(secs => p_seconds))
        ON CONFLICT (build_id) DO UPDATE SET machine = excluded.machine, token = excluded.token,
            renewed_at = excluded.renewed_at, expires_at = excluded.expires_at;
    UPDATE build SET state = 'running', phase = 'claimed', attempt = chosen.attempt + 1, machine = p_machine,
            environment_id = host.environment_id, started_at = coalesce(chosen.started_at, now())
        WHERE id = chosen.id;
    RETURN QUERY SELECT chosen.id, chosen.job, chosen.number, fence, chosen.attempt + 1, chosen.spec,
            s.seed, s.listing
        FROM (SELECT chosen.sequence_id AS wanted) AS c LEFT JOIN sequence s ON s.id = c.wanted;
END $$;

-- 'held', 'overdue' (still held, but past its deadline), 'cancelled' (still held, but no longer wanted)
-- or 'lost'.
CREATE FUNCTION machine.renew(p_build bigint, p_token bigint, p_seconds double precision, p_phase text)
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
    UPDATE build SET phase = p_phase WHERE id = p_build AND phase <> p_phase;
    UPDATE machine SET last_seen_at = now() FROM lease
        WHERE lease.build_id = p_build AND machine.name = lease.machine;
    SELECT CASE WHEN deadline_at <= now() THEN 'overdue' WHEN cancel_requested THEN 'cancelled' ELSE 'held' END
        INTO answer FROM build WHERE id = p_build;
    RETURN answer;
END $$;

CREATE FUNCTION machine.find_binary(p_build bigint, p_token bigint, p_digest text)
RETURNS TABLE (artifact text, manifest jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM machine.hold(p_build, p_token);
    RETURN QUERY UPDATE kept_binary SET last_used_at = now() WHERE digest = p_digest
        RETURNING kept_binary.artifact, kept_binary.manifest;
END $$;

CREATE FUNCTION machine.keep_binary(
    p_build bigint, p_token bigint, p_digest text, p_artifact text, p_manifest jsonb)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM machine.hold(p_build, p_token);
    INSERT INTO kept_binary (digest, artifact, manifest, build_id)
        VALUES (p_digest, p_artifact, p_manifest, p_build) ON CONFLICT (digest) DO NOTHING;
END $$;

-- The listing that stands: the first one stored wins, so that the family never changes midway.
CREATE FUNCTION machine.fix_listing(p_build bigint, p_token bigint, p_listing jsonb)
RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    fixed jsonb;
BEGIN
    PERFORM machine.hold(p_build, p_token);
    UPDATE sequence SET listing = coalesce(listing, p_listing)
        WHERE id = (SELECT sequence_id FROM build WHERE id = p_build) RETURNING listing INTO fixed;
    RETURN fixed;
END $$;

CREATE FUNCTION machine.pairs(p_build bigint, p_token bigint) RETURNS TABLE (pair integer, artifact text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM machine.hold(p_build, p_token);
    RETURN QUERY SELECT DISTINCT l.pair, l.artifact FROM launch l
        WHERE l.sequence_id = (SELECT sequence_id FROM build WHERE id = p_build) ORDER BY 1;
END $$;

-- A whole pair at once: half a pair is never stored, so a resumed build repeats it. The first one stored
-- under a number stays, also when two builds measure the same sequence and a suite fell out of one of them.
CREATE FUNCTION machine.record_pair(
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
END $$;

CREATE FUNCTION machine.execute(p_build bigint, p_token bigint, p_execution jsonb, p_log text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM machine.hold(p_build, p_token);
    UPDATE build SET state = 'executed', phase = 'analyse', execution = p_execution, log = p_log,
            executed_at = now()
        WHERE id = p_build AND state = 'running';
    DELETE FROM lease WHERE build_id = p_build;
    INSERT INTO outbox (kind, payload)
        VALUES ('task', jsonb_build_object('task', 'analyse', 'entity', p_build, 'pool', 'control'));
END $$;

-- Hands a build back. Without a delay the worker was only asked to stop, which costs the build no
-- attempt; with one it met a passing fault, and the next attempt waits.
CREATE FUNCTION machine.release(p_build bigint, p_token bigint, p_delay double precision) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM machine.hold(p_build, p_token);
    UPDATE build SET state = 'queued', phase = '',
            attempt = CASE WHEN p_delay > 0 THEN attempt ELSE greatest(attempt - 1, 0) END,
            not_before = now() + make_interval(secs => p_delay)
        WHERE id = p_build AND state = 'running';
    DELETE FROM lease WHERE build_id = p_build;
END $$;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'benchgate_machine') THEN
        CREATE ROLE benchgate_machine NOLOGIN;
    END IF;
EXCEPTION
    WHEN duplicate_object OR unique_violation THEN NULL;  -- another database of the same server was quicker
END $$;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA machine FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION ensure_partitions FROM PUBLIC;
GRANT USAGE ON SCHEMA machine TO benchgate_machine;
GRANT EXECUTE ON FUNCTION machine.introduce, machine.see, machine.claim, machine.renew, machine.find_binary,
    machine.keep_binary, machine.fix_listing, machine.pairs, machine.record_pair, machine.execute,
    machine.release TO benchgate_machine;
