"""``benchgate worker``: run one worker of the control plane or of a pool of machines."""

from __future__ import annotations

import os
import sys
from contextlib import closing

import click

from service.adapters.building.sandbox.limits import leave_own_group
from service.adapters.embedded.children import Supervisor
from service.adapters.machines.linux import keep_off
from service.adapters.runs.queue import CONTROL_QUEUE, pool_queue
from service.cli.operating.status_lines import StatusLines
from service.cli.services.child_processes import machines_of
from service.cli.services.in_this_process import become
from service.config.control import ControlSettings
from service.config.machine import MachineSettings
from service.config.shared import require
from service.domain.machines.slots import slots_of
from service.domain.values.errors import BadInput
from service.wiring.logs import log_as_json
from service.wiring.machine import machine_of_worker, name_of


@click.command()
@click.option(
    "--pool",
    "pools",
    required=True,
    multiple=True,
    help="`control`, or a pool of machines; repeatable. The pool with the benchmarks comes first.",
)
@click.option(
    "--concurrency",
    default=2,
    show_default=True,
    type=click.IntRange(min=2),
    help="Processes of a control worker. A machine worker runs one build at a time.",
)
def command(pools: tuple[str, ...], concurrency: int) -> None:
    """Run one worker until SIGTERM, or several for the pools of one host.

    A control worker plans, analyses and votes; it needs BENCHGATE_DATABASE_URL. A machine worker builds and
    measures; it needs BENCHGATE_MACHINE_DATABASE_URL and no other credential. Both need BENCHGATE_REDIS_URL.

    With several pools, a benchmark has the host to itself, and up to BENCHGATE_BUILDS_BESIDE other builds run
    beside each other. The log of each worker is below `log` in BENCHGATE_HOME.
    """
    if len(pools) > 1:
        _run_machines(pools)
        return
    [pool] = pools
    if pool == "control":
        _record_start()
    else:
        os.environ["BENCHGATE_POOL"] = pool
        _register_machine()
    become(*celery_argv(pool, concurrency)[2:])


def _record_start() -> None:
    # Here, because a machine worker must not load them.
    from service.cli.services.described_settings import record_start  # noqa: PLC0415
    from service.wiring.control import build_control  # noqa: PLC0415

    settings = ControlSettings()
    with closing(build_control(settings)) as plane:
        log_as_json()
        record_start(plane, settings, "benchgate worker")


def _run_machines(pools: tuple[str, ...]) -> None:
    """Run a worker for each machine of this host until SIGTERM; restart one that dies."""
    if "control" in pools:
        raise BadInput("the control worker has a process of its own", "--pool control")
    from service.cli.services.up import stop_on_signals  # noqa: PLC0415 - it needs the control plane

    leave_own_group()  # the workers could not divide one that has this process
    settings = MachineSettings()
    slots = slots_of(name_of(settings, settings.home), pools, settings.builds_beside)
    with stop_on_signals() as stop, StatusLines() as lines, Supervisor(lines) as supervisor:
        supervisor.start(*machines_of(settings.home.absolute(), slots, os.environ))
        supervisor.run(stop.is_set)


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
    """Register this machine before it gets work; raise Unfit if the host cannot do it."""
    settings = MachineSettings()
    require(settings.redis_url, "BENCHGATE_REDIS_URL", "set it to the same server as on the control plane")
    os.environ["BENCHGATE_MACHINE_NAME"] = settings.machine_name = name_of(settings, settings.home)
    # By default half of the CPUs; this process gives up some below.
    os.environ["BENCHGATE_BUILDS_BESIDE"] = str(settings.builds_beside)
    # Celery's worker inherits this CPU set. The launcher pins measured programs to the measured CPUs.
    keep_off(settings.cpus)
    machine_of_worker().register()
