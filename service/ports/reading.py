"""Read ports of the pages and the HTTP API: each method reads one consistent snapshot of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from service.domain.review.change_search import EVERY_CHANGE
from service.ports.claims import ClaimReading

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime, timedelta

    from service.domain.building.logs.stored_log import StoredLog
    from service.domain.review.change_search import ChangeSearch
    from service.domain.runs.activity import Activity
    from service.domain.runs.health import Condition
    from service.domain.runs.retention import StoredSize
    from service.domain.values.identity import ChangeAddress, ChangeKey
    from service.domain.values.search import Words
    from service.domain.verdict.calibration.usefulness import MeasuredSeries
    from service.domain.verdict.trend.line import Step
    from service.ports.machines import Machine
    from service.ports.review.shown import Change, ChangeWithPatchSets, Cursor, PatchSetDetail
    from service.ports.runs.shown import Build, BuildDetail, ExplainedBuild, RunWithBuilds
    from service.ports.verdict import (
        Comparison,
        Family,
        MeasuredPatchSets,
        Samples,
        Series,
        SeriesVotingStatus,
        SeriesWithPoints,
    )

STEP_DAYS: Final = 90


class Viewer(Protocol):
    """A person, or a program with a token, who may see more on a review server than the public."""

    def sees(self, changes: Collection[ChangeKey]) -> frozenset[ChangeKey]:
        """Return which of these changes the viewer sees; none if the review server does not answer."""

    def require_answers(self, instance: str | None = None) -> None:
        """Raise Transient unless the review servers answer: a change that was not found may be hidden.

        ``instance`` is that of the only server which may have it; None: any may.
        """


class ChangeReading(Protocol):
    """Changes and their patch sets.

    Methods raise Ambiguous if the address is only a number, and several servers have it.
    """

    def changes(
        self, limit: int, after: Cursor | None = None, search: ChangeSearch = EVERY_CHANGE
    ) -> Sequence[Change]:
        """Return a page of changes that match all words and terms, the most recently updated first.

        Each word must occur in subject, project, branch, owner or number.
        """

    def change(self, address: ChangeAddress) -> ChangeWithPatchSets:
        """Return a change."""

    def patch_set(self, change: ChangeAddress, number: int | None = None) -> PatchSetDetail:
        """Return a patch set of a change; None: its newest."""

    def measured_patch_sets(
        self, change: ChangeAddress, limit: int, before: int | None = None
    ) -> MeasuredPatchSets:
        """Return a change's newest patch sets that have comparisons; ``before`` ends the previous page."""


class BuildReading(Protocol):
    """Runs and builds, with their comparisons and samples."""

    def run(self, run_id: int) -> RunWithBuilds:
        """Return a run with its builds."""

    def build(self, job: str, number: int) -> BuildDetail:
        """Return a build with its environment and its newest runs.

        For a job of another CI, the number is first looked for among that CI's numbers; the newest counts.
        """

    def unfinished_builds(self, limit: int, after: int = 0) -> Sequence[Build]:
        """Return builds that wait or run, by pool: running builds first, then queued ones in their order.

        External and cancelled builds are left out; skips the first ``after``.
        """

    def queued_builds(self, limit: int) -> Sequence[Build]:
        """Return the builds of each pool's queue that begin next, by pool and in their order.

        At most ``limit`` of each pool; external and cancelled builds are left out.
        """

    def log(self, job: str, number: int) -> StoredLog:
        """Return the log of the newest attempt of a build, so far; without parts if nothing is stored."""

    def comparisons(self, build_id: int, measured_at: datetime) -> Sequence[Comparison]:
        """Return the comparisons of a build in their order; ``measured_at`` is when it was created."""

    def samples(self, build_id: int, measured_at: datetime, series_id: int) -> Samples:
        """Return both sides' samples of one comparison; a side that measured nothing is empty."""

    def explanations(self, build_id: int, stacks_of: int = 0) -> ExplainedBuild:
        """Return why benchmarks of a build are slower; empty if nothing was explained.

        Only the item with the number ``stacks_of``, from 1, comes with its stacks and instructions.
        """


