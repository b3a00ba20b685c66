-- The audit log and its protection. An administrator runs this script; running it again changes nothing, and gives
-- objects of another owner (of a restore without owners) back to benchgate_audit.
--
-- The log is in a schema of its own, because the owner of the database may drop whatever is in `public`. All of it
-- belongs to benchgate_audit, a role that nobody can log in with; the database's owner reads, and appends through
-- one function.

DO $$
BEGIN
    IF to_regrole('benchgate_audit') IS NULL THEN
        BEGIN
            CREATE ROLE benchgate_audit NOLOGIN;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;  -- made for another database of the server at this moment
        END;
    END IF;
    -- An administrator who is no superuser becomes a member until the end of this script. In PostgreSQL 15, every
    -- member may act as the role.
    IF current_setting('server_version_num')::integer < 160000 THEN
        IF NOT pg_has_role(current_user, 'benchgate_audit', 'MEMBER') THEN
            EXECUTE format('GRANT benchgate_audit TO %I', current_user);
        END IF;
    ELSIF NOT pg_has_role(current_user, 'benchgate_audit', 'SET') THEN
        EXECUTE format('GRANT benchgate_audit TO %I WITH INHERIT FALSE, SET TRUE', current_user);
    END IF;
    IF to_regnamespace('audit') IS NULL THEN
        CREATE SCHEMA audit AUTHORIZATION benchgate_audit;
    ELSE
        ALTER SCHEMA audit OWNER TO benchgate_audit;
        IF to_regclass('audit.entry') IS NOT NULL THEN
            ALTER TABLE audit.entry OWNER TO benchgate_audit;
        END IF;
        IF to_regprocedure('audit.append(text, text, text, text)') IS NOT NULL THEN
            ALTER FUNCTION audit.append(text, text, text, text) OWNER TO benchgate_audit;
        END IF;
        IF to_regprocedure('audit.refuse()') IS NOT NULL THEN
            ALTER FUNCTION audit.refuse() OWNER TO benchgate_audit;
        END IF;
    END IF;
END $$;

SET LOCAL ROLE benchgate_audit;

CREATE TABLE IF NOT EXISTS audit.entry (
    id       bigint PRIMARY KEY,
    at       text NOT NULL,
    kind     text NOT NULL,
    actor    text NOT NULL,
    subject  text NOT NULL,
    body     text NOT NULL,
    previous bytea NOT NULL,
    hash     bytea NOT NULL
);

CREATE INDEX IF NOT EXISTS entry_kind ON audit.entry (kind, id);

CREATE OR REPLACE FUNCTION audit.refuse() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'the audit log refuses %', TG_OP USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE OR REPLACE TRIGGER refuse_changes BEFORE UPDATE OR DELETE OR TRUNCATE ON audit.entry
    FOR EACH STATEMENT EXECUTE FUNCTION audit.refuse();
-- Otherwise `SET session_replication_role = replica` would pass it.
ALTER TABLE audit.entry ENABLE ALWAYS TRIGGER refuse_changes;

-- The lock is one that only the table's owner can take: an advisory lock could be taken by every role, also by the
-- machines', which could then stop every override. Each statement sees what was committed before it began.
CREATE OR REPLACE FUNCTION audit.append(p_kind text, p_actor text, p_subject text, p_body text)
RETURNS TABLE (id bigint, hash bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    last     audit.entry%ROWTYPE;
    moment   text;
    number   bigint;
    head     bytea;
    sealed   bytea;
    field    text;
BEGIN
    LOCK TABLE audit.entry IN SHARE ROW EXCLUSIVE MODE;
    SELECT * INTO last FROM audit.entry ORDER BY id DESC LIMIT 1;
    number := coalesce(last.id, 0) + 1;
    head := coalesce(last.hash, decode(repeat('00', 32), 'hex'));
    moment := to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');
    sealed := head;
    FOREACH field IN ARRAY ARRAY[number::text, moment, p_kind, p_actor, p_subject, p_body] LOOP
        sealed := sealed || int4send(octet_length(convert_to(field, 'UTF8'))) || convert_to(field, 'UTF8');
    END LOOP;
    INSERT INTO audit.entry (id, at, kind, actor, subject, body, previous, hash)
        VALUES (number, moment, p_kind, p_actor, p_subject, p_body, head, sha256(sealed));
    RETURN QUERY SELECT number, sha256(sealed);
END $$;

DO $$
DECLARE
    other text;
BEGIN
    FOR other IN
        SELECT DISTINCT a.grantee::regrole::text FROM (
            SELECT nspacl AS acl FROM pg_namespace WHERE nspname = 'audit'
            UNION ALL SELECT relacl FROM pg_class WHERE relnamespace = 'audit'::regnamespace
            UNION ALL SELECT attacl FROM pg_attribute WHERE attrelid = 'audit.entry'::regclass
            UNION ALL SELECT proacl FROM pg_proc WHERE pronamespace = 'audit'::regnamespace
        ) AS granted, aclexplode(acl) AS a WHERE a.grantee NOT IN (0, 'benchgate_audit'::regrole)
    LOOP
        EXECUTE format('REVOKE ALL ON SCHEMA audit FROM %s CASCADE', other);
        EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA audit FROM %s CASCADE', other);
        EXECUTE format('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA audit FROM %s CASCADE', other);
    END LOOP;
END $$;

REVOKE ALL ON SCHEMA audit FROM PUBLIC;
REVOKE ALL ON audit.entry FROM PUBLIC;
REVOKE ALL ON FUNCTION audit.append(text, text, text, text), audit.refuse() FROM PUBLIC;
GRANT USAGE ON SCHEMA audit TO pg_database_owner;
GRANT SELECT ON audit.entry TO pg_database_owner;
GRANT EXECUTE ON FUNCTION audit.append(text, text, text, text) TO pg_database_owner;

RESET ROLE;

DO $$
BEGIN
    IF EXISTS (
        SELECT FROM pg_auth_members
        WHERE roleid = to_regrole('benchgate_audit') AND member = to_regrole(quote_ident(current_user))
            AND grantor = member
    ) THEN
        EXECUTE format('REVOKE benchgate_audit FROM %1$I GRANTED BY %1$I', current_user);
    END IF;
END $$;
