"""Reduce a store in memory to what a viewer sees."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from service.domain.values.identity import BuildName, ChangeAddress, ChangeKey
from service.domain.wording.health import HIDDEN_ERROR

if TYPE_CHECKING:
    from collections.abc import Collection

    from service.domain.runs.health import FailingStep
    from service.ports.runs.shown import BuildDetail, Run
    from service.ports.verdict import Point, Series, SeriesWithPoints
    from tests.support.reading.fake_reading import FakeReading

_ONE_SERVER = "gerrit"  # of runs without a change


def as_seen(store: FakeReading, hidden: Collection[ChangeKey]) -> FakeReading:
    """Leave out what belongs to hidden changes only, and what is on closed branches."""
    sees_more = len(hidden) < len(store.hidden)
    closed = set() if sees_more else store.closed  # a memory has one branch

    def shows_run(run: Run) -> bool:
        if run.change_address is None:
            return (_ONE_SERVER, run.project, run.branch) not in closed
        address = ChangeAddress.parse(run.change_address)
        return not any(
            key.number == address.number and address.instance in {None, key.instance} for key in hidden
        )

    def shows_series(series: Series) -> bool:
        return (series.instance, series.project, series.branch) not in closed

    def seen_build(detail: BuildDetail) -> BuildDetail:
        return replace(detail, runs=tuple(filter(shows_run, detail.runs)))

    builds = [seen for detail in store.builds if (seen := seen_build(detail)).runs]
    names = {BuildName(detail.build.job, detail.build.number): detail for detail in builds}
    rows = {
        detail.build.id: store.rows[detail.build.id] for detail in builds if detail.build.id in store.rows
    }
    measured = {row.series_id for each in rows.values() for row in each}

    def seen_trend(trend: SeriesWithPoints) -> SeriesWithPoints:
        details = ((point, names.get(BuildName(point.job, point.number))) for point in trend.points)
        return replace(trend, points=tuple(_of_run(point, detail) for point, detail in details if detail))

    def seen_failure(failing: FailingStep) -> FailingStep:
        numbers = {key.number for key in store.hidden}
        is_hidden = failing.change is None or ChangeAddress.parse(failing.change).number in numbers
        return replace(failing, change=None, error=HIDDEN_ERROR) if is_hidden else failing

    return replace(
        store,
        change_rows=[row for row in store.change_rows if ChangeKey(row.instance, row.number) not in hidden],
        runs=[run for run in store.runs if shows_run(run.run)],
        builds=builds,
        rows=rows,
        trends=[
            seen_trend(trend)
            for trend in store.trends
            if shows_series(trend.series) and trend.series.id in measured
        ],
        machine_rows=[
            row if row.build is None or row.build in names else replace(row, build=None)
            for row in store.machine_rows
        ],
        voting_status_rows=[row for row in store.voting_status_rows if shows_series(row.series)],
        failing=[seen_failure(each) for each in store.failing],
    )


def _of_run(point: Point, build: BuildDetail) -> Point:
    """Return a point of the first run of its build that is left."""
    run = min(build.runs, key=lambda run: run.id)
    return replace(
        point,
        run_id=run.id,
        revision=run.revision,
        change=run.change,
        change_address=run.change_address,
        patch_set=run.patch_set,
    )
