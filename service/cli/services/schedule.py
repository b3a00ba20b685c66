"""``benchgate schedule``: publish tasks and run periodic jobs."""

from __future__ import annotations

from contextlib import closing

import click

from service.cli.services.described_settings import record_start
from service.cli.services.in_this_process import become
from service.config.control import ControlSettings
from service.wiring.control import build_control
from service.wiring.logs import log_as_json


@click.command()
def command() -> None:
    """Publish tasks as they are stored, and recover lost ones, until SIGTERM."""
    settings = ControlSettings()
    # Bad settings fail here, with one clear line.
    with closing(build_control(settings)) as plane:
        log_as_json()
        record_start(plane, settings, "benchgate schedule")
    become("workers.schedule")
