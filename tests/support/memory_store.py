"""A Store and Upkeep over the memory, and a broker: they keep the promises of the real ones."""

from __future__ import annotations

import copy
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from service.domain.decision.states import (
    UNFINISHED,
    BuildEvent,
    BuildState,
    RunState,
    after_lost_lease,
    state_after,
)
from service.domain.errors import Transient
from service.ports.queue import Task
from service.ports.records import DueReview, Hint, ReviewState, StepFailure
from service.ports.store import Store
from service.ports.upkeep import Upkeep
from tests.support.memory import Memory, MemoryTransaction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from service.domain.calibration.schedule import IdleJob
    from service.domain.gerrit.change import InlineComment
    from service.domain.identity import ChangeKey
    from tests.support.memory import StoredReview


class MemoryStore(Store, Upkeep):
    """Store and Upkeep over one memory; a transaction that fails leaves it as it was."""

    def __init__(self) -> None:
        self.memory = Memory()
        self.taken: set[str] = set()

    @contextmanager
    def transaction(self) -> Iterator[MemoryTransaction]:
        before = copy.deepcopy(self.memory)
        try:
            yield MemoryTransaction(self.memory)
        except BaseException:
            self.memory = before
            raise

    @contextmanager
    def exclusive(self, name: str) -> Iterator[bool]:
        is_ours = name not in self.taken
        if is_ours:
            self.taken.add(name)
        try:
            yield is_ours
        finally:
            if is_ours:
                self.taken.remove(name)

    def update(self, build_id: int, **values: Any) -> None:  # noqa: ANN401 - any field of a build
        """What a machine did to a build."""
        self.memory.builds[build_id - 1] = replace(self.memory.builds[build_id - 1], **values)

    def due_hints(self) -> Sequence[Hint]:
        found = enumerate(self.memory.hints)
        return [Hint(i, task, entity, self._pool(task, entity)) for i, (task, entity) in found]

    def drop_hints(self, hint_ids: Sequence[int]) -> None:
        kept = [hint for number, hint in enumerate(self.memory.hints) if number not in hint_ids]
        self.memory.hints = kept

    def due_reviews(self) -> Sequence[DueReview]:
        first: dict[ChangeKey, DueReview] = {}
        for number, each in enumerate(self.memory.reviews.values()):
            if each.state is ReviewState.PENDING:
                due = DueReview(number, each.attempts, each.missing_seconds, each.review, each.failed_posts)
                first.setdefault(each.review.change, due)
        return list(first.values())

    def settle_review(
        self,
        outbox_id: int,
        state: ReviewState,
        note: str = "",
        comments: Sequence[InlineComment] | None = None,
    ) -> None:
        review = self._review(outbox_id)
        assert review.state is ReviewState.PENDING, "a review ends once"
        if comments is not None:
            review.review = replace(review.review, comments=tuple(comments))
        review.state, review.note = state, note

    def postpone_review(
        self, outbox_id: int, seconds: float, error: str, *, is_missing: bool = False
    ) -> None:
        review = self._review(outbox_id)
        review.missing_seconds = max(review.missing_seconds, 1.0) if is_missing else 0.0
        review.attempts += 1
        review.postponed, review.note = seconds, error

    def note_failed_post(self, outbox_id: int) -> None:
        self._review(outbox_id).failed_posts += 1

    def requeue_lost_builds(self, max_attempts: int) -> Sequence[int]:
        given_up = []
        for number in sorted(self.memory.lost):
            build = self.memory.builds[number - 1]
            if after_lost_lease(build.attempt, max_attempts) is BuildEvent.GIVEN_UP:
                given_up.append(number)
            else:
                self.update(number, state=state_after(build.state, BuildEvent.LEASE_EXPIRED))
        self.memory.lost.clear()
        return given_up

    def overdue_builds(self) -> Sequence[int]:
        return sorted(self.memory.overdue)

    def drop_unwanted_builds(self) -> None:
        planned = {run.change for run in self.memory.runs if run.state is RunState.PLANNING}
        for build in self.memory.builds:
            runs = [self.memory.runs[run - 1] for run, number in self.memory.run_builds if number == build.id]
            is_wanted = any(run.state in UNFINISHED or run.change in planned for run in runs)
            if build.state is not BuildState.FINISHED and not is_wanted:
                self.update(build.id, cancel_requested=True)

    def cancelled_builds(self) -> Sequence[int]:
        held = (BuildState.RUNNING, BuildState.FINISHED)
        unheld = (each for each in self.memory.builds if each.is_external or each.state not in held)
        return [e.id for e in unheld if e.cancel_requested and e.state is not BuildState.FINISHED]

    def stalled(self, older_than: float) -> Sequence[tuple[Task, int]]:
        return self.memory.stalled

    def idle_pools(self, older_than: float) -> Sequence[tuple[str, int]]:
        return self.memory.idle

    def preempt_calibrations(self) -> Sequence[int]:
        for number in self.memory.in_the_way:
            self.update(number, cancel_requested=True)
        return self.memory.in_the_way

    def idle_jobs(self, asked_within: float) -> Sequence[IdleJob]:
        return self.memory.idle_jobs

    def pools(self) -> Sequence[str]:
        return sorted({pool for pool, _ in self.memory.idle})

    def record_step_failure(self, task: Task, entity: int, error: str, *, max_attempts: int) -> StepFailure:
        attempts = self.memory.failures[task, entity] = self.memory.failures.get((task, entity), 0) + 1
        return StepFailure(attempts, is_dead=attempts >= max_attempts)

    def clear_step_failure(self, task: Task, entity: int) -> None:
        self.memory.failures.pop((task, entity), None)

    def beat(self, part: str, note: str = "") -> None:
        pass

    def _pool(self, task: Task, entity: int) -> str:
        job = self.memory.builds[entity - 1].spec["config"] if task is Task.EXECUTE else {"pool": "control"}
        return str(job.get("pool", "perf"))

    def _review(self, outbox_id: int) -> StoredReview:
        return list(self.memory.reviews.values())[outbox_id]


@dataclass
class MemoryQueue:
    """A broker that can be down."""

    is_down: bool = False
    sent: list[tuple[Task, int, str]] = field(default_factory=list)

    def send(self, task: Task, entity: int, pool: str) -> None:
        if self.is_down:
            raise Transient("the broker does not answer")
        self.sent.append((task, entity, pool))
