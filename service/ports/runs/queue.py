"""Queue of hints, and the tasks that a hint can name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Task(StrEnum):
    """A task of the workers. The values are stored with hints and failures, and are Celery's task names."""

    HANDLE_EVENT = "handle_event"
    PLAN = "plan"
    EXECUTE = "execute"
    ANALYSE = "analyse"
    VOTE = "vote"
    RUN_COMMENT_COMMANDS = "run_comment_commands"
    DELIVER = "deliver"
    RECONCILE = "reconcile"
    CALIBRATE = "calibrate"
    FOLLOW = "follow"
    USE_IDLE_POOLS = "use_idle_pools"
    READ_BUGS = "read_bugs"
    NOTIFY = "notify"
    HEARTBEAT = "heartbeat"

    @property
    def is_for_machines(self) -> bool:
        """Return whether a machine of the entity's pool runs the task, not the control plane."""
        return self in {Task.EXECUTE, Task.HEARTBEAT}

    @property
    def celery_name(self) -> str:
        """Workers register it under this name."""
        return f"benchgate.{self.value}"


def reconciliation(place: int, *, is_full: bool) -> int:
    """Return the entity of a reconciliation with the review server at a place in the order of their names."""
    return 2 * place + is_full


class Queue(Protocol):
    """Sends hints to workers. Raises Transient."""

    def send(self, task: Task, entity: int, pool: str) -> None:
        """Hint at an entity; ``pool`` is ``control`` or a pool of machines."""

    def waiting(self) -> int:
        """Return how many hints wait for a worker of the control plane."""


@dataclass(frozen=True, slots=True)
class Hint:
    """A hint that waits in the outbox."""

    outbox_id: int
    task: Task
    entity: int
    pool: str


class Hints(Protocol):
    """Hints to workers that wait in the outbox."""

    def due_hints(self) -> Sequence[Hint]:
        """Return the hints that wait, oldest first."""

    def drop_hints(self, hint_ids: Sequence[int]) -> None:
        """Remove hints that were sent."""
