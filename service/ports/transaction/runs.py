"""Runs in a unit of work: how they begin and end, which there were, and how builds run again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.building.spec import BuildSpec
    from service.domain.decision.states import RunState
    from service.domain.identity import ChangeKey, RunKind
    from service.ports.records import BuildRecord, NewRun, RunRecord


class Runs(Protocol):
    """Runs from planning to their end."""

    def add_run(self, run: NewRun) -> int | None:
        """Store a run in state planning; return its id, None if the same one exists."""

    def lock_run(self, run_id: int) -> RunRecord:
        """Return a run; its change and itself are locked until the transaction ends. NotFound without it."""

    def start_run(
        self, run_id: int, *, tree: str, parent: str | None, parent_tree: str | None, label: str
    ) -> None:
        """Move a planned run to running. A run in any other state stays as it is."""

    def end_run(self, run_id: int, state: RunState, reason: str = "") -> None:
        """Move a run to an end state; a run that has ended keeps its state."""

    def cancel_runs(self, change_id: int, *, keep_patch_set: int | None) -> None:
        """Cancel unfinished check runs of a change, except those of one patch set.

        Their builds go on until :meth:`LostBuilds.drop_unwanted_builds` finds that no other run adopted them.
        """

    def cancel_check(self, run_id: int) -> None:
        """End an unfinished run because a person asked for it; the service does not start it anew."""


class RunHistory(Protocol):
    """The runs and builds that patch sets, changes and commits had."""

    def runs_of(self, patch_set_id: int) -> Sequence[RunRecord]:
        """Return the runs of a patch set, oldest first."""

    def newest_check(self, patch_set_id: int) -> RunRecord | None:
        """Return the last check of a patch set that no person cancelled, locked; None if there is none."""

    def newest_run(self, change: ChangeKey, kind: RunKind, revision: str) -> RunRecord | None:
        """Return the last run of a kind for a revision of a change, both locked; None if there is none."""

    def checks_of(self, instance: str, revision: str) -> tuple[tuple[RunState, bool], ...]:
        """Return the states of the checks of a commit on any patch set, and whether each was planned."""

    def builds_of_job(self, run: RunRecord, job: str) -> Sequence[BuildRecord]:
        """Return a job's builds in all runs of the run's kind and revision, oldest first.

        Builds that were replaced there are among them.
        """


class Reruns(Protocol):
    """Builds that run again, beside the builds that are kept."""

    def follow_run(self, previous: RunRecord, comment_id: int | None) -> int:
        """Store a running run without builds that follows a finished one of the same revision."""

    def take_build(self, run_id: int, position: int, build_id: int) -> None:
        """Make a build of an earlier run a part of a run."""

    def repeat_build(self, build: BuildRecord, spec: BuildSpec | None, deadline_seconds: float) -> int:
        """Store a new build that does the same as another, in no run yet; queued unless it is another CI's.

        ``spec`` is what it does instead, if its job was configured otherwise since.
        """

    def put_build(self, run_id: int, position: int, job: str, build_id: int, comment_id: int | None) -> None:
        """Give a job's place in a run to a new build; the build that it replaces is remembered."""
