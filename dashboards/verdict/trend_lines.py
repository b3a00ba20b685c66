"""Turn series into the lines of a figure: where each point is, and which points are drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from dashboards.machines.environment import ChangedFact, changes_of
from service.domain.values.identity import RunKind
from service.domain.verdict.inference.estimate import ratio_of
from service.domain.verdict.inference.verdict import Verdict
from service.domain.verdict.trend.line import level_line
from service.domain.verdict.trend.thinning import thinned

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
    from datetime import timedelta

    from dashboards.verdict.trend_view import TrendView
    from service.domain.verdict.trend.line import CommitLevel
    from service.ports.verdict import Point, Series, SeriesWithPoints

    Place = Callable[[Point], float]

MOST_DRAWN: Final = 600  # merged commits of a figure: two pixels for each, and a marker has eight
_MOST_PROPOSED: Final = 300
_DIGITS: Final = 6  # behind the point: more than anybody can see
JUDGED: Final = frozenset({Verdict.SLOWER, Verdict.FASTER})


class Spot(NamedTuple):
    """A point where it is drawn; ``low`` and ``high`` are the ends of its level's 95 % interval."""

    point: Point
    x: float
    y: float
    low: float = math.nan
    high: float = math.nan
    level: CommitLevel | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """The drawn points of a series.

    ``merged`` has parts that nothing joins. ``measured`` counts its points before they were thinned.
    ``epochs`` has what changed with each new environment, by its place; nothing if it is a machine's first.
    ``since`` is the commit that has the height of no change; empty if the heights are values.
    """

    series: Series
    merged: tuple[tuple[Spot, ...], ...]
    proposed: tuple[Spot, ...]
    measured: int
    epochs: Mapping[float, tuple[ChangedFact, ...]]
    since: str = ""

    @property
    def spots(self) -> Iterator[Spot]:
        """The merged commits of all parts."""
        return (spot for part in self.merged for spot in part)


@dataclass(frozen=True, slots=True)
class _Course:
    """The merged commits of a series in their order; those of equal ``parts`` are joined."""

    trend: SeriesWithPoints
    merged: Sequence[Point]
    heights: Sequence[float]
    parts: Sequence[Hashable]
    levels: Mapping[str, CommitLevel] = field(default_factory=dict)
    since: str = ""


def has_levels(trend: SeriesWithPoints) -> bool:
    """Return whether a merged commit was measured against its parent."""
    return any(each.kind is RunKind.POST_SUBMIT and each.is_measured for each in trend.points)


def begun_together(trends: Sequence[SeriesWithPoints], within: timedelta | None) -> list[SeriesWithPoints]:
    """Leave out what is older than the newest point of all series by more than ``within``."""
    newest = max((point.moment for each in trends for point in each.points), default=None)
    if within is None or newest is None or len(trends) == 1:
        return list(trends)
    begin = newest - within
    return [
        replace(
            each,
            points=tuple(point for point in each.points if point.moment >= begin),
            untouched=tuple(commit for commit in each.untouched if commit.moment >= begin),
        )
        for each in trends
    ]


