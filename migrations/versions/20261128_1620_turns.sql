-- The first builds of each class that a machine may claim now, in their order; a machine that may not measure
-- leaves out the exclusive ones. A build gives way to an earlier one of the other class that a machine of the
-- same host takes; an obstacle keeps a machine from exclusive builds only. An ordinary build also leaves room
-- for earlier ones of other pools that idle machines of the host take.
CREATE OR REPLACE FUNCTION machine.eligible(p_machine text)
RETURNS TABLE (build_id bigint, is_exclusive boolean)
LANGUAGE sql SET search_path = public, pg_temp AS $$
    WITH own AS (
        SELECT pool, host, builds_beside FROM machine WHERE name = p_machine
    ), held AS (
        SELECT count(*) AS builds, bool_or(h.is_exclusive) AS has_exclusive,
               bool_or(h.machine = p_machine) AS is_own
        FROM machine.held(p_machine) AS h
    ), first AS MATERIALIZED (
        SELECT e.* FROM (VALUES (false), (true)) AS class (is_exclusive) CROSS JOIN LATERAL (
            SELECT b.*
            FROM (
                SELECT DISTINCT other.pool FROM own JOIN machine AS other ON other.host = own.host
                WHERE other.last_seen_at > now() - interval '1 minute'
                  AND (other.obstacle = '' OR NOT class.is_exclusive)
            ) AS served CROSS JOIN LATERAL (
                SELECT b.is_exclusive, b.priority, b.turn, b.id FROM build AS b
                WHERE b.pool = served.pool AND b.state = 'queued' AND b.is_exclusive = class.is_exclusive
                  AND NOT b.cancel_requested AND b.not_before <= now() AND b.deadline_at > now()
                ORDER BY b.priority, b.turn, b.id LIMIT 1
            ) AS b
            ORDER BY b.priority, b.turn, b.id LIMIT 1
        ) AS e
    ), idle AS (
        SELECT other.pool, count(*) AS machines
        FROM own JOIN machine AS other ON other.host = own.host AND other.pool <> own.pool
        WHERE other.last_seen_at > now() - interval '1 minute'
          AND NOT EXISTS (SELECT FROM machine.held(p_machine) AS h WHERE h.machine = other.name)
        GROUP BY other.pool
    ), beside AS MATERIALIZED (
        SELECT e.priority, e.turn, e.id
        FROM idle CROSS JOIN LATERAL (
            SELECT b.priority, b.turn, b.id FROM build AS b
            WHERE b.pool = idle.pool AND b.state = 'queued' AND NOT b.is_exclusive AND NOT b.cancel_requested
              AND b.not_before <= now() AND b.deadline_at > now()
            ORDER BY b.priority, b.turn, b.id LIMIT idle.machines
        ) AS e
    )
    SELECT b.id, b.is_exclusive
    FROM (VALUES (false), (true)) AS class (is_exclusive) CROSS JOIN LATERAL (
        SELECT b.id, b.is_exclusive, b.priority, b.turn
        FROM own CROSS JOIN held JOIN build AS b ON b.pool = own.pool AND b.state = 'queued'
        WHERE b.is_exclusive = class.is_exclusive
          AND NOT b.cancel_requested AND b.not_before <= now() AND b.deadline_at > now()
          AND CASE WHEN held.builds = 0 THEN true
                   WHEN b.is_exclusive OR held.has_exclusive OR held.is_own THEN false
                   ELSE held.builds < own.builds_beside END
          AND NOT EXISTS (
              SELECT FROM first AS f
              WHERE f.is_exclusive <> b.is_exclusive AND (f.priority, f.turn, f.id) < (b.priority, b.turn, b.id))
          AND (b.is_exclusive OR own.builds_beside > held.builds + (
              SELECT count(*) FROM beside AS e
              WHERE (e.priority, e.turn, e.id) < (b.priority, b.turn, b.id)))
        ORDER BY b.priority, b.turn, b.id LIMIT 20  -- more than machines of other hosts are claiming at this moment
    ) AS b
    ORDER BY b.priority, b.turn, b.id;
$$;

-- The next build of the machine, or no row; without p_may_measure only an ordinary one.
-- It must end a day after its first claim. Claims on one host follow one another, so that each sees the leases
-- of those before it.
CREATE OR REPLACE FUNCTION machine.claim(p_machine text, p_seconds double precision, p_may_measure boolean)
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
    IF machine.is_closed(p_machine) THEN
        RETURN;
    END IF;
    SELECT b.* INTO chosen
        FROM machine.eligible(p_machine) AS e JOIN build AS b ON b.id = e.build_id
        WHERE b.state = 'queued' AND NOT b.cancel_requested AND (p_may_measure OR NOT b.is_exclusive)
        ORDER BY b.priority, b.turn, b.id LIMIT 1 FOR UPDATE OF b SKIP LOCKED;
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
            environment_id = own.environment_id, started_at = coalesce(chosen.started_at, now()),
            deadline_at = CASE WHEN chosen.started_at IS NULL THEN now() + interval '1 day' ELSE deadline_at END
        WHERE id = chosen.id;
    RETURN QUERY SELECT chosen.id, chosen.job, chosen.number, fence, chosen.attempt + 1, chosen.spec,
            s.seed, s.listing
        FROM (SELECT chosen.sequence_id AS wanted) AS c LEFT JOIN sequence s ON s.id = c.wanted;
END $$;
