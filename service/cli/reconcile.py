"""``benchgate reconcile``: one look at every open change."""

from __future__ import annotations

from contextlib import closing

import click

from service.config import ControlSettings
from service.steps.reconcile import reconcile
from service.wiring import build_control


@click.command()
def command() -> None:
    """Compare the review server's open changes with the stored runs once, now."""
    with closing(build_control(ControlSettings())) as plane:
        seen = reconcile(plane.store, plane.server, None)
    click.echo(f"looked at {seen} changes", err=True)
