"""Route the page of all benchmarks: what each costs, how much it decides, and whether it votes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from fastapi import Query, Request
from fastapi.responses import HTMLResponse, Response  # noqa: TC002 - FastAPI reads the annotations

from dashboards.addresses import Search  # noqa: TC001 - FastAPI reads the annotation
from dashboards.export import csv_response
from service.domain.values.errors import BadInput
from service.domain.values.search import parse_words
from service.domain.values.text import plain
from service.domain.verdict.calibration.usefulness import (
    DAYS,
    NEWEST,
    Order,
    benchmarks_of,
    cost_of,
    ordered,
    suggestions,
)
from service.domain.wording.benchmarks import (
    cost_sentence,
    noise_text,
    pairs_text,
    suggestion_sentence,
    worst_text,
)
from service.steps.verdict.review_benchmarks import measured_lately, votes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fastapi import APIRouter

    from dashboards.export import Row
    from dashboards.rendering import Pages
    from service.domain.verdict.calibration.usefulness import MeasuredSeries
    from service.ports.reading import Reading

    ReadingOf = Callable[[Request], Reading]

_PAGE: Final = 200
_COLUMNS: Final = (
    *("benchmark", "metric", "suite", "job", "project", "branch", "pool", "builds", "undecided", "different"),
    *("failed", "same program", "noise of a pair", "limit", "pairs for the limit", "machine seconds"),
)
_ORDERS: Final[Mapping[Order, str]] = {
    Order.COST: "Machine time",
    Order.NOISE: "Noise",
    Order.UNDECIDED: "Undecided",
    Order.NAME: "Name",
}
Sort = Annotated[str, Query(max_length=20)]


def add_benchmarks(router: APIRouter, reading_of: ReadingOf, pages: Pages) -> None:
    """Add ``/benchmarks``, and its rows as CSV."""

    @router.get("/benchmarks")
    def benchmarks(
        request: Request,
        q: Search = "",
        sort: Sort = "",
        page: Annotated[int, Query(ge=1, le=10_000)] = 1,
    ) -> HTMLResponse:
        reading, by = reading_of(request), _order(sort)
        everything = measured_lately(reading)
        rows = _matching(everything, q, by)
        shown = rows[_PAGE * (page - 1) : _PAGE * page]
        all_of_them = benchmarks_of(everything)
        return pages.render(
            request,
            "benchmarks.html",
            rows=shown,
            votes=votes_of(reading, shown),
            cost=cost_sentence(cost_of(all_of_them)),
            suggestions=[
                (suggestion_sentence(each), each, worst_text(each)) for each in suggestions(all_of_them)
            ],
            matching=len(rows),
            page=page,
            has_more=len(rows) > _PAGE * page,
            q=q,
            by=by,
            sort="" if by is Order.COST else by,
            orders=_ORDERS,
            newest=NEWEST,
            days=DAYS,
            noise_text=noise_text,
            pairs_text=pairs_text,
        )

    @router.get("/benchmarks.csv")
    def as_csv(request: Request, q: Search = "", sort: Sort = "") -> Response:
        rows = _matching(measured_lately(reading_of(request)), q, _order(sort))
        return csv_response("benchmarks", _COLUMNS, map(_row, rows))


def _matching(rows: Sequence[MeasuredSeries], q: str, by: Order) -> list[MeasuredSeries]:
    words = parse_words(q)
    return ordered((row for row in rows if words.matches(row.text)), by)


def _order(text: str) -> Order:
    try:
        return Order(text) if text else Order.COST
    except ValueError:
        raise BadInput(f"{plain(text, 30)!r} is not one of: {', '.join(Order)}", "sort") from None


def _row(row: MeasuredSeries) -> Row:
    key = row.key
    names = (key.benchmark, key.metric, key.suite, key.job, key.project, key.branch, key.machine_class)
    counts = (row.builds, row.undecided, row.differed, row.failed, row.identical)
    return (*names, *counts, row.noise, row.limit, row.pairs_needed, round(row.seconds, 1))
