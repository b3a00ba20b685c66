"""Route the page of trends, its figures, the page of a family, and the one that other sites may frame."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse

from dashboards.rendering import query_of
from dashboards.verdict.family_charts import charts_of
from dashboards.verdict.imported_values import proposals_of, with_imported
from dashboards.verdict.trend_cards import page_of
from dashboards.verdict.trend_figure import figure_of
from dashboards.verdict.trend_lines import begun_together, has_levels
from dashboards.verdict.trend_view import (
    CONTROLS,
    MOST_POINTS,
    MOST_SERIES,
    OtherIds,
    SeriesId,
    SeriesIds,
    TrendView,
    view_of,
)
from service.domain.project.benchmark_names import family_of
from service.domain.values.identity import RunKind
from service.domain.values.search import parse_words
from service.domain.values.text import plain
from service.domain.wording.claims import claims_sentence
from service.ports.reading import MOST_UNTOUCHED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dashboards.rendering import Pages
    from service.domain.review.links import Links
    from service.ports.claims import ClaimReading
    from service.ports.reading import Reading, SeriesReading
    from service.ports.verdict import Point, Series, SeriesWithPoints

# Plotly sets styles on the elements that it draws; only the page for it may be framed by other sites.
CHART_PATHS: Final = re.compile(r"/trends(?P<framed>/[0-9]{1,19}/embed)?")
_MOST_FOUND: Final = 50
_MOST_BELOW: Final = 10  # of these below a chart
_MOST_ROWS: Final = 200  # of each table
_MOST_MEMBERS: Final = 60  # charts of a family: nobody looks through more
_MOST_COMMITS: Final = 12_000  # of all members together, read in a fraction of a second
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
        most = _MOST_BELOW if series else _MOST_FOUND
        matching = reading.series(parse_words(q), most + 1)
        chosen = _read(reading, series, view, _MOST_ROWS + 1)
        ids = tuple(each.series.id for each in chosen)
        return pages.render(
            request,
            "trends.html",
            q=q,
            matching=matching[:most],
            has_more=len(matching) > most,
            chosen=chosen,
            ids=ids,
            here=partial(_address, q, ids, view),
            can_add=0 < len(ids) < MOST_SERIES,
            kept=[*(("series", each) for each in ids), *view.query.items()],
            page_of=page_of,
            family_of=family_of,
            claimed=_claimed(reading, chosen),
            **_drawn(reading, chosen, view, pages.links),
        )

    @router.get("/trends/{series_id}/family")
    def family(request: Request, series_id: Annotated[SeriesId, Path()], view: View) -> HTMLResponse:
        found = reading_of(request).family(series_id, _MOST_MEMBERS, _MOST_COMMITS, view.within, view.until)
        share = _MOST_COMMITS // len(found.members)
        is_full = len(found.untouched) >= MOST_UNTOUCHED or any(
            len(each.steps) >= share for each in found.members
        )
        return pages.render(
            request,
            "family.html",
            family=found,
            first=found.members[0].series,
            drawn=charts_of(found, view.since),
            is_full=is_full,
            view=view,
            ranges=CONTROLS["range"],
            here=lambda **changes: f"/trends/{series_id}/family{query_of(**replace(view, **changes).query)}",
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
        ids = dict.fromkeys((series_id, *series))
        reading = reading_of(request)
        chosen = _read(reading, ids, view, MOST_POINTS // len(ids))
        drawn = figure_of(chosen, view, partial(_review_of, pages), _claimed(reading, chosen))
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


def _claimed(reading: ClaimReading, chosen: Sequence[SeriesWithPoints]) -> dict[int, str]:
    """Tell by run how the claims of the newest merged commits held, of a series that is alone."""
    points = chosen[0].points if len(chosen) == 1 else ()
    merged = (each.run_id for each in reversed(points) if each.kind is RunKind.POST_SUBMIT)
    runs = list(islice(filter(None, merged), _MOST_ROWS))
    found = reading.claims_of_runs(runs) if runs else {}
    return {run: claims_sentence(claims) for run, claims in found.items()}


def _review_of(pages: Pages, point: Point, series: Series) -> str:
    review = pages.review_of(series.instance)
    if point.change is None:
        return review.commit(point.revision)
    return review.patch_set(series.project, point.change, point.patch_set)


def _drawn(
    reading: SeriesReading, chosen: Sequence[SeriesWithPoints], view: TrendView, links: Links
) -> dict[str, Any]:
    """Return the newest points, what is imported, and the addresses of a figure, which draws itself."""
    ids = tuple(each.series.id for each in chosen)
    has_steps = any(map(has_levels, chosen))
    points = [point for each in chosen for point in each.points]
    # Patch sets of several series are not drawn.
    rows = [
        (each.series, point)
        for each in chosen
        for point in each.points
        if len(ids) == 1 or point.kind is RunKind.POST_SUBMIT
    ]
    imported = [each for shown in _with_imported(chosen, view) for each in shown.imported]
    proposals = [each for shown in _with_all_imported(reading, chosen, view) for each in proposals_of(shown)]
    moments = [*(point.measured_at for point in points), *(each.moment for each in imported)]
    newest = max(moments, default=None)
    drawn = {"series": ids[1:], **view.query}
    pinned = {"range": view.range, **replace(view, until=view.until or newest).query}
    return {
        "view": view,
        "chips": [(name, of) for name, of in CONTROLS.items() if name != "shown" or has_steps],
        "levels": has_steps and view.shown == "change",
        "rows": sorted(rows, key=lambda row: row[1].moment, reverse=True)[:_MOST_ROWS],
        "has_older": max(len(rows), len(imported)) > _MOST_ROWS,
        "imported": imported[-_MOST_ROWS:],
        "proposals": proposals,
        "figure": ids and f"/trends/{ids[0]}/figure.json{query_of(**drawn)}",
        "frame": ids
        and _frame(f"{links.trends}/{ids[0]}/embed{query_of(**drawn)}", chosen[0].series.benchmark),
        "permalink": f"{links.trends}{query_of(series=ids, **pinned)}",
    }


def _with_imported(chosen: Sequence[SeriesWithPoints], view: TrendView) -> Iterator[SeriesWithPoints]:
    """Yield a series that is alone, if its imported values are drawn: they have a date, and no level."""
    is_drawn = view.by == "date" and (view.shown == "values" or not any(map(has_levels, chosen)))
    if len(chosen) == 1 and is_drawn and chosen[0].imported:
        yield chosen[0]


def _with_all_imported(
    reading: SeriesReading, chosen: Sequence[SeriesWithPoints], view: TrendView
) -> Iterator[SeriesWithPoints]:
    """Yield the same with all imported values: a new level is sought among those that the figure draws."""
    for each in _with_imported(chosen, view):
        is_all = len(each.imported) <= _MOST_ROWS
        yield each if is_all else reading.trend(each.series.id, MOST_POINTS, view.within, view.until)


def _read(reading: SeriesReading, ids: Iterable[int], view: TrendView, limit: int) -> list[SeriesWithPoints]:
    """Read series, each once; a former name is the series of the newest one."""
    found = [reading.trend(each, limit, view.within, view.until) for each in dict.fromkeys(ids)]
    return begun_together(list({each.series.id: each for each in found}.values()), view.within)


def _frame(address: str, title: str) -> str:
    """Return the HTML that another site pastes; the name of a benchmark is other people's text."""
    source, name = html.escape(address), html.escape(plain(title, 100))
    return f'<iframe src="{source}" width="900" height="480" title="{name}"></iframe>'


def _address(
    q: str, ids: Sequence[int], view: TrendView, *, series: Sequence[int] | None = None, **changes: str
) -> str:
    """Return the address of the page with some controls changed."""
    shown = replace(view, **changes)  # type: ignore[arg-type]
    return f"/trends{query_of(q=q, series=tuple(ids if series is None else series), **shown.query)}"
