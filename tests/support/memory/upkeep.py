"""Upkeep over a memory, and what machines do to its builds."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from service.domain.runs.states import UNFINISHED, BuildState, RunState
from service.domain.values.identity import RunKind
from service.ports.runs.decisions import DueReview, ReviewState
from service.ports.runs.queue import Task
from service.ports.runs.upkeep import StepFailure, Upkeep
from service.steps.runs.plan_run import DEADLINE
from tests.support.memory.decisions import MemoryOutbox
from tests.support.memory.state import Failures, Lease, Machine, Memory
from tests.support.runs.build_states import BuildEvent, after_lost_lease, state_after

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from service.domain.review.change import InlineComment
    from service.domain.values.identity import ChangeKey
    from service.domain.verdict.calibration.schedule import IdleJob
    from service.ports.runs.builds import BuildRecord
    from service.ports.runs.queue import Hint

LEASE_SECONDS: Final = 30.0
_SEEN_WITHIN: Final = 60.0
_PLAN_HOLDS: Final = 300.0  # a plan that keeps failing keeps no build longer
_UNHELD: Final = {BuildState.QUEUED, BuildState.RUNNING}

_IDLE = {kind for kind in RunKind if kind.is_for_idle_pools}


class MemoryUpkeep(Upkeep):
    def __init__(self) -> None:
        self.memory = Memory()

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.memory.clock += seconds

    def update(self, build_id: int, **values: Any) -> None:  # noqa: ANN401 - any field of a build
        """Change a build as something else did."""
        self.memory.put_build(replace(self.memory.builds[build_id - 1], **values))

    def register(
        self, machine: str = "perf-01", pool: str = "perf", obstacle: str = "", host: str = ""
    ) -> None:
        """Show a machine."""
        self.memory.machines[machine] = Machine(pool, self.memory.clock, obstacle, host or machine)

    def claim(self, machine: str = "perf-01", pool: str = "perf") -> int:
        """Give a machine the next build of its pool."""
        self.register(machine, pool)
        waiting = self.memory.waiting
        queued = (each for each in self.memory.builds if each.state is BuildState.QUEUED)
        build = min(
            (
                each
                for each in queued
                if waiting[each.id].pool == pool
                and waiting[each.id].for_machine in {"", machine}
                and not each.cancel_requested
            ),
            key=lambda each: (waiting[each.id].order, each.id),
        )
        self.memory.leases[build.id] = Lease(machine, self.memory.clock + LEASE_SECONDS)
        if not build.attempt:
            waiting[build.id] = replace(waiting[build.id], deadline=self.memory.clock + DEADLINE)
        state = state_after(build.state, BuildEvent.CLAIMED)
        self.update(build.id, state=state, attempt=build.attempt + 1, machine=machine)
        return build.id

    def complete(self, build_id: int) -> None:
        """Report the end of a machine's work."""
        self.update(build_id, state=state_after(self.memory.builds[build_id - 1].state, BuildEvent.EXECUTED))
        del self.memory.leases[build_id]
        MemoryOutbox(self.memory).queue_task(Task.ANALYSE, build_id)

    def due_hints(self) -> Sequence[Hint]:
        return list(self.memory.outbox.values())

    def drop_hints(self, hint_ids: Sequence[int]) -> None:
        for number in hint_ids:
            self.memory.outbox.pop(number, None)

    def due_reviews(self, instance: str | None = None) -> Sequence[DueReview]:
        found: list[DueReview] = []
        waiting: set[ChangeKey] = set()
        for number, (key, each) in enumerate(self.memory.reviews.items(), 1):
            change = each.review.change
            if instance not in {None, change.instance}:
                continue
            if each.state is not ReviewState.PENDING or change in waiting:
                continue
            if not each.review.is_silent:
                waiting.add(change)
            if each.next_at > self.memory.clock:
                continue
            missing = 0.0 if each.missing_since is None else self.memory.clock - each.missing_since
            found.append(DueReview(number, each.attempts, missing, each.review, each.failed_posts, key))
        return found

    def settle_review(
        self,
        outbox_id: int,
        state: ReviewState,
        note: str = "",
        comments: Sequence[InlineComment] | None = None,
    ) -> None:
        for key, stored in self._pending(outbox_id):
            review = stored.review
            if comments is not None and review.comments:
                review = replace(review, comments=tuple(comments))
            settled = replace(stored, review=review, state=state, note=note, attempts=stored.attempts + 1)
            self.memory.reviews[key] = settled

    def postpone_review(
        self, outbox_id: int, seconds: float, error: str, *, is_missing: bool = False
    ) -> None:
        now = self.memory.clock
        for key, stored in self._pending(outbox_id):
            since = now if stored.missing_since is None else stored.missing_since
            self.memory.reviews[key] = replace(
                stored,
                attempts=stored.attempts + 1,
                next_at=now + seconds,
                note=error,
                missing_since=since if is_missing else None,
            )

    def hasten_reviews(self, seconds: float, instance: str) -> None:
        for key, stored in self.memory.reviews.items():
            is_held = bool(stored.failed_posts) or stored.missing_since is not None
            is_its = stored.review.change.instance == instance
            if stored.state is ReviewState.PENDING and is_its and not is_held:
                due = min(stored.next_at, self.memory.clock + seconds)
                self.memory.reviews[key] = replace(stored, next_at=due)

    def note_failed_post(self, outbox_id: int) -> None:
        for key, stored in self._pending(outbox_id):
            self.memory.reviews[key] = replace(stored, failed_posts=stored.failed_posts + 1)

    def _pending(self, outbox_id: int) -> Iterator[tuple[str, Any]]:
        key = list(self.memory.reviews)[outbox_id - 1]
        if self.memory.reviews[key].state is ReviewState.PENDING:
            yield key, self.memory.reviews[key]

    def requeue_lost_builds(self, max_attempts: int) -> Sequence[int]:
        given_up = []
        for number in sorted(self.memory.leases):
            build = self.memory.builds[number - 1]
            if not self.memory.has_expired(number) or build.state is not BuildState.RUNNING:
                continue
            event = after_lost_lease(build.attempt, max_attempts)
            if event is BuildEvent.GIVEN_UP and not build.cancel_requested:
                given_up.append(number)
                continue
            self.update(number, state=state_after(build.state, BuildEvent.LEASE_EXPIRED))
            del self.memory.leases[number]
            if not build.cancel_requested:
                MemoryOutbox(self.memory).queue_task(Task.EXECUTE, number)
        return given_up

    def overdue_builds(self) -> Sequence[int]:
        late = [
            each
            for each in self.memory.builds
            if self.memory.waiting[each.id].deadline <= self.memory.clock and not each.cancel_requested
        ]
        return [each.id for each in late if self._is_unheld(each) or self._is_hopeless(each)]

    def _is_unheld(self, build: BuildRecord) -> bool:
        return build.state in _UNHELD and not self.memory.is_held(build.id)

    def _is_hopeless(self, build: BuildRecord) -> bool:
        failures = self.memory.failures.get((Task.ANALYSE, build.id))
        return build.state is BuildState.EXECUTED and failures is not None and failures.is_dead

    def drop_unwanted_builds(self) -> None:
        runs = self.memory.runs
        planned = {
            run.change
            for run in runs
            if run.state is RunState.PLANNING
            and run.change is not None
            and self.memory.created[run.id] > self.memory.clock - _PLAN_HOLDS
        }
        for build in self.memory.builds:
            its = [runs[run - 1] for run, number in self.memory.run_builds if number == build.id]
            is_wanted = any(run.state in UNFINISHED or run.change in planned for run in its)
            if build.state is not BuildState.FINISHED and (not is_wanted or self._is_forsaken(build)):
                self.update(build.id, cancel_requested=True)

    def _is_forsaken(self, build: BuildRecord) -> bool:
        at, before = self.memory.waiting[build.id], self.memory.clock - 600.0
        if build.state is not BuildState.QUEUED or not at.for_machine or at.created >= before:
            return False
        machine = self.memory.machines.get(at.for_machine)
        if machine is None or machine.pool != at.pool or machine.seen <= before:
            return True
        return machine.obstacle != "" or self._is_closed(at.for_machine)

    def cancelled_builds(self) -> Sequence[int]:
        return [each.id for each in self.memory.builds if each.cancel_requested and self._is_unheld(each)]

    def stalled(self, older_than: float) -> Sequence[tuple[Task, int]]:
        before = self.memory.clock - older_than
        late = sorted((since, entity, task) for since, task, entity in self._waiting() if since < before)
        return [(task, entity) for _, entity, task in late if not self._is_held_up(task, entity)]

    def _waiting(self) -> Iterator[tuple[float, Task, int]]:
        m = self.memory
        for number, event in enumerate(m.events, 1):
            if not event.is_handled:
                yield event.received, Task.HANDLE_EVENT, number
        for comment, recorded in zip(m.comment, m.recorded.values(), strict=True):
            if comment.is_pending:
                yield recorded, Task.RUN_COMMENT_COMMANDS, comment.id
        for build in m.builds:
            if build.state is BuildState.EXECUTED:
                yield m.waiting[build.id].since, Task.ANALYSE, build.id
        yield from self._untold()
        for run in m.runs:
            if run.state is RunState.PLANNING:
                yield m.created[run.id], Task.PLAN, run.id
            builds = [m.builds[number - 1] for each, number in m.run_builds if each == run.id]
            if run.state is RunState.RUNNING and all(b.state is BuildState.FINISHED for b in builds):
                yield (
                    max([m.created[run.id], *(m.waiting[build.id].since for build in builds)]),
                    Task.VOTE,
                    run.id,
                )

    def _untold(self) -> Iterator[tuple[float, Task, int]]:
        m = self.memory
        decided = {r.id for r in m.runs if r.state is RunState.FINISHED and r.kind is RunKind.CHECK}
        for run_id, build_id in m.run_builds:
            at = m.explained_at.get(build_id, -math.inf)
            if run_id in decided and at > m.clock - 60 and f"run/{run_id}/why/{build_id}" not in m.reviews:
                yield at, Task.ANALYSE, build_id

    def _is_held_up(self, task: Task, entity: int) -> bool:
        failures = self.memory.failures.get((task, entity))
        return failures is not None and (failures.is_dead or failures.next_at > self.memory.clock)

    def idle_pools(self, older_than: float) -> Sequence[tuple[str, int]]:
        now, waiting = self.memory.clock, self.memory.waiting
        by_pool: dict[str, list[BuildRecord]] = {}
        for build in sorted(self.memory.builds, key=lambda each: (waiting[each.id].order, each.id)):
            at = waiting[build.id]
            is_claimable = (
                build.state is BuildState.QUEUED and not build.cancel_requested and at.deadline > now
            )
            if is_claimable and at.created < now - older_than:
                by_pool.setdefault(at.pool, []).append(build)
        return [
            (pool, build.id)
            for pool in sorted(by_pool)
            for build in by_pool[pool][: self._idle_machines(pool)]
        ]

    def _seen(self, pool: str) -> list[str]:
        after = self.memory.clock - _SEEN_WITHIN
        return [
            name for name, each in self.memory.machines.items() if each.pool == pool and each.seen > after
        ]

    def _idle_machines(self, pool: str) -> int:
        """Count the machines that may be free; one if none was seen, since one may just have come."""
        seen = self._seen(pool)
        return sum(self._is_idle(name, hindered=10.0) for name in seen) if seen else 1

    def _is_idle(self, name: str, hindered: float = _SEEN_WITHIN) -> bool:
        """Return whether a machine holds no build, and reported no obstacle within ``hindered`` seconds."""
        machine, now = self.memory.machines[name], self.memory.clock
        is_busy = any(
            self.memory.machines[each.machine].host == machine.host and each.expires > now
            for each in self.memory.leases.values()
        )
        is_hindered = machine.obstacle and machine.seen > now - hindered
        return not (is_busy or is_hindered or self._is_closed(name))

    def _is_closed(self, name: str) -> bool:
        closures = self.memory.closures
        return any(host == name and each.is_current(self.memory.now) for host, each in closures)

    def preempt_calibrations(self) -> Sequence[int]:
        held = [self.memory.builds[number - 1] for number in self.memory.leases]
        states = {BuildState.RUNNING, BuildState.FINISHED}
        idle = [build for build in held if build.spec.get("kind") in _IDLE and build.state in states]
        idle.sort(key=lambda build: (build.cancel_requested, build.id), reverse=True)
        gone: set[int] = set()
        for pool, wanting in self._wanting().items():
            if not any(self._is_idle(machine) for machine in self._seen(pool)):
                own = [build for build in idle if self._serves(self.memory.leases[build.id].machine, pool)]
                gone |= {build.id for build in own[:wanting] if not build.cancel_requested}
        for number in gone:
            self.update(number, cancel_requested=True)
        return sorted(gone)

    def _serves(self, machine: str, pool: str) -> bool:
        own, machines = self.memory.machines[machine], self.memory.machines
        return own.pool == pool or any(machines[name].host == own.host for name in self._seen(pool))

    def _wanting(self) -> Counter[str]:
        return Counter(
            self.memory.waiting[each.id].pool
            for each in self.memory.builds
            if each.state is BuildState.QUEUED
            and not each.cancel_requested
            and each.spec.get("kind") not in _IDLE
        )

    def idle_jobs(self, asked_within: float) -> Sequence[IdleJob]:
        return self.memory.idle_jobs

    def pools(self) -> Sequence[str]:
        after = self.memory.clock - 600.0
        return sorted(each.pool for each in self.memory.machines.values() if each.seen > after)

    def record_step_failure(self, task: Task, entity: int, error: str, *, max_attempts: int) -> StepFailure:
        known = self.memory.failures.get((task, entity))
        attempts = 1 if known is None else known.attempts + 1
        next_at = self.memory.clock + min(2.0 ** min(attempts, 30), 300.0)
        is_dead = attempts >= max_attempts
        self.memory.failures[task, entity] = Failures(attempts, next_at, is_dead, error)
        return StepFailure(attempts, is_dead)

    def clear_step_failure(self, task: Task, entity: int) -> None:
        self.memory.failures.pop((task, entity), None)

    def beat(self, part: str, note: str = "", trouble: str = "") -> None:
        self.memory.beats[part] = trouble or note

    def clear_trouble(self, part: str) -> None:
        if part in self.memory.beats:
            self.memory.beats[part] = ""
