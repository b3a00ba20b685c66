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
def command(machine_password_from: str | None) -> None:
    """Update the schema of the database at BENCHGATE_DATABASE_URL; safe to run at any time."""
    settings = ControlSettings()
    if not settings.database_url:
        raise BadInput("BENCHGATE_DATABASE_URL is not set", "settings")
    migrate(settings.database_url)
    if machine_password_from:
        password = os.environ.get(machine_password_from, "")
        if not password:
            raise BadInput(f"{machine_password_from} is not set", "settings")
        admit_machines(settings.database_url, password)
    click.echo("the schema is up to date", err=True)
