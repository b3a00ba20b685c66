"""The family of a benchmark, by the trends of its members."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING

from service.domain.project.benchmark_names import family_of, natural_order
from service.domain.values.identity import RunKind
from service.ports.verdict import Family, SeriesWithSteps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from service.ports.verdict import Series, SeriesWithPoints

_EQUAL = attrgetter("instance", "project", "branch", "machine_class", "job", "suite", "metric")


def family_with(
    series: Series, listed: Iterable[Series], most: int, trend_of: Callable[[int, int], SeriesWithPoints]
) -> Family:
    """Return the family of a series among those that are listed."""
    name = family_of(series.benchmark)
    found = [each for each in listed if family_of(each.benchmark) == name and _EQUAL(each) == _EQUAL(series)]
    found.sort(key=lambda each: natural_order(each.benchmark))
    first = max(0, min(found.index(series) - most // 2, len(found) - most))
    shown = found[first : first + most]
    trends = [trend_of(each.id, len(shown)) for each in shown]
    untouched = {commit: None for trend in trends for commit in trend.untouched}
    return Family(name, len(found), tuple(map(_with_steps, trends)), tuple(untouched))


def _with_steps(trend: SeriesWithPoints) -> SeriesWithSteps:
    merged = (each for each in trend.points if each.kind is RunKind.POST_SUBMIT)
    steps = (
        replace(step, verdict=each.verdict, run_id=each.run_id) for each in merged if (step := each.step)
    )
    anchors = (replace(each.step, verdict=each.verdict, moment=each.measured_at) for each in trend.anchors)
    return SeriesWithSteps(trend.series, tuple(steps), tuple(anchors))
