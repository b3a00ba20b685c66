"""Route the exports of a build's comparisons: all chosen rows, also those that the page cuts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fastapi import APIRouter, Request  # noqa: TC002 - FastAPI reads the annotations
from fastapi.responses import Response  # noqa: TC002 - FastAPI reads the annotation

from dashboards.addresses import ChosenRows, JobName, Number  # noqa: TC001 - FastAPI reads the annotations
from dashboards.export import csv_response, markdown_response
from dashboards.verdict.comparison_table import filter_named, lay_out
from service.domain.values.search import parse_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dashboards.addresses import RowChoice
    from dashboards.export import Row
    from service.ports.reading import BuildReading
    from service.ports.verdict import Comparison

_COLUMNS: Final = (
    *("verdict", "benchmark", "metric", "suite", "change %", "low %", "high %"),
    *("base", "patch", "unit", "pairs", "reason"),
)


def add_exports(router: APIRouter, reading_of: Callable[[Request], BuildReading]) -> None:
    """Add a build's comparisons as CSV and as Markdown."""

    def rows_of(request: Request, job: str, number: int, chosen: RowChoice) -> Sequence[Row]:
        reading = reading_of(request)
        build = reading.build(job, number).build
        found = reading.comparisons(build.id, build.created_at) if build.compares else []
        words, show = parse_words(chosen.q), filter_named(chosen.show)
        return [_row(each) for each in lay_out(found, show, words, build.floor, chosen.sort, most=None).rows]

    @router.get("/job/{job}/{number}/comparisons.csv")
    def as_csv(request: Request, job: JobName, number: Number, chosen: ChosenRows) -> Response:
        return csv_response(f"{job}-{number}", _COLUMNS, rows_of(request, job, number, chosen))

    @router.get("/job/{job}/{number}/comparisons.md")
    def as_markdown(request: Request, job: JobName, number: Number, chosen: ChosenRows) -> Response:
        return markdown_response(_COLUMNS, rows_of(request, job, number, chosen))


def _row(each: Comparison) -> Row:
    change, low, high = (_percent(value) for value in (each.ratio, each.low, each.high))
    judged = (each.verdict.value, each.benchmark, each.metric, each.suite, change, low, high)
    return (*judged, each.base, each.patch, each.unit, each.pairs, each.reason)


def _percent(ratio: float | None) -> float | None:
    return None if ratio is None else round(100 * (ratio - 1), 4)
