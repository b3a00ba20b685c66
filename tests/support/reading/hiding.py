"""Show a memory as a viewer sees it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from service.domain.values.identity import BuildName, ChangeAddress, ChangeKey
from service.domain.wording.health import HIDDEN_ERROR

if TYPE_CHECKING:
    from collections.abc import Collection

    from service.domain.runs.health import FailingStep
    from service.ports.runs.shown import Run
    from service.ports.verdict import Series
    from tests.support.reading.fake_reading import FakeReading

_ONE_SERVER: Final = "gerrit"  # of runs without a change


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

    seen = replace(store, runs=[run for run in store.runs if shows_run(run.run)])
    names = {BuildName(each.build.job, each.build.number): each.build.id for each in seen.builds}
    visible = set(names.values())
    rows = {build_id: rows for build_id, rows in store.rows.items() if build_id in visible}
    measured = {row.series_id for each in rows.values() for row in each}

    def seen_failure(failing: FailingStep) -> FailingStep:
        numbers = {key.number for key in store.hidden}
        is_hidden = failing.change is None or ChangeAddress.parse(failing.change).number in numbers
        return replace(failing, change=None, error=HIDDEN_ERROR) if is_hidden else failing

    return replace(
        seen,
        merged_runs=store.runs if sees_more else None,
        patch_set_rows=[
            row
            for row in store.patch_set_rows
            if ChangeKey(row.change.instance, row.change.number) not in hidden
        ],
        rows=rows,
        explained={build_id: each for build_id, each in store.explained.items() if build_id in visible},
        trends=[
            trend
            for trend in store.trends
            if shows_series(trend.series) and (trend.series.id in measured or trend.imported)
        ],
        machine_rows=[
            row if row.build is None or row.build in names else replace(row, build=None)
            for row in store.machine_rows
        ],
        voting_status_rows=[row for row in store.voting_status_rows if shows_series(row.series)],
        failing=[seen_failure(each) for each in store.failing],
    )
