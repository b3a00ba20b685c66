"""Draw a series over time, as plain JSON for Plotly."""

from __future__ import annotations

import itertools
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from dashboards.formatting import labelled_quantity, metric_label, middle_cut, moment, stamp
from dashboards.verdict.comparison_table import sign_of, word_of
from service.domain.values.identity import RunKind
from service.domain.values.text import plain
from service.domain.verdict.inference.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from service.ports.verdict import Point, Series, SeriesWithPoints

# Okabe and Ito's palette, which people with any kind of colour vision can distinguish.
BLUE: Final = "#0072B2"
_ORANGE: Final = "#E69F00"
_VERMILLION: Final = "#D55E00"
_GREEN: Final = "#009E73"
GREY: Final = "#8a8f98"
_LARGE, _SMALL = 12, 8
# Symbol, size, and the colour unless it is that of the line.
_MARKERS: Final[Mapping[Verdict, tuple[str, int, str | None]]] = MappingProxyType(
    {
        Verdict.SLOWER: ("triangle-down", _LARGE, _VERMILLION),
        Verdict.FASTER: ("triangle-up", _LARGE, _GREEN),
        Verdict.SAME: ("circle", _SMALL, None),
        Verdict.UNDECIDED: ("circle", _SMALL, None),
        Verdict.NEW: ("circle", _SMALL, None),
        Verdict.REMOVED: ("circle", _SMALL, None),
        Verdict.BROKEN: ("circle", _SMALL, None),
        Verdict.FAILING: ("circle", _SMALL, None),
    }
)
_POINTING: Final = {"▲": "triangle-up", "▼": "triangle-down"}
_MANY: Final = 8  # merged commits that show how much a series varies
_FAR: Final = 3.0  # times each of them: a patch set beyond would hide their steps
_GAP: Final = ("circle", _SMALL, None)
_SUFFIXES: Final = {"1/s": "/s", "s": "s", "B": "B", "B/s": "B/s"}


def trend_figure(trend: SeriesWithPoints) -> dict[str, Any]:
    """Draw a series over time: merged commits as a line with filled markers, patch sets as hollow markers.

    ``customdata`` of each point is the page it leads to. A vertical line marks each new environment:
    values before and after it are not comparable.
    """
    drawn = [point for point in trend.points if point.patch is not None]
    merged = [point for point in drawn if point.kind is RunKind.POST_SUBMIT]
    proposed = [point for point in drawn if point.kind is not RunKind.POST_SUBMIT]
    return {
        "data": [
            _trace("merged", _by_epoch(merged), trend.series, mode="lines+markers", is_open=False),
            _trace("patch sets", proposed, trend.series, mode="markers", is_open=True),
            legend("merged", mode="lines+markers", is_open=False),
            legend("patch sets", mode="markers", is_open=True),
        ],
        "layout": scaled(layout_of(trend.series, epochs_of(merged)), _values(merged), _values(proposed)),
    }


def escaped(text: str, limit: int = 160) -> str:
    """Escape a text, because Plotly interprets ``<b>``, ``<a>`` and entities in every label."""
    shown = middle_cut(plain(text, 2000), limit)
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def page_of(point: Point) -> str:
    """Return the page that a click on a point opens."""
    if point.change_address is not None:
        patch_set = f"/{point.patch_set}" if point.kind is RunKind.CHECK and point.patch_set else ""
        return f"/changes/{quote(point.change_address)}{patch_set}"
    return f"/runs/{point.run_id}" if point.run_id is not None else f"/job/{point.job}/{point.number}/"


def _trace(
    name: str, points: Sequence[Point | None], series: Series, *, mode: str, is_open: bool
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": name,
        "mode": mode,
        "x": [point and stamp(point.moment) for point in points],
        "y": [point and point.patch for point in points],
        "customdata": [point and page_of(point) for point in points],
        "hoverinfo": "text",
        "hovertext": [point and hover(point, series) for point in points],
        "line": {"color": BLUE, "width": 1.5},
        "marker": markers(points, series, is_open=is_open),
        "legendgroup": name,
        "showlegend": False,
    }


def legend(name: str, *, mode: str, is_open: bool) -> dict[str, Any]:
    """Make the legend's entry: that of a trace has the marker of its first point, whatever its verdict."""
    return {
        "type": "scatter",
        "name": name,
        "mode": mode,
        "x": [None],
        "y": [None],
        "line": {"color": BLUE, "width": 1.5},
        "marker": {
            "size": _SMALL,
            "color": _ORANGE if is_open else BLUE,
            "symbol": "circle-open" if is_open else "circle",
        },
        "legendgroup": name,
    }


