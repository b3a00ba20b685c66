"""Read ports of series and their trends, over values in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from typing_extensions import override

from service.domain.values.identity import RunKind
from service.domain.values.search import EVERYTHING
from service.ports.reading import BenchmarkReading, FamilyReading, SeriesReading
from tests.support.reading.families import family_with
from tests.support.reading.measured import measured_series
from tests.support.reading.points import anchor_of, in_time, newest_of, points_of, untouched_commits
from tests.support.reading.rows import Rows
from tests.support.reading.views import ENVIRONMENT, steps_before

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime, timedelta

    from service.domain.values.search import Words
    from service.domain.verdict.calibration.usefulness import MeasuredSeries
    from service.domain.verdict.trend.imported import ImportedValue
    from service.domain.verdict.trend.line import Step
    from service.ports.verdict import Family, Point, Series, SeriesWithPoints


@dataclass
class FakeSeries(Rows, SeriesReading, FamilyReading, BenchmarkReading):
    """Answers from lists; every method behaves as its port promises."""

    @override
    def series(self, words: Words, limit: int, after: int = 0) -> Sequence[Series]:
        ordered = sorted((trend.series for trend in self.trends), key=lambda series: series.id)
        names = {each.id: _names_of(each) for each in ordered}
        return [
            each
            for each in ordered
            if each.id > after
            and each.id not in self.continued.values()
            and words.matches(" ".join(names[same] for same in self._former(each.id)))
        ][:limit]

    @override
    def trend(
        self,
        series_id: int,
        limit: int,
        within: timedelta | None = None,
        until: datetime | None = None,
    ) -> SeriesWithPoints:
        newer = {older: each for each, older in self.continued.items()}
        newest = series_id
        while newest in newer:
            newest = newer[newest]
        same = self._former(newest)
        matching = (each for each in self.trends if each.series.id == newest)
        trend = self.only(matching, f"there is no series {series_id}")
        stored = [point for each in self.trends if each.series.id in same for point in each.points]
        ordered = in_time(stored or self._points(same), within, until)
        points = newest_of(ordered, limit)
        first = next((point for point in points if point.kind is RunKind.POST_SUBMIT), None)
        merged = self.runs if self.merged_runs is None else self.merged_runs
        untouched = [*untouched_commits(merged, trend.series.job, first.measured_at)] if first else []
        anchors = [anchor_of(each) for each in ordered if first and each.kind is RunKind.ANCHOR]
        return replace(
            trend,
            points=points,
            untouched=(*trend.untouched, *reversed(untouched)),
            anchors=(*trend.anchors, *anchors),
            imported=self._imported(same)[-limit:],
            environments={
                each.environment_id: self.environments.get(each.environment_id, ENVIRONMENT)
                for each in points
                if each.kind is RunKind.POST_SUBMIT and each.environment_id is not None
            },
        )

    @override
    def family(
        self,
        series_id: int,
        most: int,
        limit: int,
        within: timedelta | None = None,
        until: datetime | None = None,
    ) -> Family:
        series = self.trend(series_id, 1).series
        listed = self.series(EVERYTHING, len(self.trends))
        return family_with(
            series, listed, most, lambda each, share: self.trend(each, limit // share, within, until)
        )

    @override
    def merged_steps(self, before: Mapping[int, datetime], limit: int) -> Mapping[int, Sequence[Step]]:
        stored = {trend.series.id: trend.points for trend in self.trends}
        found = {
            each: steps_before(moment, stored.get(each) or self._points([each]))
            for each, moment in before.items()
        }
        return {each: steps[-limit:] for each, steps in found.items() if steps}

    def _imported(self, series: Sequence[int]) -> tuple[ImportedValue, ...]:
        of_names = (value for each in self.trends if each.series.id in series for value in each.imported)
        return tuple(sorted(of_names, key=lambda value: (value.moment, value.position, value.commit)))

    def _points(self, series: Sequence[int]) -> Iterator[Point]:
        """Yield the points of builds, for series whose trends have none of their own."""
        builds = (replace(each, runs=tuple(map(self.addressed, each.runs))) for each in self.builds)
        return points_of(builds, self.rows, series)

    def _former(self, series_id: int) -> list[int]:
        """Return a series and those of its former names."""
        same = [series_id]
        while same[-1] in self.continued:
            same.append(self.continued[same[-1]])
        return same

    @override
    def measured_series(self, since: datetime) -> Sequence[MeasuredSeries]:
        return measured_series(self.runs, since, self.rows, self.spent, self.more_pairs)


def _names_of(series: Series) -> str:
    names = (series.benchmark, series.metric, series.suite, series.job, series.project, series.branch)
    return " ".join((*names, series.machine_class))
