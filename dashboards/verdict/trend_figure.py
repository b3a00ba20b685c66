"""Draw series over time, as plain JSON for Plotly."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import repeat
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from dashboards.formatting import metric_label, middle_cut
from dashboards.verdict.comparison_table import sign_of
from dashboards.verdict.trend_cards import card_of
from dashboards.verdict.trend_lines import JUDGED, lines_of
from dashboards.verdict.trend_view import MOST_POINTS
from service.domain.values.identity import RunKind
from service.domain.values.text import plain
from service.ports.reading import MOST_UNTOUCHED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dashboards.machines.environment import ChangedFact
    from dashboards.verdict.trend_lines import Line, Spot
    from dashboards.verdict.trend_view import TrendView
    from service.ports.verdict import Point, Series, SeriesWithPoints

    ReviewOf = Callable[[Point, Series], str]

# Okabe and Ito's palette, which people with any kind of colour vision can distinguish.
_BLUE: Final = "#0072B2"
_ORANGE: Final = "#E69F00"
_VERMILLION: Final = "#D55E00"
_GREEN: Final = "#009E73"
GREY: Final = "#8a8f98"
_BAND: Final = "rgba(0, 114, 178, 0.16)"
# Colour, shape and dash of each of several series: never colour alone.
_STYLES: Final = (
    (_BLUE, "circle", "solid"),
    (_ORANGE, "square", "dash"),
    ("#CC79A7", "diamond", "dot"),
    ("#56B4E9", "cross", "dashdot"),
    (_GREEN, "star", "longdash"),
    (GREY, "hexagon", "longdashdot"),
)
_LARGE, _SMALL = 12, 8
_POINTING: Final = MappingProxyType({"▲": "triangle-up", "▼": "triangle-down"})
_MANY: Final = 8  # merged commits that show how much a series varies
_FAR: Final = 3.0  # times each of them: a patch set beyond would hide their steps
_LONGEST_EPOCH: Final = 40  # characters: names of epochs stand side by side
_MOST_CHANGES: Final = 10  # of an epoch that the pointer shows
_MOST_EPOCHS: Final = 20  # each draws a line, and more would hide the data
_TELLING: Final = ("metric", "suite", "branch", "project", "machine_class", "job", "instance")
_JUDGED_NAME: Final = "slower or faster"
_SUFFIXES: Final = MappingProxyType({"1/s": "/s", "s": "s", "B": "B", "B/s": "B/s"})
NO_REVIEW: Final[ReviewOf] = lambda point, series: ""  # noqa: ARG005, E731 - the console has no pages


def figure_of(
    trends: Sequence[SeriesWithPoints],
    view: TrendView,
    review_of: ReviewOf = NO_REVIEW,
    claimed: Mapping[int, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Draw series: merged commits as lines with filled markers, patch sets as hollow ones.

    What is slower or faster has a marker above all others. ``customdata`` of a point is the position of its
    card in ``cards``. A vertical line marks each new environment: values before and after it are not
    comparable, while levels go on across it. ``claimed`` tells by run how the claims of its commit held.
    """
    lines = lines_of(trends, view)
    names = _names_of(lines)
    cards = _Cards(review_of, names if len(lines) > 1 else {}, claimed)
    if len(lines) == 1:
        traces, layout = _alone(lines[0], cards), _layout_alone(lines[0], view)
    else:
        traces = [
            trace
            for line, style in zip(lines, _STYLES, strict=False)
            if line.merged
            for trace in (
                _merged(line, cards, _unmarked(names[line.series.id]), *style),
                *_judged(line.spots, line.series, cards, _unmarked(names[line.series.id]), ending=""),
            )
        ]
        layout = _layout(lines, view, _together(lines), {"tickprefix": "×", "tickformat": "~r"})
    # What is drawn last is above the others.
    traces.sort(key=lambda trace: trace["name"] == _JUDGED_NAME)
    notes = [*_notes(trends, view, lines, names)]
    return {"data": traces, "layout": layout, "cards": cards.found, "notes": notes}


