"""``benchgate migrate``: an update of the database schema."""

from __future__ import annotations

import os

import click

from service.adapters.postgres.migrate import admit_machines, migrate
from service.config import ControlSettings
from service.domain.errors import BadInput


@click.command()
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
def command(machine_password_from: str | None, administrator_url_from: str | None) -> None:
    """Update the schema of the database at BENCHGATE_DATABASE_URL; safe to run at any time."""
    settings = ControlSettings()
    if not settings.database_url:
        raise BadInput("BENCHGATE_DATABASE_URL is not set", "settings")
    administrator_url = _value_of(administrator_url_from) if administrator_url_from else ""
    migrate(settings.database_url, administrator_url)
    if machine_password_from:
        admit_machines(settings.database_url, _value_of(machine_password_from))
    click.echo("the schema is up to date", err=True)


def _value_of(variable: str) -> str:
    value = os.environ.get(variable, "")
    if not value:
        raise BadInput(f"{variable} is not set", "settings")
    return value
