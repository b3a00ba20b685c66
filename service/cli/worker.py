"""``benchgate worker``: one worker, of the control plane or of a pool of machines."""

from __future__ import annotations

import os
import sys

import click

from service.adapters.queue import CONTROL_QUEUE, pool_queue


@click.command()
@click.option("--pool", required=True, help="`control`, or the name of a pool of machines.")
@click.option(
    "--concurrency", default=2, show_default=True, help="Of a control worker; a machine does one thing."
)
def command(pool: str, concurrency: int) -> None:
    """Run one worker until SIGTERM.

    A control worker plans, analyses and votes; it needs BENCHGATE_DATABASE_URL. A machine worker builds
    and measures; it needs BENCHGATE_MACHINE_DATABASE_URL and no other credential.
    """
    common = ["-A", "workers.app", "worker", "--loglevel", "INFO", "--without-gossip", "--without-mingle"]
    if pool == "control":
        rest = [
            "-Q",
            CONTROL_QUEUE,
            "--concurrency",
            str(max(concurrency, 2)),
            "-n",
            f"control-{os.getpid()}",
        ]
    else:
        # Solo: the work runs in the process that a supervisor ends, so that nothing outlives it.
        rest = ["-Q", pool_queue(pool), "--pool", "solo", "-n", f"machine-{os.getpid()}"]
        os.environ["BENCHGATE_POOL"] = pool
    argv = [sys.executable, "-m", "celery", *common, *rest, "--without-heartbeat"]
    os.execv(sys.executable, argv)  # noqa: S606 - becomes Celery's worker, no shell
