-- The protections that the audit log lacks: a sentence for each, and the remedy if it is not to run audit.sql again.
-- Its parameters are the bodies of the functions in audit.sql.

WITH RECURSIVE log AS (
    SELECT to_regrole('benchgate_audit')::oid AS role, to_regclass('audit.entry')::oid AS entry,
           to_regnamespace('audit')::oid AS schema, datdba AS owner
    FROM pg_database WHERE datname = current_database()
), membership AS (
    -- In PostgreSQL 15 memberships have no options: each lets its member act as the role.
    SELECT roleid, member, admin_option AS may_grant,
           coalesce((to_jsonb(m) ->> 'set_option')::boolean, true)
               OR coalesce((to_jsonb(m) ->> 'inherit_option')::boolean, true) AS may_act
    FROM pg_auth_members AS m
), client (role) AS (
    -- The roles that Benchgate may use the database by.
    SELECT owner FROM log
    UNION SELECT oid FROM pg_roles WHERE rolname = session_user
    UNION SELECT member FROM membership JOIN client ON roleid = client.role WHERE may_act
), power (client, role) AS (
    -- And those that they can act as, or make themselves a member of.
    SELECT role, role FROM client
    UNION
    SELECT power.client, roleid FROM membership JOIN power ON member = power.role, log
    WHERE (may_act OR may_grant) AND roleid IS DISTINCT FROM log.role
), too_wide (client, role, effect, remedy) AS (
    SELECT client, oid, 'is a superuser',
           'ALTER ROLE %I NOSUPERUSER; the first role of a server stays one: let another role own the database'
        FROM power JOIN pg_roles ON oid = role WHERE rolsuper
    UNION ALL
    SELECT client, oid, 'may create roles', 'ALTER ROLE %I NOCREATEROLE'
        FROM power JOIN pg_roles ON oid = role WHERE rolcreaterole AND NOT rolsuper
    UNION ALL
    -- A copy has the stored passwords of all roles.
    SELECT client, oid, 'may copy every database of the server', 'ALTER ROLE %I NOREPLICATION'
        FROM power JOIN pg_roles ON oid = role WHERE rolreplication AND NOT rolsuper
    UNION ALL
    -- Of PostgreSQL's own roles, these write past audit.append, or lead to the rights or the password of a superuser.
    SELECT client, oid, danger.effect, ''
        FROM power JOIN pg_roles ON oid = role
        JOIN (VALUES ('pg_write_all_data', 'may write to all tables'),
                     ('pg_read_all_data', 'may read the stored passwords of all roles'),
                     ('pg_write_server_files', 'may change the files of the server'),
                     ('pg_execute_server_program', 'may change the files of the server'),
                     ('pg_read_server_files', 'may read the files of the server')) AS danger (name, effect)
            ON rolname = danger.name
    UNION ALL
    SELECT client, power.role, 'may make itself a member of benchgate_audit', 'REVOKE benchgate_audit FROM %I'
        FROM power JOIN membership ON member = power.role JOIN log ON roleid = log.role
        WHERE may_grant AND NOT may_act
), owned (object, owner) AS (
    SELECT 'the schema audit', nspowner FROM pg_namespace, log WHERE pg_namespace.oid = schema
    UNION ALL
    SELECT format('audit.%s', relname), relowner FROM pg_class, log WHERE relnamespace = schema
    UNION ALL
    SELECT format('the function audit.%s', proname), proowner FROM pg_proc, log WHERE pronamespace = schema
), granted (object, grantee, privilege) AS (
    SELECT 'the schema audit', a.grantee, a.privilege_type
        FROM log, pg_namespace, aclexplode(coalesce(nspacl, acldefault('n', nspowner))) AS a
        WHERE pg_namespace.oid = schema AND a.grantee <> nspowner AND a.privilege_type <> 'USAGE'
    UNION ALL
    SELECT format('audit.%s', relname), a.grantee, a.privilege_type
        FROM log, pg_class, aclexplode(coalesce(relacl, acldefault('r', relowner))) AS a
        WHERE relnamespace = schema AND relkind IN ('r', 'p', 'v', 'm') AND a.grantee <> relowner
            AND (a.privilege_type <> 'SELECT' OR a.grantee = 0)
    UNION ALL
    SELECT format('a column of audit.%s', relname), a.grantee, a.privilege_type
        FROM log, pg_class JOIN pg_attribute ON attrelid = pg_class.oid, aclexplode(attacl) AS a
        WHERE relnamespace = schema AND a.grantee <> relowner AND a.privilege_type <> 'SELECT'
    UNION ALL
    SELECT format('the function audit.%s', proname), a.grantee, a.privilege_type
        FROM log, pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner))) AS a
        WHERE pronamespace = schema AND a.grantee <> proowner AND a.grantee <> 'pg_database_owner'::regrole
)
SELECT 'the role benchgate_audit does not exist' AS sentence, '' AS remedy FROM log WHERE role IS NULL
UNION ALL
SELECT 'somebody can log in as benchgate_audit', 'ALTER ROLE benchgate_audit NOLOGIN'
    FROM pg_roles, log WHERE oid = role AND rolcanlogin
