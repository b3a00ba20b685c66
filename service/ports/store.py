"""The store of the control plane: units of work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from service.ports.comments import Comments, Remarks, Rounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from service.domain.calibration.evidence import History, Session
    from service.domain.gerrit.change import Change
    from service.domain.identity import ChangeKey, RunKind, SeriesKey
    from service.ports.queue import Task
    from service.ports.records import (
        BuildRecord,
        ChangeRecord,
        NewBuild,
        NewDecision,
        NewRun,
        QueuedReview,
        RunRecord,
        StoredComparison,
        StoredResult,
    )


class Transaction(Comments, Rounds, Remarks, Protocol):
    """One unit of work: all of it is stored, or nothing."""

    def add_event(self, instance: str, digest: bytes, kind: str, change: int | None, body: bytes) -> int:
        """Store an event; a duplicate is counted and looked at again."""

    def event_change(self, event_id: int) -> ChangeKey | None:
        """The change an event hints at; None where it concerns none."""

    def mark_handled(self, event_id: int) -> None:
        """The event needs no more work."""

    def upsert_change(self, change: Change) -> ChangeRecord:
        """Store a change and its current patch set unless a newer state is stored; locks the change."""

    def open_changes(self, instance: str) -> Sequence[ChangeKey]:
        """The changes of a server that were open when they were last looked at."""

    def runs_of(self, patch_set_id: int) -> Sequence[RunRecord]:
        """The runs of a patch set, oldest first."""

    def cancel_runs(self, change_id: int, *, keep_patch_set: int | None) -> None:
        """Cancel unfinished check runs of a change, but for one patch set.

        Their builds go on until :meth:`Upkeep.drop_unwanted_builds` finds that no other run took them over.
        """

    def add_run(self, run: NewRun) -> int | None:
        """A run in state planning; None where the same one exists."""

    def lock_run(self, run_id: int) -> RunRecord:
        """A run, locked until the transaction ends."""

    def start_run(
        self, run_id: int, *, tree: str, parent: str | None, parent_tree: str | None, label: str
    ) -> None:
        """The run is planned; its builds are known."""

    def end_run(self, run_id: int, state: str, reason: str = "") -> None:
        """Move a run to an end state."""

    def add_build(self, run_id: int, position: int, build: NewBuild) -> int:
        """Queue a numbered build (or store it as finished) as part of a run."""

    def adopt_build(
        self, run: RunRecord, position: int, sequence: str, deadline_seconds: float
    ) -> BuildRecord | None:
        """Make the newest build of a sequence that has or will have a result a part of a run; None: none.

        It is of the run's branch, and has at least so much time left.
        """

    def builds_of(self, run_id: int) -> Sequence[BuildRecord]:
        """The builds of a run in their order."""

    def lock_build(self, build_id: int) -> BuildRecord:
        """A build, locked until the transaction ends."""

    def pair_artifacts(self, sequence_id: int) -> Sequence[tuple[int, str]]:
        """Number and artifact of each pair of a sequence, in order."""

    def listing(self, sequence_id: int) -> Sequence[Mapping[str, Any]]:
        """The listing of a sequence; empty where none was fixed."""

    def disturbed_pairs(self, sequence_id: int) -> Mapping[int, bool]:
        """By number of each pair of the programs as built, whether other work disturbed it."""

    def unresolved_benchmarks(self, build_id: int) -> Sequence[str]:
        """The benchmarks of a build with a comparison that is undecided, and that more pairs may decide."""

    def store_results(
        self,
        build: BuildRecord,
        kind: RunKind,
        series: Mapping[SeriesKey, tuple[str, str]],
        results: Sequence[StoredResult],
        comparisons: Sequence[StoredComparison],
    ) -> None:
        """Replace the results of a build. ``series`` gives unit and better direction by key."""

    def store_evidence(self, build: BuildRecord, sessions: Mapping[SeriesKey, Session]) -> None:
        """Keep the A/A sessions of a build, each of a series whose results are stored already.

        The builds of one sequence have one session a series, and the machine that measured it first.
        """

    def evidence(self, machine: str, series: Sequence[SeriesKey]) -> Mapping[SeriesKey, History]:
        """What is known of these series on a machine; those without a session are left out."""

    def finish_build(
        self, build_id: int, outcome: str, result: str, causes: Sequence[str], blamed: Sequence[str] = ()
    ) -> Sequence[int]:
        """End a build; the runs that wait for it. ``blamed`` are the benchmarks for which it is slower."""

    def add_decision(self, decision: NewDecision) -> int:
        """Store a decision; its number (counted per patch set, else per run)."""

    def next_decision(self, run: RunRecord) -> int:
        """The number that the run's next decision will have."""

    def queue_task(self, task: Task, *entities: int) -> None:
        """Send a hint for each once this transaction is committed."""

    def revive_review(self, patch_set_id: int) -> None:
        """Post the review of a patch set's last decision after all, where its change was closed or hidden."""

    def queue_review(self, dedup_key: str, review: QueuedReview) -> None:
        """Post to the review server once this transaction is committed."""


class Store(Protocol):
    """The database as the control plane uses it."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """A unit of work: committed at the end, rolled back when the body raises."""

    def exclusive(self, name: str) -> AbstractContextManager[bool]:
        """True while no other process is in a section of that name."""
