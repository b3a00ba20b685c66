-- 'exclusive' or 'ordinary': the class of the machine's next build; 'wait': there is none, and other builds
-- run on its host; 'nothing' otherwise.
CREATE OR REPLACE FUNCTION machine.peek(p_machine text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    UPDATE machine SET last_seen_at = now() WHERE name = p_machine;
    RETURN coalesce(
        (SELECT CASE WHEN is_exclusive THEN 'exclusive' ELSE 'ordinary' END
         FROM machine.eligible(p_machine) WHERE NOT machine.is_closed(p_machine) LIMIT 1),
        CASE WHEN EXISTS (SELECT FROM machine.held(p_machine)) THEN 'wait' ELSE 'nothing' END);
END $$;

-- The next build of the machine, or no row, as on a closed host; without p_may_measure only an ordinary one.
-- Claims on one host follow one another, so that each sees the leases of those before it.
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
