"""The service's memory as plain lists and dictionaries, with a unit of work on it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from service.domain.calibration.evidence import History
from service.domain.decision.states import UNFINISHED, BuildEvent, BuildState, RunState, state_after
from service.domain.decision.vote import LASTING, Outcome
from service.domain.errors import NotFound
from service.domain.identity import ChangeKey, RunKind
from service.domain.inference.reasons import RELINKED, has_kind
from service.domain.inference.verdict import Verdict
from service.domain.project.job import JobKind
from service.ports.records import (
    BuildRecord,
    ChangeRecord,
    QueuedReview,
    ReviewState,
    RunRecord,
    review_key,
)
from service.ports.store import Transaction
from tests.support.memory_comments import MemoryHearing, MemoryRemarks, MemoryRounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.calibration.evidence import Session
    from service.domain.calibration.schedule import IdleJob
    from service.domain.decision.overrides import Override
    from service.domain.gerrit.change import Change
    from service.domain.identity import SeriesKey
    from service.ports.queue import Task
    from service.ports.records import (
        NewBuild,
        NewDecision,
        NewRun,
        ReviewComment,
        StoredComparison,
        StoredPair,
        StoredResult,
        SyncCursor,
    )

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


@dataclass
class StoredEvent:
    instance: str
    digest: bytes
    kind: str
    change: int | None
    deliveries: int = 1
    is_handled: bool = False


@dataclass
class StoredReview:
    review: QueuedReview
    state: ReviewState = ReviewState.PENDING
    note: str = ""
    attempts: int = 0
    failed_posts: int = 0
    missing_seconds: float = 0.0
    postponed: float = 0.0


@dataclass
class Results:
    series: Mapping[SeriesKey, tuple[str, str]]
    results: Sequence[StoredResult]
    comparisons: Sequence[StoredComparison]


@dataclass
class Memory:
    """Everything that is remembered; numbers are places in lists, counted from 1."""

    events: list[StoredEvent] = field(default_factory=list)
    changes: dict[ChangeKey, Change] = field(default_factory=dict)
    change_ids: list[ChangeKey] = field(default_factory=list)
    patch_sets: list[tuple[int, int]] = field(default_factory=list)
    runs: list[RunRecord] = field(default_factory=list)
    reasons: dict[int, str] = field(default_factory=dict)
    builds: list[BuildRecord] = field(default_factory=list)
    run_builds: list[tuple[int, int]] = field(default_factory=list)
    replaced: list[tuple[int, int]] = field(default_factory=list)
    sequences: list[str] = field(default_factory=list)
    listings: dict[int, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    pairs: dict[int, Sequence[StoredPair]] = field(default_factory=dict)
    results: dict[int, Results] = field(default_factory=dict)
    evidence: dict[tuple[SeriesKey, int], tuple[str, Session]] = field(default_factory=dict)
    decisions: list[NewDecision] = field(default_factory=list)
    hints: list[tuple[Task, int]] = field(default_factory=list)
    reviews: dict[str, StoredReview] = field(default_factory=dict)
    failures: dict[tuple[Task, int], int] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)
    overdue: set[int] = field(default_factory=set)
    stalled: list[tuple[Task, int]] = field(default_factory=list)
    idle: list[tuple[str, int]] = field(default_factory=list)
    idle_jobs: list[IdleJob] = field(default_factory=list)
    in_the_way: list[int] = field(default_factory=list)
    sync_cursors: dict[str, SyncCursor] = field(default_factory=dict)
    comment: list[ReviewComment] = field(default_factory=list)
    said: set[object] = field(default_factory=set)
    answers: dict[int, str] = field(default_factory=dict)
    overrides: list[tuple[int, Override]] = field(default_factory=list)
    reused: set[tuple[int, int]] = field(default_factory=set)


class MemoryTransaction(MemoryHearing, MemoryRounds, MemoryRemarks, Transaction):
    """A unit of work on the memory."""

    def __init__(self, memory: Memory) -> None:
        self._m = memory

    def add_event(self, instance: str, digest: bytes, kind: str, change: int | None, body: bytes) -> int:
        for number, event in enumerate(self._m.events, 1):
            if (event.instance, event.digest) == (instance, digest):
                event.deliveries += 1
                event.is_handled = False
                return number
        self._m.events.append(StoredEvent(instance, digest, kind, change))
        return len(self._m.events)

    def event_change(self, event_id: int) -> ChangeKey | None:
        event = self._m.events[event_id - 1]
        return None if event.change is None else ChangeKey(event.instance, event.change)

    def mark_handled(self, event_id: int) -> None:
        self._m.events[event_id - 1].is_handled = True

    def upsert_change(self, change: Change) -> ChangeRecord:
        if change.key not in self._m.changes:
            self._m.change_ids.append(change.key)
            self._m.changes[change.key] = change
        change_id = self._m.change_ids.index(change.key) + 1
        stored = self._m.changes[change.key]
        is_current = (change.updated, change.current.number) >= (stored.updated, stored.current.number)
        if is_current:
            self._m.changes[change.key] = change
        number = self._m.changes[change.key].current.number
        if (change_id, number) not in self._m.patch_sets:
            self._m.patch_sets.append((change_id, number))
        patch_set = self._m.patch_sets.index((change_id, number)) + 1
        return ChangeRecord(change_id, patch_set, is_current)

    def open_changes(self, instance: str) -> Sequence[ChangeKey]:
        return [key for key, each in self._m.changes.items() if key.instance == instance and each.is_open]

    def runs_of(self, patch_set_id: int) -> Sequence[RunRecord]:
        return [run for run in self._m.runs if run.patch_set_id == patch_set_id]

    def cancel_runs(self, change_id: int, *, keep_patch_set: int | None) -> None:
        for run in self._m.runs:
            if (
                run.kind is RunKind.CHECK
                and run.state in UNFINISHED
                and run.change == self._m.change_ids[change_id - 1]
                and run.patch_set_id != keep_patch_set
            ):
                self.end_run(run.id, RunState.CANCELLED)

    def add_run(self, run: NewRun) -> int | None:
        for other in self._m.runs:
            if other.kind is run.kind and _is_same(other, run):
                return None
        change = None
        if run.patch_set_id is not None:
            change = self._m.change_ids[self._m.patch_sets[run.patch_set_id - 1][0] - 1]
        number = len(self._m.runs) + 1
        self._m.runs.append(
            RunRecord(
                id=number,
                kind=run.kind,
                state=RunState.PLANNING,
                instance=run.instance,
                project=run.project,
                branch=run.branch,
                revision=run.revision,
                parent=None,
                label="Verified",
                patch_set_id=run.patch_set_id,
                change=change,
                ref=run.ref if change else None,
                pool=run.pool,
            )
        )
        return number

    def lock_run(self, run_id: int) -> RunRecord:
        if not 0 < run_id <= len(self._m.runs):
            raise NotFound(f"there is no run {run_id}")
        return self._m.runs[run_id - 1]

    def start_run(
        self, run_id: int, *, tree: str, parent: str | None, parent_tree: str | None, label: str
    ) -> None:
        run = self.lock_run(run_id)
        assert run.state is RunState.PLANNING
        self._m.runs[run_id - 1] = replace(run, state=RunState.RUNNING, parent=parent, label=label)

    def end_run(self, run_id: int, state: RunState, reason: str = "") -> None:
        run = self.lock_run(run_id)
        assert run.state in UNFINISHED, "a run ends once"
        self._m.runs[run_id - 1] = replace(run, state=state)
        self._m.reasons[run_id] = reason

    def add_build(self, run_id: int, position: int, build: NewBuild) -> int:
        if build.sequence and build.sequence not in self._m.sequences:
            self._m.sequences.append(build.sequence)
        waiting = BuildState.RUNNING if build.kind is JobKind.EXTERNAL else BuildState.QUEUED
        number = len(self._m.builds) + 1
        self._m.builds.append(
            BuildRecord(
                id=number,
                job=build.job,
                number=1 + sum(each.job == build.job for each in self._m.builds),
                kind=build.kind,
                state=waiting if build.outcome is None else BuildState.FINISHED,
                attempt=0,
                is_voting=build.is_voting,
                cancel_requested=False,
                spec=build.spec,
                execution=None,
                outcome=build.outcome,
                causes=tuple(build.causes),
                sequence_id=self._m.sequences.index(build.sequence) + 1 if build.sequence else None,
                machine="",
                created_at=NOW,
            )
        )
        self._m.run_builds.append((run_id, number))
        return number

    def adopt_build(
        self, run: RunRecord, position: int, sequence: str, deadline_seconds: float
    ) -> BuildRecord | None:
        for build in reversed(self._m.builds):
            is_done = build.state is BuildState.FINISHED
            is_fit = build.outcome in LASTING if is_done else not build.cancel_requested
            is_here = build.spec["branch"] == run.branch
            digest = self._m.sequences[build.sequence_id - 1] if build.sequence_id else ""
            if is_fit and is_here and sequence and digest == sequence:
                self._m.run_builds.append((run.id, build.id))
                return build
        return None

    def builds_of(self, run_id: int) -> Sequence[BuildRecord]:
        return [self._m.builds[build - 1] for run, build in self._m.run_builds if run == run_id]

    def lock_build(self, build_id: int) -> BuildRecord:
        return self._m.builds[build_id - 1]

    def stored_pairs(self, sequence_id: int) -> Sequence[StoredPair]:
        return self._m.pairs.get(sequence_id, ())

    def listing(self, sequence_id: int) -> Sequence[Mapping[str, Any]]:
        return self._m.listings.get(sequence_id, ())

    def disturbed_pairs(self, sequence_id: int) -> Mapping[int, bool]:
        return {each.pair: False for each in self._m.pairs.get(sequence_id, ()) if not each.variant}

    def unresolved_benchmarks(self, build_id: int) -> Sequence[str]:
        found = self._m.results.get(build_id)
        rows = found.comparisons if found else ()
        undecided = [row for row in rows if row.verdict is Verdict.UNDECIDED]
        left = [row for row in undecided if not has_kind(row.reasons, RELINKED)]
        return sorted({row.series.benchmark for row in left if row.series.metric != "instructions"})

    def store_results(
        self,
        build: BuildRecord,
        kind: RunKind,
        series: Mapping[SeriesKey, tuple[str, str]],
        results: Sequence[StoredResult],
        comparisons: Sequence[StoredComparison],
    ) -> None:
        assert {each.series for each in results} | {each.series for each in comparisons} <= series.keys()
        assert len({each.series for each in comparisons}) == len(comparisons), "one comparison a series"
        self._m.results[build.id] = Results(series, results, comparisons)

    def store_evidence(self, build: BuildRecord, sessions: Mapping[SeriesKey, Session]) -> None:
        assert build.sequence_id is not None
        assert sessions.keys() <= self._m.results[build.id].series.keys(), "results are stored first"
        for key, session in sessions.items():
            machine, _ = self._m.evidence.get((key, build.sequence_id), (build.machine, session))
            if machine == build.machine:
                self._m.evidence[key, build.sequence_id] = (machine, session)

    def evidence(self, machine: str, series: Sequence[SeriesKey]) -> Mapping[SeriesKey, History]:
        found: dict[SeriesKey, list[Session]] = {}
        for (key, _), (where, session) in sorted(self._m.evidence.items(), key=lambda each: -each[0][1]):
            if where == machine and key in series:
                found.setdefault(key, []).append(session)
        return {key: History.of(sessions) for key, sessions in found.items()}

    def finish_build(
        self, build_id: int, outcome: Outcome, causes: Sequence[str], blamed: Sequence[str] = ()
    ) -> Sequence[int]:
        build = self.lock_build(build_id)
        event = BuildEvent.REPORTED if build.external_number else BuildEvent.GIVEN_UP
        state = state_after(build.state, BuildEvent.ANALYSED if build.state is BuildState.EXECUTED else event)
        self._put(replace(build, state=state, outcome=outcome, causes=tuple(causes), blamed=tuple(blamed)))
        return self._waiting(build_id)

    def next_decision(self, run: RunRecord) -> int:
        return 1 + sum(
            each.run_id == run.id if run.patch_set_id is None else each.patch_set_id == run.patch_set_id
            for each in self._m.decisions
        )

    def add_decision(self, decision: NewDecision) -> int:
        assert decision.number == self.next_decision(self.lock_run(decision.run_id))
        self._m.decisions.append(decision)
        return decision.number

    def queue_task(self, task: Task, *entities: int) -> None:
        self._m.hints.extend((task, entity) for entity in entities)

    def revive_review(self, patch_set_id: int) -> None:
        decided = [each for each in self._m.decisions if each.patch_set_id == patch_set_id]
        if decided:
            stored = self._m.reviews.get(review_key(decided[-1].run_id, decided[-1].number))
            if stored is not None and stored.state in {ReviewState.SUPERSEDED, ReviewState.DEAD}:
                stored.state, stored.missing_seconds = ReviewState.PENDING, 0.0

    def queue_review(self, dedup_key: str, review: QueuedReview) -> None:
        self._m.reviews.setdefault(dedup_key, StoredReview(review))

    def _waiting(self, build_id: int) -> list[int]:
        pairs = self._m.run_builds
        return [run for run, build in pairs if build == build_id and self.lock_run(run).state in UNFINISHED]

    def _put(self, build: BuildRecord) -> None:
        self._m.builds[build.id - 1] = build


def _is_same(other: RunRecord, run: NewRun) -> bool:
    """Whether a run of the same kind leaves no room for this one."""
    if run.kind is RunKind.POST_SUBMIT:
        return other.revision == run.revision
    key = "pool" if run.kind is RunKind.CALIBRATION else "patch_set_id"
    return other.state in UNFINISHED and bool(getattr(other, key) == getattr(run, key))
