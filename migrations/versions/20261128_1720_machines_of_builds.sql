-- The first builds of each class that a machine may claim now, in their order; a machine that may not measure
-- leaves out the exclusive ones. A build gives way to an earlier one of the other class that a machine of the
-- same host takes; an obstacle keeps a machine from exclusive builds only. An ordinary build also leaves room
-- for earlier ones of other pools that idle machines of the host take. A build may be for one machine only.
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
                SELECT other.pool, array_append(array_agg(other.name), '') AS takers
                FROM own JOIN machine AS other ON other.host = own.host
                WHERE other.last_seen_at > now() - interval '1 minute'
                  AND (other.obstacle = '' OR NOT class.is_exclusive)
                GROUP BY other.pool
            ) AS served CROSS JOIN LATERAL (
                SELECT b.is_exclusive, b.priority, b.turn, b.id FROM build AS b
                WHERE b.pool = served.pool AND b.state = 'queued' AND b.is_exclusive = class.is_exclusive
                  AND b.for_machine = ANY (served.takers)
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
        WHERE b.is_exclusive = class.is_exclusive AND b.for_machine IN ('', p_machine)
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
