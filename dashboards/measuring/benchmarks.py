"""Route the page of all benchmarks: what each finds, how much it decides, and whether it votes."""

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
    HARDLY,
    LEAST_CHANGES,
    NEWEST,
    Fault,
    Order,
    faults_of,
    ordered,
    suggestions,
)
from service.domain.wording.benchmarks import (
    finds_text,
    noise_text,
    pairs_text,
    suggestion_sentence,
    summary_sentence,
    worst_text,
)
from service.steps.verdict.review_benchmarks import measured_lately, votes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from fastapi import APIRouter

    from dashboards.export import Row
    from dashboards.rendering import Pages
    from service.domain.verdict.calibration.usefulness import MeasuredSeries
    from service.ports.reading import Reading

    ReadingOf = Callable[[Request], Reading]

_PAGE: Final = 50
_COLUMNS: Final = (
    *("benchmark", "metric", "suite", "job", "project", "branch", "pool", "builds", "undecided", "different"),
    *("failed", "same program", "fault", "finds from", "noise of a pair", "limit", "pairs for the limit"),
    *("suite machine seconds", "suite builds"),
)
_ORDERS: Final[Mapping[Order, str]] = {
    Order.UNDECIDED: "Undecided",
    Order.NOISE: "Noise",
    Order.NAME: "Name",
}
_FAULTS: Final[Mapping[Fault, str]] = {
    Fault.FAILING: "Failing",
    Fault.UNCHANGED: "Same programs",
    Fault.UNDECIDED: "Short of time",
    Fault.NOISY: "Noisy",
}
Sort = Annotated[str, Query(max_length=20)]


def add_benchmarks(router: APIRouter, reading_of: ReadingOf, pages: Pages) -> None:
    """Add ``/benchmarks``, and its rows as CSV."""

    @router.get("/benchmarks")
    def benchmarks(
        request: Request,
        q: Search = "",
        fault: Sort = "",
        sort: Sort = "",
        page: Annotated[int, Query(ge=1, le=10_000)] = 1,
    ) -> HTMLResponse:
        reading, by, only = reading_of(request), _order(sort), _fault(fault)
        now = reading.condition().now
        found, faults = _matching(reading, now, q)
        rows = ordered(_with_fault(found, faults, only), by)
        shown = rows[_PAGE * (page - 1) : _PAGE * page]
        return pages.render(
            request,
            "benchmarks.html",
            rows=shown,
            votes=votes_of(reading, shown, now),
            summary=summary_sentence(found),
            suggestions=[
                (suggestion_sentence(each), each, worst_text(each)) for each in suggestions(found, faults)
            ],
            faults=_FAULTS,
            matching=len(rows),
            page=page,
            has_more=len(rows) > _PAGE * page,
            q=q,
            fault=only,
            by=by,
            sort="" if by is Order.UNDECIDED else by,
            orders=_ORDERS,
            newest=NEWEST,
            days=DAYS,
            least=LEAST_CHANGES,
            hardly=HARDLY,
            finds_text=finds_text,
            noise_text=noise_text,
            pairs_text=pairs_text,
        )

    @router.get("/benchmarks.csv")
    def as_csv(request: Request, q: Search = "", fault: Sort = "", sort: Sort = "") -> Response:
        reading, by, only = reading_of(request), _order(sort), _fault(fault)
        found, faults = _matching(reading, reading.condition().now, q)
        rows = ordered(_with_fault(found, faults, only), by)
        return csv_response("benchmarks", _COLUMNS, (_row(row, faults.get(row.id)) for row in rows))


def _matching(
    reading: Reading, now: datetime, q: str
) -> tuple[Sequence[MeasuredSeries], Mapping[int, Fault]]:
    """Return the series that a search finds, and the faults, which depend on all series."""
    words, everything = parse_words(q), measured_lately(reading, now)
    return [row for row in everything if words.matches(row.text)], faults_of(everything)


def _with_fault(
    rows: Sequence[MeasuredSeries], faults: Mapping[int, Fault], only: Fault | None
) -> Sequence[MeasuredSeries]:
    return [row for row in rows if faults.get(row.id) is only] if only else rows


def _order(text: str) -> Order:
    try:
        return Order(text) if text else Order.UNDECIDED
    except ValueError:
        raise BadInput(f"{plain(text, 30)!r} is not one of: {', '.join(Order)}", "sort") from None


def _fault(text: str) -> Fault | None:
    try:
        return Fault(text) if text else None
    except ValueError:
        raise BadInput(f"{plain(text, 30)!r} is not one of: {', '.join(Fault)}", "fault") from None


def _row(row: MeasuredSeries, fault: Fault | None) -> Row:
    key = row.key
    names = (key.benchmark, key.metric, key.suite, key.job, key.project, key.branch, key.machine_class)
    counts = (row.builds, row.undecided, row.differed, row.failed, row.identical, fault or "")
    found = (row.finds_from, row.noise, row.limit, row.pairs_needed)
    return (*names, *counts, *found, round(row.suite_seconds, 1), row.suite_builds)
