"""``benchgate schedule``: the schedule alone."""

from __future__ import annotations

import os
import sys

import click


@click.command()
def command() -> None:
    """Relay hints as they are committed and wake what was lost, until SIGTERM."""
    argv = [sys.executable, "-m", "workers.schedule"]
    os.execv(sys.executable, argv)  # noqa: S606 - becomes the schedule, no shell
