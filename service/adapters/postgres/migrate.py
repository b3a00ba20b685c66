"""Migrate a database to the newest schema."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.script.revision import ResolutionError
from psycopg import sql
from sqlalchemy import make_url

from service.adapters.postgres.access.protection import protect_audit
from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.faults import translated
from service.domain.values.errors import Permanent

NEWEST: Final = "head"


@dataclass(frozen=True, slots=True)
class Revision:
    """A migration: its number, what it does, and why the version before must not run beside it.

    ``needs_stop`` is empty if that version works with the new schema.
    """

    number: str
    summary: str
    needs_stop: str = ""


def migrate(url: str, administrator_url: str = "") -> None:
    """Upgrade a database; do nothing if its schema is the newest.

    Any number of processes may call this at once: the first one works, the others wait for it.

    Args:
        url: the database, with the role that owns it.
        administrator_url: the same server with a role that may create roles; it protects the audit log first.

    Raises:
        Permanent: the audit log is not there yet, and neither role may create it; or a newer version of
            Benchgate migrated the database.
        Refused: the database does not let the administrator in.
        Transient: the database cannot be reached, or a transaction holds a table; nothing was changed.
    """
    missing = pending(url)
    if administrator_url:
        protect_audit(
            make_url(administrator_url)
            .set(database=make_url(url).database)
            .render_as_string(hide_password=False)
        )
    if missing:
        with translated():
            command.upgrade(configured(url), NEWEST)


def pending(url: str) -> tuple[Revision, ...]:
    """Return the migrations that a database lacks, the oldest first.

    Raises:
        Permanent: a newer version of Benchgate migrated the database.
        Transient: the database cannot be reached.
    """
    scripts = ScriptDirectory.from_config(configured(url))
    engine = make_engine(url, pool_size=1)
    try:
        with translated(), engine.connect() as connection:
            made = MigrationContext.configure(connection).get_current_heads()
    finally:
        engine.dispose()
    try:
        missing = [*scripts.iterate_revisions(NEWEST, made)][::-1]
    except ResolutionError as error:
        raise Permanent(
            f"a newer version of Benchgate migrated the database, to {', '.join(made)}: install that version "
            "here, too"
        ) from error
    return tuple(
        Revision(each.revision, each.doc, getattr(each.module, "needs_stop", "")) for each in missing
    )


def admit_machines(url: str, password: str) -> None:
    """Let the machines' role log in with a password.

    Raises:
        Transient: the database cannot be reached.
    """
    engine = make_engine(url)
    try:
        with translated(), engine.begin() as connection:
            # DDL takes no parameters; the driver composes it and quotes the password.
            cursor = connection.connection.cursor()
            statement = sql.SQL("ALTER ROLE benchgate_machine LOGIN PASSWORD {}").format(
                sql.Literal(password)
            )
            cursor.execute(statement)
            cursor.execute(
                sql.SQL("GRANT CONNECT ON DATABASE {} TO benchgate_machine").format(
                    sql.Identifier(str(engine.url.database))
                )
            )
    finally:
        engine.dispose()


def configured(url: str) -> Config:
    """Return Alembic's configuration for a database, independent of the current directory."""
    config = Config()
    # Alembic expands %(…)s in its options, so a percent sign in a path is doubled.
    location = str(resources.files("migrations")).replace("%", "%%")
    config.set_main_option("script_location", location)
    config.set_main_option("recursive_version_locations", "true")
    config.attributes["url"] = url
    return config
