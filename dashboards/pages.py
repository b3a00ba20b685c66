"""The routes of the pages: read, lay out, render."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.routing import APIRoute

from dashboards import comparison_table, patch_set_table
from dashboards.assets import create_assets
from dashboards.logs import JobName, Number, add_logs, tail_of
from dashboards.next_steps import steps_after
from dashboards.rendering import Pages, problem_page
from dashboards.sentences import verdict_sentence
from dashboards.trend_page import add_trends
from service.domain.decision.states import UNFINISHED
from service.domain.errors import BadInput, NotFound
from service.domain.gerrit.change import ChangeStatus
from service.domain.identity import RunKind
from service.domain.search import parse_words
from service.ports.cursor import Cursor
from service.steps.upkeep.check_health import HealthCheck

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from dashboards.comparison_table import ComparisonTable
    from dashboards.logs import StreamLog
    from dashboards.patch_set_table import PatchSetTable
    from service.ports.reading import BuildReading, ChangeReading, Reading
    from service.ports.views import Build, BuildOfRun, Run

INLINE_STYLE_PATHS: Final = ("/trends",)  # Plotly sets styles on the elements that it draws
_PAGE: Final = 50
_MOST_STATUSES: Final = 500  # rows of one table that a person looks through
_TAIL_LINES: Final = 80
Id = Annotated[int, Path(ge=1, le=(1 << 63) - 1)]
Show = Annotated[str, Query(max_length=20)]
Search = Annotated[str, Query(max_length=200)]


@dataclass(frozen=True, slots=True)
class ShownBuild:
    """A build with its table, None if it compared nothing. ``waived_by`` is as in ``BuildOfRun``."""

    build: Build
    table: ComparisonTable | None
    waived_by: str


def create_pages(
    reading: Reading,
    *,
    stream_log: StreamLog,
    health: HealthCheck | None = None,
    review_url: str = "",
) -> APIRouter:
    """Create the routes of all pages with their scripts and styles.

    Args:
        reading: the read ports behind the pages.
        stream_log: returns the size and the bytes of a log's artifact; may raise NotFound.
        health: the check whose problems every page shows; None: a check of the reading's facts.
        review_url: the review server's address; empty: its pages are not linked.
    """
    pages = Pages(health or HealthCheck(reading), review_url)
    router = APIRouter(include_in_schema=False, route_class=_PageRoute)
    _add_changes(router, reading, pages)
    _add_builds(router, reading, pages, stream_log)
    add_logs(router, reading, pages, stream_log)
    add_trends(router, reading, pages)

    @router.get("/machines")
    def machines() -> HTMLResponse:
        voting_statuses = reading.voting_statuses(_MOST_STATUSES + 1)
        return pages.render(
            "machines.html",
            machines=reading.machines(),
            condition=reading.condition(),
            voting_statuses=voting_statuses[:_MOST_STATUSES],
            has_more=len(voting_statuses) > _MOST_STATUSES,
        )

    @router.get("/docs")
    def docs(request: Request) -> HTMLResponse:
        described = request.app.openapi()["paths"]
        operations = [
            {"path": path, "description": methods["get"].get("description", "")}
            for path, methods in described.items()
            if path.startswith("/api/") and "get" in methods
        ]
        return pages.render("docs.html", operations=operations)

    whole = APIRouter(include_in_schema=False)
    whole.include_router(router)
    whole.include_router(create_assets())
    return whole


def _add_changes(router: APIRouter, reading: Reading, pages: Pages) -> None:
    @router.get("/")
    def changes(cursor: Annotated[str | None, Query(max_length=200)] = None) -> HTMLResponse:
        newest_first = reading.changes(_PAGE + 1, None if cursor is None else Cursor.decode(cursor))
        shown = newest_first[:_PAGE]
        has_more = len(newest_first) > _PAGE
        return pages.render(
            "changes.html",
            changes=shown,
            after=Cursor(shown[-1].updated_at, shown[-1].id).encode() if has_more else None,
            is_first=cursor is None,
            is_unfinished=any(change.run_state in UNFINISHED for change in shown),
        )

    @router.get("/changes/{number}")
    def change(number: Number, q: Search = "", show: Show = "") -> HTMLResponse:
        return show_patch_set(number, None, q, show)

    @router.get("/changes/{number}/{patch_set}")
    def patch_set(number: Number, patch_set: Number, q: Search = "", show: Show = "") -> HTMLResponse:
        return show_patch_set(number, patch_set, q, show)

    def show_patch_set(number: int, wanted: int | None, q: str, show: str) -> HTMLResponse:
        detail = reading.patch_set(number, wanted)
        run = next((run for run in detail.runs if run.kind is RunKind.CHECK), None)
        decision = next(iter(detail.decisions), None)
        patch_sets = reading.change(number).patch_sets
        newest = detail.change.patch_set
        is_open = detail.change.status is ChangeStatus.NEW and detail.patch_set.number == newest
        return pages.render(
            "patch_set.html",
            detail=detail,
            patch_sets=patch_sets,
            side_by_side=_side_by_side(reading, number, q) if len(patch_sets) > 1 else None,
            run=run,
            sentence=verdict_sentence(run, detail.builds, decision),
            newest=newest,
            **_tables(reading, _waived(detail.builds), q, show, is_open=is_open),
        )


def _add_builds(router: APIRouter, reading: Reading, pages: Pages, stream_log: StreamLog) -> None:
    def is_commented_on(run: Run) -> bool:
        """Return whether comment commands on the run's change concern the run."""
        if run.kind is not RunKind.CHECK or run.change is None:
            return False
        change = reading.change(run.change).change
        return change.status is ChangeStatus.NEW and change.run_id == run.id

    @router.get("/runs/{run_id}")
    def run(run_id: Id, q: Search = "", show: Show = "") -> HTMLResponse:
        detail = reading.run(run_id)
        decision = next(iter(detail.decisions), None)
        return pages.render(
            "run.html",
            run=detail.run,
            decisions=detail.decisions,
            decision=decision,
            sentence=verdict_sentence(detail.run, detail.builds, decision),
            **_tables(reading, _waived(detail.builds), q, show, is_open=is_commented_on(detail.run)),
        )

    @router.get("/job/{job}/{number}")
    def build_without_slash(job: JobName, number: Number) -> Response:
        build = reading.build(job, number).build
        return RedirectResponse(f"/job/{build.job}/{build.number}/", status_code=308)

    @router.get("/job/{job}/{number}/")
    def build(job: JobName, number: Number, q: Search = "", show: Show = "") -> HTMLResponse:
        detail = reading.build(job, number)
        return pages.render(
            "build.html",
            detail=detail,
            tail=tail_of(stream_log, detail.log, _TAIL_LINES),
            **_tables(
                reading, [(detail.build, "")], q, show, is_open=any(map(is_commented_on, detail.runs[:1]))
            ),
        )


