"""The tasks of the control plane. Each takes the ID of an entity, and does nothing if no work is due."""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import structlog

from service.config import ControlSettings
from service.domain.errors import Transient
from service.domain.health import VISIBILITY
from service.ports.queue import Task
from service.steps.deciding.analyse import analyse
from service.steps.deciding.finish_run import finish_run
from service.steps.intake.look_at_change import handle_event
from service.steps.intake.reconcile import reconcile
from service.steps.intake.record_visibility import record_all
from service.steps.planning.calibrate import calibrate
from service.steps.planning.plan_run import plan_run
from service.steps.reviewers.deliver import deliver_reviews
from service.steps.reviewers.run_comment_commands import run_comment_commands
from service.steps.upkeep.record_failure import record_failure
from service.wiring.control import Control, build_control
from workers.app import app

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

log = structlog.get_logger()


@cache
def control() -> Control:
    """Build this process's control plane at its first use, because a fork must not share it.

    Raises:
        Transient: the database cannot be used now. The next call checks again whose changes it stores.
    """
    return build_control(ControlSettings(), needs_database=True)


def _reconcile(plane: Control, entity: int) -> bool:
    """Reconcile updated changes, with ID 1 also all open changes; return whether no other process does.

    With ID 1, also ask what the review server shows without sign-in: rights change without an event.
    """
    queued = reconcile(plane.store, plane.server, is_full=entity == 1, lookback=plane.lookback)
    if entity == 1:
        plane.upkeep.beat(VISIBILITY, trouble=record_all(plane.store, plane.server))
    if queued is not None:
        plane.upkeep.beat("reconcile", f"{queued} changes")
    return queued is not None


STEPS: Final[Mapping[Task, Callable[[Control, int], object]]] = MappingProxyType(
    {
        Task.HANDLE_EVENT: lambda plane, event: handle_event(plane.store, plane.server, event),
        Task.PLAN: lambda plane, run: plan_run(
            plane.store, plane.server, plane.source, run, plane.links.run(run)
        ),
        Task.ANALYSE: lambda plane, build: analyse(plane.store, plane.artifacts, build),
        Task.VOTE: lambda plane, run: finish_run(plane.store, plane.links, run),
        Task.RUN_COMMENT_COMMANDS: lambda plane, comment: run_comment_commands(
            plane.store, plane.server, plane.source, plane.links, comment
        ),
        Task.DELIVER: lambda plane, _: deliver_reviews(plane.store, plane.upkeep, plane.server),
        Task.RECONCILE: _reconcile,
        Task.CALIBRATE: lambda plane, _: calibrate(plane.store, plane.upkeep, plane.source),
    }
)


# These return whether the review server answered. Then the reviews that wait for it need not wait long.
_ANSWERED_BY_SERVER: Final = frozenset({Task.HANDLE_EVENT, Task.RECONCILE})
# Not at once: reviews that always fail would be the first ones of every delivery, which ends after two
# failures, and all others would never be tried.
_SOON: Final = 15.0  # seconds


def run_step(task: Task, entity: int) -> None:
    """Run a step unless it is already running, and store a failure: the database decides about retries."""
    try:
        plane = control()
    except Transient as error:  # nothing can be stored now
        log.warning("step.postponed", task=task, entity=entity, error=str(error))
        return
    try:
        # The schedule may publish a task again during a long step; it must not occupy a second worker.
        with plane.store.exclusive(f"{task}/{entity}") as is_ours:
            if not is_ours:
                return
            result = STEPS[task](plane, entity)
    except Transient as error:
        log.warning("step.postponed", task=task, entity=entity, error=str(error))
        record_failure(plane.store, plane.upkeep, plane.links, task, entity, error)
    except Exception as error:
        log.exception("step.failed", task=task, entity=entity)
        record_failure(plane.store, plane.upkeep, plane.links, task, entity, error)
    else:
        plane.upkeep.clear_step_failure(task, entity)
        if task in _ANSWERED_BY_SERVER and result:
            plane.upkeep.hasten_reviews(_SOON)


def _register(task: Task) -> None:
    @app.task(name=task.celery_name)
    def run(entity: int) -> None:
        run_step(task, entity)


for _task in STEPS:
    _register(_task)
