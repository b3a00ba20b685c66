"""``benchgate worker``: one worker, of the control plane or of a pool of machines."""

from __future__ import annotations

import os
import sys

import click

from service.adapters.machine import keep_off
from service.adapters.queue import CONTROL_QUEUE, pool_queue
from service.config import ControlSettings, MachineSettings
from service.domain.errors import BadInput
from service.wiring.control import build_control
from service.wiring.machine import build_machine


@click.command()
@click.option("--pool", required=True, help="`control`, or the name of a pool of machines.")
@click.option(
    "--concurrency",
    default=2,
    show_default=True,
    type=click.IntRange(min=2),
    help="Of a control worker; a machine does one thing.",
)
def command(pool: str, concurrency: int) -> None:
    """Run one worker until SIGTERM.

    A control worker plans, analyses and votes; it needs BENCHGATE_DATABASE_URL. A machine worker builds
    and measures; it needs BENCHGATE_MACHINE_DATABASE_URL and no other credential.
    """
    if pool == "control":
        build_control(ControlSettings()).close()
    else:
        os.environ["BENCHGATE_POOL"] = pool
        _introduce_machine()
    common = ["-A", "workers.app", "worker", "--loglevel", "INFO", "--without-gossip", "--without-mingle"]
    if pool == "control":
        queue = ["-Q", CONTROL_QUEUE, "--concurrency", str(concurrency)]
        rest = [*queue, "-I", "workers.control", "-n", f"control-{os.getpid()}"]
    else:
        # Solo: the work runs in the process that a supervisor ends, so that nothing outlives it.
        queue = ["-Q", pool_queue(pool), "--pool", "solo"]
        rest = [*queue, "-I", "workers.machine", "-n", f"machine-{os.getpid()}"]
    argv = [sys.executable, "-m", "celery", *common, *rest, "--without-heartbeat"]
    os.execv(sys.executable, argv)  # noqa: S606 - becomes Celery's worker, no shell


def _introduce_machine() -> None:
    """Make this machine known before it is given work; a host that is unfit ends the command here."""
    settings = MachineSettings()
    if not settings.redis_url:
        raise BadInput("BENCHGATE_REDIS_URL is not set; it is the one of the control plane", "settings")
    # Celery's worker inherits it; measured programs are put on the measured CPUs one by one.
    keep_off(settings.cpus)
    build_machine(settings).register()
