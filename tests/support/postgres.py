"""Lend each test a database with the newest schema and no rows, on a throw-away PostgreSQL.

Creating a database takes longer than most tests, so one that is like new again is lent to the next.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, LiteralString

import psycopg
from sqlalchemy import make_url, text

from service.adapters.embedded.postgres import EmbeddedPostgres
from service.adapters.postgres.access.protection import protect_audit
from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.migrate import migrate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import Engine

_TEMPLATE = "migrated"
SESSIONS_END: Final = 20.0  # seconds; a server ends a closed session within milliseconds
LARGE: Final = 1 << 20  # bytes of a table that takes longer to empty and to scan than a new database
_serial = itertools.count(1)

_SESSIONS: Final = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
# Each row of a catalog has the number of the transaction that wrote it; statistics are updated in place.
_CATALOGS: Final = {
    **dict.fromkeys(
        ("pg_attrdef", "pg_constraint", "pg_default_acl", "pg_event_trigger", "pg_extension"), "true"
    ),
    **dict.fromkeys(("pg_index", "pg_inherits", "pg_policy", "pg_proc", "pg_rewrite", "pg_sequence"), "true"),
    **dict.fromkeys(("pg_trigger", "pg_type", "pg_largeobject_metadata"), "true"),
    "pg_class": "relname !~ '^pg_toast'",
    "pg_attribute": "attrelid >= 16384",
    "pg_namespace": "nspname !~ '^pg_(toast_)?temp_'",
    "pg_db_role_setting": "setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())",
}
_OBJECTS: Final = f"""
SELECT string_agg(concat_ws(' ', n, newest), ',' ORDER BY catalog)
    || (SELECT concat_ws(' ', datacl, datconnlimit) FROM pg_database WHERE datname = current_database())
FROM ({
    " UNION ALL ".join(
        f"SELECT '{name}' AS catalog, count(*) AS n, max(xmin::text::bigint) AS newest"
        f" FROM {name} WHERE {own}"
        for name, own in _CATALOGS.items()
    )
}) AS found
"""  # noqa: S608 - all words are from the table above
_TABLES: Final = "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND oid >= 16384"
_LARGEST: Final = "SELECT max(pg_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND oid >= 16384"
_EMPTY: Final = f"""
DO $$
DECLARE name text;
BEGIN
    SET LOCAL session_replication_role = replica;
    IF EXISTS (SELECT FROM audit.entry) THEN  -- whose trigger fires all the same
        ALTER TABLE audit.entry DISABLE TRIGGER refuse_changes;
        DELETE FROM audit.entry;
        ALTER TABLE audit.entry ENABLE ALWAYS TRIGGER refuse_changes;
    END IF;
    FOR name IN {_TABLES} AND oid <> 'audit.entry'::regclass AND pg_relation_size(oid) > 0 LOOP
        EXECUTE 'DELETE FROM ' || name;
    END LOOP;
    PERFORM setval(format('%I.%I', schemaname, sequencename), start_value, false)
    FROM pg_sequences WHERE last_value IS NOT NULL;
