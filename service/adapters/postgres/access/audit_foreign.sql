-- Objects of the audit log that audit.sql does not make. Their functions would run with the rights of benchgate_audit,
-- and a parent of the table would be a way to its rows past the trigger.

WITH log AS (
    -- Not by to_regclass, which may already see a table whose columns this statement does not see.
    SELECT pg_class.oid AS entry, pg_namespace.oid AS schema
    FROM pg_namespace LEFT JOIN pg_class ON relnamespace = pg_namespace.oid AND relname = 'entry'
    WHERE nspname = 'audit'
), declared (name, type, is_plain) AS (
    VALUES ('id', 'bigint'::regtype::oid, true), ('at', 'text'::regtype, true), ('kind', 'text'::regtype, true),
           ('actor', 'text'::regtype, true), ('subject', 'text'::regtype, true), ('body', 'text'::regtype, true),
           ('previous', 'bytea'::regtype, true), ('hash', 'bytea'::regtype, true)
), actual AS (
    -- The value of a default, also of a generated column, may come from any function.
    SELECT attname::text, atttypid, attnotnull AND NOT atthasdef AND attidentity = ''
           AND attcollation = (SELECT typcollation FROM pg_type WHERE pg_type.oid = atttypid)
    FROM pg_attribute, log WHERE attrelid = entry AND attnum > 0 AND NOT attisdropped
)
SELECT 'audit.entry is not an ordinary table' AS sentence FROM pg_class, log
    WHERE pg_class.oid = entry AND (relkind <> 'r' OR relpersistence <> 'p' OR reloftype <> 0 OR relispartition)
UNION ALL
SELECT DISTINCT format('the column %I of audit.entry is not the declared one', name)
    FROM ((TABLE declared EXCEPT TABLE actual) UNION ALL (TABLE actual EXCEPT TABLE declared)) AS differences, log
    WHERE entry IS NOT NULL
UNION ALL
SELECT format('audit.entry has the trigger %I', tgname) FROM pg_trigger, log
    WHERE tgrelid = entry AND tgname <> 'refuse_changes' AND NOT tgisinternal
UNION ALL
SELECT format('audit.entry has the rule %I', rulename) FROM pg_rewrite, log WHERE ev_class = entry
UNION ALL
SELECT format('audit.entry has the policy %I', polname) FROM pg_policy, log WHERE polrelid = entry
UNION ALL
SELECT 'audit.entry has row security' FROM pg_class, log
    WHERE pg_class.oid = entry AND (relrowsecurity OR relforcerowsecurity)
UNION ALL
-- A constraint NOT NULL is a row of this catalog from PostgreSQL 18 on.
SELECT format('audit.entry has the constraint %I', conname) FROM pg_constraint, log
    WHERE conrelid = entry AND NOT (contype = 'p' AND conkey = ARRAY[1]::smallint[] AND NOT condeferrable)
        AND contype <> 'n'
UNION ALL
SELECT format('%s refers to audit.entry', conrelid::regclass) FROM pg_constraint, log WHERE confrelid = entry
UNION ALL
SELECT format('audit.entry has the index %I', relname) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid, log
    WHERE indrelid = entry
        AND (indexprs IS NOT NULL OR indpred IS NOT NULL OR (relname <> 'entry_kind' AND NOT indisprimary))
UNION ALL
SELECT format('audit.entry has the statistics %I', stxname) FROM pg_statistic_ext, log WHERE stxrelid = entry
UNION ALL
SELECT format('%s inherits from %s', inhrelid::regclass, inhparent::regclass) FROM pg_inherits, log
    WHERE entry IN (inhrelid, inhparent)
UNION ALL
SELECT format('the schema audit has the relation %I', relname) FROM pg_class, log
    WHERE relnamespace = schema AND pg_class.oid IS DISTINCT FROM entry
        AND NOT EXISTS (SELECT FROM pg_index WHERE indexrelid = pg_class.oid AND indrelid = entry)
UNION ALL
SELECT format('the schema audit has the function %s', pg_proc.oid::regprocedure) FROM pg_proc, log
    WHERE pronamespace = schema AND (proname, pg_get_function_arguments(pg_proc.oid),
            pg_get_function_result(pg_proc.oid)) NOT IN (
        ('append', 'p_kind text, p_actor text, p_subject text, p_body text', 'TABLE(id bigint, hash bytea)'),
        ('refuse', '', 'trigger'))
ORDER BY 1
