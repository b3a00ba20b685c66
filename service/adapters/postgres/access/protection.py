"""Create the audit log: its schema belongs to a role of its own, so an administrator makes it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import psycopg
from psycopg.errors import (
    DuplicateObject,
    DuplicateSchema,
    DuplicateTable,
    InsufficientPrivilege,
    InternalError_,
    UniqueViolation,
)
from sqlalchemy import text

from service.adapters.postgres.access.audit import (
    RESTORE,
    foreign_objects,
    lost_protections,
    own_names,
    script,
)
from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.faults import translated
from service.domain.values.errors import Permanent, Refused, Transient

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

# Of two that create the log at once; an update of one row of the catalog by both is an internal error.
_DONE_BY_OTHERS: Final = (DuplicateObject, DuplicateSchema, DuplicateTable, InternalError_, UniqueViolation)
_REFUSED_LOGIN: Final = re.compile(r'authentication failed|no password supplied|role "[^"]*" does not exist')
_CAN_APPEND: Final = text("""
SELECT EXISTS (
    SELECT FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = pronamespace
    WHERE nspname = 'audit' AND proname = 'append'
        AND has_schema_privilege(n.oid, 'USAGE') AND has_function_privilege(p.oid, 'EXECUTE'))
""")


def protect_audit(administrator_url: str) -> None:
    """Create the audit log in a database, or restore its protection; do nothing if it has all of it.

    Raises:
        Permanent: the role may not do this, or the log has objects that somebody else made.
        Refused: the database does not let the role in.
        Transient: the database cannot be reached, or a transaction holds the log.
    """
    # The library queries the catalog as soon as it has connected, before own_names.
    engine = make_engine(administrator_url, search_path="pg_catalog")
    try:
        with translated():
            try:
                _protect_anew(engine)
            except _DONE_BY_OTHERS:  # who have committed, so this finds their log
                _protect_anew(engine)
    except Transient as error:
        # The library reports a refused login without a code.
        if _REFUSED_LOGIN.search(str(error)):
            raise Refused(str(error)) from error
        raise
    finally:
        engine.dispose()


def require_audit(connection: Connection) -> None:
    """Create the audit log unless the connection's role can append to one.

    Raises:
        Permanent: the role cannot, and may not create it.
    """
    if not connection.execute(_CAN_APPEND).scalar_one():
        _protect(connection)


def _protect_anew(engine: Engine) -> None:
    with engine.begin() as connection:
        _protect(connection)


def _protect(connection: Connection) -> None:
    driver = connection.connection.driver_connection
    if not isinstance(driver, psycopg.Connection):
        raise TypeError("the audit log needs a connection of psycopg")
    with own_names(connection):
        _refuse_foreign_objects(connection)
        if not any(fault.remedy == RESTORE for fault in lost_protections(connection)):
            return
        try:
            # Past SQLAlchemy, which would take the colons of a script for parameters.
            driver.execute(script("audit.sql").encode())
        except InsufficientPrivilege as error:
            role = driver.info.user
            raise Permanent(
                f"the audit log must be created by an administrator of the database, and {role} may not "
                f"({str(error).splitlines()[0]}): set a variable to the URL of a superuser, and run "
                "`benchgate migrate --administrator-url-from VARIABLE`"
            ) from error
        # The script has locked the table, so nobody adds an object from here on.
        _refuse_foreign_objects(connection)


def _refuse_foreign_objects(connection: Connection) -> None:
    if found := foreign_objects(connection):
        sentences = "; ".join(map(str, found))
        raise Permanent(f"the audit log is not one that Benchgate made: {sentences}; {found[0].remedy}")
