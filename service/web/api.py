"""The HTTP API: what the pages show, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Path, Query, Request

from service.domain.review.change_search import parse_change_search
from service.domain.values.errors import BadInput, NotFound
from service.domain.values.identity import ADDRESS, ChangeAddress
from service.domain.values.search import parse_words
from service.domain.verdict.calibration.usefulness import faults_of
from service.domain.verdict.explanation.explanation import MOST_EXPLAINED
from service.ports.review.shown import ChangeWithPatchSets, Cursor
from service.ports.runs.shown import RunWithBuilds, leading
from service.ports.verdict import Comparison, Samples, SeriesWithPoints
from service.steps.runs.summarise_run import verdict_sentence
from service.steps.verdict.review_benchmarks import measured_lately, votes_of
from service.web import schemas
from service.web.conditional import ConditionalRoute
from service.web.problems import RESPONSES
from service.web.runs.explanations import ExplainedBenchmark, Explanations

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from service.ports.reading import Reading

    ReadingOf = Callable[[Request], Reading]

_CHANGES = "`words -not`, and operators like `owner:` and `vote:-1`, as on the page; not `is:mine`"
Number = Annotated[int, Path(ge=1, le=(1 << 31) - 1, examples=[2])]
Address = Annotated[
    str,
    Path(
        pattern=ADDRESS,
        description="its number; `instance~number` if several review servers have it",
        examples=["4711", "core~4711"],
    ),
]
Id = Annotated[int, Path(ge=1, le=(1 << 63) - 1, examples=[41])]
JobName = Annotated[str, Path(max_length=100, examples=["kv-engine-cv-perf"])]
Words = Annotated[str, Query(max_length=200, description="`words -not`", examples=["hash -threads"])]
Limit = Annotated[int, Query(ge=1, le=200, description="items of a page")]
CursorText = Annotated[str | None, Query(max_length=200, description="`next` of the previous page")]


def create_api(reading_of: ReadingOf) -> APIRouter:
    """Create the routes below ``/api/v1``; all of them only read.

    Args:
        reading_of: returns the read ports that the caller of a request may use.
    """
    router = APIRouter(prefix="/api/v1", route_class=ConditionalRoute, responses=RESPONSES)
    _add_changes(router, reading_of)
    _add_builds(router, reading_of)
    _add_series(router, reading_of)
    _add_benchmarks(router, reading_of)
    _add_machines(router, reading_of)
    return router


def _add_changes(router: APIRouter, reading_of: ReadingOf) -> None:
    @router.get("/changes", operation_id="listChanges", tags=["changes"])
    def list_changes(
        request: Request,
        q: Annotated[str, Query(max_length=200, description=_CHANGES)] = "",
        limit: Limit = 50,
        cursor: CursorText = None,
    ) -> schemas.Changes:
        """Changes with the vote on their newest patch set, the most recently updated first."""
        after = None if cursor is None else Cursor.decode(cursor)
        changes = tuple(reading_of(request).changes(limit + 1, after, parse_change_search(q)))
        page, more = changes[:limit], len(changes) > limit
        end = Cursor(page[-1].updated_at, page[-1].id).encode() if more else None
        return schemas.Changes(items=page, next=end)

    @router.get("/changes/{change}", operation_id="getChange", tags=["changes"])
    def get_change(request: Request, change: Address) -> ChangeWithPatchSets:
        """A change with all its patch sets."""
        return reading_of(request).change(ChangeAddress.parse(change))

    @router.get("/changes/{change}/patch-sets", operation_id="listMeasuredPatchSets", tags=["changes"])
    def list_measured_patch_sets(
        request: Request,
        change: Address,
        limit: Annotated[int, Query(ge=1, le=20, description="patch sets of a page")] = 6,
        cursor: CursorText = None,
    ) -> schemas.MeasuredPatchSets:
        """The patch sets of a change that have comparisons, each against its own parent, newest first."""
        before = None if cursor is None else last_id(cursor)
        measured = reading_of(request).measured_patch_sets(ChangeAddress.parse(change), limit, before)
        items = measured.patch_sets
        return schemas.MeasuredPatchSets(items=items, next=str(items[-1].number) if measured.older else None)

    @router.get("/changes/{change}/patch-sets/{patch_set}", operation_id="getPatchSet", tags=["changes"])
    def get_patch_set(request: Request, change: Address, patch_set: Number) -> schemas.PatchSetWithBuilds:
        """The vote on a patch set with its decisions and overrides, its builds and their comparisons."""
        reading = reading_of(request)
        detail = reading.patch_set(ChangeAddress.parse(change), patch_set)
        decision = next(iter(detail.decisions), None)
        return schemas.PatchSetWithBuilds(
            change=detail.change,
            patch_set=detail.patch_set,
            vote=detail.patch_set.vote,
            sentence=verdict_sentence(leading(detail.runs), detail.builds, decision),
            decisions=detail.decisions,
            overrides=detail.overrides,
            problems=detail.problems,
            runs=detail.runs,
            builds=tuple(
                schemas.with_comparisons(
                    schemas.BuildWithComparisons, build, reading.comparisons(build.id, build.created_at)
                )
                for build in detail.builds
            ),
        )


def _add_builds(router: APIRouter, reading_of: ReadingOf) -> None:
    @router.get("/runs/{run_id}", operation_id="getRun", tags=["builds"])
    def get_run(request: Request, run_id: Id) -> RunWithBuilds:
        """A run with its builds and the decisions it led to."""
        return reading_of(request).run(run_id)

    @router.get("/runs/{run_id}/claims", operation_id="listClaims", tags=["builds"])
    def list_claims(request: Request, run_id: Id) -> schemas.Claims:
        """Claims of the commit message in its order, each with the measured ratio that answers it."""
        return schemas.Claims(items=tuple(reading_of(request).claims(run_id)))

    @router.get("/builds/{job}/{number}", operation_id="getBuild", tags=["builds"])
    def get_build(request: Request, job: JobName, number: Number) -> schemas.BuildWithEnvironment:
        """A build with its environment, comparisons and the commits of other repositories."""
        reading = reading_of(request)
        detail = reading.build(job, number)
        rows = reading.comparisons(detail.build.id, detail.build.created_at)
        repositories = schemas.repositories_of(detail)
        return schemas.with_comparisons(schemas.BuildWithEnvironment, detail, rows, repositories=repositories)

    @router.get("/builds/{job}/{number}/samples", operation_id="getSamples", tags=["builds"])
    def get_samples(
        request: Request,
        job: JobName,
        number: Number,
        series: Annotated[int | None, Query(ge=1, le=(1 << 63) - 1)] = None,
        suite: Annotated[str, Query(max_length=200)] = "",
        benchmark: Annotated[str, Query(max_length=10_000)] = "",
        metric: Annotated[str, Query(max_length=1000)] = "",
    ) -> Samples:
        """Every sample of one comparison, named by its series, or by suite, benchmark and metric."""
        reading = reading_of(request)
        build = reading.build(job, number).build
        if series is None:
            rows = reading.comparisons(build.id, build.created_at)
            series = _series_named(rows, (suite, benchmark, metric))
        return reading.samples(build.id, build.created_at, series)

    @router.get("/builds/{job}/{number}/explanations", operation_id="getExplanations", tags=["builds"])
    def get_explanations(
        request: Request,
        job: JobName,
        number: Number,
        stacks: Annotated[
            int | None,
            Query(ge=1, le=MOST_EXPLAINED, description="the item, from 1, with its stacks and instructions"),
        ] = None,
    ) -> Explanations:
        """Causes of slower benchmarks of a build: what was counted, functions whose time grew, and lines."""
        reading = reading_of(request)
        found = reading.explanations(reading.build(job, number).build.id, stacks or 0)
        if stacks and stacks > len(found.items):
            raise NotFound(found.problem or f"the build {job}/{number} has no such explanation")
        items = (
            ExplainedBenchmark.of(each, is_whole=place == stacks) for place, each in enumerate(found.items, 1)
        )
        return Explanations(items=tuple(items), problem=found.problem)


def _add_series(router: APIRouter, reading_of: ReadingOf) -> None:
    @router.get("/series", operation_id="searchSeries", tags=["series"])
    def search_series(
        request: Request,
        q: Words = "",
        limit: Limit = 50,
        cursor: CursorText = None,
    ) -> schemas.SeriesPage:
        """Series whose names contain all words and none of those with a minus before them."""
        series = tuple(reading_of(request).series(parse_words(q), limit + 1, last_id(cursor)))
        page, more = series[:limit], len(series) > limit
        return schemas.SeriesPage(items=page, next=str(page[-1].id) if more else None)

    @router.get("/series/{series_id}", operation_id="getSeries", tags=["series"])
    def get_series(
        request: Request,
        series_id: Id,
        limit: Annotated[int, Query(ge=1, le=2000, description="newest points of each kind")] = 200,
    ) -> SeriesWithPoints:
        """The points of a series, oldest first: merged commits, and patch sets beside them."""
        return reading_of(request).trend(series_id, limit)

    @router.get("/series/{series_id}/levels", operation_id="getLevels", tags=["series"])
    def get_levels(
        request: Request,
        series_id: Id,
        since: Annotated[
            str,
            Query(
                pattern="^([0-9a-f]{7,64})?$",
                description="its id, or the first seven or more digits; default: the oldest",
                examples=["f1db58c"],
            ),
        ] = "",
        limit: Annotated[int, Query(ge=1, le=2000, description="newest measured commits")] = 200,
    ) -> schemas.SeriesLevels:
        """The distance of each measured commit from a chosen one, and what each step and range changed."""
        return schemas.levels_of(reading_of(request).trend(series_id, limit), since)


def _add_benchmarks(router: APIRouter, reading_of: ReadingOf) -> None:
    @router.get("/benchmarks", operation_id="listBenchmarks", tags=["series"])
    def list_benchmarks(
        request: Request,
        q: Annotated[str, Query(max_length=200, description="`words -not`")] = "",
        limit: Limit = 50,
        cursor: CursorText = None,
    ) -> schemas.Benchmarks:
        """Series that checks and merged commits measured lately: noise, faults, and whether they vote."""
        reading, words, after = reading_of(request), parse_words(q), last_id(cursor)
        now = reading.condition().now
        everything = measured_lately(reading, now)
        faults = faults_of(everything)  # of all, because a page may end within a benchmark or a job
        rows = [row for row in everything if row.id > after and words.matches(row.text)]
        page, votes = rows[:limit], votes_of(reading, rows[:limit], now)
        items = tuple(schemas.MeasuredBenchmark.of(row, faults.get(row.id), votes[row.id]) for row in page)
        return schemas.Benchmarks(items=items, next=str(page[-1].id) if len(rows) > limit else None)


def _add_machines(router: APIRouter, reading_of: ReadingOf) -> None:
    @router.get("/machines", operation_id="listMachines", tags=["machines"])
    def list_machines(request: Request) -> schemas.Machines:
        """All machines by pool and name: what each runs, what keeps it from work, and its environment."""
        return schemas.Machines(items=tuple(reading_of(request).machines()))

    @router.get("/queue", operation_id="listQueue", tags=["machines"])
    def list_queue(request: Request, limit: Limit = 50, cursor: CursorText = None) -> schemas.Queue:
        """Builds that wait or run, by pool: those on a machine, then the queue with place and reason.

        The cursor is an offset: builds that begin or end meanwhile move the pages.
        """
        begin = last_id(cursor)
        builds = tuple(reading_of(request).unfinished_builds(limit + 1, begin))
        end = str(begin + limit) if len(builds) > limit else None
        return schemas.Queue(items=builds[:limit], next=end)

    @router.get("/voting-statuses", operation_id="listVotingStatuses", tags=["machines"])
    def list_voting_statuses(
        request: Request, limit: Limit = 50, cursor: CursorText = None
    ) -> schemas.VotingStatusPage:
        """Each series on each machine: noise, false alarms, and whether it may vote."""
        last, _, machine = (cursor or "").partition(":")
        after = None if cursor is None else (machine, last_id(last))
        statuses = reading_of(request).voting_statuses(limit + 1, after)
        items, more = statuses[:limit], len(statuses) > limit
        page = {"items": items, "next": f"{items[-1].series.id}:{items[-1].machine}" if more else None}
        return schemas.VotingStatusPage.model_validate(page, from_attributes=True)


def _series_named(rows: Sequence[Comparison], wanted: tuple[str, str, str]) -> int:
    for row in rows:
        if (row.suite, row.benchmark, row.metric) == wanted:
            return row.series_id
    raise NotFound("the build has no comparison of that suite, benchmark and metric")


def last_id(cursor: str | None) -> int:
    """Read the id in a cursor; 0 without one. Raises BadInput."""
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 20):  # noqa: PLR2004 - digits of 2⁶³
        raise BadInput("the cursor is not one that this service gave out", "cursor")
    return int(cursor)
