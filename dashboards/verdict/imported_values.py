"""Draw imported values beside the measured ones, and what the detector of changes proposes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dashboards.formatting import labelled_quantity, metric_label, moment, stamp
from dashboards.verdict.trend_figure import GREY, escaped
from service.domain.values.text import change, interval
from service.domain.verdict.trend.imported import proposed_changes

if TYPE_CHECKING:
    from service.domain.verdict.trend.change_points import ChangePoint
    from service.domain.verdict.trend.imported import ImportedValue
    from service.ports.verdict import Series, SeriesWithPoints

_SIZE: Final = 7


@dataclass(frozen=True, slots=True)
class Proposal:
    """Commits between which the level seems to change, and how: ``looks like −8.0 % CPU time …``."""

    before: ImportedValue
    value: ImportedValue
    text: str


def proposals_of(trend: SeriesWithPoints) -> list[Proposal]:
    """Return what the detector proposes for the imported values, the newest first."""
    label = metric_label(trend.series.metric)
    found = reversed(proposed_changes(trend.imported))
    return [Proposal(before, value, _text(step, label)) for before, value, step in found]


def _text(step: ChangePoint, label: str) -> str:
    ratio, low, high = map(math.exp, (step.log, step.low, step.high))
    return f"looks like {change(ratio)} {label} {interval(low, high, ratio)}, not confirmed"


def with_imported(figure: dict[str, Any], trend: SeriesWithPoints) -> dict[str, Any]:
    """Add the imported values to the figure of measured ones, with a line at each proposed change."""
    if not trend.imported:
        return figure
    figure["data"].append(
        {
            "type": "scatter",
            "name": "imported",
            "mode": "markers",
            "x": [stamp(each.moment) for each in trend.imported],
            "y": [each.value for each in trend.imported],
            "hoverinfo": "text",
            "hovertext": [_hover(each, trend.series) for each in trend.imported],
            "marker": {"size": _SIZE, "color": GREY, "symbol": "diamond-open"},
        }
    )
    if shown := figure["layout"]["yaxis"].get("range"):
        is_log = figure["layout"]["yaxis"]["type"] == "log"  # then the ends are powers of ten
        values = [math.log10(each.value) if is_log else each.value for each in trend.imported]
        figure["layout"]["yaxis"]["range"] = [min(*shown, *values), max(*shown, *values)]
    for each in proposals_of(trend):
        at = stamp(each.value.moment)
        figure["layout"]["shapes"].append(
            {
                "type": "line",
                "xref": "x",
                "yref": "paper",
                "x0": at,
                "x1": at,
                "y0": 0,
                "y1": 1,
                "line": {"color": GREY, "width": 1, "dash": "dash"},
            }
        )
    return figure


def _hover(value: ImportedValue, series: Series) -> str:
    quantity = labelled_quantity(value.value, series.unit, series.metric)
    commit = escaped(value.commit[:10])
    return f"<b>{commit}</b><br>{escaped(quantity, 100)}<br>imported<br>{moment(value.moment)} UTC"
