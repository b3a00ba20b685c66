"""``benchgate reconcile``: check every open change once."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import click

from service.cli.services.find_site import home_option, settings_of_running_site
from service.domain.runs.health import VISIBILITY
from service.steps.review.reconcile import reconcile
from service.steps.review.record_visibility import record_all
from service.wiring.control import build_control

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@home_option
def command(home: Path) -> None:
    """Compare every open change on the review server with the stored runs, and start missing runs.

    Also asks which branches and changes the review server shows without sign-in.
    """
    with closing(build_control(settings_of_running_site(home))) as plane:
        for instance, server in plane.servers.items():
            queued = reconcile(plane.store, server, is_full=True)
            plane.upkeep.beat(plane.part(VISIBILITY, instance), trouble=record_all(plane.store, server))
            message = "another check is running" if queued is None else f"{queued} changes queued for a check"
            click.echo(f"{instance}: {message}" if len(plane.servers) > 1 else message, err=True)
