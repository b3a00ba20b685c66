"""Read what a connection's role may do, from PostgreSQL."""

from __future__ import annotations

from typing import Final

from sqlalchemy import text
from sqlalchemy.exc import ArgumentError, DBAPIError

from service.adapters.postgres.access.audit import PostgresAuditLog, own_names
from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.faults import translated
from service.domain.machines.connections import DatabaseRights, Path
from service.domain.values.errors import Permanent

_ROLE: Final = text("""
SELECT current_user AS role, rolsuper, rolreplication, rolbypassrls, rolcreaterole, rolcreatedb,
       datdba = pg_roles.oid OR pg_has_role(datdba, 'MEMBER') AND NOT rolsuper AS is_owner,
       coalesce(inet_client_addr() <<= '127.0.0.0/8' OR inet_client_addr() = '::1', true) AS is_local,
       coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS is_encrypted,
       (SELECT count(*) FROM pg_proc JOIN pg_namespace AS n ON n.oid = pronamespace
        WHERE nspname = 'machine' AND has_schema_privilege(n.oid, 'USAGE')
            AND has_function_privilege(pg_proc.oid, 'EXECUTE')) AS functions
FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database()
""")
# Extensions are left out: they give harmless functions and views to everybody.
_REACHABLE: Final = text("""
WITH space AS (
    SELECT oid, nspname FROM pg_namespace
    WHERE nspname <> 'information_schema' AND nspname !~ '^pg_' AND has_schema_privilege(oid, 'USAGE')
), extended AS (SELECT objid FROM pg_depend WHERE deptype = 'e')
SELECT 'the right to create schemas' WHERE has_database_privilege(current_database(), 'CREATE')
UNION ALL
SELECT format('the right to create objects in %s', nspname) FROM space
WHERE has_schema_privilege(oid, 'CREATE')
UNION ALL
SELECT format('the table %s.%s', nspname, relname) FROM pg_class JOIN space ON space.oid = relnamespace
WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_class.oid NOT IN (TABLE extended)
    AND (has_table_privilege(pg_class.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
         OR has_any_column_privilege(pg_class.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))
UNION ALL
SELECT format('the sequence %s.%s', nspname, relname) FROM pg_class JOIN space ON space.oid = relnamespace
WHERE CASE WHEN relkind = 'S' THEN has_sequence_privilege(pg_class.oid, 'USAGE, SELECT, UPDATE') END
UNION ALL
SELECT format('the function %s.%s', nspname, proname) FROM pg_proc JOIN space ON space.oid = pronamespace
WHERE nspname <> 'machine' AND prorettype <> 'trigger'::regtype AND pg_proc.oid NOT IN (TABLE extended)
    AND has_function_privilege(pg_proc.oid, 'EXECUTE')
UNION ALL
SELECT format('the rights of the role %s', pg_get_userbyid(roleid)) FROM pg_auth_members
WHERE member = current_user::regrole
ORDER BY 1
""")
_ATTRIBUTES: Final = {
    "SUPERUSER": "rolsuper",
    "REPLICATION": "rolreplication",
    "BYPASSRLS": "rolbypassrls",
    "CREATEROLE": "rolcreaterole",
    "CREATEDB": "rolcreatedb",
}


def read_rights(url: str, *, is_machine: bool) -> DatabaseRights:
    """Read the rights of the role in a database URL; of the owner also how the audit log is protected.

    Raises:
        Transient: the database cannot be reached, or does not let the role in.
        Permanent: the database cannot answer.
        ValueError: the address cannot be read.
    """
    try:
        engine = make_engine(url)
    except ArgumentError as error:
        raise ValueError("not an address of a database") from error
    try:
        with translated(), engine.connect() as connection, own_names(connection):
            row = connection.execute(_ROLE).mappings().one()
            reachable = connection.execute(_REACHABLE).scalars().all() if is_machine else ()
        return DatabaseRights(
            role=row["role"],
            path=Path(is_local=row["is_local"], is_encrypted=row["is_encrypted"]),
            attributes=frozenset(name for name, column in _ATTRIBUTES.items() if row[column]),
            is_owner=row["is_owner"],
            faults=() if is_machine else tuple(PostgresAuditLog(engine).protection_faults()),
            functions=row["functions"],
            reachable=tuple(reachable),
        )
    except DBAPIError as error:
        raise Permanent(f"database: {str(error.orig).splitlines()[0]}") from error
    finally:
        engine.dispose()
