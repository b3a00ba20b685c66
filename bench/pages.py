"""``python -m bench.pages``: compare page loads without a session with those without access control."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Final

import click
from fastapi import FastAPI
from fastapi.routing import APIRouter
from sqlalchemy import text
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request

from bench.filling import BENCHMARKS, LONG, Filler
from bench.store import database
from bench.timing import CAVEAT, WARM_UP, met, say, say_load
from dashboards.rendering import problem_page
from dashboards.trunk.trends import CHART_PATHS
from service.adapters.postgres.reading import PostgresReading
from service.adapters.postgres.store import PostgresStore
from service.domain.verdict.inference.estimate import estimate, ratio_of
from service.web.access.authenticate import leave_anonymous
from service.web.guard import Guard
from service.web.problems import install_problems
from tests.support.web import build_app

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Engine
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

CHANGES: Final = 300
PAIRS: Final = 200
RATIO_GOAL: Final = 1.05
ERROR: Final = 0.025  # of either end of an interval
_SHOW: Final = (
    text("UPDATE change SET is_public = true"),
    text("INSERT INTO public_branch (instance, project, branch) VALUES ('review', 'engine', 'main')"),
)
_SERIES: Final = text("SELECT min(id) FROM series WHERE job = :job")


@dataclass(frozen=True, slots=True)
class Page:
    """A page of many changes: its path names a change or a series as ``{change}`` and ``{series}``."""

    name: str
    path: str


PAGES: Final = (
    Page("list of changes", "/"),
    Page("patch set", "/changes/{change}/1"),
    Page("trends", "/trends?series={series}"),
    Page("figure of a trend", "/trends/{series}/figure.json"),
    Page("machines", "/machines"),
    Page("Gerrit's Checks tab", "/api/v1/gerrit/checks?change={change}&patchset=1"),
)


@click.command()
@click.option("--changes", default=CHANGES, show_default=True, type=click.IntRange(min=51))
@click.option("--pairs", default=PAIRS, show_default=True, type=click.IntRange(min=20), help="Of each page.")
def main(changes: int, pairs: int) -> None:
    """Load each page in pairs, with and without access control, in random order; print the ratios."""
    say(CAVEAT)
    say(
        "The baseline is the same application on the same database, but it checks no rights and its queries\n"
        "hide nothing. All changes are public, so that both answer alike."
    )
    say_load("before")
    with database() as engine:
        filler = Filler(PostgresStore(engine), engine)
        filler.prepare()
        filler.add_long_history()
        filler.fill_to(changes * 4 * BENCHMARKS)
        series = show_all(engine)
        say(f"{filler.changes} changes, {filler.results:,} results; {pairs} pairs of each page\n")
        reading = PostgresReading(engine)
        guarded = build_app(reading.seen_by(None))
        compared = Compared(guarded, without_access_control(build_app(reading)), filler.changes, series)
        with asyncio.Runner() as runner:
            for page in PAGES:
                say(ratio_line(page.name, *runner.run(compared.times(page, pairs))))
    say_load("after")


def show_all(engine: Engine) -> int:
    """Make everything public, and let PostgreSQL count its rows; return a series with a long history."""
    with engine.begin() as connection:
        for statement in _SHOW:
            connection.execute(statement)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM (ANALYZE)")
        return int(connection.execute(_SERIES, {"job": LONG}).scalar_one())


def without_access_control(app: FastAPI) -> ASGIApp:
    """Return an application with the routes of another, which checks no rights: everybody is anonymous."""
    bare = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    bare.state = app.state
    for route in app.routes:
        router = getattr(route, "original_router", None)
        if isinstance(router, APIRouter):
            bare.include_router(router)
    install_problems(bare, problem_page)
    bare.add_middleware(GZipMiddleware, minimum_size=1024, compresslevel=5)
    bare.add_middleware(Guard, chart_paths=CHART_PATHS)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        leave_anonymous(Request(scope))
        await bare(scope, receive, send)

    return answer


class Compared:
    """Two applications, and the pages of changes and of a series that both have."""

    def __init__(self, guarded: ASGIApp, bare: ASGIApp, changes: int, series: int) -> None:
        self._apps = (bare, guarded)
        self._changes = changes
        self._series = series

    async def times(self, page: Page, pairs: int) -> tuple[list[float], list[float]]:
        """Return the seconds of each load: without access control, and with it."""
        for k in range(WARM_UP):
            # The work is equal only if the answers are.
            path = self._path(page, k)
            bodies = {await load(app, path) for app in self._apps}
            if len(bodies) != 1:
                raise click.ClickException(f"{path} differs without access control")
        order = Random(page.name)  # noqa: S311 - repeatable on purpose
        seconds: tuple[list[float], list[float]] = ([], [])
        for k in range(pairs):
            path = self._path(page, k)
            for side in order.sample((0, 1), 2):
                begun = time.perf_counter()
                await load(self._apps[side], path)
                seconds[side].append(time.perf_counter() - begun)
        return seconds

    def _path(self, page: Page, k: int) -> str:
        """Name another change each time, from all over the table."""
        return page.path.format(change=1 + k * 7919 % self._changes, series=self._series)


async def load(app: ASGIApp, path: str, encoding: str = "gzip") -> bytes:
    """Load a page as a browser without a session does, and return the body as it is sent.

    Raises:
        click.ClickException: the answer is not that page.
    """
    path, _, query = path.partition("?")
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "query_string": query.encode(),
        "headers": [
            (b"host", b"localhost"),
            (b"accept", b"text/html"),
            (b"accept-encoding", encoding.encode()),
        ],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
    }
    await app(scope, receive, send)
    if sent[0]["status"] != 200:
        raise click.ClickException(f"{path} answers {sent[0]['status']}")
    return b"".join(message.get("body", b"") for message in sent)


def ratio_line(name: str, bare: Sequence[float], guarded: Sequence[float]) -> str:
    """The medians of a page, their ratio with its 95 % interval, and whether the goal is met."""
    found = estimate(bare, guarded)
    low, high = (ratio_of(end) for end in found.interval(ERROR))
    return (
        f"  {name:<20} {median(guarded) * 1e3:6.1f} ms, without {median(bare) * 1e3:6.1f} ms, "
        f"ratio {found.ratio:.3f} [{low:.3f}, {high:.3f}]  "
        f"goal <= {RATIO_GOAL}: {met(found.ratio <= RATIO_GOAL)}"
    )


if __name__ == "__main__":
    main()