def _side_by_side(reading: ChangeReading, change: int, q: str) -> PatchSetTable | None:
    measured = reading.measured_patch_sets(change, patch_set_table.MOST_COLUMNS)
    return patch_set_table.lay_out(measured, parse_words(q))


def _waived(builds: Sequence[BuildOfRun]) -> Sequence[tuple[Build, str]]:
    return [(build, build.waived_by) for build in builds]


def _tables(
    reading: BuildReading, builds: Sequence[tuple[Build, str]], q: str, show: str, *, is_open: bool
) -> dict[str, Any]:
    words = parse_words(q)
    row_filter = comparison_table.filter_named(show)
    shown, compared = [], []
    for build, waived_by in builds:
        rows = reading.comparisons(build.id, build.created_at) if build.kind.is_measured else []
        table = comparison_table.lay_out(rows, row_filter, words, build.floor) if rows else None
        shown.append(ShownBuild(build, table, waived_by))
        compared.append((build, waived_by, rows))
    return {
        "builds": shown,
        "undecided": sum(build.undecided for build, _ in builds),
        "steps": steps_after(compared, is_open=is_open),
        "q": q,
        "show": row_filter,
    }


class _PageRoute(APIRoute):
    """A route whose errors are pages, because a person followed a link."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_for_people(request: Request) -> Response:
            try:
                return await handle(request)
            except (NotFound, RequestValidationError, BadInput) as error:
                is_invalid = isinstance(error, RequestValidationError)
                reason = "There is no page at this address." if is_invalid else str(error)
                return HTMLResponse(problem_page(404, reason), 404, {"Cache-Control": "no-cache"})

        return handle_for_people