def lines_of(trends: Sequence[SeriesWithPoints], view: TrendView) -> list[Line]:
    """Return the lines of series that are drawn together.

    Levels are heights in percent; as ratios with several series, or on a logarithmic axis. Of several series
    also the values become ratios, to the first of them, and patch sets are left out. One whose first value is
    0 has no ratios, and an empty line.
    """
    is_alone = len(trends) == 1
    courses = [_course(each, view) for each in trends]
    place = _by_date if view.by == "date" else _by_commit(courses)
    in_percent = is_alone and view.axis == "linear"
    return [_line(each, place, MOST_DRAWN // len(trends), is_alone, in_percent) for each in courses]


def _course(trend: SeriesWithPoints, view: TrendView) -> _Course:
    if view.shown == "values" or not has_levels(trend):
        merged = [
            each
            for each in trend.points
            if each.kind is RunKind.POST_SUBMIT
            and each.patch is not None
            and (each.revision or view.by == "date")  # without its commit, it has no place among them
        ]
        return _Course(
            trend, merged, [each.patch or 0.0 for each in merged], [_epoch(each) for each in merged]
        )
    line = level_line(trend.steps, view.since, trend.links)
    levels = line.levels
    newest = {
        each.revision: each for each in trend.points if each.kind is RunKind.POST_SUBMIT and each.is_measured
    }
    merged = [newest[commit] for commit in line.commits if commit in newest]
    found = [levels[each.revision] for each in merged]
    since = view.since if view.since in levels else next(iter(line.commits), "")
    return _Course(
        trend,
        merged,
        [each.offset + each.log for each in found],
        [each.since for each in found],
        levels,
        since,
    )


def _line(course: _Course, place: Place, most: int, is_alone: bool, in_percent: bool) -> Line:  # noqa: FBT001
    merged, levels = course.merged, course.levels
    first = next(iter(course.heights), 0.0)
    if not (is_alone or levels) and first <= 0:
        return Line(course.trend.series, (), (), 0, {})

    def height(value: float) -> float:
        if levels:
            return round(100 * (ratio_of(value) - 1) if in_percent else ratio_of(value), _DIGITS)
        return value if is_alone else round(value / first, _DIGITS)

    def spot(position: int) -> Spot:
        point, value = merged[position], course.heights[position]
        if (level := levels.get(point.revision)) is None:
            return Spot(point, place(point), height(value))
        low, high = level.offset + level.low, level.offset + level.high
        return Spot(point, place(point), height(value), height(low), height(high), level)

    judged = [position for position, point in enumerate(merged) if point.verdict in JUDGED]
    kept = thinned(course.heights, judged, most)
    parts = (tuple(map(spot, part)) for _, part in groupby(kept, key=course.parts.__getitem__))
    others = list(_proposed(course)) if is_alone else []
    chosen = thinned([value for _, value in others], _judged(others), _MOST_PROPOSED)
    return Line(
        course.trend.series,
        tuple(parts),
        tuple(Spot(others[k][0], place(others[k][0]), height(others[k][1])) for k in chosen),
        len(merged),
        dict(_epochs(course, place)) if is_alone or not levels else {},
        course.since,
    )


def _epochs(course: _Course, place: Place) -> Iterator[tuple[float, tuple[ChangedFact, ...]]]:
    """Yield where an environment appears, with what its machine had changed since it measured before.

    Several machines of a pool take turns: only the first commit of each environment begins an epoch. A
    backfill measures older commits later, so the order of the commits does not tell what came before.
    """
    before: dict[int | None, int | None] = {}
    last_of: dict[str, int | None] = {}
    for point in sorted(course.merged, key=lambda point: point.measured_at):
        before.setdefault(_epoch(point), last_of.get(point.machine))
        last_of[point.machine] = _epoch(point)
    facts = course.trend.environments
    first_of = {_epoch(point): point for point in reversed(course.merged)}
    for epoch, point in first_of.items():
        if point is not course.merged[0]:
            old, new = (facts.get(each or 0, {}) for each in (before[epoch], epoch))
            yield place(point), changes_of(old, new)


def _proposed(course: _Course) -> Iterator[tuple[Point, float]]:
    """Yield each patch set with its height; one whose parent is unknown follows the last merged commit."""
    levels = course.levels
    last = 0.0
    for point in course.trend.points:
        if point.kind is RunKind.POST_SUBMIT:
            if (level := levels.get(point.revision)) is not None:
                last = level.offset + level.log
        elif not levels and point.patch is not None:
            yield point, point.patch
        elif levels and point.ratio:
            base = levels.get(point.parent or "")
            yield point, (last if base is None else base.offset + base.log) + math.log(point.ratio)


def _by_date(point: Point) -> float:
    """Return the moment in milliseconds, as JavaScript does."""
    return round(point.moment.timestamp()) * 1000


def _by_commit(courses: Sequence[_Course]) -> Place:
    """Place commits one after the other: 0 is the newest, −1 the one before it; patch sets follow theirs.

    Commits of one series have the order of the branch; those of several the order of their measurements.
    """
    merged = [each for course in courses for each in course.merged]
    if len(courses) > 1:
        merged.sort(key=lambda point: point.moment)
    order = {point.revision: None for point in merged}
    places = {revision: place - len(order) + 1.0 for place, revision in enumerate(order)}
    last = 1.0 - len(order)
    behind: dict[int, float] = {}
    for course in courses:
        for point in course.trend.points:
            if point.kind is RunKind.POST_SUBMIT:
                last = places.get(point.revision, last)
            else:
                behind[id(point)] = places.get(point.parent or "", last) + 0.5
    return lambda point: behind[id(point)] if id(point) in behind else places[point.revision]


def _judged(found: Sequence[tuple[Point, float]]) -> list[int]:
    return [position for position, (point, _) in enumerate(found) if point.verdict in JUDGED]


def _epoch(point: Point) -> int | None:
    return point.environment_id
