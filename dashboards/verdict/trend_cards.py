"""Write the card of each point: what a person reads when the pointer is on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dashboards.formatting import labelled_quantity, moment
from dashboards.verdict.comparison_table import sign_of, word_of
from service.domain.values.identity import RunKind
from service.domain.values.text import change, interval, plain
from service.domain.verdict.inference.estimate import ratio_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from dashboards.verdict.trend_lines import Spot
    from service.domain.verdict.trend.line import CommitLevel
    from service.ports.verdict import Point, Series

_SHORT = 10  # characters of a revision


def card_of(
    spot: Spot, series: Series, name: str, review_of: Callable[[Point, Series], str]
) -> dict[str, Any]:
    """Return the texts and links of a point's card; none of the texts is HTML.

    ``name`` is that of the series in a figure of several, else empty. ``review_of`` returns the page of a
    point on the review server, or nothing.
    """
    point = spot.point
    is_merged = point.kind is RunKind.POST_SUBMIT
    of = "merged" if is_merged else f"patch set {point.patch_set}"
    change_of = "" if point.change is None else f"change {point.change_address}, "
    verdict = f"{sign_of(point.verdict, point, series.metric)} {word_of(point.verdict, series.metric)}"
    measured = " ".join(filter(None, (verdict, point.change_text, point.interval_text)))
    base, later = "its parent", ""
    if point.committed_at is not None:
        base, later = (point.parent or "")[:_SHORT], f", measured {moment(point.measured_at)} UTC"
    return {
        "series": name,
        "title": plain(point.subject, 90) or plain(point.revision, 12),
        "author": plain(point.author, 60),
        "commit": f"{change_of}{of} · {plain(point.revision, _SHORT + 1)[:_SHORT]}",
        "level": "" if spot.level is None else level_text(spot.level),
        "value": plain(labelled_quantity(point.patch, series.unit, series.metric), 100),
        "verdict": f"{measured} against {base}, {point.pairs} pairs on {plain(point.machine, 60)}",
        "moment": f"{moment(point.moment)} UTC{later}",
        "page": page_of(point),
        "review": review_of(point, series),
        "since": point.revision if is_merged and spot.level is not None else "",
    }


def level_text(level: CommitLevel) -> str:
    """Write how far a commit is from another one: ``+3.2 % [2.1, 4.4] since 0123456789``."""
    low, high, ratio = ratio_of(level.low), ratio_of(level.high), ratio_of(level.log)
    return f"{change(ratio)} {interval(low, high, ratio)} since {level.since[:_SHORT]}"


def page_of(point: Point) -> str:
    """Return the page that a second click on a point opens."""
    if point.change_address is not None:
        patch_set = f"/{point.patch_set}" if point.kind is RunKind.CHECK and point.patch_set else ""
        return f"/changes/{quote(point.change_address)}{patch_set}"
    return f"/runs/{point.run_id}" if point.run_id is not None else f"/job/{point.job}/{point.number}/"
