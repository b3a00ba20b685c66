"""Run the tasks of a machine: claim and execute a build, or send a heartbeat."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import structlog
from celery.signals import worker_shutting_down
from structlog.contextvars import bind_contextvars, clear_contextvars

from service.domain.machines.disk import keeps_from_all, unreadable
from service.ports.machines import Upcoming
from service.ports.runs.queue import Task
from service.steps.machines.execute import execute_build
from service.wiring.machine import machine_of_worker as machine
from workers.app import app

if TYPE_CHECKING:
    from service.wiring.machine import MachinePlane

log = structlog.get_logger()
_draining = threading.Event()
# Set after this process has reported a machine without an obstacle; an earlier process may have reported one.
_is_free = threading.Event()


def _report_obstacle(plane: MachinePlane, upcoming: Upcoming) -> str:
    """Check for an obstacle to the next build, report it in a heartbeat, and return it.

    A full disk keeps from any build; other work only from an exclusive one. While other builds run on the
    host, the check would take them for other work, and an eviction would disturb what they measure.
    """
    obstacle = _room(plane) if upcoming in {Upcoming.ORDINARY, Upcoming.EXCLUSIVE} else ""
    if not obstacle and upcoming is Upcoming.EXCLUSIVE:
        obstacle = plane.obstacle()
    plane.worklist.heartbeat(obstacle)
    (_is_free.clear if obstacle else _is_free.set)()
    return obstacle


def _room(plane: MachinePlane) -> str:
    try:
        return plane.room()
    except OSError as error:
        log.warning("machine.no_room", error=str(error))
        return unreadable(error)


@app.task(name=Task.EXECUTE.celery_name)
def execute_task(entity: int) -> None:
    """Claim and execute the next build of the pool, which may be another one than the task's."""
    plane = machine()
    upcoming = plane.worklist.peek()
    if obstacle := _report_obstacle(plane, upcoming):
        # The build stays queued, and the schedule publishes its task again.
        log.warning("machine.waits", reason=obstacle, hint=entity)
        if keeps_from_all(obstacle):
            return
    claimed = plane.worklist.claim(may_measure=upcoming is Upcoming.EXCLUSIVE and not obstacle)
    if claimed is None:
        return
    clear_contextvars()
    bind_contextvars(build=claimed.name, attempt=claimed.attempt)
    try:
        try:
            bind_contextvars(**claimed.asked_by())
        except Exception:  # whatever it is, the build needs no names
            log.warning("build.unnamed", exc_info=True)
        log.info("build.claimed", hint=entity)
        host = plane.host_for(str(claimed.spec.get("instance", "")))
        with plane.in_use():
            execution = execute_build(claimed, host, plane.progress, _draining.is_set)
        log.info("build.executed", outcome=execution.outcome if execution else "returned")
    finally:
        claimed.close()


@app.task(name=Task.HEARTBEAT.celery_name)
def heartbeat_task(entity: int) -> None:  # noqa: ARG001 - every task takes an id
    """Send a heartbeat, which proves that tasks of the pool reach this machine; check an earlier obstacle."""
    plane = machine()
    if _is_free.is_set():
        # After a long build many of these tasks are waiting, and a check for each would delay the next build.
        plane.worklist.heartbeat()
    else:
        _report_obstacle(plane, plane.worklist.peek())


@worker_shutting_down.connect
def _drain(**_: object) -> None:
    _draining.set()
