"""The tasks: each looks at one id and does what is due there, if anything."""

from __future__ import annotations

import threading
from functools import cache
from typing import TYPE_CHECKING, Any

import structlog
from celery.signals import worker_shutting_down

from service.config import ControlSettings, MachineSettings
from service.domain.errors import Transient
from service.steps.analyse import analyse
from service.steps.calibrate import calibrate
from service.steps.cast_vote import cast_vote
from service.steps.deliver import deliver_reviews
from service.steps.execute import execute_build
from service.steps.look_at_change import handle_event
from service.steps.note_failure import note_failure
from service.steps.obey import obey
from service.steps.plan_run import plan_run
from service.steps.reconcile import reconcile
from service.wiring import Control, Machine, build_control, build_machine
from workers.app import app

if TYPE_CHECKING:
    from collections.abc import Callable

log = structlog.get_logger()
_draining = threading.Event()
_is_free = (
    threading.Event()
)  # this machine said that nothing hinders it; what it said in an earlier life may differ


@cache
def control() -> Control:
    """This process's control plane, made at its first use: never shared over a fork."""
    return build_control(ControlSettings())


@cache
def machine() -> Machine:
    """This process's machine plane."""
    return build_machine(MachineSettings())


def _step(task: str, entity: int, work: Callable[[], Any]) -> None:
    """Run a step unless it is being run; a failure is noted in the database, which decides what follows."""
    plane = control()
    try:
        # A hint is sent again while a long step runs; it must not take a second worker.
        with plane.store.exclusive(f"{task}/{entity}") as is_ours:
            if not is_ours:
                return
            work()
    except Transient as error:
        log.warning("step.postponed", task=task, entity=entity, error=str(error))
        note_failure(plane.store, plane.upkeep, plane.links, task, entity, error)
    except Exception as error:
        log.exception("step.failed", task=task, entity=entity)
        note_failure(plane.store, plane.upkeep, plane.links, task, entity, error)
    else:
        plane.upkeep.clear_setback(task, entity)


@app.task(name="benchgate.handle_event")
def handle_event_task(entity: int) -> None:
    """Look at the change that an event hints at."""
    plane = control()
    _step("handle_event", entity, lambda: handle_event(plane.store, plane.server, entity))


@app.task(name="benchgate.plan")
def plan_task(entity: int) -> None:
    """Plan a run."""
    plane = control()
    _step(
        "plan",
        entity,
        lambda: plan_run(plane.store, plane.server, plane.source, entity, plane.links.run(entity)),
    )


@app.task(name="benchgate.analyse")
def analyse_task(entity: int) -> None:
    """Analyse an executed build."""
    plane = control()
    _step("analyse", entity, lambda: analyse(plane.store, plane.artifacts, entity))


@app.task(name="benchgate.vote")
def vote_task(entity: int) -> None:
    """Decide a run."""
    plane = control()
    _step("vote", entity, lambda: cast_vote(plane.store, plane.links, entity))


@app.task(name="benchgate.obey")
def obey_task(entity: int) -> None:
    """Obey the commands of a message."""
    plane = control()
    _step("obey", entity, lambda: obey(plane.store, plane.server, plane.source, plane.links, entity))


@app.task(name="benchgate.deliver")
def deliver_task(entity: int) -> None:
    """Post the reviews that are due."""
    plane = control()
    _step("deliver", entity, lambda: deliver_reviews(plane.store, plane.upkeep, plane.server))


@app.task(name="benchgate.reconcile")
def reconcile_task(entity: int) -> None:
    """Look which changes moved; 1: at every open one."""
    plane = control()

    def work() -> None:
        seen = reconcile(plane.store, plane.server, is_full=entity == 1)
        if seen is not None:
            plane.upkeep.beat("reconcile", f"{seen} changes")

    _step("reconcile", entity, work)


@app.task(name="benchgate.calibrate")
def calibrate_task(entity: int) -> None:
    """Give idle pools a branch to measure against itself."""
    plane = control()
    _step("calibrate", entity, lambda: calibrate(plane.store, plane.upkeep, plane.source))


def _look(plane: Machine) -> str:
    """Look what hinders this machine now, and say so."""
    obstacle = plane.obstacle()
    plane.worklist.see(obstacle)
    (_is_free.clear if obstacle else _is_free.set)()
    return obstacle


@app.task(name="benchgate.execute")
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
        execution = execute_build(claimed, plane.shop, plane.progress, _draining.is_set)
        log.info(
            "build.executed", build=claimed.name, outcome=execution.outcome if execution else "handed back"
        )
    finally:
        claimed.close()


@app.task(name="benchgate.see")
def see_task(entity: int) -> None:  # noqa: ARG001 - every task takes an id
    """Leave a sign of life: this machine hears what is sent to its pool, and what hindered it may be over."""
    plane = machine()
    if _is_free.is_set():
        # Many wait for the end of a long build: looking at each would keep the machine from the next one.
        plane.worklist.see()
    else:
        _look(plane)


@worker_shutting_down.connect
def _drain(**_: object) -> None:
    _draining.set()
