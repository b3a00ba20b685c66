"""Upkeep: what keeps the flow going when something was lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.calibration.schedule import IdleJob
    from service.domain.gerrit.change import InlineComment
    from service.ports.queue import Task
    from service.ports.records import (
        DueReview,
        Hint,
        StepFailure,
    )


class Upkeep(Protocol):
    """What keeps the flow going when something was lost."""

    def due_hints(self) -> Sequence[Hint]:
        """Hints that wait in the outbox."""

    def drop_hints(self, hint_ids: Sequence[int]) -> None:
        """These hints were sent."""

    def due_reviews(self) -> Sequence[DueReview]:
        """Reviews that are due now, in the order of their decisions."""

    def settle_review(
        self, outbox_id: int, state: str, note: str = "", said: Sequence[InlineComment] | None = None
    ) -> None:
        """A review ended: sent, superseded, refused or dead. ``said``: what was taken of its comments."""

    def postpone_review(
        self, outbox_id: int, seconds: float, error: str, *, is_missing: bool = False
    ) -> None:
        """A review could not be sent now; ``is_missing``: its change was not there."""

    def note_failed_post(self, outbox_id: int) -> None:
        """A server was given a review and did not say that it took it."""

    def requeue_lost_builds(self, max_attempts: int) -> Sequence[int]:
        """Builds whose machine fell silent: queued again, or given up (those are returned)."""

    def overdue_builds(self) -> Sequence[int]:
        """Unfinished builds past their deadline that no machine holds."""

    def drop_unwanted_builds(self) -> None:
        """Ask for the end of builds that no unfinished run wants, nor one that is being planned may want."""

    def cancelled_builds(self) -> Sequence[int]:
        """Builds that nobody wants any more and that no machine holds."""

    def stalled(self, older_than: float) -> Sequence[tuple[Task, int]]:
        """(task, entity) of everything that waits for a step that should have come by now."""

    def idle_pools(self, older_than: float) -> Sequence[tuple[str, int]]:
        """(pool, build) where builds wait and no machine of the pool is known to be busy."""

    def preempt_calibrations(self) -> Sequence[int]:
        """Cancel calibrations that a machine holds while other builds wait for it; those builds."""

    def idle_jobs(self, asked_within: float) -> Sequence[IdleJob]:
        """The benchmark jobs of branches checked within so many seconds, in pools with nothing to do."""

    def pools(self) -> Sequence[str]:
        """The pools in which a machine was seen within the last minutes."""

    def record_step_failure(self, task: Task, entity: int, error: str, *, max_attempts: int) -> StepFailure:
        """A step failed; how often, and whether those were all its attempts."""

    def clear_step_failure(self, task: Task, entity: int) -> None:
        """A step succeeded."""

    def ensure_partitions(self) -> None:
        """Make the partitions of the coming months."""

    def beat(self, part: str, note: str = "") -> None:
        """Leave a sign of life of a part of the service."""