def _notes(
    trends: Sequence[SeriesWithPoints], view: TrendView, lines: Sequence[Line], names: Mapping[int, str]
) -> Iterator[str]:
    """Say in plain text what a figure leaves out."""
    if view.since and any(line.since not in {"", view.since} for line in lines):
        yield (
            f"Commit {view.since[:10]} is not in the range of each series: "
            "where it is missing, changes are since the oldest commit."
            if len(lines) > 1
            else f"Commit {view.since[:10]} is not in this range, so changes are since the oldest commit."
        )
    if len(lines) > 1:
        for line in lines:
            if not line.merged:
                yield f"{names[line.series.id]} is not drawn: in this range it is empty, or begins with 0."
    if any(map(_is_cut, trends, repeat(MOST_POINTS // len(trends)))):
        yield "Older commits are left out: a figure holds no more."
    if thinned := sum(line.measured - sum(1 for _ in line.spots) for line in lines):
        yield (
            f"Not drawn, because the screen has no room: {thinned} commit{'s' * (thinned > 1)}. The highest "
            "and lowest of each section stay, and what is slower or faster. The line is computed from all."
        )


def _is_cut(trend: SeriesWithPoints, most: int) -> bool:
    merged = sum(point.kind is RunKind.POST_SUBMIT for point in trend.points)
    return max(merged, len(trend.points) - merged) >= most or len(trend.untouched) >= MOST_UNTOUCHED


@dataclass(slots=True)
class _Cards:
    """The cards of points, each once; ``names`` are those of several series, by id."""

    review_of: ReviewOf
    names: Mapping[int, str]
    claimed: Mapping[int, str]
    found: list[dict[str, Any]] = field(default_factory=list)
    _numbers: dict[tuple[int, int], int] = field(default_factory=dict)

    def number_of(self, spot: Spot, series: Series) -> int:
        """Return the position of a point's card."""
        number = self._numbers.setdefault((series.id, id(spot.point)), len(self.found))
        if number == len(self.found):
            card = card_of(spot, series, self.names.get(series.id, ""), self.review_of)
            if claimed := self.claimed.get(spot.point.run_id or 0):
                card |= {"claims": claimed, "run": f"/runs/{spot.point.run_id}#claims"}
            self.found.append(card)
        return number


def escaped(text: str, limit: int = 160) -> str:
    """Escape a text, because Plotly interprets ``<b>``, ``<a>`` and entities in every label."""
    return _unmarked(middle_cut(plain(text, 2000), limit))


def _unmarked(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _alone(line: Line, cards: _Cards) -> list[dict[str, Any]]:
    proposed = {
        "type": "scatter",
        "name": "patch sets",
        "mode": "markers",
        "x": [spot.x for spot in line.proposed],
        "y": [spot.y for spot in line.proposed],
        "customdata": [cards.number_of(spot, line.series) for spot in line.proposed],
        "hoverinfo": "none",
        "marker": {"size": _SMALL, "color": _ORANGE, "symbol": "circle-open", "line": {"width": 1.5}},
        "legendgroup": "patch sets",
    }
    return [
        *([_band(line.merged)] if line.since else []),
        _merged(line, cards, "merged", *_STYLES[0]),
        proposed,
        *_judged(line.spots, line.series, cards, "merged", ending=""),
        *_judged(line.proposed, line.series, cards, "patch sets", ending="-open"),
    ]


def _merged(line: Line, cards: _Cards, name: str, colour: str, symbol: str, dash: str) -> dict[str, Any]:
    spots: list[Spot | None] = []
    for part in line.merged:
        spots += [*([None] if spots else []), *part]
    return {
        "type": "scatter",
        "name": name,
        "mode": "lines+markers",
        "x": [spot and spot.x for spot in spots],
        "y": [spot and spot.y for spot in spots],
        "customdata": [spot and cards.number_of(spot, line.series) for spot in spots],
        "hoverinfo": "none",
        # A level holds until a commit changes it; commits that touch nothing have no marker.
        "line": {"color": colour, "width": 1.5, "dash": dash, "shape": "hv" if line.since else "linear"},
        "marker": {"size": _SMALL, "color": colour, "symbol": symbol},
        "legendgroup": name,
    }


def _judged(
    spots: Iterable[Spot], series: Series, cards: _Cards, group: str, *, ending: str
) -> list[dict[str, Any]]:
    """Mark what is slower or faster; as in the tables, a marker points to where bytes and counts moved."""
    found = [spot for spot in spots if spot.point.verdict in JUDGED]
    signs = [sign_of(spot.point.verdict, spot.point, series.metric) for spot in found]
    if not found:
        return []
    return [
        {
            "type": "scatter",
            "name": _JUDGED_NAME,
            "mode": "markers",
            "x": [spot.x for spot in found],
            "y": [spot.y for spot in found],
            "customdata": [cards.number_of(spot, series) for spot in found],
            "hoverinfo": "none",
            "marker": {
                "size": _LARGE,
                "color": [_VERMILLION if spot.point.verdict == "slower" else _GREEN for spot in found],
                "symbol": [_POINTING[sign] + ending for sign in signs],
                "line": {"width": 1.5 if ending else 0},
            },
            "legendgroup": group,
            "showlegend": False,
        }
    ]


def _band(parts: Sequence[Sequence[Spot]]) -> dict[str, Any]:
    x: list[float | None] = []
    y: list[float | None] = []
    for part in parts:
        # Steps: each commit has the end before it, and its own.
        there = [spot.x for spot in part for _ in (0, 1)][1:]
        x += [*there, *reversed(there), None]
        y += [spot.high for spot in part for _ in (0, 1)][:-1]
        y += [*reversed([spot.low for spot in part for _ in (0, 1)][:-1]), None]
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


def _layout_alone(line: Line, view: TrendView) -> dict[str, Any]:
    series, label = line.series, metric_label(line.series.metric)
    if not line.since:
        axis = {"tickformat": "~s", "ticksuffix": _SUFFIXES.get(series.unit, "")}
        title = f"{label} ({series.better} is better)"
    else:
        title = f"{label} since {line.since[:10]} ({series.better} is better)"
        axis = {"tickprefix": "×", "tickformat": "~r"}
        if view.axis == "linear":
            axis = {"tickformat": "+~r", "ticksuffix": " %"}
    layout = _layout([line], view, title, axis)
    if line.since and view.axis == "linear":
        layout["yaxis"] |= {"zeroline": True, "zerolinecolor": GREY}
    return _scaled(layout, line)


def _together(lines: Sequence[Line]) -> str:
    better = sorted({str(line.series.better) for line in lines})
    first = "first commit" if any(line.since for line in lines) else "first value"
    return f"ratio to the {first} ({better[0]} is better)" if len(better) == 1 else f"ratio to the {first}"


def _names_of(lines: Sequence[Line]) -> dict[int, str]:
    """Name each series by its benchmark, and by what else tells it from the others; by id.

    Names that are equal after they were cut get numbers.
    """
    all_series = [line.series for line in lines]
    told_by = [each for each in _TELLING if len({getattr(series, each) for series in all_series}) > 1]
    names: dict[int, str] = {}
    for series in all_series:
        parts = (middle_cut(plain(series.benchmark, 500), 36), *_parts_of(series, told_by))
        name = middle_cut(" · ".join(parts), 80)
        numbered, number = name, 1
        while numbered in names.values():
            number += 1
            numbered = f"{name} ({number})"
        names[series.id] = numbered
    return names


def _parts_of(series: Series, names: Sequence[str]) -> list[str]:
    parts = {name: plain(getattr(series, name), 30) for name in names}
    return [metric_label(part) if name == "metric" else part for name, part in parts.items()]


def _scaled(layout: dict[str, Any], line: Line) -> dict[str, Any]:
    """Leave patch sets far from the line beyond the scale, and say how many: they would make it flat."""
    spots = [*line.spots]
    is_percent = bool(line.since) and layout["yaxis"]["type"] == "linear"

    def value(height: float) -> float:
        return 1 + height / 100 if is_percent else height

    if len(spots) < _MANY:
        return layout
    ends = [end for spot in spots for end in ((spot.low, spot.high) if line.since else (spot.y,))]
    low, high = min(map(value, ends)) / _FAR, max(map(value, ends)) * _FAR
    near = [spot.y for spot in line.proposed if low <= value(spot.y) <= high]
    beyond = len(line.proposed) - len(near)
    shown = [*ends, *near]
    if layout["yaxis"]["type"] == "log":
        shown = [math.log10(each) for each in shown if each > 0]
    if not beyond or not shown:
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


def _layout(lines: Sequence[Line], view: TrendView, title: str, axis: Mapping[str, Any]) -> dict[str, Any]:
    """Return the layout of a figure, with a line at each new environment."""
    by_date = view.by == "date"
    changed: dict[float, tuple[ChangedFact, ...]] = {}
    for place, changes in (each for line in lines for each in line.epochs.items()):
        changed[place] = tuple(dict.fromkeys((*changed.get(place, ()), *changes)))
    epochs = sorted(changed)[-_MOST_EPOCHS:]
    return {
        "hovermode": "closest",
        "dragmode": "zoom",
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": 1.07, "yanchor": "bottom"},
        "margin": {"l": 70, "r": 20, "t": 64, "b": 76},
        "plot_bgcolor": "rgba(0,0,0,0)",
        "xaxis": {
            "type": "date" if by_date else "linear",
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
            "title": {"text": "time (UTC)" if by_date else "measured commits; 0 is the newest"},
        },
        "yaxis": {
            "type": view.axis,
            "title": {"text": escaped(title, 90), "standoff": 12},
            "automargin": True,
            "zeroline": False,
            **axis,
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
                "text": _epoch_name(changed[epoch]),
                "hovertext": _epoch_text(changed[epoch]),
                "font": {"size": 11, "color": GREY},
            }
            for epoch in epochs
        ],
    }


def _epoch_name(changes: Sequence[ChangedFact]) -> str:
    """Name a new environment by its first change."""
    if not changes:
        return "new environment"
    first = changes[0]
    what = f"{first.label} {first.before} → {first.after}"
    is_short = len(what) <= _LONGEST_EPOCH
    named = escaped(what, _LONGEST_EPOCH) if is_short else f"{escaped(first.label, 30)} changed"
    return f"{named} and {len(changes) - 1} more" if len(changes) > 1 else named


def _epoch_text(changes: Sequence[ChangedFact]) -> str:
    shown = [
        f"{escaped(each.label, 30)} {escaped(each.before, 60)} → {escaped(each.after, 60)}"
        for each in changes[:_MOST_CHANGES]
    ]
    more = [f"and {len(changes) - _MOST_CHANGES} more"] if len(changes) > _MOST_CHANGES else []
    return "<br>".join((*shown, *more))