UNION ALL
SELECT 'benchgate_audit is a superuser', 'ALTER ROLE benchgate_audit NOSUPERUSER'
    FROM pg_roles, log WHERE oid = role AND rolsuper
UNION ALL
SELECT format('%s may act as benchgate_audit', pg_get_userbyid(member)),
       format('REVOKE benchgate_audit FROM %I', pg_get_userbyid(member))
    FROM membership, log WHERE roleid = role AND may_act
UNION ALL
SELECT format('%s, %s, %s', pg_get_userbyid(client),
              CASE WHEN client = owner THEN 'the owner of the database'
                   WHEN pg_get_userbyid(client) = session_user THEN 'which Benchgate logs in as'
                   ELSE 'which may act as the owner of the database' END,
              CASE WHEN too_wide.role = client THEN effect
                   ELSE format('may act as %s, which %s', pg_get_userbyid(too_wide.role), effect) END),
       CASE WHEN client <> owner AND pg_get_userbyid(client) = session_user
                THEN 'let BENCHGATE_DATABASE_URL name the owner of the database'
            WHEN client <> owner THEN format('REVOKE %I FROM %I', pg_get_userbyid(owner), pg_get_userbyid(client))
            WHEN too_wide.role <> client
                THEN format('REVOKE %I FROM %I', pg_get_userbyid(too_wide.role), pg_get_userbyid(client))
            ELSE format(too_wide.remedy, pg_get_userbyid(client)) END
    FROM too_wide, log
UNION ALL
SELECT 'the table audit.entry is missing', '' FROM log WHERE entry IS NULL
UNION ALL
SELECT format('the function audit.%s is not that of this version', name), ''
    FROM (VALUES ('append', 'audit.append(text, text, text, text)', :append, true),
                 ('refuse', 'audit.refuse()', :refuse, false)) AS wanted (name, signature, body, is_definer)
    WHERE NOT EXISTS (
        SELECT FROM pg_proc JOIN pg_language ON pg_language.oid = prolang
        WHERE pg_proc.oid = to_regprocedure(signature) AND prosrc = body AND prosecdef = is_definer
            AND lanname = 'plpgsql' AND prokind = 'f' AND proconfig = ARRAY['search_path=pg_catalog, pg_temp'])
UNION ALL
-- The bits of tgtype: 2 BEFORE, 8 DELETE, 16 UPDATE, 32 TRUNCATE; without 1, for each statement.
SELECT 'the trigger that refuses UPDATE, DELETE and TRUNCATE on audit.entry is missing, or is not always enabled', ''
    FROM log
    WHERE NOT EXISTS (
        SELECT FROM pg_trigger WHERE tgrelid = entry AND tgname = 'refuse_changes' AND tgenabled = 'A'
            AND tgtype = 2 + 8 + 16 + 32 AND tgqual IS NULL AND tgattr = ''
            AND tgfoid = to_regprocedure('audit.refuse()'))
UNION ALL
SELECT format('%s belongs to %s, not to benchgate_audit', object, pg_get_userbyid(owned.owner)), ''
    FROM owned, log WHERE owned.owner IS DISTINCT FROM role
UNION ALL
SELECT format('%s has the right %s on %s', CASE grantee WHEN 0 THEN 'everybody' ELSE pg_get_userbyid(grantee) END,
              privilege, object), ''
    FROM granted
ORDER BY 1
