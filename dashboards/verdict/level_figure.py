"""Draw how far each commit of a branch is from a chosen one, as plain JSON for Plotly."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from dashboards.formatting import metric_label, stamp
from dashboards.verdict.trend_figure import (
    BLUE,
    GREY,
    epochs_of,
    escaped,
    hover,
    layout_of,
    legend,
    markers,
    page_of,
    scaled,
)
from service.domain.values.identity import RunKind
from service.domain.values.text import change, interval
from service.domain.verdict.inference.estimate import ratio_of
from service.domain.verdict.trend.line import level_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from service.domain.verdict.trend.line import CommitLevel, LevelledLine
    from service.ports.verdict import Point, SeriesWithPoints

_BAND: Final = "rgba(0, 114, 178, 0.16)"
_SHORT: Final = 10  # characters of a revision


def has_levels(trend: SeriesWithPoints) -> bool:
    """Return whether a merged commit was measured against its parent."""
    return any(each.kind is RunKind.POST_SUBMIT and _is_measured(each) for each in trend.points)


def level_figure(trend: SeriesWithPoints, since: str = "") -> dict[str, Any]:
    """Draw the change of each merged commit since ``since`` in percent, with its 95 % interval as a band.

    ``since`` is a revision; empty or unknown: the oldest. Patch sets are drawn at the level of their parent
    times their own ratio. A line marks each new environment: the levels go on across it.
    """
    line = level_line(trend.steps, since, trend.links)
    merged = [*_merged(trend.points, line)]
    parts = [[*part] for _, part in groupby(merged, key=lambda point: line.levels[point.revision].since)]
    proposed = [*_proposed(trend.points, line.levels)]
    gapped = [each for part in parts for each in (*part, None)][:-1]
    heights = [None if point is None else _percent(_drawn(line.levels[point.revision])) for point in gapped]
    layout = layout_of(trend.series, epochs_of(merged))
    chosen = since if since in line.levels else next(iter(line.commits), "")
    label = f"{metric_label(trend.series.metric)} since {chosen[:_SHORT]} ({trend.series.better} is better)"
    layout["yaxis"] |= {"title": {"text": escaped(label, 90), "standoff": 12}, "tickformat": "+~r"}
    layout["yaxis"] |= {"ticksuffix": " %", "zeroline": True, "zerolinecolor": GREY}
    ends = [end for each in merged for end in _ends(line.levels[each.revision])]
    return {
        "data": [
            _band(parts, line.levels),
            _trace("merged", trend, gapped, heights, line.levels),
            _trace(
                "patch sets",
                trend,
                [each for each, _ in proposed],
                [_percent(log) for _, log in proposed],
                {},
            ),
            legend("merged", mode="lines+markers", is_open=False),
            legend("patch sets", mode="markers", is_open=True),
        ],
        "layout": scaled(layout, [*map(ratio_of, ends)], [ratio_of(log) for _, log in proposed], _in_percent),
    }


def level_text(level: CommitLevel) -> str:
    """Write how far a commit is from another one: ``+3.2 % [2.1, 4.4] since 0123456789``."""
    shown = (ratio_of(level.low), ratio_of(level.high), ratio := ratio_of(level.log))
    return f"{change(ratio)} {interval(*shown)} since {level.since[:_SHORT]}"


def _merged(points: Iterable[Point], line: LevelledLine) -> Iterator[Point]:
    """Yield the newest point of each measured commit, in the order of the branch."""
    found = {
        point.revision: point for point in points if point.kind is RunKind.POST_SUBMIT and _is_measured(point)
    }
    return (found[commit] for commit in line.commits if commit in found)


def _proposed(points: Iterable[Point], levels: Mapping[str, CommitLevel]) -> Iterator[tuple[Point, float]]:
    """Yield each patch set with its level; one whose parent is unknown follows the last merged commit."""
    last = 0.0
    for point in points:
        if point.kind is RunKind.POST_SUBMIT:
            last = _drawn(levels[point.revision]) if point.revision in levels else last
        elif point.ratio:
            base = _drawn(levels[point.parent]) if point.parent and point.parent in levels else last
            yield point, base + math.log(point.ratio)


def _trace(
    name: str,
    trend: SeriesWithPoints,
    points: Sequence[Point | None],
    heights: Sequence[float | None],
    levels: Mapping[str, CommitLevel],
) -> dict[str, Any]:
    is_open = not levels
    texts = {revision: level_text(level) for revision, level in levels.items()}
    return {
        "type": "scatter",
        "name": name,
        "mode": "markers" if is_open else "lines+markers",
        "x": [point and stamp(point.moment) for point in points],
        "y": heights,
        "customdata": [point and page_of(point) for point in points],
        "hoverinfo": "text",
        "hovertext": [
            point and hover(point, trend.series, texts.get(point.revision, "")) for point in points
        ],
        # A level holds until a commit changes it; commits that touch nothing have no marker.
        "line": {"color": BLUE, "width": 1.5, "shape": "hv"},
        "marker": markers(points, trend.series, is_open=is_open),
        "legendgroup": name,
        "showlegend": False,
    }


def _band(parts: Sequence[Sequence[Point]], levels: Mapping[str, CommitLevel]) -> dict[str, Any]:
    x: list[str | None] = []
    y: list[float | None] = []
    for part in parts:
        moments = [stamp(point.moment) for point in part]
        lows, highs = zip(*(map(_percent, _ends(levels[point.revision])) for point in part), strict=True)
        # Steps: each commit has the end before it, and its own.
        there = [moment for moment in moments for _ in (0, 1)][1:]
        x += [*there, *reversed(there), None]
        y += [end for each in highs for end in (each, each)][:-1]
        y += [*reversed([end for each in lows for end in (each, each)][:-1]), None]
    return {
        "type": "scatter",
        "name": "95 % interval",
        "mode": "lines",
        "x": x[:-1],
        "y": y[:-1],
        "fill": "toself",
        "fillcolor": _BAND,
        "line": {"width": 0},
        "hoverinfo": "skip",
        "legendgroup": "merged",
        "showlegend": bool(parts),
    }


def _drawn(level: CommitLevel) -> float:
    return level.offset + level.log


def _is_measured(point: Point) -> bool:
    step = point.step
    return step is not None and step.log is not None


def _ends(level: CommitLevel) -> tuple[float, float]:
    return level.offset + level.low, level.offset + level.high


def _percent(log: float) -> float:
    return _in_percent(ratio_of(log))


def _in_percent(ratio: float) -> float:
    return 100 * (ratio - 1)
