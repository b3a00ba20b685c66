"""Dump a database to a file, and restore it into an empty one, by PostgreSQL's own programs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psycopg
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from psycopg.conninfo import make_conninfo
from sqlalchemy import make_url, text

from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.faults import translated
from service.adapters.postgres.migrate import configured
from service.domain.values.errors import BadInput, Permanent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import Connection, Engine

_SERVER: Final = text("SELECT current_setting('server_version_num')::integer / 10000")
_REVISION: Final = text("SELECT version_num FROM alembic_version")
_HAS_SITE: Final = text("SELECT to_regclass('public.site') IS NOT NULL")
_SITE: Final = text("SELECT id FROM public.site")
_NAME_ANEW: Final = text("UPDATE public.site SET id = gen_random_uuid() RETURNING id")
_CONTENT: Final = text("""
SELECT EXISTS (
    SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'
) AS has_tables, EXISTS (SELECT FROM pg_roles WHERE rolname = 'benchgate_machine') AS has_role
""")
_MAY_PROTECT: Final = text("SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user")
# The digest of a digest fits no secret. Old versions lack the tables.
_LOCK_OUT: Final = text("""
DO $$ DECLARE name text; BEGIN
    FOREACH name IN ARRAY ARRAY['public.session', 'public.token'] LOOP
        IF to_regclass(name) IS NOT NULL THEN
            EXECUTE format('UPDATE %s SET digest = sha256(digest)', name);
        END IF;
    END LOOP;
END $$
""")
_VERSION: Final = re.compile(r"\) (\d+)")
_LAST_LINES: Final = 2000  # characters of a failed program's output


def dump_database(url: str, path: Path, programs: Path) -> str:
    """Write a consistent dump to a new file, whatever runs meanwhile; return the revision of its schema.

    Args:
        url: the database, with the role that owns it.
        path: the file.
        programs: a directory with client programs, for a host without any, or with too old ones.

    Raises:
        Permanent: the dump failed, or no program is as new as the server.
        Transient: the database cannot be reached.
    """
    engine = make_engine(url)
    try:
        with translated(), engine.begin() as connection:
            server = connection.execute(_SERVER).scalar_one()
            revision = str(connection.execute(_REVISION).scalar_one())
            address, environment = _address_of(connection)
    finally:
        engine.dispose()
    program = _program("pg_dump", server, programs)
    _run(program, environment, address, "--format=custom", f"--file={path}")
    return revision


def site_of(url: str) -> str:
    """Return the ID of the site whose database this is; empty before the migration that names it.

    Raises:
        Transient: the database cannot be reached.
    """
    engine = make_engine(url)
    try:
        with translated(), engine.begin() as connection:
            has_site = connection.execute(_HAS_SITE).scalar_one()
            return str(connection.execute(_SITE).scalar_one()) if has_site else ""
    finally:
        engine.dispose()


def name_anew(engine: Engine) -> str:
    """Give the site of a restored database an ID of its own, and return it."""
    with engine.begin() as connection:
        return str(connection.execute(_NAME_ANEW).scalar_one())


def require_restorable(url: str, revision: str) -> None:
    """Check that a dump of a revision can be restored into a database.

    Raises:
        BadInput: the database is not empty or lacks the machines' role, or a newer version made the dump.
        Transient: the database cannot be reached.
    """
    try:
        ScriptDirectory.from_config(configured(url)).get_revision(revision)
    except CommandError:
        raise BadInput(
            f"a newer version of Benchgate made it (schema {revision[:40]}); install that one", "backup"
        ) from None
    engine = make_engine(url)
    try:
        with translated(), engine.begin() as connection:
            found = connection.execute(_CONTENT).one()
    finally:
        engine.dispose()
    if found.has_tables:
        raise BadInput("the database has tables already; restore into an empty one", "BENCHGATE_DATABASE_URL")
    if not found.has_role:
        raise BadInput(
            "its server has no role benchgate_machine: as an administrator of the server, run "
            "CREATE ROLE benchgate_machine LOGIN PASSWORD '…'",
            "BENCHGATE_DATABASE_URL",
        )


def require_administrator(url: str, administrator_url: str) -> None:
    """Check that an administrator may protect the audit log of a database.

    Raises:
        BadInput: the role may not create roles.
        Transient: the database cannot be reached, or does not let the role in.
    """
    at = make_url(administrator_url).set(database=make_url(url).database)
    engine = make_engine(at.render_as_string(hide_password=False), search_path="pg_catalog")
    try:
        with translated(), engine.begin() as connection:
            if not connection.execute(_MAY_PROTECT).scalar_one():
                raise BadInput(
                    f"names a role that is no superuser: {at.username}", "--administrator-url-from"
                )
    finally:
        engine.dispose()


def restore_database(url: str, path: Path, programs: Path) -> None:
    """Restore a dump into an empty database, in one transaction; the next one locks everybody out.

    So nobody gets in with an old session or token even if whatever is to end them later is killed.

    Raises:
        Permanent: the dump cannot be restored, or no program is as new as the server; nothing was changed.
        Transient: the database cannot be reached.
    """
    engine = make_engine(url)
    try:
        with translated(), engine.begin() as connection:
            server = connection.execute(_SERVER).scalar_one()
            address, environment = _address_of(connection)
        program = _program("pg_restore", server, programs)
        _run(program, environment, address, "--no-owner", "--single-transaction", str(path))
        with translated(), engine.begin() as connection:
            connection.execute(_LOCK_OUT)
    finally:
        engine.dispose()


def _address_of(connection: Connection) -> tuple[str, Mapping[str, str]]:
    """Return the option and the environment that lead a program to the database of a connection.

    A service of the shell counts more than PGHOST, and PGHOSTADDR more than a host, so only what protects
    the connection is inherited.
    """
    driver = connection.connection.driver_connection
    if not isinstance(driver, psycopg.Connection):
        raise TypeError("a dump needs a connection of psycopg")
    url, info = connection.engine.url, driver.info
    found = {
        **{name: value for name, value in url.query.items() if name.startswith("ssl")},
        "host": info.host,
        "hostaddr": "" if info.host.startswith("/") else info.hostaddr,
        "port": info.port,
        "user": info.user,
        "dbname": info.dbname,
    }
    given = {name: str(value) for name, value in found.items() if value}
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PG") or name.startswith("PGSSL")
    }
    # Words of a command are seen by every user of the host, so the password is not among them.
    return f"--dbname={make_conninfo(**given)}", {**inherited, "PGPASSWORD": info.password}


def _run(program: Path, environment: Mapping[str, str], *words: str) -> None:
    done = subprocess.run(  # noqa: S603 - a program of PostgreSQL, without a shell
        [str(program), *words],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        raise Permanent(
            f"{program.name} ended with exit code {done.returncode}: {done.stderr.strip()[-_LAST_LINES:]}"
        )


def _program(name: str, server: int, programs: Path) -> Path:
    """Return the oldest program that is as new as the server: newer ones may write what it cannot read."""
    fit = sorted(found for found in _installed(name, programs) if found[0] >= server)
    if not fit:
        raise Permanent(f"there is no {name} of PostgreSQL {server} or newer: install its client programs")
    return fit[0][1]


def _installed(name: str, programs: Path) -> Iterator[tuple[int, Path]]:
    for path in filter(None, (shutil.which(name), str(programs / name))):
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)  # noqa: S603
        if version := _VERSION.search(said.stdout):
            yield int(version[1]), Path(path)
