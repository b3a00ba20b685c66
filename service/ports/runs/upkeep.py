"""Upkeep: find what was lost, and keep the flow going."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from service.domain.verdict.calibration.schedule import IdleJob
from service.ports.runs.decisions import DueReviews
from service.ports.runs.queue import Hints, Task


@dataclass(frozen=True, slots=True)
class StepFailure:
    """The failures of a step so far, and whether they were all its attempts."""

    attempts: int
    is_dead: bool


class LostBuilds(Protocol):
    """Builds that lost their machine or last run, or are past their deadline."""

    def requeue_lost_builds(self, max_attempts: int) -> Sequence[int]:
        """Requeue builds with an expired lease; return those that have no attempt left.

        These stay as they are, and are returned every time, until they are finished.
        """

    def overdue_builds(self) -> Sequence[int]:
        """Return the unfinished builds past their deadline that no machine holds."""

    def drop_unwanted_builds(self) -> None:
        """Cancel builds that belong to no unfinished run and that no run in planning can adopt.

        Also those that waited ten minutes for one machine, if it is closed, hindered or not seen.
        """

    def cancelled_builds(self) -> Sequence[int]:
        """Return the unfinished builds that were cancelled and that no machine holds."""


class StalledWork(Protocol):
    """Work that lost its hint."""

    def stalled(self, older_than: float) -> Sequence[tuple[Task, int]]:
        """Return (task, entity) of what waited ``older_than`` seconds for a step, longest first.

        A step that failed is left out until it may be tried again.
        """

    def idle_pools(self, older_than: float) -> Sequence[tuple[str, int]]:
        """Return (pool, build) of builds that waited ``older_than`` seconds though a machine may be free."""


class Calibrations(Protocol):
    """Calibrations of machines that have nothing else to do."""

    def idle_jobs(self, asked_within: float) -> Sequence[IdleJob]:
        """Return idle machines' benchmark jobs of branches checked in the last ``asked_within`` seconds."""

    def preempt_calibrations(self) -> Sequence[int]:
        """Request the end of as many builds of idle pools as other builds wait for; return their ids.

        Of one that has ended, its machine stops explaining the slow-downs.
        """


class StepFailures(Protocol):
    """Failures of steps, counted per task and entity."""

    def record_step_failure(self, task: Task, entity: int, error: str, *, max_attempts: int) -> StepFailure:
        """Count a failure; the step waits before it is tried again, or is dead after its last attempt."""

    def clear_step_failure(self, task: Task, entity: int) -> None:
        """Forget the failures of a step that succeeded."""


class Heartbeats(Protocol):
    """Heartbeats of machines and parts of the service."""

    def pools(self) -> Sequence[str]:
        """Return the pool of each machine that was seen within the last minutes, in order."""

    def beat(self, part: str, note: str = "", trouble: str = "") -> None:
        """Store a heartbeat of a part of the service; ``trouble`` keeps it from its work."""

    def clear_trouble(self, part: str) -> None:
        """Note that nothing keeps a part from its work any more; a part without a heartbeat gets none."""


class Delivery(DueReviews, Heartbeats, Protocol):
    """The upkeep that the delivery of reviews needs."""


class Upkeep(Hints, LostBuilds, StalledWork, Calibrations, StepFailures, Delivery, Protocol):
    """All of the upkeep; each call is a transaction of its own."""