def markers(points: Sequence[Point | None], series: Series, *, is_open: bool) -> dict[str, Any]:
    """Return the markers of points by their verdicts; None is a gap."""
    own_colour, ending = (_ORANGE, "-open") if is_open else (BLUE, "")
    markers = [_marker(point, series) if point else _GAP for point in points]
    return {
        "size": [size for _, size, _ in markers],
        "color": [colour or own_colour for *_, colour in markers],
        "symbol": [symbol + ending for symbol, *_ in markers],
        "line": {"width": 1.5 if is_open else 0},
        "opacity": 1,
    }


def _marker(point: Point, series: Series) -> tuple[str, int, str | None]:
    """Return the marker of a verdict; as in the tables, it points to where bytes and counts moved."""
    symbol, size, colour = _MARKERS[point.verdict]
    if colour is not None:
        symbol = _POINTING[sign_of(point.verdict, point, series.metric)]
    return symbol, size, colour


def _by_epoch(merged: Sequence[Point]) -> list[Point | None]:
    """Insert a gap before each epoch: values across it are not comparable, so no line may join them."""
    parted: list[Point | None] = list(merged[:1])
    for before, after in itertools.pairwise(merged):
        if before.environment_id != after.environment_id:
            parted.append(None)
        parted.append(after)
    return parted


def hover(point: Point, series: Series, since: str = "") -> str:
    """Write the card of a point; ``since`` says how far its commit is from another one."""
    compared = " ".join(
        filter(None, (word_of(point.verdict, series.metric), point.change_text, point.interval_text))
    )
    commit = "merged" if point.kind is RunKind.POST_SUBMIT else f"patch set {point.patch_set}"
    base, later = "its parent", ""
    if point.committed_at is not None:
        base, later = (point.parent or "")[:10], f", measured {moment(point.measured_at)} UTC"
    change = "" if point.change is None else f"change {point.change_address}, "
    lines = [
        f"<b>{escaped(point.subject, 90) or escaped(point.revision[:12])}</b>",
        escaped(f"{point.author} · {change}{commit} · {point.revision[:10]}"),
        *([f"<b>{escaped(since, 100)}</b>"] if since else []),
        escaped(labelled_quantity(point.patch, series.unit, series.metric), 100),
        escaped(f"{compared} against {base}, {point.pairs} pairs on {point.machine}"),
        f"{moment(point.moment)} UTC{later}",
    ]
    return "<br>".join(lines)


def epochs_of(merged: Sequence[Point]) -> list[str]:
    """Return when each new environment began."""
    return [
        stamp(after.moment)
        for before, after in itertools.pairwise(merged)
        if before.environment_id != after.environment_id
    ]


def _values(points: Sequence[Point]) -> list[float]:
    return [point.patch for point in points if point.patch is not None]


def scaled(
    layout: dict[str, Any],
    line: Sequence[float],
    others: Sequence[float],
    height: Callable[[float], float] = float,
) -> dict[str, Any]:
    """Leave patch sets far from the line beyond the scale, and say how many: they would make it flat.

    ``line`` and ``others`` have the values of merged commits and patch sets; ``height`` is where each is.
    """
    if len(line) < _MANY:
        return layout
    near = [value for value in others if min(line) / _FAR <= value <= max(line) * _FAR]
    shown = [*map(height, (*line, *near))]
    beyond = len(others) - len(near)
    if not beyond:
        return layout
    margin = (max(shown) - min(shown)) / 8 or abs(shown[0]) / 20
    layout["yaxis"]["range"] = [min(shown) - margin, max(shown) + margin]
    are = "1 patch set is" if beyond == 1 else f"{beyond} patch sets are"
    layout["annotations"].append(
        {
            "x": 1,
            "xref": "paper",
            "xanchor": "right",
            "y": 1,
            "yref": "paper",
            "yanchor": "bottom",
            "showarrow": False,
            "text": f"{are} beyond this scale: double-click",
            "font": {"size": 11, "color": GREY},
        }
    )
    return layout


def layout_of(series: Series, epochs: Sequence[str]) -> dict[str, Any]:
    """Return the layout of a series' figure, with a line at each epoch."""
    label = metric_label(series.metric)
    return {
        "hovermode": "closest",
        "dragmode": "zoom",
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": 1.2},
        "margin": {"l": 70, "r": 20, "t": 64, "b": 76},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "xaxis": {
            "type": "date",
            "showgrid": False,
            "automargin": True,
            "title": {"text": "time (UTC)"},
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
                "line": {"color": GREY, "width": 1, "dash": "dot"},
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
                "font": {"size": 11, "color": GREY},
            }
            for epoch in epochs
        ],
    }
