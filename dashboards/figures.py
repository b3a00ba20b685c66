"""The figures, as what Plotly draws: pure functions from values to plain JSON."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

from dashboards.formatting import middle_cut, moment, quantity, stamp
from service.domain.inference.metric import metric_named
from service.domain.text import change, interval, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.ports.views import SeriesSummary, Trend, TrendPoint

# Okabe and Ito's palette: told apart with any kind of colour vision.
_BLUE: Final = "#0072B2"
_ORANGE: Final = "#E69F00"
_VERMILLION: Final = "#D55E00"
_GREEN: Final = "#009E73"
_GREY: Final = "#8a8f98"
_COLOURS: Final = {"slower": _VERMILLION, "faster": _GREEN}
_SYMBOLS: Final = {"slower": "triangle-down", "faster": "triangle-up"}
_SUFFIXES: Final = {"1/s": "/s", "s": "s", "B": "B", "B/s": "B/s"}


def trend_figure(trend: Trend) -> dict[str, Any]:
    """A series over time: merged commits as a line with full markers, patch sets as hollow ones.

    ``customdata`` of each point is the page it leads to. A vertical line begins each epoch: there the
    environment changed, so values before and after it do not compare.
    """
    drawn = [point for point in trend.points if point.patch is not None]
    merged = [point for point in drawn if point.kind == "post-submit"]
    proposed = [point for point in drawn if point.kind != "post-submit"]
    return {
        "data": [
            _trace("merged", _by_epoch(merged), trend.series, mode="lines+markers", is_open=False),
            _trace("patch sets", proposed, trend.series, mode="markers", is_open=True),
        ],
        "layout": _layout(trend.series, _epochs(merged)),
    }


def escaped(text: str, limit: int = 160) -> str:
    """Text that Plotly shows as it is: it reads ``<b>``, ``<a>`` and entities in every label."""
    shown = middle_cut(plain(text, 2000), limit)
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def page_of(point: TrendPoint) -> str:
    """Where a click on a point leads."""
    if point.change is not None:
        patch_set = f"/{point.patch_set}" if point.kind == "check" and point.patch_set else ""
        return f"/changes/{point.change}{patch_set}"
    return f"/runs/{point.run_id}" if point.run_id is not None else f"/job/{point.job}/{point.number}/"


def _trace(
    name: str, points: Sequence[TrendPoint | None], series: SeriesSummary, *, mode: str, is_open: bool
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": name,
        "mode": mode,
        "x": [point and stamp(point.measured_at) for point in points],
        "y": [point and point.patch for point in points],
        "customdata": [point and page_of(point) for point in points],
        "hoverinfo": "text",
        "hovertext": [point and _hover(point, series) for point in points],
        "line": {"color": _BLUE, "width": 1.5},
        "marker": _markers([point.verdict if point else "" for point in points], is_open=is_open),
    }


def _markers(verdicts: Sequence[str], *, is_open: bool) -> dict[str, Any]:
    base, ending = (_ORANGE, "-open") if is_open else (_BLUE, "")
    return {
        "size": [12 if verdict in _SYMBOLS else 8 for verdict in verdicts],
        "color": [_COLOURS.get(verdict, base) for verdict in verdicts],
        "symbol": [_SYMBOLS.get(verdict, "circle") + ending for verdict in verdicts],
        "line": {"width": 1.5 if is_open else 0},
        "opacity": 1,
    }


def _by_epoch(merged: Sequence[TrendPoint]) -> list[TrendPoint | None]:
    """The points with a gap before each epoch: a line across it would compare what does not compare."""
    parted: list[TrendPoint | None] = list(merged[:1])
    for before, after in itertools.pairwise(merged):
        if before.environment_id != after.environment_id:
            parted.append(None)
        parted.append(after)
    return parted


def _hover(point: TrendPoint, series: SeriesSummary) -> str:
    value = quantity(point.patch, series.unit)
    compared = [point.verdict]
    if point.ratio is not None:
        compared.append(change(point.ratio))
    if point.low is not None and point.high is not None:
        compared.append(interval(point.low, point.high, point.ratio))
    what = "merged" if point.kind == "post-submit" else f"patch set {point.patch_set}"
    where = "" if point.change is None else f"change {point.change}, "
    lines = [
        f"<b>{escaped(point.subject, 90) or escaped(point.revision[:12])}</b>",
        escaped(f"{point.author} · {where}{what} · {point.revision[:10]}"),
        f"{escaped(value)} {escaped(metric_named(series.metric).label, 60)}",
        escaped(f"{' '.join(compared)} against its parent, {point.pairs} pairs on {point.machine}"),
        f"{moment(point.measured_at)} UTC",
    ]
    return "<br>".join(lines)


def _epochs(merged: Sequence[TrendPoint]) -> list[str]:
    return [
        stamp(after.measured_at)
        for before, after in itertools.pairwise(merged)
        if before.environment_id != after.environment_id
    ]


def _layout(series: SeriesSummary, epochs: Sequence[str]) -> dict[str, Any]:
    label = metric_named(series.metric).label
    return {
        "hovermode": "closest",
        "dragmode": "zoom",
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": 1.1},
        "margin": {"l": 70, "r": 20, "t": 40, "b": 76},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "xaxis": {
            "type": "date",
            "showgrid": False,
            "automargin": True,
            "title": {"text": "build created (UTC)"},
        },
        "yaxis": {
            "title": {"text": f"{escaped(label, 60)} ({series.better} is better)", "standoff": 12},
            "tickformat": "~s",
            "ticksuffix": _SUFFIXES.get(series.unit, ""),
            "automargin": True,
            "zeroline": False,
        },
        "shapes": [
            {
                "type": "line",
                "xref": "x",
                "yref": "paper",
                "x0": epoch,
                "x1": epoch,
                "y0": 0,
                "y1": 1,
                "line": {"color": _GREY, "width": 1, "dash": "dot"},
            }
            for epoch in epochs
        ],
        "annotations": [
            {
                "x": epoch,
                "xref": "x",
                "y": 1,
                "yref": "paper",
                "yanchor": "bottom",
                "showarrow": False,
                "text": "new environment",
                "font": {"size": 11, "color": _GREY},
            }
            for epoch in epochs
        ],
    }