MOST_UNTOUCHED: Final = 10_000  # commits of a trend that touch no file of its job


class SeriesReading(Protocol):
    """Series and their history."""

    def series(self, words: Words, limit: int, after: int = 0) -> Sequence[Series]:
        """Return series that match all words, by id; ``after`` is the last id of the previous page.

        A series that another one continues is left out; its name finds that one.
        """

    def trend(
        self,
        series_id: int,
        limit: int,
        within: timedelta | None = None,
        until: datetime | None = None,
    ) -> SeriesWithPoints:
        """Return a series with the ``limit`` newest points of merged commits, of patch sets, and imported.

        The series of a renamed benchmark are one: the newest, with the points of all. ``until`` leaves out
        later points, and ``within`` those that are older than the newest one by more. Of untouched commits
        the ``MOST_UNTOUCHED`` newest are read; if there are more, the points before them are left out.

        Of a viewer, the review server is asked about the changes of the newest 400 points of each kind in
        this range; hidden changes behind them stay hidden.
        """

    def merged_steps(self, before: Mapping[int, datetime], limit: int) -> Mapping[int, Sequence[Step]]:
        """Return the steps of the merged commits that were last measured before the moment of each series.

        By the series' id, at most ``limit``, of ``STEP_DAYS``, the oldest first, without standard errors. A
        series without steps is left out, and so is what a benchmark measured under a former name.
        """


class FamilyReading(Protocol):
    """Families: the series of one suite and metric whose benchmarks differ in their arguments."""

    def family(
        self,
        series_id: int,
        most: int,
        limit: int,
        within: timedelta | None = None,
        until: datetime | None = None,
    ) -> Family:
        """Return ``most`` series of a benchmark's family in natural order: itself and those around it.

        Each has its newest merged commits between the same moments as the trend of ``series_id``, also under
        former names, and all have at most ``limit`` together: each an equal share. Of untouched
        commits the ``MOST_UNTOUCHED`` newest are read, as for a trend.

        Of a viewer, the review server is asked about the changes of ``series_id`` only: private commits that
        this series does not have stay hidden, so that other members may lack steps and may be missing.
        """


class BenchmarkReading(Protocol):
    """Benchmarks, and how much they decide."""

    def measured_series(self, since: datetime) -> Sequence[MeasuredSeries]:
        """Return the series that the newest checks and merged commits since a moment measured, by id.

        Of each job and branch, at most ``NEWEST`` builds count, one of each change and sequence. Instruction
        counts do not. A benchmark's former name is a series of its own, as long as one of them has it.
        """


class MachineReading(Protocol):
    """Machines, the noise they measure with, and the condition of the service."""

    def machines(self) -> Sequence[Machine]:
        """Return all machines by pool and name."""

    def voting_statuses(
        self,
        limit: int,
        after: tuple[str, int] | None = None,
        series: Collection[int] | None = None,
    ) -> Sequence[SeriesVotingStatus]:
        """Return series on machines with their voting status, by machine, job, suite and id.

        ``after``: the machine and the series that the page before ended with. ``series``: only these, by id;
        None: all.
        """

    def condition(self) -> Condition:
        """Return the facts that show whether the service works."""

    def activity(self) -> Activity:
        """Return what the service did lately, in figures that name nothing."""

    def stored_sizes(self) -> Sequence[StoredSize]:
        """Return what takes room, the largest first, as it was measured last; empty before the first time."""


class Reading(
    ChangeReading,
    BuildReading,
    SeriesReading,
    FamilyReading,
    BenchmarkReading,
    MachineReading,
    ClaimReading,
    Protocol,
):
    """All read ports. Safe to call from several threads; raises NotFound and Transient."""

    def seen_by(self, viewer: Viewer | None) -> Reading:
        """Return the read ports of a viewer; None: of an anonymous reader, who sees what is public.

        A hidden change does not exist for the viewer, nor do its runs, builds and points, nor series without
        other points. A build of several changes is shown with the runs that the viewer sees. The condition
        names public changes and branches only, for every viewer. Methods raise Transient instead of NotFound
        while a review server that may have the change does not answer.
        """
