"""The page of one series over time, and of the search for series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from fastapi import Path, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse

from dashboards.verdict.trend_figure import page_of, trend_figure
from service.domain.values.search import parse_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import APIRouter

    from dashboards.rendering import Pages
    from service.ports.reading import SeriesReading

_MOST_SERIES: Final = 50
_POINTS: Final = 200
SeriesId = Annotated[int, Path(ge=1, le=(1 << 63) - 1)]
Points = Annotated[int, Query(ge=1, le=2000)]


def add_trends(router: APIRouter, reading_of: Callable[[Request], SeriesReading], pages: Pages) -> None:
    """Add ``/trends`` and the figures that it draws."""

    @router.get("/trends")
    def trends(
        request: Request,
        q: Annotated[str, Query(max_length=200)] = "",
        series: Annotated[int | None, Query(ge=1, le=(1 << 63) - 1)] = None,
        points: Points = _POINTS,
    ) -> HTMLResponse:
        reading = reading_of(request)
        matching = reading.series(parse_words(q), _MOST_SERIES + 1)
        return pages.render(
            request,
            "trends.html",
            q=q,
            matching=matching[:_MOST_SERIES],
            has_more=len(matching) > _MOST_SERIES,
            trend=None if series is None else reading.trend(series, points),
            points=points,
            page_of=page_of,
        )

    @router.get("/trends/{series_id}/figure.json")
    def figure(request: Request, series_id: SeriesId, points: Points = _POINTS) -> JSONResponse:
        trend = reading_of(request).trend(series_id, points)
        return JSONResponse(trend_figure(trend), headers={"Cache-Control": "no-cache"})
