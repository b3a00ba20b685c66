"""A throw-away PostgreSQL, and a fresh database with the newest schema for each test."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import make_url, text

from service.adapters.embedded.postgres import EmbeddedPostgres
from service.adapters.postgres.access.protection import protect_audit
from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.migrate import migrate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Engine

_TEMPLATE = "migrated"
_serial = itertools.count(1)


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

    def close(self) -> None:
        """Close this process's connections."""
        self._admin.dispose()

    def make_template(self) -> None:
        """Migrate the database that the others are copies of."""
        self._command(f"CREATE DATABASE {_TEMPLATE} OWNER benchgate")
        migrate(_with_database(self._owner_url, _TEMPLATE), self._administrator_url)

    @contextmanager
    def database(self, *, migrated: bool = True) -> Iterator[Database]:
        """A new database, with an audit log also before it is migrated; dropped afterwards."""
        name = f"test_{next(_serial)}"
        template = _TEMPLATE if migrated else "template0"
        # Without a loss-proof disk, copying the files takes half as long as logging each page.
        self._command(f"CREATE DATABASE {name} TEMPLATE {template} OWNER benchgate STRATEGY file_copy")
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
            self._command(f"DROP DATABASE {name}")  # waits for sessions that are ending

    def _command(self, statement: str) -> None:
        with self._admin.connect() as connection:
            connection.execute(text(statement))


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
