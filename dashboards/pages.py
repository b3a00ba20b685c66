"""Route the pages: read, lay out, render."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.routing import APIRoute

from dashboards.addresses import ChosenRows, JobName, Number, Search  # noqa: TC001 - FastAPI reads them
from dashboards.assets import create_assets
from dashboards.building.log_text import tail_of
from dashboards.building.routes import add_logs
from dashboards.claims.pages import add_claims
from dashboards.machines.summary import machines_sentence
from dashboards.measuring.benchmarks import add_benchmarks
from dashboards.measuring.test_table import add_tests, lay_out, tests_of
from dashboards.rendering import Pages, account_link_of, problem_page
from dashboards.review import patch_set_table
from dashboards.review.overview import NO_OVERVIEW, summary_of
from dashboards.runs.next_steps import steps_after
from dashboards.trunk.trends import add_trends
from dashboards.verdict.build_tables import tables_of, waived
from dashboards.verdict.code_table import code_groups
from dashboards.verdict.exports import add_exports
from dashboards.verdict.flame_graph import flame_graph
from service.domain.review.change import ChangeStatus
from service.domain.review.change_search import MINE, MOST_VOTES, parse_change_search
from service.domain.runs.states import UNFINISHED
from service.domain.values.errors import Ambiguous, BadInput, NotFound
from service.domain.values.identity import ADDRESS, ChangeAddress, RunKind
from service.domain.values.search import parse_words
from service.ports.review.shown import Cursor
from service.ports.runs.shown import Standing, leading
from service.steps.runs.summarise_run import verdict_sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from dashboards.addresses import RowChoice
    from dashboards.review.overview import Overview
    from dashboards.review.patch_set_table import PatchSetTable
    from dashboards.runs.next_steps import ActionsOf
    from service.domain.building.logs.stored_log import Stream
    from service.ports.reading import ChangeReading, Reading
    from service.ports.runs.shown import Build, Run

    ReadingOf = Callable[[Request], Reading]

_PAGE: Final = 50
_MOST_QUEUED: Final = 20  # builds of a pool on the page of the machines
_TAIL_LINES: Final = 80
Address = Annotated[str, Path(pattern=ADDRESS)]
Id = Annotated[int, Path(ge=1, le=(1 << 63) - 1)]


def create_pages(
    reading_of: ReadingOf,
    *,
    pages: Pages,
    stream_log: Stream,
    actions_of: ActionsOf = lambda *_: None,
    overview: Overview = NO_OVERVIEW,
    closing_of: Callable[[Request], object] = lambda _: None,
) -> APIRouter:
    """Create the routes of all pages with their scripts and styles.

    Args:
        reading_of: returns the read ports that the caller of a request may use.
        pages: renders them.
        stream_log: yields the bytes of an artifact, a log or test cases; may raise NotFound.
        actions_of: returns the actions that the caller of a request may use on a patch set.
        overview: what the first page has beside changes.
        closing_of: returns the form for closing hosts, if the caller may close them.
    """
    router = APIRouter(include_in_schema=False, route_class=_PageRoute)
    _add_list(router, reading_of, pages, overview)
    _add_changes(router, reading_of, pages, actions_of)
    _add_builds(router, reading_of, pages, stream_log)
    _add_explanations(router, reading_of, pages)
    add_logs(router, reading_of, pages, stream_log)
    add_tests(router, reading_of, stream_log)
    add_trends(router, reading_of, pages)
    add_benchmarks(router, reading_of, pages)
    add_exports(router, reading_of)
    add_claims(router, reading_of, pages)

    @router.get("/machines")
    def machines(request: Request) -> HTMLResponse:
        reading = reading_of(request)
        machines, condition = reading.machines(), reading.condition()
        summary = machines_sentence(machines, condition)
        queued = reading.queued_builds(_MOST_QUEUED)
        values: dict[str, Any] = {"machines": machines, "condition": condition, "summary": summary}
        values |= {"sizes": reading.stored_sizes()}
        return pages.render(request, "machines.html", **values, queued=queued, form=closing_of(request))

    @router.get("/docs")
    def docs(request: Request) -> HTMLResponse:
        described = request.app.openapi()["paths"]
        operations = [
            {"method": method.upper(), "path": path, "description": operation.get("description", "")}
            for path, methods in described.items()
            for method, operation in methods.items()
        ]
        return pages.render(request, "docs.html", operations=operations)

    whole = APIRouter(include_in_schema=False)
    whole.include_router(router)
    whole.include_router(create_assets())
    return whole


def _add_list(router: APIRouter, reading_of: ReadingOf, pages: Pages, overview: Overview) -> None:
    """Add the first page, and those that continue its list of changes."""

    @router.get("/")
    def changes(
        request: Request,
        cursor: Annotated[str | None, Query(max_length=200)] = None,
        q: Search = "",
        part: Annotated[str, Query(pattern="^(list)?$")] = "",
    ) -> HTMLResponse:
        reading = reading_of(request)
        values: dict[str, Any] = {"q": q, "is_first": cursor is None, "problem": "", "week": "", "needs": ()}
        values["votes"] = None
        if cursor is None and not q and not part:  # the list is asked for again every few seconds
            values |= summary_of(reading, overview, request)
        try:
            search = parse_change_search(q, overview.names(request) if MINE in q.lower() else ())
        except BadInput as error:
            values |= {"problem": str(error), "changes": (), "after": None, "is_unfinished": False}
            return pages.render(request, "changes.html", status=400, **values)
        values["votes"] = MOST_VOTES if search.is_by_vote else None
        newest_first = reading.changes(_PAGE + 1, None if cursor is None else Cursor.decode(cursor), search)
        shown = newest_first[:_PAGE]
        has_more = len(newest_first) > _PAGE
        return pages.render(
            request,
            "changes.html",
            changes=shown,
            after=Cursor(shown[-1].updated_at, shown[-1].id).encode() if has_more else None,
            is_unfinished=any(change.run_state in UNFINISHED for change in shown),
            **values,
        )


def _add_changes(router: APIRouter, reading_of: ReadingOf, pages: Pages, actions_of: ActionsOf) -> None:
    @router.get("/changes/{change}")
    def newest_patch_set(request: Request, change: Address, chosen: ChosenRows) -> HTMLResponse:
        return show_patch_set(request, (ChangeAddress.parse(change), None), chosen)

    @router.get("/changes/{change}/{patch_set}")
    def patch_set(
        request: Request, change: Address, patch_set: Number, chosen: ChosenRows, known: Search = ""
    ) -> HTMLResponse:
        return show_patch_set(request, (ChangeAddress.parse(change), patch_set), chosen, known)

    def show_patch_set(
        request: Request, wanted: tuple[ChangeAddress, int | None], chosen: RowChoice, known: str = ""
    ) -> HTMLResponse:
        reading, (address, number) = reading_of(request), wanted
        detail = reading.patch_set(address, number)
        run = leading(detail.runs)
        decision = next(iter(detail.decisions), None)
        newest = detail.change.patch_set
        is_open = detail.change.status is ChangeStatus.NEW and detail.patch_set.number == newest
        return pages.render(
            request,
            "patch_set.html",
            instance=detail.change.instance,
            detail=detail,
            patch_sets=detail.patch_sets,
            side_by_side=_side_by_side(reading, address, chosen.q) if len(detail.patch_sets) > 1 else None,
            run=run,
            claims=reading.claims(run.id) if run else (),
            sentence=verdict_sentence(run, detail.builds, decision),
            newest=newest,
            known=known,  # the job whose form is open, to make its failure known
            **(tables := _tables(reading, waived(detail.builds), chosen, run, is_open=is_open)),
            actions=actions_of(request, detail, tables["compared"]),
        )


def _add_builds(router: APIRouter, reading_of: ReadingOf, pages: Pages, stream_log: Stream) -> None:
    @router.get("/runs/{run_id}")
    def run(request: Request, run_id: Id, chosen: ChosenRows) -> HTMLResponse:
        reading = reading_of(request)
        detail = reading.run(run_id)
        decision = next(iter(detail.decisions), None)
        return pages.render(
            request,
            "run.html",
            instance=detail.run.instance,
            run=detail.run,
            claims=reading.claims(run_id),
            standing=Standing.of(
                detail.run.kind, detail.run.state, decision.vote if decision else None, detail.builds
            ),
            decisions=detail.decisions,
            sentence=verdict_sentence(detail.run, detail.builds, decision),
            **_tables(
                reading,
                waived(detail.builds),
                chosen,
                detail.run,
                is_open=_is_commented_on(reading, detail.run),
            ),
        )

    @router.get("/job/{job}/{number}")
    def build_without_slash(request: Request, job: JobName, number: Number) -> Response:
        build = reading_of(request).build(job, number).build
        return RedirectResponse(f"/job/{build.job}/{number}/", status_code=308)

    @router.get("/job/{job}/{number}/")
    def build(request: Request, job: JobName, number: Number, chosen: ChosenRows) -> HTMLResponse:
        reading = reading_of(request)
        detail, stored_log = reading.build(job, number), reading.log(job, number)
        run = next(iter(detail.runs), None)
        is_open = run is not None and _is_commented_on(reading, run)
        return pages.render(
            request,
            "build.html",
            instance=run.instance if run else "",
            detail=detail,
            log=stored_log,
            explained=reading.explanations(detail.build.id),
            tail=tail_of(stream_log, stored_log, _TAIL_LINES),
            tests=lay_out(tests_of(stream_log, detail.tests), parse_words(chosen.q)),
            **_tables(reading, [(detail.build, "")], chosen, run, is_open=is_open),
        )


def _add_explanations(router: APIRouter, reading_of: ReadingOf, pages: Pages) -> None:
    """Add the page of an explained benchmark; ``place`` counts those of its build from 1."""

    @router.get("/job/{job}/{number}/why/{place}")
    def why(request: Request, job: JobName, number: Number, place: Number) -> HTMLResponse:
        reading = reading_of(request)
        detail = reading.build(job, number)
        explained = reading.explanations(detail.build.id, place)
        if place > len(explained.items):
            raise NotFound(explained.problem or f"the build {job}/{number} has no such explanation")
        found, run = explained.items[place - 1], next(iter(detail.runs), None)
        return pages.render(
            request,
            "why.html",
            instance=run.instance if run else "",
            detail=detail,
            run=run,
            found=found,
            graph=flame_graph(found.stacks, found.parts) if found.parts else None,
            code=code_groups(found.assembly) if found.assembly else (),
        )


def _is_commented_on(reading: ChangeReading, run: Run) -> bool:
    """Return whether comment commands on the run's change concern the run."""
    if run.kind is not RunKind.CHECK or run.change_address is None:
        return False
    change = reading.change(ChangeAddress.parse(run.change_address)).change
    return change.status is ChangeStatus.NEW and change.run_id == run.id


def _side_by_side(reading: ChangeReading, change: ChangeAddress, q: str) -> PatchSetTable | None:
    measured = reading.measured_patch_sets(change, patch_set_table.MOST_COLUMNS)
    return patch_set_table.lay_out(measured, parse_words(q))


def _tables(
    reading: Reading,
    builds: Sequence[tuple[Build, str]],
    chosen: RowChoice,
    run: Run | None,
    *,
    is_open: bool,
) -> dict[str, Any]:
    tables = tables_of(reading, builds, chosen, run.parent if run else None)
    return tables | {"steps": steps_after(tables["compared"], is_open=is_open)}


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
                choices = error.choices if isinstance(error, Ambiguous) else ()
                page = problem_page(404, reason, account_link_of(request), choices=choices)
                return HTMLResponse(page, 404, {"Cache-Control": "no-cache"})

        return handle_for_people
