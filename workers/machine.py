"""Machine tasks: claim a build and work on it, or report that the machine is alive."""

from __future__ import annotations

import threading
from functools import cache

import structlog
from celery.signals import worker_shutting_down

from service.config import MachineSettings
from service.ports.queue import Task
from service.steps.machine.execute import execute_build
from service.wiring.machine import Machine, build_machine
from workers.app import app

log = structlog.get_logger()
_draining = threading.Event()
# Set once this process has reported that nothing hinders the machine; an earlier one may differ.
_is_free = threading.Event()


@cache
def machine() -> Machine:
    """Build this process's machine plane at its first use."""
    return build_machine(MachineSettings())


def _look(plane: Machine) -> str:
    """Look what hinders this machine now, and say so."""
    obstacle = plane.obstacle()
    plane.worklist.heartbeat(obstacle)
    (_is_free.clear if obstacle else _is_free.set)()
    return obstacle


@app.task(name=Task.EXECUTE.celery_name)
def execute_task(entity: int) -> None:
    """Claim the next build of the pool and work on it; the id is the one that was queued."""
    plane = machine()
    if obstacle := _look(plane):
        # The build stays queued, and its hint is sent again.
        log.warning("machine.waits", reason=obstacle, hint=entity)
        return
    claimed = plane.worklist.claim()
    if claimed is None:
        return
    log.info("build.claimed", build=claimed.name, hint=entity, attempt=claimed.attempt)
    try:
        execution = execute_build(claimed, plane.host, plane.progress, _draining.is_set)
        log.info(
            "build.executed", build=claimed.name, outcome=execution.outcome if execution else "handed back"
        )
    finally:
        claimed.close()


@app.task(name=Task.HEARTBEAT.celery_name)
def heartbeat_task(entity: int) -> None:  # noqa: ARG001 - every task takes an id
    """Leave a sign of life: this machine hears what is sent to its pool, and what hindered it may be over."""
    plane = machine()
    if _is_free.is_set():
        # Many wait for the end of a long build: looking at each would keep the machine from the next one.
        plane.worklist.heartbeat()
    else:
        _look(plane)


@worker_shutting_down.connect
def _drain(**_: object) -> None:
    _draining.set()
