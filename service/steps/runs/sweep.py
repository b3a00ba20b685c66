"""Find what stalled (steps, machines, overdue builds) and handle it."""

from __future__ import annotations

from random import sample
from typing import TYPE_CHECKING, Final

from service.domain.runs.states import MAX_ATTEMPTS
from service.domain.wording.build_causes import CANCELLED, NO_MACHINE, NO_RESULT, unresponsive
from service.ports.runs.queue import Task
from service.steps.runs.analyse import give_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.ports.runs.queue import Hints, Queue
    from service.ports.runs.upkeep import Heartbeats, Upkeep
    from service.ports.store import Store

CONTROL: Final = "control"
STALLED_AFTER: Final = 5.0  # seconds; a task that is not lost arrives within a fraction of one
# Of hints that wait for the control plane: behind more of them a step is late, and its task is not lost.
# If all tasks of a backlog were published every time, workers would do little else than drop repetitions.
BACKLOG: Final = 20


def relay_hints(upkeep: Hints, queue: Queue) -> int:
    """Publish the tasks in the outbox, and return how many; publishing a task twice does no harm."""
    hints = upkeep.due_hints()
    for hint in hints:
        queue.send(hint.task, hint.entity, hint.pool)
    upkeep.drop_hints([hint.outbox_id for hint in hints])
    return len(hints)


def sweep(store: Store, upkeep: Upkeep, queue: Queue, *, max_attempts: int = MAX_ATTEMPTS) -> None:
    """Requeue builds of lost machines, end overdue and unwanted builds, and publish stalled tasks again."""
    with store.exclusive("sweep") as is_ours:
        if not is_ours:
            return
        for build_id in upkeep.requeue_lost_builds(max_attempts):
            give_up(store, build_id, unresponsive(max_attempts))
        for build_id in upkeep.overdue_builds():
            with store.transaction() as tx:
                is_external = tx.builds.lock(build_id).is_external
            give_up(store, build_id, NO_RESULT if is_external else NO_MACHINE)
        upkeep.preempt_calibrations()
        upkeep.drop_unwanted_builds()
        for build_id in upkeep.cancelled_builds():
            give_up(store, build_id, CANCELLED)
        if stalled := upkeep.stalled(STALLED_AFTER):
            for task, entity in _some(stalled, max(0, BACKLOG - queue.waiting())):
                queue.send(task, entity, CONTROL)
        for pool, build_id in upkeep.idle_pools(STALLED_AFTER):
            queue.send(Task.EXECUTE, build_id, pool)


def _some(stalled: Sequence[tuple[Task, int]], room: int) -> Sequence[tuple[Task, int]]:
    """Return the oldest half of what there is room for, and others at random.

    Steps that take long stay the oldest, and would keep all younger ones from being published.
    """
    oldest = (room + 1) // 2
    others = stalled[oldest:]
    return [*stalled[:oldest], *sample(others, min(room - oldest, len(others)))]


def ask_for_heartbeats(upkeep: Heartbeats, queue: Queue) -> None:
    """Request a heartbeat from each machine, through its pool's queue."""
    for pool in upkeep.pools():
        queue.send(Task.HEARTBEAT, 0, pool)
