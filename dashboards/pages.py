"""The routes of the pages: read, lay out, render."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Path, Query
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse, Response
from fastapi.routing import APIRoute

from dashboards.across import MOST_COLUMNS, Across, lay_across
from dashboards.assets import create_assets
from dashboards.comparing import SIGNIFICANT, Table, lay_out
from dashboards.rendering import Pages
from dashboards.sentences import UNFINISHED, verdict_sentence
from dashboards.trends import add_trends
from service.domain.errors import BadInput, NotFound
from service.domain.search import parse_words
from service.ports.views import Cursor

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from fastapi import Request
    from fastapi.responses import HTMLResponse

    from service.domain.health import Patience
    from service.ports.reading import Reading
    from service.ports.views import BuildSummary

INLINE_STYLE_PATHS: Final = ("/trends",)  # Plotly sets styles on the elements that it draws
_PAGE: Final = 50
_MOST_STATUSES: Final = 500  # rows of one table that a person looks through
_LOG_BYTES: Final = 4 << 20  # more of a log than a browser shows with ease
_TAIL_LINES: Final = 80
Number = Annotated[int, Path(ge=1, le=(1 << 31) - 1)]
Id = Annotated[int, Path(ge=1, le=(1 << 63) - 1)]
JobName = Annotated[str, Path(max_length=100)]
Show = Annotated[str, Query(max_length=20)]
Search = Annotated[str, Query(max_length=200)]


@dataclass(frozen=True, slots=True)
class ShownBuild:
    """A build with its table; None where it has nothing to compare."""

    build: BuildSummary
    table: Table | None


def create_pages(
    reading: Reading,
    *,
    read_log: Callable[[str], bytes],
    patience: Patience | None = None,
) -> APIRouter:
    """All pages with their scripts and styles.

    Args:
        reading: where everything shown comes from.
        read_log: the bytes of a log's artifact; may raise NotFound.
        patience: how long something may wait before every page says so.
    """
    pages = Pages(reading, patience)
    router = APIRouter(include_in_schema=False, route_class=_page_route(pages))
    _add_changes(router, reading, pages)
    _add_builds(router, reading, pages, read_log)
    add_trends(router, reading, pages)

    @router.get("/machines")
    def machines() -> HTMLResponse:
        found = list(reading.voting_statuses(_MOST_STATUSES + 1))
        return pages.render(
            "machines.html",
            machines=reading.machines(),
            condition=reading.condition(),
            voting_statuses=found[:_MOST_STATUSES],
            has_more=len(found) > _MOST_STATUSES,
        )

    whole = APIRouter(include_in_schema=False)
    whole.include_router(router)
    whole.include_router(create_assets())
    return whole


def _add_changes(router: APIRouter, reading: Reading, pages: Pages) -> None:
    @router.get("/")
    def changes(cursor: Annotated[str | None, Query(max_length=200)] = None) -> HTMLResponse:
        found = list(reading.changes(_PAGE + 1, None if cursor is None else Cursor.decode(cursor)))
        shown = found[:_PAGE]
        after = Cursor(shown[-1].updated_at, shown[-1].id).encode() if len(found) > _PAGE else None
        is_unfinished = any(change.run_state in UNFINISHED for change in shown)
        return pages.render(
            "changes.html", changes=shown, after=after, is_first=cursor is None, is_unfinished=is_unfinished
        )

    @router.get("/changes/{number}")
    def change(number: Number, q: Search = "", show: Show = SIGNIFICANT) -> HTMLResponse:
        return show_patch_set(number, None, q, show)

    @router.get("/changes/{number}/{patch_set}")
    def patch_set(
        number: Number, patch_set: Number, q: Search = "", show: Show = SIGNIFICANT
    ) -> HTMLResponse:
        return show_patch_set(number, patch_set, q, show)

    def show_patch_set(number: int, wanted: int | None, q: str, show: str) -> HTMLResponse:
        found = reading.patch_set(number, wanted)
        run = next((run for run in found.runs if run.kind == "check"), None)
        decision = next(iter(found.decisions), None)
        patch_sets = reading.change(number).patch_sets
        return pages.render(
            "patch_set.html",
            found=found,
            patch_sets=patch_sets,
            across=_across(reading, number, q) if len(patch_sets) > 1 else None,
            run=run,
            decision=decision,
            sentence=verdict_sentence(run, found.builds, decision),
            **_tables(reading, found.builds, q, show),
        )


def _add_builds(router: APIRouter, reading: Reading, pages: Pages, read_log: Callable[[str], bytes]) -> None:
    @router.get("/runs/{run_id}")
    def run(run_id: Id, q: Search = "", show: Show = SIGNIFICANT) -> HTMLResponse:
        found = reading.run(run_id)
        decision = next(iter(found.decisions), None)
        return pages.render(
            "run.html",
            found=found,
            run=found.run,
            decision=decision,
            sentence=verdict_sentence(found.run, found.builds, decision),
            **_tables(reading, found.builds, q, show),
        )

    @router.get("/job/{job}/{number}")
    def build_without_slash(job: JobName, number: Number) -> Response:
        found = reading.build(job, number).build
        return RedirectResponse(f"/job/{found.job}/{found.number}/", status_code=308)

    @router.get("/job/{job}/{number}/")
    def build(job: JobName, number: Number, q: Search = "", show: Show = SIGNIFICANT) -> HTMLResponse:
        found = reading.build(job, number)
        return pages.render(
            "build.html",
            found=found,
            tail=_tail(read_log, found.log),
            **_tables(reading, [found.build], q, show),
        )

    @router.get("/job/{job}/{number}/log")
    def log(job: JobName, number: Number) -> Response:
        key = reading.build(job, number).log
        if key is None:
            raise NotFound(f"the build {job}/{number} has no log")
        data = read_log(key)
        kept = data[-_LOG_BYTES:]
        cut = f"… {len(data) - len(kept)} bytes before this are left out\n".encode() if kept != data else b""
        return Response(cut + kept, media_type="text/plain; charset=utf-8")


def _across(reading: Reading, change: int, q: str) -> Across | None:
    return lay_across(reading.measured_patch_sets(change, MOST_COLUMNS), parse_words(q))


def _tables(reading: Reading, builds: Sequence[BuildSummary], q: str, show: str) -> dict[str, Any]:
    words = parse_words(q)
    shown = []
    for build in builds:
        rows = reading.comparisons(build.id, build.created_at) if build.kind == "benchmark" else []
        shown.append(ShownBuild(build, lay_out(rows, show, words, build.floor) if rows else None))
    return {"builds": shown, "q": q, "show": show}


def _tail(read_log: Callable[[str], bytes], key: str | None) -> str:
    if key is None:
        return ""
    try:
        text = read_log(key)[-(64 << 10) :].decode(errors="replace")
    except NotFound:
        return "The log is no longer kept."
    except BadInput as error:  # larger than the store hands out at once
        return f"The log cannot be shown: {error}"
    return "\n".join(text.splitlines()[-_TAIL_LINES:])


def _page_route(pages: Pages) -> type[APIRoute]:
    class PageRoute(APIRoute):
        """A route whose errors are pages too: a person followed a link."""

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def handle_for_people(request: Request) -> Response:
                try:
                    return await handle(request)
                except (NotFound, RequestValidationError, BadInput) as error:
                    is_ours = not isinstance(error, RequestValidationError)
                    reason = str(error) if is_ours else "The address is not one of ours."
                    return pages.render("not_found.html", status=404, reason=reason)

            return handle_for_people

    return PageRoute
