"""The tasks of the control plane. Each takes the ID of an entity, and does nothing if no work is due."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import structlog

from service.config import ControlSettings
from service.domain.errors import Transient
from service.ports.queue import Task
from service.steps.deciding.analyse import analyse
from service.steps.deciding.finish_run import finish_run
from service.steps.intake.look_at_change import handle_event
from service.steps.intake.reconcile import reconcile
from service.steps.planning.calibrate import calibrate
from service.steps.planning.plan_run import plan_run
from service.steps.reviewers.deliver import deliver_reviews
from service.steps.reviewers.run_comment_commands import run_comment_commands
from service.steps.upkeep.record_failure import record_failure
from service.wiring.control import Control, build_control
from workers.app import app

if TYPE_CHECKING:
    from collections.abc import Callable

log = structlog.get_logger()


@cache
def control() -> Control:
    """Build this process's control plane at its first use, because a fork must not share it."""
    return build_control(ControlSettings())


def _step(task: Task, entity: int, work: Callable[[], Any]) -> None:
    """Run a step unless it is already running, and store a failure: the database decides about retries."""
    plane = control()
    try:
        # The schedule may publish a task again during a long step; it must not occupy a second worker.
        with plane.store.exclusive(f"{task}/{entity}") as is_ours:
            if not is_ours:
                return
            work()
    except Transient as error:
        log.warning("step.postponed", task=task, entity=entity, error=str(error))
        record_failure(plane.store, plane.upkeep, plane.links, task, entity, error)
    except Exception as error:
        log.exception("step.failed", task=task, entity=entity)
        record_failure(plane.store, plane.upkeep, plane.links, task, entity, error)
    else:
        plane.upkeep.clear_step_failure(task, entity)


@app.task(name=Task.HANDLE_EVENT.celery_name)
def handle_event_task(entity: int) -> None:
    """Look at the change that an event names."""
    plane = control()
    _step(Task.HANDLE_EVENT, entity, lambda: handle_event(plane.store, plane.server, entity))


@app.task(name=Task.PLAN.celery_name)
def plan_task(entity: int) -> None:
    """Plan a run."""
    plane = control()
    _step(
        Task.PLAN,
        entity,
        lambda: plan_run(plane.store, plane.server, plane.source, entity, plane.links.run(entity)),
    )


@app.task(name=Task.ANALYSE.celery_name)
def analyse_task(entity: int) -> None:
    """Analyse an executed build."""
    plane = control()
    _step(Task.ANALYSE, entity, lambda: analyse(plane.store, plane.artifacts, entity))


@app.task(name=Task.VOTE.celery_name)
def vote_task(entity: int) -> None:
    """Decide a run."""
    plane = control()
    _step(Task.VOTE, entity, lambda: finish_run(plane.store, plane.links, entity))


@app.task(name=Task.RUN_COMMENT_COMMANDS.celery_name)
def run_comment_commands_task(entity: int) -> None:
    """Run the commands of a comment."""
    plane = control()
    _step(
        Task.RUN_COMMENT_COMMANDS,
        entity,
        lambda: run_comment_commands(plane.store, plane.server, plane.source, plane.links, entity),
    )


@app.task(name=Task.DELIVER.celery_name)
def deliver_task(entity: int) -> None:
    """Post the reviews that are due."""
    plane = control()
    _step(Task.DELIVER, entity, lambda: deliver_reviews(plane.store, plane.upkeep, plane.server))


@app.task(name=Task.RECONCILE.celery_name)
def reconcile_task(entity: int) -> None:
    """Reconcile updated changes; with ID 1, also all open changes."""
    plane = control()

    def work() -> None:
        queued = reconcile(plane.store, plane.server, is_full=entity == 1)
        if queued is not None:
            plane.upkeep.beat("reconcile", f"{queued} changes")

    _step(Task.RECONCILE, entity, work)


@app.task(name=Task.CALIBRATE.celery_name)
def calibrate_task(entity: int) -> None:
    """Start calibrations in idle pools."""
    plane = control()
    _step(Task.CALIBRATE, entity, lambda: calibrate(plane.store, plane.upkeep, plane.source))
