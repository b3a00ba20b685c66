"""Route the page of trends, its figures, and the page that other sites may frame."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse

from dashboards.rendering import query_of
from dashboards.verdict.imported_values import proposals_of, with_imported
from dashboards.verdict.trend_cards import level_text, page_of
from dashboards.verdict.trend_figure import STYLES, figure_of
from dashboards.verdict.trend_lines import has_levels, lines_of
from dashboards.verdict.trend_view import (
    MOST_POINTS,
    MOST_SERIES,
    OtherIds,
    SeriesId,
    SeriesIds,
    TrendView,
    view_of,
)
from service.domain.values.search import parse_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dashboards.rendering import Pages
    from service.domain.review.links import Links
    from service.ports.reading import Reading, SeriesReading
    from service.ports.verdict import Point, Series, SeriesWithPoints

# Plotly sets styles on the elements that it draws; only the page for it may be framed by other sites.
CHART_PATHS: Final = re.compile(r"/trends(?P<framed>/[0-9]{1,19}/embed)?")
_MOST_FOUND: Final = 50
_MOST_ROWS: Final = 200  # of the table of points
_CHIPS: Final = (
    ("range", "How far back", (("30d", "30 d"), ("90d", "90 d"), ("1y", "1 y"), ("all", "All"))),
    ("shown", "What is drawn", (("change", "Change since a commit"), ("values", "Measured values"))),
    ("by", "Order", (("date", "By date"), ("commit", "By commit"))),
    ("axis", "Axis", (("linear", "Linear"), ("log", "Logarithmic"))),
)
View = Annotated[TrendView, Depends(view_of)]


def add_trends(router: APIRouter, reading_of: Callable[[Request], Reading], pages: Pages) -> None:
    """Add ``/trends`` and the figures that it draws."""

    @router.get("/trends")
    def trends(
        request: Request,
        view: View,
        q: Annotated[str, Query(max_length=200)] = "",
        series: SeriesIds = [],  # noqa: B006 - FastAPI copies it
    ) -> HTMLResponse:
        reading = reading_of(request)
        matching = reading.series(parse_words(q), _MOST_FOUND + 1)
        chosen = _read(reading, series, view)
        ids = tuple(each.series.id for each in chosen)
        return pages.render(
            request,
            "trends.html",
            q=q,
            matching=matching[:_MOST_FOUND],
            has_more=len(matching) > _MOST_FOUND,
            chosen=chosen,
            ids=ids,
            here=partial(_address, q, ids, view),
            can_add=0 < len(ids) < MOST_SERIES,
            kept=[*(("series", each) for each in ids), *view.query.items()],
            styles=STYLES,
            page_of=page_of,
            level_text=level_text,
            **_drawn(chosen, view, pages.links),
        )

    _add_figures(router, reading_of, pages)


def _add_figures(router: APIRouter, reading_of: Callable[[Request], Reading], pages: Pages) -> None:
    @router.get("/trends/{series_id}/figure.json")
    def figure(
        request: Request,
        series_id: Annotated[SeriesId, Path()],
        view: View,
        series: OtherIds = [],  # noqa: B006 - FastAPI copies it
    ) -> JSONResponse:
        chosen = _read(reading_of(request), [series_id, *series], view)
        drawn = figure_of(chosen, view, partial(_review_of, pages))
        for each in _with_imported(chosen, view):
            drawn = with_imported(drawn, each)
        return JSONResponse(drawn, headers={"Cache-Control": "no-cache"})

    @router.get("/trends/{series_id}/embed")
    def embed(
        request: Request,
        series_id: Annotated[SeriesId, Path()],
        view: View,
        series: OtherIds = [],  # noqa: B006 - FastAPI copies it
    ) -> HTMLResponse:
        # All readers of the other site see the same, also a person who is signed in here.
        public = reading_of(request).seen_by(None)
        ids = tuple(dict.fromkeys((series_id, *series)))
        names = [public.trend(each, 1).series for each in ids]
        return pages.render(
            request,
            "trend_embed.html",
            names=names,
            page=f"/trends{query_of(series=ids, **view.query)}",
            figure=f"/trends/{series_id}/figure.json{query_of(series=ids[1:], **view.query)}",
        )


def _review_of(pages: Pages, point: Point, series: Series) -> str:
    review = pages.review_of(series.instance)
    if point.change is None:
        return review.commit(point.revision)
    return review.patch_set(series.project, point.change, point.patch_set)


def _drawn(chosen: Sequence[SeriesWithPoints], view: TrendView, links: Links) -> dict[str, Any]:
    """Return what the page says of a figure, its rows, and its addresses."""
    ids = tuple(each.series.id for each in chosen)
    lines = lines_of(chosen, view) if chosen else []
    levels = any(line.since for line in lines)
    spots = [(line.series, spot) for line in lines for spot in (*line.spots, *line.proposed)]
    shown = next(_with_imported(chosen, view), None)
    newest = max((spot.point.measured_at for _, spot in spots), default=None)
    drawn = {"series": ids[1:], **view.query}
    pinned = {"range": view.range, **replace(view, until=view.until or newest).query}
    return {
        "view": view,
        "chips": [each for each in _CHIPS if each[0] != "shown" or any(map(has_levels, chosen))],
        "is_unknown": bool(view.since) and levels and all(line.since != view.since for line in lines),
        "levels": levels,
        "thinned": sum(line.measured for line in lines) - sum(1 for line in lines for _ in line.spots),
        "rows": sorted(spots, key=lambda row: row[1].point.moment, reverse=True)[:_MOST_ROWS],
        "points": len(spots),
        "imported": shown.imported if shown else (),
        "proposals": proposals_of(shown) if shown else [],
        "figure": ids and f"/trends/{ids[0]}/figure.json{query_of(**drawn)}",
        "embed": ids and f"{links.trends}/{ids[0]}/embed{query_of(**drawn)}",
        "permalink": f"{links.trends}{query_of(series=ids, **pinned)}",
    }


def _with_imported(chosen: Sequence[SeriesWithPoints], view: TrendView) -> Iterator[SeriesWithPoints]:
    """Yield a series that is alone, if its imported values are drawn: they have a date, and no level."""
    is_drawn = view.by == "date" and (view.shown == "values" or not any(map(has_levels, chosen)))
    if len(chosen) == 1 and is_drawn and chosen[0].imported:
        yield chosen[0]


def _read(reading: SeriesReading, ids: Sequence[int], view: TrendView) -> list[SeriesWithPoints]:
    """Read series, each once; a former name is the series of the newest one."""
    wanted = list(dict.fromkeys(ids))
    found = [reading.trend(each, MOST_POINTS // len(wanted), view.within, view.until) for each in wanted]
    return list({each.series.id: each for each in found}.values())


def _address(
    q: str, ids: Sequence[int], view: TrendView, *, series: Sequence[int] | None = None, **changes: str
) -> str:
    """Return the address of the page with some controls changed."""
    shown = replace(view, **changes)  # type: ignore[arg-type]
    return f"/trends{query_of(q=q, series=tuple(ids if series is None else series), **shown.query)}"
