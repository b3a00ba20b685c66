"""Dump a database to a file, and restore it into an empty one, by PostgreSQL's own programs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import make_url, text

from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.faults import translated
from service.adapters.postgres.migrate import configured
from service.domain.values.errors import BadInput, Permanent

if TYPE_CHECKING:
    from collections.abc import Iterator

_SERVER: Final = text("SELECT current_setting('server_version_num')::integer / 10000")
_REVISION: Final = text("SELECT version_num FROM alembic_version")
_HAS_SITE: Final = text("SELECT to_regclass('public.site') IS NOT NULL")
_SITE: Final = text("SELECT id FROM public.site")
_CONTENT: Final = text("""
SELECT EXISTS (
    SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'
) AS has_tables, EXISTS (SELECT FROM pg_roles WHERE rolname = 'benchgate_machine') AS has_role
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
    finally:
        engine.dispose()
    program = _program("pg_dump", server, programs)
    _run(program, url, "--format=custom", f"--file={path}")
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


def restore_database(url: str, path: Path, programs: Path) -> None:
    """Restore a dump into an empty database, in one transaction.

    Raises:
        Permanent: the dump cannot be restored, or no program is as new as the server; nothing was changed.
        Transient: the database cannot be reached.
    """
    engine = make_engine(url)
    try:
        with translated(), engine.begin() as connection:
            server = connection.execute(_SERVER).scalar_one()
    finally:
        engine.dispose()
    name = make_url(url).database
    program = _program("pg_restore", server, programs)
    _run(program, url, "--no-owner", "--single-transaction", f"--dbname={name}", str(path))


def _run(program: Path, url: str, *words: str) -> None:
    address = make_url(url)
    given = {
        "PGHOST": address.query.get("host", address.host),
        "PGPORT": address.query.get("port", address.port),
        "PGUSER": address.username,
        "PGPASSWORD": address.password,  # words of a command are seen by every user of the host
        "PGDATABASE": address.database,
        **{f"PG{name.upper()}": value for name, value in address.query.items() if name.startswith("ssl")},
    }
    environment = {**os.environ, **{name: str(value) for name, value in given.items() if value}}
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
