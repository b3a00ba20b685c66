"""Merge commits through the service in this process: each event, step and build."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.adapters.review.console.review import ConsoleReview
from service.cli.operating.replay import feed
from service.ports.runs.queue import Task
from service.steps.review.deliver import deliver_reviews
from service.steps.review.look_at_change import handle_event
from service.steps.runs.analyse import analyse
from service.steps.runs.finish_run import finish_run
from service.steps.runs.plan_run import plan_run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

    from service.ports.machines import Claimed, Worklist
    from service.wiring.control import Control

_STEPS: Final[Mapping[Task, Callable[[Control, int], object]]] = MappingProxyType(
    {
        Task.HANDLE_EVENT: lambda plane, event: handle_event(plane.store, plane.server, event),
        Task.PLAN: lambda plane, run: plan_run(
            plane.store, plane.server, plane.source, run, plane.links.run(run)
        ),
        Task.ANALYSE: lambda plane, build: analyse(plane.store, plane.artifacts, build),
        Task.VOTE: lambda plane, run: finish_run(plane.store, plane.links, run),
    }
)


def submit(plane: Control, worklist: Worklist, event: bytes, work: Callable[[Claimed], object]) -> None:
    """Feed an event and run the tasks that follow; ``work`` executes each build.

    Raises:
        BadEvent: it is not a Gerrit event.
    """
    feed(plane, plane.server.instance, event)
    run_tasks(plane, worklist, work)


def run_tasks(plane: Control, worklist: Worklist, work: Callable[[Claimed], object]) -> None:
    """Run all tasks that are due, and those that follow; ``work`` executes each build."""
    while hints := plane.upkeep.due_hints():
        for hint in hints:
            if hint.task is Task.EXECUTE:
                _execute(worklist, work)
            else:
                _STEPS[hint.task](plane, hint.entity)
        plane.upkeep.drop_hints([hint.outbox_id for hint in hints])
        deliver_reviews(plane.store, plane.upkeep, plane.server)


def _execute(worklist: Worklist, work: Callable[[Claimed], object]) -> None:
    claimed = worklist.claim()
    if claimed is None:
        return
    try:
        work(claimed)
    finally:
        claimed.close()


def at_moment(plane: Control, state: Path, moment: datetime) -> Control:
    """Copy the control plane with a console review server in ``state`` and its clock at ``moment``."""
    instance = plane.server.instance
    return replace(plane, servers={instance: ConsoleReview(state, instance, now=lambda: moment)})
