"""Samples and comparisons as steps store them and as pages and API show them.

A field's ``metadata`` describes the field in the API's document. All times are in UTC.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Final, Protocol

from service.domain.building.findings import Finding
from service.domain.measuring.listing import Listing
from service.domain.measuring.metric import Better
from service.domain.runs.slowdown import Slowdown
from service.domain.values.identity import RunKind, SeriesKey, Side
from service.domain.verdict.calibration.evidence import History, Session, VotingStatus
from service.domain.verdict.inference.estimate import MeasuredRatio
from service.domain.verdict.inference.reasons import Reason
from service.domain.verdict.inference.verdict import Comparison as JudgedRow
from service.domain.verdict.inference.verdict import Verdict
from service.domain.verdict.trend.imported import ImportedValue
from service.domain.verdict.trend.line import Step
from service.ports.runs.builds import BuildRecord
from service.ports.runs.shown import ADDRESS, PAGES_ONLY

_UNIT: Final = {"description": "s, 1/s, B, B/s, or empty for a plain number", "examples": ["1/s"]}
_BETTER: Final = {"description": "the direction in which the metric improves"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared(MeasuredRatio):
    """Base against patch for one metric; values are medians over launches.

    Each field is a column of the table of comparisons, and has the name of its value in a judged row.
    """

    verdict: Verdict
    pairs: int
    base: float | None
    patch: float | None
    error: float | None = field(
        default=None, metadata={"description": "standard error of the ratio's natural logarithm"}
    )

    @staticmethod
    def values_of(row: JudgedRow) -> dict[str, Any]:
        """Return the fields' values of a judged row."""
        return {each.name: getattr(row, each.name) for each in fields(Compared)}


@dataclass(frozen=True, slots=True)
class StoredPair:
    """A pair of a sequence: its number among the pairs of its variant, and the artifact of its record."""

    pair: int
    artifact: str
    variant: int = 0


@dataclass(frozen=True, slots=True)
class StoredResult:
    """The samples of one side of one series; element k belongs to pair k."""

    series: SeriesKey
    side: Side
    samples: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredComparison(Compared):
    """A comparison as it is stored."""

    series: SeriesKey
    position: int
    reasons: tuple[Reason, ...] = ()


class Measurements(Protocol):
    """Pairs, samples, comparisons and findings."""

    def stored_pairs(self, sequence_id: int) -> Sequence[StoredPair]:
        """Return the pairs of a sequence, in order of variant and number."""

    def listings(self, sequence_id: int) -> Sequence[Listing]:
        """Return the listings of a sequence; empty if none are fixed."""

    def disturbed_pairs(self, sequence_id: int) -> Mapping[int, bool]:
        """Return for each pair of the programs as built whether other work disturbed it."""

    def store_results(
        self,
        build: BuildRecord,
        kind: RunKind,
        series: Mapping[SeriesKey, tuple[str, str]],
        results: Sequence[StoredResult],
        comparisons: Sequence[StoredComparison],
    ) -> None:
        """Replace the results of a build. ``series`` gives unit and better direction by key.

        Raises:
            KeyError: a result or comparison of a series that is not in ``series``.
        """

    def unresolved_benchmarks(self, build_id: int) -> Sequence[str]:
        """Return the benchmarks of a build with an undecided comparison that more pairs may decide.

        A comparison that the link layout or a second opinion leaves undecided is slower as linked, and
        instructions do not come in pairs: more pairs change neither.
        """

    def store_findings(self, build_id: int, findings: Sequence[Finding]) -> None:
        """Replace what a build reported by file and line."""

    def store_slowdowns(self, build_id: int, slowdowns: Sequence[Slowdown]) -> None:
        """Replace the slow-downs of a build that vote −1."""

    def continue_series(self, former: Mapping[SeriesKey, SeriesKey]) -> None:
        """Record which stored series continue another one, because their benchmarks were renamed.

        A series that continues another one already, or that another one continues, stays as it is. One that
        gets a former name back continues the series of the later name.
        """


class Explanations(Protocol):
    """Explanations of slower benchmarks, which machines store after their reports."""

    def packed_of(self, builds: Sequence[int]) -> Mapping[int, bytes]:
        """Return the packed explanations of builds; a build without any is left out."""


