"""Run the tasks of the control plane. Each takes the ID of an entity, and does nothing if no work is due."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import structlog
from structlog.contextvars import bind_contextvars, clear_contextvars

from service.config.control import ControlSettings
from service.domain.runs.health import RECONCILE, VISIBILITY
from service.domain.values.errors import Transient, reporting_full_disks
from service.ports.runs.queue import Task
from service.steps.failures.configured_failures import Search
from service.steps.failures.read_bugs import post_counts, read_bugs
from service.steps.review.deliver import deliver_reviews
from service.steps.review.look_at_change import handle_event
from service.steps.review.reconcile import reconcile
from service.steps.review.record_failure import record_failure
from service.steps.review.record_visibility import record_all
from service.steps.review.run_comment_commands import run_comment_commands
from service.steps.runs.analyse import analyse
from service.steps.runs.calibrate import calibrate
from service.steps.runs.finish_run import finish_run
from service.steps.runs.plan_run import plan_run
from service.steps.runs.tell_why import tell_why
from service.steps.trunk.follow_branches import follow_branches
from service.steps.trunk.send_notices import send_notices
from service.steps.trunk.use_idle_pools import use_idle_pools
from service.wiring.control import Control, build_control
from workers.app import app

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from service.ports.review.server import ReviewServer

log = structlog.get_logger()


@cache
def control() -> Control:
    """Build this process's control plane at its first use, because a fork must not share it.

    Raises:
        Transient: the database cannot be used now. The next call checks again whose changes it stores.
    """
    return build_control(ControlSettings(), needs_database=True)


def _handle_event(plane: Control, event: int) -> str | None:
    with plane.store.transaction() as tx:
        key = tx.events.change_of(event)
    instance = next(iter(plane.servers)) if key is None else key.instance
    return instance if handle_event(plane.store, plane.server_of(instance), event) else None


def _plan(plane: Control, run: int) -> None:
    with plane.store.transaction() as tx:
        instance = tx.runs.lock(run).instance
    server, source = plane.server_of(instance), plane.source_of(instance)
    plan_run(plane.store, server, source, run, plane.links.run(run))


def _run_comment_commands(plane: Control, comment: int) -> None:
    with plane.store.transaction() as tx:
        instance = tx.comments.lock(comment).change.instance
    server, source = plane.server_of(instance), plane.source_of(instance)
    run_comment_commands(plane.store, server, source, plane.links, comment)


def _deliver(plane: Control, place: int) -> None:
    for instance, server in _server_at(plane, place):
        with _naming(plane, instance):
            deliver_reviews(plane.store, plane.upkeep, server)


def _reconcile(plane: Control, entity: int) -> str | None:
    """Reconcile updated changes, with an odd ID also all open changes, unless another process does.

    With an odd ID, also ask what the review server shows without sign-in: rights change without an event.
    Returns the instance that answered.
    """
    place, is_full = divmod(entity, 2)  # see reconciliation
    for instance, server in _server_at(plane, place):
        with _naming(plane, instance):
            queued = reconcile(plane.store, server, is_full=bool(is_full), lookback=plane.lookback)
            if is_full:
                trouble = record_all(plane.store, server)
                plane.upkeep.beat(plane.part(VISIBILITY, instance), trouble=trouble)
        if queued is not None:
            plane.record_address(instance)
            plane.upkeep.beat(plane.part(RECONCILE, instance), f"{queued} changes")
            return instance
    return None


def _follow(plane: Control, place: int) -> None:
    for instance, server in _server_at(plane, place):
        with _naming(plane, instance):
            follow_branches(plane.store, plane.source_of(instance), instance, server.now())


def _analyse(plane: Control, build: int) -> None:
    """Finish a build, or tell what its machine found out about it since."""
    search = Search(plane.failure_patterns, plane.reading.log)
    analyse(plane.store, plane.artifacts, build, search)
    tell_why(plane.store, plane.links, build)


def _read_bugs(plane: Control, _: int) -> None:
    """Read bugs, and then post counts if the settings allow it: not if the tracker did not answer."""
    read_bugs(plane.bugs, plane.bug_notes)
    if plane.bugs is not None and plane.may_post_counts:
        post_counts(plane.bugs, plane.bug_notes, plane.links)


def _server_at(plane: Control, place: int) -> Sequence[tuple[str, ReviewServer]]:
    """Return the review server at a place in the order of names; empty if it is not configured."""
    return tuple(plane.servers.items())[place : place + 1]


@contextmanager
def _naming(plane: Control, instance: str) -> Iterator[None]:
    """Let errors of one of several review servers name it."""
    try:
        yield
    except Transient as error:
        if len(plane.servers) == 1:
            raise
        raise Transient(f"{instance}: {error}", error.retry_after) from error


STEPS: Final[Mapping[Task, Callable[[Control, int], object]]] = MappingProxyType(
    {
        Task.HANDLE_EVENT: _handle_event,
        Task.PLAN: _plan,
        Task.ANALYSE: _analyse,
        Task.VOTE: lambda plane, run: finish_run(plane.store, plane.links, run),
        Task.RUN_COMMENT_COMMANDS: _run_comment_commands,
        Task.DELIVER: _deliver,
        Task.RECONCILE: _reconcile,
        Task.CALIBRATE: lambda plane, _: calibrate(plane.store, plane.upkeep, plane.source_of),
        Task.FOLLOW: _follow,
        Task.USE_IDLE_POOLS: lambda plane, _: use_idle_pools(
            plane.store, plane.upkeep, plane.source_of, datetime.now(UTC)
        ),
        Task.READ_BUGS: _read_bugs,
        Task.NOTIFY: lambda plane, _: send_notices(
            plane.notices, plane.regressions, plane.reading, plane.notifiers, plane.links
        ),
    }
)


# These return the instance of the review server that answered. Then the reviews that wait for it need not
# wait long.
_ANSWERED_BY_SERVER: Final = frozenset({Task.HANDLE_EVENT, Task.RECONCILE})
# Not at once: reviews that always fail would be the first ones of every delivery, which ends after two
# failures, and all others would never be tried.
_SOON: Final = 15.0  # seconds


def run_step(task: Task, entity: int) -> None:
    """Run a step unless it is already running, and store a failure: the database decides about retries."""
    clear_contextvars()
    bind_contextvars(task=task, entity=entity)
    try:
        plane = control()
    except Transient as error:  # nothing can be stored now
        log.warning("step.postponed", error=str(error))
        return
    try:
        # The schedule may publish a task again during a long step; it must not occupy a second worker.
        with plane.store.exclusive(f"{task}/{entity}") as is_ours:
            if not is_ours:
                return
            with reporting_full_disks():
                result = STEPS[task](plane, entity)
    except Transient as error:
        log.warning("step.postponed", error=str(error))
        record_failure(plane.store, plane.upkeep, plane.links, task, entity, error)
    except Exception as error:
        log.exception("step.failed")
        record_failure(plane.store, plane.upkeep, plane.links, task, entity, error)
    else:
        plane.upkeep.clear_step_failure(task, entity)
        if task in _ANSWERED_BY_SERVER and result:
            plane.upkeep.hasten_reviews(_SOON, str(result))


def _register(task: Task) -> None:
    @app.task(name=task.celery_name)
    def run(entity: int) -> None:
        run_step(task, entity)


for _task in STEPS:
    _register(_task)
