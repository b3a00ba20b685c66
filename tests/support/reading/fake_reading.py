"""The read ports over values in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from typing_extensions import override

from service.domain.decision.states import BuildState
from service.domain.errors import NotFound, Transient
from service.domain.identity import RunKind
from service.ports.reading import Reading
from service.ports.views import (
    BuildDetail,
    BuildOfRun,
    Change,
    ChangeWithPatchSets,
    Comparison,
    Machine,
    MeasuredBuild,
    MeasuredPatchSet,
    MeasuredPatchSets,
    Override,
    PatchSetDetail,
    RunWithBuilds,
    Samples,
    Series,
    SeriesWithPoints,
)
from tests.support.reading.views import (
    ENVIRONMENT,
    decision_view,
    healthy,
    patch_set_view,
    run_view,
    samples_like,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from service.domain.health import Condition
    from service.domain.search import Words
    from service.ports.views import Cursor, SeriesVotingStatus

T = TypeVar("T")


@dataclass
class FakeReading(Reading):
    """Answers from lists; every method behaves as its port promises."""

    change_rows: list[Change] = field(default_factory=list)
    patch_sets: list[PatchSetDetail] = field(default_factory=list)
    runs: list[RunWithBuilds] = field(default_factory=list)
    builds: list[BuildDetail] = field(default_factory=list)
    rows: dict[int, list[Comparison]] = field(default_factory=dict)
    trends: list[SeriesWithPoints] = field(default_factory=list)
    machine_rows: list[Machine] = field(default_factory=list)
    voting_status_rows: list[SeriesVotingStatus] = field(default_factory=list)
    state: Condition | None = None
    is_away: bool = False

    @override
    def changes(self, limit: int, after: Cursor | None = None) -> Sequence[Change]:
        ordered = sorted(self.change_rows, key=lambda row: (row.updated_at, row.id), reverse=True)
        end = None if after is None else (after.updated_at, after.id)
        return [row for row in ordered if end is None or (row.updated_at, row.id) < end][:limit]

    @override
    def change(self, number: int) -> ChangeWithPatchSets:
        change = self._newest_change(number)
        return ChangeWithPatchSets(change, tuple(each.patch_set for each in self._patch_sets_of(change)))

    @override
    def patch_set(self, change: int, number: int | None = None) -> PatchSetDetail:
        newest = self._newest_change(change)
        wanted = newest.patch_set if number is None else number
        matching = (each for each in self._patch_sets_of(newest) if each.patch_set.number == wanted)
        detail = _only(matching, f"change {change} has no patch set {number}")
        return replace(detail, change=newest)

    @override
    def measured_patch_sets(self, change: int, limit: int, before: int | None = None) -> MeasuredPatchSets:
        newest = self._newest_change(change)
        numbers = [each.patch_set.number for each in self._patch_sets_of(newest)]
        candidates = (self._measured(change, n) for n in reversed(numbers) if before is None or n < before)
        measured = [each for each in candidates if each is not None]
        return MeasuredPatchSets(tuple(measured[:limit]), len(measured[limit:]))

    def _newest_change(self, number: int) -> Change:
        newest_first = self.changes(len(self.change_rows))
        return _only((row for row in newest_first if row.number == number), f"there is no change {number}")

    def _patch_sets_of(self, change: Change) -> Sequence[PatchSetDetail]:
        its = (each for each in self.patch_sets if each.change.id == change.id)
        return sorted(its, key=lambda each: each.patch_set.number)

    def _measured(self, change: int, number: int) -> MeasuredPatchSet | None:
        its = (each for each in self.runs if (each.run.change, each.run.patch_set) == (change, number))
        for run in sorted(its, key=lambda each: each.run.id, reverse=True):
            measured = tuple(
                MeasuredBuild(build.job, build.number, tuple(self.rows[build.id]))
                for build in run.builds
                if build.kind.is_measured and self.rows.get(build.id)
            )
            if measured and run.run.kind is RunKind.CHECK:
                # Nothing in memory has trees of its own: equal parents have equal ones.
                parent = run.run.parent
                return MeasuredPatchSet(number, run.run.revision, run.run.id, parent, parent, measured)
        return None

    @override
    def run(self, run_id: int) -> RunWithBuilds:
        return _only((each for each in self.runs if each.run.id == run_id), f"there is no run {run_id}")

    @override
    def build(self, job: str, number: int) -> BuildDetail:
        matching = (each for each in self.builds if (each.build.job, each.build.number) == (job, number))
        return _only(matching, f"there is no build {job}/{number}")

    @override
    def comparisons(self, build_id: int, measured_at: datetime) -> Sequence[Comparison]:
        return self.rows.get(build_id, [])

    @override
    def samples(self, build_id: int, measured_at: datetime, series_id: int) -> Samples:
        rows = (row for row in self.rows.get(build_id, []) if row.series_id == series_id)
        row = _only(rows, f"the build holds no samples of series {series_id}")
        base, patch = samples_like(row)
        return Samples(
            series_id=row.series_id,
            suite=row.suite,
            benchmark=row.benchmark,
            metric=row.metric,
            unit=row.unit,
            better=row.better,
            base=base,
            patch=patch,
        )

    @override
    def series(self, words: Words, limit: int, after: int = 0) -> Sequence[Series]:
        ordered = sorted((trend.series for trend in self.trends), key=lambda series: series.id)
        return [each for each in ordered if each.id > after and words.matches(_names_of(each))][:limit]

    @override
    def trend(self, series_id: int, limit: int) -> SeriesWithPoints:
        matching = (each for each in self.trends if each.series.id == series_id)
        trend = _only(matching, f"there is no series {series_id}")
        ordered = sorted(trend.points, key=lambda point: point.measured_at)
        newest = [[p for p in ordered if p.kind is kind][-limit:] for kind in RunKind]
        shown = {id(point) for points in newest for point in points}
        return replace(trend, points=tuple(point for point in ordered if id(point) in shown))

    @override
    def machines(self) -> Sequence[Machine]:
        return sorted(self.machine_rows, key=lambda machine: (machine.pool, machine.name))

    @override
    def voting_statuses(self, limit: int, after: int = 0) -> Sequence[SeriesVotingStatus]:
        return self.voting_status_rows[after:][:limit]

    @override
    def condition(self) -> Condition:
        if self.is_away:
            raise Transient("the database does not answer")
        return self.state or healthy()


def _names_of(series: Series) -> str:
    names = (series.benchmark, series.metric, series.suite, series.job, series.project, series.branch)
    return " ".join((*names, series.machine_class))


def _only(matching: Iterator[T], message: str) -> T:
    for each in matching:
        return each
    raise NotFound(message)


def add_patch_set(
    reading: FakeReading,
    change: Change,
    builds: Sequence[tuple[BuildOfRun, Sequence[Comparison]]],
    message: str = "",
    parent: str = "9" * 40,
    overrides: Sequence[Override] = (),
) -> None:
    """Store a patch set with one run of builds, or one more run of a patch set that is stored."""
    run = run_view(change, parent)
    runs = () if change.run_id is None else (run,)
    decisions = (decision_view(change, message),) if change.header else ()
    key = (change.number, change.patch_set)
    earlier = [each for each in reading.patch_sets if (each.change.number, each.patch_set.number) == key]
    detail = PatchSetDetail(
        change=change,
        patch_set=patch_set_view(change),
        message=f"{change.subject}\n\nChange-Id: I0123456789\n",
        decisions=(*decisions, *(decision for each in earlier for decision in each.decisions)),
        runs=(*runs, *(run for each in earlier for run in each.runs)),
        builds=tuple(build for build, _ in builds),
        overrides=tuple(overrides),
    )
    reading.change_rows = [row for row in reading.change_rows if row.number != change.number] + [change]
    reading.patch_sets = [each for each in reading.patch_sets if each not in earlier] + [detail]
    reading.runs += [RunWithBuilds(each, detail.builds, decisions) for each in runs]
    for build, rows in builds:
        stored = BuildDetail(
            build=build,
            runs=(run,),
            log="log" if build.state is BuildState.FINISHED else None,
            environment_id=1,
            fingerprint="a1b2c3",
            environment=ENVIRONMENT,
        )
        reading.builds.append(stored)
        reading.rows[build.id] = list(rows)