class ImportedValues(Protocol):
    """Values of commits that another program measured."""

    def replace_imported(
        self,
        of: SeriesKey,
        commit: str,
        series: Mapping[SeriesKey, tuple[str, str]],
        values: Mapping[SeriesKey, ImportedValue],
    ) -> int:
        """Replace what was imported of a commit; return how many values are new, different or gone.

        Benchmark and metric of ``of`` do not count. ``series`` is as in ``store_results``.

        Raises:
            KeyError: a value of a series that is not in ``series``.
        """

    def remove_imported(self, of: SeriesKey, commit: str = "") -> int:
        """Remove what was imported, of one commit or of all; return how many values are gone.

        Series that were never measured, and have no value left, are gone, too.
        """

    def count_measured(self, series: Collection[SeriesKey]) -> int:
        """Count the series that Benchgate has measured."""


class Evidence(Protocol):
    """A/A sessions per series and machine."""

    def store(self, build: BuildRecord, sessions: Mapping[SeriesKey, Session]) -> None:
        """Store the A/A sessions of a build; the results of their series are stored already.

        The builds of one sequence share one session per series, of the machine that measured it first.
        """

    def of(
        self, machine: str, series: Sequence[SeriesKey], without: int | None = None
    ) -> Mapping[SeriesKey, History]:
        """Return the sessions of series on a machine; a series without one is left out.

        The session of the sequence ``without`` does not count.

        They are those of all branches since the machine was set up, in its current environment.
        A series that continues another one also has the sessions of that one.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Compared):
    """Base against patch for one metric of one benchmark; values are medians over launches."""

    series_id: int
    suite: str
    benchmark: str
    metric: str
    unit: str = field(metadata=_UNIT)
    better: Better = field(metadata=_BETTER)
    reason: str
    needs_pairs: bool = field(default=False, metadata=PAGES_ONLY)  # undecided, and more pairs may decide it
    not_counted: str = field(default="", metadata=PAGES_ONLY)  # what it waits for, if it may not vote yet
    clause: str = field(default="", metadata=PAGES_ONLY)  # the reason in a few words
    explained: tuple[str, ...] = field(default=(), metadata=PAGES_ONLY)  # as other rows with such reasons


@dataclass(frozen=True, slots=True)
class MeasuredBuild:
    """The comparisons of one job of a patch set."""

    job: str
    number: int
    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True, slots=True)
class MeasuredPatchSet:
    """A patch set with the comparisons, against ``parent``, of its newest check run that has some."""

    number: int
    revision: str
    run_id: int
    parent: str | None
    parent_tree: str | None = field(
        metadata={"description": "patch sets with equal trees were compared with the same base programs"}
    )
    builds: tuple[MeasuredBuild, ...]

    def has_base_of(self, other: MeasuredPatchSet) -> bool:
        """Return whether both were compared with the same code: with one parent, or with equal trees."""
        pairs = ((self.parent, other.parent), (self.parent_tree, other.parent_tree))
        return any(one is not None and one == another for one, another in pairs)


@dataclass(frozen=True, slots=True)
class MeasuredPatchSets:
    """Patch sets of a change that have comparisons, newest first; ``older`` counts those left out."""

    patch_sets: tuple[MeasuredPatchSet, ...]
    older: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Every sample of a comparison: element k of both sides was measured in pair k; null: discarded."""

    series_id: int
    suite: str
    benchmark: str
    metric: str
    unit: str = field(metadata=_UNIT)
    better: Better = field(metadata=_BETTER)
    base: tuple[float | None, ...]
    patch: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One metric of one benchmark on one machine class and branch, over time."""

    id: int
    instance: str
    project: str
    branch: str
    machine_class: str
    job: str
    suite: str
    benchmark: str
    metric: str
    unit: str = field(metadata=_UNIT)
    better: Better = field(metadata=_BETTER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point(Compared):
    """One comparison in the history of a series; its kind is post-submit for a merged commit."""

    parent: str | None = field(default=None, metadata={"description": "the commit it was compared with"})
    is_same_program: bool = field(
        default=False, metadata={"description": "its program equals that of its parent"}
    )

    committed_at: datetime | None = field(
        default=None, metadata={"description": "of a commit that a backfill measured: when it was made"}
    )

    kind: RunKind
    measured_at: datetime
    job: str
    number: int
    environment_id: int | None
    machine: str
    run_id: int | None
    revision: str
    subject: str
    author: str
    change: int | None
    change_address: str | None = field(metadata=ADDRESS)
    patch_set: int | None

    @property
    def moment(self) -> datetime:
        """The moment of its place in the history."""
        return self.committed_at or self.measured_at

    @property
    def is_measured(self) -> bool:
        """Return whether its step has a length: measured against its parent, or by an equal program."""
        return self.parent is not None and (
            self.is_same_program or bool(self.ratio and self.error is not None)
        )

    @property
    def step(self) -> Step | None:
        """The commit against its parent; None without one."""
        return None if self.parent is None else _step_of(self, self.parent, self.moment)

    @property
    def is_levelled(self) -> bool:
        """Return whether it is a merged commit that was measured against its parent."""
        return self.kind is RunKind.POST_SUBMIT and self.step is not None and self.step.log is not None


@dataclass(frozen=True, slots=True)
class UntouchedCommit:
    """A merged commit that changed no file of the series' job, so that nothing was measured."""

    revision: str
    parent: str
    moment: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor(Compared):
    """Two merged commits that are far apart, measured in pairs: the later one against the earlier one."""

    revision: str
    parent: str = field(metadata={"description": "the earlier commit"})
    measured_at: datetime
    is_same_program: bool = field(default=False, metadata={"description": "both have one program"})

    @property
    def step(self) -> Step:
        """The later commit against the earlier one."""
        return _step_of(self, self.parent, self.measured_at)


