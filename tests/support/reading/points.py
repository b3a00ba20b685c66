"""Points, anchors and untouched commits of trends, from runs in memory."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from service.domain.runs.vote import Result
from service.domain.values.identity import RunKind
from service.ports.verdict import Anchor, Compared, Comparison, Point, UntouchedCommit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime, timedelta

    from service.ports.runs.shown import BuildDetail, RunWithBuilds

_OF_RUN = ("kind", "revision", "parent", "subject", "author", "change", "change_address", "patch_set")
_SHOWN = (RunKind.CHECK, RunKind.POST_SUBMIT)


def points_of(
    builds: Iterable[BuildDetail], rows: Mapping[int, Sequence[Comparison]], series: Collection[int]
) -> Iterator[Point]:
    """Yield the points of some series from the rows of builds."""
    for detail in builds:
        build, run = detail.build, min(detail.runs, key=lambda run: run.id)
        for row in rows.get(build.id, ()):
            if row.series_id in series:
                yield Point(
                    **{each.name: getattr(row, each.name) for each in fields(Compared)},
                    **{each: getattr(run, each) for each in _OF_RUN},
                    run_id=run.id,
                    measured_at=build.created_at,
                    job=build.job,
                    number=build.number,
                    environment_id=detail.environment_id,
                    machine=build.machine or "",
                )


def in_time(points: Iterable[Point], within: timedelta | None, until: datetime | None) -> list[Point]:
    """Return the points up to ``until``, oldest first, and ``within`` a time before the last one shown."""
    ordered = sorted(points, key=lambda point: point.measured_at)
    ordered = [each for each in ordered if until is None or each.measured_at <= until]
    moments = [each.measured_at for each in ordered if each.kind in _SHOWN]
    if within is not None and moments:
        ordered = [each for each in ordered if each.measured_at >= moments[-1] - within]
    return ordered


def newest_of(ordered: Sequence[Point], limit: int) -> tuple[Point, ...]:
    """Return the newest points of each kind that trends show, oldest first."""
    last = [[p for p in ordered if p.kind is kind][-limit:] for kind in _SHOWN]
    shown = {id(point) for points in last for point in points}
    return tuple(point for point in ordered if id(point) in shown)


def anchor_of(point: Point) -> Anchor:
    return Anchor(**{each.name: getattr(point, each.name) for each in fields(Anchor)})


def untouched_commits(runs: Iterable[RunWithBuilds], job: str, begin: datetime) -> Iterator[UntouchedCommit]:
    """Yield the merged commits that a job had nothing to measure of."""
    for each in runs:
        run = each.run
        for build in each.builds:
            is_untouched = build.job == job and build.result is Result.NOT_BUILT
            if run.kind is RunKind.POST_SUBMIT and run.parent and is_untouched and build.created_at >= begin:
                yield UntouchedCommit(run.revision, run.parent, build.created_at)
