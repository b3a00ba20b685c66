"""``benchgate schedule``: the process that publishes tasks and runs periodic jobs."""

from __future__ import annotations

import os
import sys

import click

from service.config import ControlSettings
from service.wiring.control import build_control


@click.command()
def command() -> None:
    """Publish tasks as they are stored, and recover lost ones, until SIGTERM."""
    # Bad settings fail here, with one clear line.
    build_control(ControlSettings()).close()
    argv = [sys.executable, "-m", "workers.schedule"]
    os.execv(sys.executable, argv)  # noqa: S606 - becomes the schedule, no shell
