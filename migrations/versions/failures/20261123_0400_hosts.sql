-- A build that compares two sides has its host to itself; other builds of a host run beside each other.
-- The builds of both classes are claimed in one order, so neither class waits for ever.

-- Makes a machine known. At most p_builds_beside ordinary builds run beside each other on its host.
CREATE FUNCTION machine.introduce(p_name text, p_class text, p_pool text, p_host text, p_builds_beside integer,
                                  p_fingerprint text, p_facts jsonb)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO environment (fingerprint, facts) VALUES (p_fingerprint, p_facts)
        ON CONFLICT (fingerprint) DO NOTHING;
    INSERT INTO machine (name, class, pool, host, builds_beside, environment_id)
        VALUES (p_name, p_class, p_pool, p_host, p_builds_beside,
                (SELECT id FROM environment WHERE fingerprint = p_fingerprint))
        ON CONFLICT (name) DO UPDATE SET class = excluded.class, pool = excluded.pool, host = excluded.host,
            builds_beside = excluded.builds_beside, environment_id = excluded.environment_id,
            last_seen_at = now();
END $$;

-- Workers of the previous version name no host: each of their machines is one.
CREATE OR REPLACE FUNCTION machine.introduce(
    p_name text, p_class text, p_pool text, p_fingerprint text, p_facts jsonb)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT machine.introduce(p_name, p_class, p_pool, p_name, 1, p_fingerprint, p_facts);
$$;

-- The builds under a live lease on the host of a machine.
CREATE FUNCTION machine.held(p_machine text)
RETURNS TABLE (machine text, is_exclusive boolean)
LANGUAGE sql SET search_path = public, pg_temp AS $$
    SELECT l.machine, b.is_exclusive
    FROM machine AS own
    JOIN machine AS other ON other.host = own.host
    JOIN lease AS l ON l.machine = other.name AND l.expires_at > clock_timestamp()
    JOIN build AS b ON b.id = l.build_id
    WHERE own.name = p_machine;
$$;

-- The first builds that a machine may claim now, in their order. A build gives way to an earlier one of the
-- other class that a machine of the same host takes; an obstacle keeps a machine from exclusive builds only.
CREATE FUNCTION machine.eligible(p_machine text)
RETURNS TABLE (build_id bigint, is_exclusive boolean)
LANGUAGE sql SET search_path = public, pg_temp AS $$
    WITH own AS (
        SELECT pool, host, builds_beside FROM machine WHERE name = p_machine
    ), held AS (
        SELECT count(*) AS builds, bool_or(h.is_exclusive) AS has_exclusive,
               bool_or(h.machine = p_machine) AS is_own
        FROM machine.held(p_machine) AS h
    ), first AS (
        SELECT DISTINCT ON (b.is_exclusive) b.is_exclusive, b.priority, b.id
        FROM own
        JOIN machine AS other ON other.host = own.host
        JOIN build AS b ON b.pool = other.pool AND b.state = 'queued'
        WHERE NOT b.cancel_requested AND b.not_before <= now() AND b.deadline_at > now()
          AND other.last_seen_at > now() - interval '1 minute' AND (other.obstacle = '' OR NOT b.is_exclusive)
        ORDER BY b.is_exclusive, b.priority, b.id
    )
    SELECT b.id, b.is_exclusive
    FROM own CROSS JOIN held JOIN build AS b ON b.pool = own.pool AND b.state = 'queued'
    WHERE NOT b.cancel_requested AND b.not_before <= now() AND b.deadline_at > now()
      AND CASE WHEN held.builds = 0 THEN true
               WHEN b.is_exclusive OR held.has_exclusive OR held.is_own THEN false
               ELSE held.builds < own.builds_beside END
      AND NOT EXISTS (
          SELECT FROM first AS f
          WHERE f.is_exclusive <> b.is_exclusive AND (f.priority, f.id) < (b.priority, b.id))
    ORDER BY b.priority, b.id LIMIT 20;  -- more than machines of other hosts are claiming at this moment
$$;

-- 'exclusive' or 'ordinary': the class of the machine's next build; 'wait': there is none, and other builds
-- run on its host; 'nothing' otherwise.
CREATE FUNCTION machine.peek(p_machine text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE machine SET last_seen_at = now() WHERE name = p_machine;
    RETURN coalesce(
        (SELECT CASE WHEN is_exclusive THEN 'exclusive' ELSE 'ordinary' END
         FROM machine.eligible(p_machine) LIMIT 1),
        CASE WHEN EXISTS (SELECT FROM machine.held(p_machine)) THEN 'wait' ELSE 'nothing' END);
END $$;

-- The next build of the machine, or no row; without p_may_measure only an ordinary one.
-- Claims on one host follow one another, so that each sees the leases of those before it.
CREATE FUNCTION machine.claim(p_machine text, p_seconds double precision, p_may_measure boolean)
RETURNS TABLE (build_id bigint, job text, number integer, token bigint, attempt integer, spec jsonb,
               seed text, listing jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    chosen build%ROWTYPE;
    own    machine%ROWTYPE;
    fence  bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('host ' || host)) FROM machine WHERE name = p_machine;
    UPDATE machine SET last_seen_at = now() WHERE name = p_machine RETURNING * INTO own;
    SELECT b.* INTO chosen
        FROM machine.eligible(p_machine) AS e JOIN build AS b ON b.id = e.build_id
        WHERE b.state = 'queued' AND NOT b.cancel_requested AND (p_may_measure OR NOT b.is_exclusive)
        ORDER BY b.priority, b.id LIMIT 1 FOR UPDATE OF b SKIP LOCKED;
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
            environment_id = own.environment_id, started_at = coalesce(chosen.started_at, now())
        WHERE id = chosen.id;
    RETURN QUERY SELECT chosen.id, chosen.job, chosen.number, fence, chosen.attempt + 1, chosen.spec,
            s.seed, s.listing
        FROM (SELECT chosen.sequence_id AS wanted) AS c LEFT JOIN sequence s ON s.id = c.wanted;
END $$;

-- Workers of the previous version check for obstacles before each claim.
CREATE OR REPLACE FUNCTION machine.claim(p_machine text, p_seconds double precision)
RETURNS TABLE (build_id bigint, job text, number integer, token bigint, attempt integer, spec jsonb,
               seed text, listing jsonb)
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT * FROM machine.claim(p_machine, p_seconds, true);
$$;