END $$
"""  # noqa: S608


@dataclass(frozen=True)
class Database:
    """A database of its own."""

    owner_url: str
    machine_url: str
    administrator_url: str
    owner: Engine
    machine: Engine

    def rows(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self.owner.begin() as connection:
            return [tuple(row) for row in connection.execute(text(query), values)]

    def value(self, query: str, **values: object) -> Any:  # noqa: ANN401 - whatever the query asks for
        """Return the only value of a query."""
        return self.rows(query, **values)[0][0]

    def change(self, statement: str, **values: object) -> None:
        """Put the database into a state that would take long to reach."""
        with self.owner.begin() as connection:
            connection.execute(text(statement), values)

    def administer(self, *statements: str) -> None:
        """Do what only a superuser may, in one transaction."""
        administrator = make_engine(self.administrator_url)
        try:
            with administrator.begin() as connection:
                for statement in statements:
                    connection.execute(text(statement))
        finally:
            administrator.dispose()


class Server:
    """A running server that forgets everything with this process."""

    def __init__(self, owner_url: str, machine_url: str, administrator_url: str) -> None:
        self._owner_url = owner_url
        self._machine_url = machine_url
        self._administrator_url = administrator_url
        self._admin = make_engine(administrator_url).execution_options(isolation_level="AUTOCOMMIT")
        self._idle: list[str] = []
        self._objects: dict[str, str] = {}  # by database, as it was lent
        self._rows: Mapping[str, bytes] = {}

    def close(self) -> None:
        """Close this process's connections."""
        self._admin.dispose()

    def make_template(self) -> None:
        """Migrate the database that the others are copies of."""
        self._command(f"CREATE DATABASE {_TEMPLATE} OWNER benchgate")
        migrate(_with_database(self._owner_url, _TEMPLATE), self._administrator_url)
        with self._administrator(_TEMPLATE) as connection:
            self._objects[_TEMPLATE] = _value(connection, _OBJECTS)
            self._rows = _rows(connection)

    @contextmanager
    def database(self, *, migrated: bool = True) -> Iterator[Database]:
        """Lend a database, with an audit log also before it is migrated."""
        name = self._idle.pop() if migrated and self._idle else self._create(migrated=migrated)
        owner_url = _with_database(self._owner_url, name)
        machine_url = _with_database(self._machine_url, name)
        administrator_url = _with_database(self._administrator_url, name)
        if not migrated:
            protect_audit(administrator_url)
        owner, machine = make_engine(owner_url), make_engine(machine_url)
        try:
            yield Database(owner_url, machine_url, administrator_url, owner, machine)
        finally:
            owner.dispose()
            machine.dispose()
            if migrated and self._emptied(name):
                self._idle.append(name)
            else:
                self._command(f"DROP DATABASE {name}")  # waits for sessions that are ending

    def _create(self, *, migrated: bool) -> str:
        name = f"test_{next(_serial)}"
        template = _TEMPLATE if migrated else "template0"
        # Without a loss-proof disk, copying the files takes half as long as logging each page.
        self._command(f"CREATE DATABASE {name} TEMPLATE {template} OWNER benchgate STRATEGY file_copy")
        return name

    def _emptied(self, name: str) -> bool:
        """Delete what a test wrote; return whether the database is like a new one now."""
        objects = self._objects.pop(name, self._objects[_TEMPLATE])
        with self._administrator(name) as connection:
            if not _is_alone(connection) or _value(connection, _OBJECTS) != objects:
                return False
            if _value(connection, _LARGEST) > LARGE:
                return False
            connection.execute(_EMPTY)
            with connection.cursor() as cursor:
                for table, content in self._rows.items():
                    with cursor.copy(f"COPY {table} FROM STDIN") as copy:
                        copy.write(content)
            self._objects[name] = _value(connection, _OBJECTS)
        return True

    @contextmanager
    def _administrator(self, name: str) -> Iterator[psycopg.Connection[Any]]:
        url = make_url(_with_database(self._administrator_url, name)).set(drivername="postgresql")
        with psycopg.connect(url.render_as_string(hide_password=False)) as connection:
            yield connection

    def _command(self, statement: str) -> None:
        with self._admin.connect() as connection:
            connection.execute(text(statement))


def _is_alone(connection: psycopg.Connection[Any]) -> bool:
    """Wait until the test's sessions have ended; return False if one stays."""
    deadline = time.monotonic() + SESSIONS_END
    while _value(connection, _SESSIONS) != 0:
        if time.monotonic() > deadline:
            return False
        connection.rollback()  # activity is read once in a transaction
        time.sleep(0.002)
    return True


def _value(connection: psycopg.Connection[Any], query: LiteralString) -> Any:  # noqa: ANN401 - of any type
    [value] = connection.execute(query).fetchone() or (None,)
    return value


def _rows(connection: psycopg.Connection[Any]) -> dict[str, bytes]:
    """Return the rows that a migrated database has, by table."""
    found = {}
    with connection.cursor() as cursor:
        for (table,) in connection.execute(_TABLES).fetchall():
            with cursor.copy(f"COPY {table} TO STDOUT") as copy:
                found[table] = b"".join(map(bytes, copy))
    return {table: content for table, content in found.items() if content}


@contextmanager
def running_server() -> Iterator[Server]:
    """Start a server and make the template; its files are gone afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="benchgate-test-"))
    embedded = EmbeddedPostgres(directory)
    try:
        embedded.start(durable=False)
        server = Server(embedded.owner_url, embedded.machine_url, embedded.administrator_url)
        try:
            server.make_template()
            yield server
        finally:
            server.close()
    finally:
        embedded.stop()
        shutil.rmtree(directory, ignore_errors=True)


def _with_database(url: str, name: str) -> str:
    return make_url(url).set(database=name).render_as_string(hide_password=False)
