"""``benchgate reconcile``: one look at every open change."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click

from service.cli.services.running import home_option, settings_of_running_site
from service.steps.intake.reconcile import reconcile
from service.wiring.control import build_control

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@home_option
def command(home: Path) -> None:
    """Compare the review server's open changes with the stored runs once, now."""
    with closing(build_control(settings_of_running_site(home))) as plane:
        seen = reconcile(plane.store, plane.server, is_full=True)
    said = "another look is under way" if seen is None else f"{seen} changes are looked at"
    click.echo(said, err=True)
