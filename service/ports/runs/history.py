"""Earlier runs and builds as steps read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from service.domain.building.spec import BuildSpec
from service.domain.runs.states import RunState
from service.domain.values.identity import ChangeKey, RunKind
from service.ports.runs.builds import BuildRecord
from service.ports.runs.runs import RunRecord


class RunHistory(Protocol):
    """Runs and builds that patch sets, changes, commits and branches had before."""

    def runs_of(self, patch_set_id: int) -> Sequence[RunRecord]:
        """Return the runs of a patch set, oldest first."""

    def newest_check(self, patch_set_id: int) -> RunRecord | None:
        """Return the last check of a patch set that no person cancelled, locked, or None."""

    def newest_run(self, change: ChangeKey, kind: RunKind, revision: str) -> RunRecord | None:
        """Return the last run of a kind for a revision of a change, both locked, or None.

        The revision may be the merge commit that brought the change to its branch.
        """

    def checks_of(self, instance: str, revision: str) -> tuple[tuple[RunState, bool], ...]:
        """Return the states of the checks of a commit on any patch set, and whether each was planned."""

    def last_durations(self, run: RunRecord, count: int) -> Sequence[float]:
        """Return how many seconds the last finished runs of the run's kind and branch took, newest first."""

    def builds_of(self, run: RunRecord, job: str) -> Sequence[BuildRecord]:
        """Return a job's builds in all runs of the run's kind and revision, oldest first.

        Builds that were replaced there are among them.
        """

    def tests_on_base(self, spec: BuildSpec) -> str:
        """Return the artifact with the tests of the job's newest build of the base's tree; else empty."""
