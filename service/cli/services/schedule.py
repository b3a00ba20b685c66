"""``benchgate schedule``: the schedule alone."""

from __future__ import annotations

import os
import sys

import click

from service.config import ControlSettings
from service.wiring.control import build_control


@click.command()
def command() -> None:
    """Relay hints as they are committed and wake what was lost, until SIGTERM."""
    # What cannot work is said here, by a clear line.
    build_control(ControlSettings()).close()
    argv = [sys.executable, "-m", "workers.schedule"]
    os.execv(sys.executable, argv)  # noqa: S606 - becomes the schedule, no shell