def _step_of(row: Point | Anchor, parent: str, moment: datetime) -> Step:
    if row.is_same_program:
        return Step(row.revision, parent, moment, 0.0, 0.0)
    log = math.log(row.ratio) if row.ratio and row.error is not None else None
    return Step(row.revision, parent, moment, log, None if log is None else row.error, row.pairs)


@dataclass(frozen=True, slots=True)
class SeriesWithPoints:
    """A series with its points, oldest first: merged commits, and patch sets.

    ``untouched`` are the commits since the first of them that the series cannot depend on. ``anchors`` join
    commits that are far apart. ``environments`` has the facts of the machines that measured merged commits.
    """

    series: Series
    points: tuple[Point, ...]
    untouched: tuple[UntouchedCommit, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    imported: tuple[ImportedValue, ...] = field(
        default=(), metadata={"description": "values that another program measured, oldest first"}
    )
    environments: Mapping[int, Mapping[str, Any]] = field(
        default_factory=dict,
        metadata={"description": "facts of the machines, by environment_id"},
    )

    @property
    def steps(self) -> tuple[Step, ...]:
        """The merged commits against their parents, also those that changed nothing."""
        merged = (each for each in self.points if each.kind is RunKind.POST_SUBMIT)
        unchanged = (Step(each.revision, each.parent, each.moment, 0.0, 0.0) for each in self.untouched)
        return (*(step for each in merged if (step := each.step)), *unchanged)

    @property
    def links(self) -> tuple[Step, ...]:
        """The anchors as steps."""
        return tuple(each.step for each in self.anchors)

    def levelled(self, commits: Iterable[str]) -> Iterator[Point]:
        """Yield the newest point of each of these merged commits that was measured against its parent."""
        found = {each.revision: each for each in self.points if each.is_levelled}
        return (found[commit] for commit in commits if commit in found)


@dataclass(frozen=True, slots=True)
class SeriesWithSteps:
    """A series with its measured commits against their parents, oldest first, and their verdicts.

    ``anchors`` join commits that are far apart.
    """

    series: Series
    steps: tuple[Step, ...] = ()
    anchors: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Family:
    """The series of benchmarks that differ in their arguments; ``count`` has also those left out.

    ``untouched`` are the commits since the first one of any member that none of them can depend on.
    """

    name: str
    count: int
    members: tuple[SeriesWithSteps, ...]
    untouched: tuple[UntouchedCommit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesVotingStatus:
    """The voting status of a series on a machine, by the policy of the job's newest A/A session."""

    machine: str
    series: Series
    measured_at: datetime
    voting_status: VotingStatus
