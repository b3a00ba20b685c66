"""``benchgate migrate``: update the database schema."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import click

from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.migrate import admit_machines, migrate, pending
from service.adapters.postgres.stored_servers import move_server
from service.config.control import ControlSettings
from service.domain.values.errors import BadInput, Permanent, Refused

if TYPE_CHECKING:
    from service.adapters.postgres.migrate import Revision

EXIT_PENDING: Final = 1


@click.command()
@click.option("--check", "is_check", is_flag=True, help="Change nothing; list the missing migrations.")
@click.option(
    "--machine-password-from",
    metavar="VARIABLE",
    help="Allow the role benchgate_machine to log in with the password in this environment variable.",
)
@click.option(
    "--administrator-url-from",
    metavar="VARIABLE",
    help="Protect the audit log as the superuser whose URL is in this environment variable.",
)
@click.option(
    "--move",
    metavar="INSTANCE=URL",
    help="Store that a review server has moved to this address, so that the settings may name it.",
)
@click.pass_context
def command(
    ctx: click.Context,
    machine_password_from: str | None,
    administrator_url_from: str | None,
    move: str | None,
    *,
    is_check: bool,
) -> None:
    """Update the schema of the database at BENCHGATE_DATABASE_URL; safe to run at any time.

    With --check, exit codes: 0 the schema is up to date, 1 migrations are missing, 3 the database does not
    answer, or a newer version of Benchgate migrated it.
    """
    settings = ControlSettings()
    if not settings.database_url:
        raise BadInput("BENCHGATE_DATABASE_URL is not set", "settings")
    if is_check:
        if machine_password_from or administrator_url_from or move:
            raise BadInput("write --check without other options", "--check")
        ctx.exit(_check(pending(settings.database_url)))
    administrator_url = _value_of(administrator_url_from) if administrator_url_from else ""
    try:
        migrate(settings.database_url, administrator_url)
    except Refused as error:
        raise Permanent(
            f"{administrator_url_from}: {error}; its role must be a superuser of the server. A server that "
            'docker-compose.yml of an earlier version made has no such role: see "Upgrade of a compose '
            'installation" in docs/operator/operations.md'
        ) from error
    if machine_password_from:
        admit_machines(settings.database_url, _value_of(machine_password_from))
    if move is not None:
        _move(settings.database_url, move)
    click.echo("the schema is up to date", err=True)


def _check(missing: tuple[Revision, ...]) -> int:
    for each in missing:
        when = f"stop first: {each.needs_stop}" if each.needs_stop else "while running"
        click.echo(f"{each.number}  {each.summary} ({when})")
    if not missing:
        click.echo("the schema is up to date", err=True)
        return 0
    counted = "one migration is" if len(missing) == 1 else f"{len(missing)} migrations are"
    stop = any(each.needs_stop for each in missing)
    how = "stop all parts, then run" if stop else "while the version before this one runs, run"
    click.echo(f"{counted} missing: {how} `benchgate migrate`", err=True)
    return EXIT_PENDING


def _value_of(variable: str) -> str:
    value = os.environ.get(variable, "")
    if not value:
        raise BadInput(f"{variable} is not set", "settings")
    return value


def _move(database_url: str, text: str) -> None:
    instance, _, url = text.partition("=")
    if not instance or not url.startswith(("http://", "https://")):
        raise BadInput("write INSTANCE=URL, for example core=https://review.example.com", "--move")
    engine = make_engine(database_url)
    try:
        is_known = move_server(engine, instance, url.rstrip("/"))
    finally:
        engine.dispose()
    if not is_known:
        raise BadInput(f"the database stores no changes of {instance}", "--move")
    click.echo(f"{instance} is at {url}", err=True)
