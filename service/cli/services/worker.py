"""``benchgate worker``: one worker of the control plane or of a pool of machines."""

from __future__ import annotations

import os
import sys
from contextlib import closing

import click

from service.adapters.linux_machine import keep_off
from service.adapters.queue import CONTROL_QUEUE, pool_queue
from service.cli.services.described_settings import record_start
from service.config import ControlSettings, MachineSettings, require
from service.logs import log_as_json
from service.wiring.control import build_control
from service.wiring.machine import build_machine


@click.command()
@click.option("--pool", required=True, help="`control`, or the name of a pool of machines.")
@click.option(
    "--concurrency",
    default=2,
    show_default=True,
    type=click.IntRange(min=2),
    help="Processes of a control worker. A machine worker runs one build at a time.",
)
def command(pool: str, concurrency: int) -> None:
    """Run one worker until SIGTERM.

    A control worker plans, analyses and votes; it needs BENCHGATE_DATABASE_URL. A machine worker builds and
    measures; it needs BENCHGATE_MACHINE_DATABASE_URL and no other credential. Both need BENCHGATE_REDIS_URL.
    """
    if pool == "control":
        settings = ControlSettings()
        with closing(build_control(settings)) as plane:
            log_as_json()
            record_start(plane, settings, "benchgate worker")
    else:
        os.environ["BENCHGATE_POOL"] = pool
        _register_machine()
    argv = celery_argv(pool, concurrency)
    os.execv(argv[0], argv)  # noqa: S606 - becomes Celery's worker, no shell


def celery_argv(pool: str, concurrency: int) -> list[str]:
    """Return the command of Celery's worker for the control plane or a pool of machines."""
    common = ["-A", "workers.app", "worker", "--loglevel", "INFO", "--without-gossip", "--without-mingle"]
    if pool == "control":
        queue = ["-Q", CONTROL_QUEUE, "--concurrency", str(concurrency)]
        rest = [*queue, "-I", "workers.control", "-n", f"control-{os.getpid()}"]
    else:
        # Solo: the work runs in the process that a supervisor stops, so no work outlives it.
        queue = ["-Q", pool_queue(pool), "--pool", "solo"]
        rest = [*queue, "-I", "workers.machine", "-n", f"machine-{os.getpid()}"]
    return [sys.executable, "-m", "celery", *common, *rest, "--without-heartbeat"]


def _register_machine() -> None:
    """Register this machine before it gets work; on an unfit host the command ends here."""
    settings = MachineSettings()
    require(settings.redis_url, "BENCHGATE_REDIS_URL", "set it to the same server as on the control plane")
    # Celery's worker inherits this CPU set. The launcher pins measured programs to the measured CPUs.
    keep_off(settings.cpus)
    build_machine(settings).register()
