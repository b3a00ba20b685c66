-- The protections that the audit log lacks, one sentence each.

WITH log AS (
    SELECT to_regrole('benchgate_audit')::oid AS role, to_regclass('audit.entry')::oid AS entry,
           to_regnamespace('audit')::oid AS schema
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
SELECT 'the role benchgate_audit does not exist' AS sentence FROM log WHERE role IS NULL
UNION ALL
SELECT 'somebody can log in as benchgate_audit' FROM pg_roles, log WHERE oid = role AND rolcanlogin
UNION ALL
SELECT format('%s may act as benchgate_audit', pg_get_userbyid(member))
    FROM pg_auth_members, log WHERE roleid = role AND (set_option OR inherit_option)
UNION ALL
SELECT 'the table audit.entry is missing' FROM log WHERE entry IS NULL
UNION ALL
SELECT 'the function audit.append is missing, or does not run with the rights of its owner' FROM log
    WHERE NOT EXISTS (
        SELECT FROM pg_proc WHERE oid = to_regprocedure('audit.append(text, text, text, text)') AND prosecdef
            AND proconfig = ARRAY['search_path=pg_catalog, pg_temp'])
UNION ALL
-- The bits of tgtype: 2 BEFORE, 8 DELETE, 16 UPDATE, 32 TRUNCATE; without 1, for each statement.
SELECT 'the trigger that refuses UPDATE, DELETE and TRUNCATE on audit.entry is missing, or is not always enabled'
    FROM log
    WHERE NOT EXISTS (
        SELECT FROM pg_trigger WHERE tgrelid = entry AND tgname = 'refuse_changes' AND tgenabled = 'A'
            AND tgtype = 2 + 8 + 16 + 32 AND tgqual IS NULL AND tgattr = '' AND tgfoid = to_regproc('audit.refuse'))
UNION ALL
SELECT format('%s belongs to %s, not to benchgate_audit', object, pg_get_userbyid(owner))
    FROM owned, log WHERE owner IS DISTINCT FROM role
UNION ALL
SELECT format('%s has the right %s on %s', CASE grantee WHEN 0 THEN 'everybody' ELSE pg_get_userbyid(grantee) END,
              privilege, object)
    FROM granted
ORDER BY 1
