"""Call the web application over a fake read port, in memory or on loopback."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from contextlib import contextmanager
from datetime import timedelta
from functools import cache, partial
from itertools import chain, repeat
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

import httpx
import uvicorn
from prometheus_client import CollectorRegistry
from uvicorn.protocols.http.h11_impl import H11Protocol

from dashboards.access.pages import account_renderer, create_audit
from dashboards.assets import create_assets
from dashboards.failures.pages import create_failures
from dashboards.pages import create_pages
from dashboards.rendering import Pages, problem_page, sign_in_page
from dashboards.review.overview import NO_OVERVIEW
from dashboards.trunk.compare import create_compare
from dashboards.trunk.pages import create_regressions
from dashboards.trunk.trends import CHART_PATHS
from service.adapters.access.recent_answers import RecentAnswers
from service.domain.machines.disk import Disk
from service.domain.review.links import Links
from service.domain.values.errors import NotFound
from service.ports.building import ArtifactKind
from service.steps.access.override_rights import OverrideRights
from service.steps.failures.change_known import KnownChanges
from service.steps.review.offered_actions import ActionOffers
from service.steps.runs.check_health import HealthCheck
from service.steps.runs.record_external_build import record_once
from service.steps.runs.record_tests import record_tests
from service.web.access.account import create_account
from service.web.access.sign_in import WaysIn, create_sign_in
from service.web.api import create_api
from service.web.application import assemble
from service.web.building.artifacts import create_artifacts
from service.web.failures.api import create_failures_api
from service.web.failures.changes import PageKnownChanges, create_known_changes
from service.web.failures.patterns import PagePatterns, create_patterns
from service.web.health import create_health
from service.web.machines.closures import PageClosures, create_closing
from service.web.metrics import Metrics
from service.web.review.actions import PageActions, create_actions
from service.web.review.checks import create_gerrit_checks
from service.web.review.webhooks import create_webhooks
from service.web.runs.external_builds import create_external_builds
from service.web.trunk.api import create_commits_api, create_regressions_api
from service.web.trunk.commits import PageCommits, create_comparing
from service.web.trunk.regressions import PageRegressions, create_triage
from tests.support.access.callers import Callers
from tests.support.memory.audit import MemoryAuditLog
from tests.support.memory.files import MemoryArtifacts
from tests.support.memory.sessions import MemorySessions
from tests.support.memory.state import Memory
from tests.support.memory.store import MemoryStore
from tests.support.memory.tokens import MemoryTokens
from tests.support.reading.fake_reading import FakeReading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from fastapi import APIRouter, FastAPI, Request
    from starlette.routing import BaseRoute
    from starlette.types import Receive as ASGIReceive
    from starlette.types import Scope, Send

    from dashboards.review.overview import Overview
    from service.ports.access import AuditLog
    from service.ports.building import ArtifactStore
    from service.ports.commits import CommitReading
    from service.ports.failures.reading import FailureReading
    from service.ports.reading import Reading
    from service.ports.store import Store
    from service.ports.trunk import RegressionReading
    from service.web.access.authenticate import Access

    Receive = Callable[[str, Sequence[bytes]], Sequence[int | None]]

GERRIT = "https://review.example.com"
SECRETS = ("first-secret-of-the-hook", "second-secret-of-the-hook")


def build_app(
    reading: Reading,
    *,
    receive: Receive = lambda _, bodies: [1] * len(bodies),
    secrets: Sequence[str] = SECRETS,
    logs: Mapping[str, bytes] | None = None,
    review_urls: Mapping[str, str] = MappingProxyType({}),
    access: Access | None = None,
    audit_log: AuditLog | None = None,
    tokens: MemoryTokens | None = None,
    offers: ActionOffers | None = None,
    store: Store | None = None,
    known: PageKnownChanges | None = None,
    patterns: PagePatterns | None = None,
    regressions: PageRegressions | None = None,
    commits: PageCommits | None = None,
    overview: Overview = NO_OVERVIEW,
) -> FastAPI:
    """The whole application as the service puts it together."""

    registry, tokens = _registry(reading), tokens or MemoryTokens()
    access, offers = access or Callers().access(), offers or ActionOffers(RecentAnswers({}))
    store = store or MemoryStore()
    actions, closures = PageActions(store, offers, lambda _: reading), PageClosures(store)
    routers = [
        _sign_in(access),
        create_api(lambda _: reading),
        create_external_builds(
            ("review",),
            partial(record_once, MemoryStore()),
            partial(record_tests, MemoryStore(), MemoryArtifacts()),
        ),
        create_artifacts(dict.fromkeys(ArtifactKind, MemoryArtifacts()), lambda _: True),
        create_gerrit_checks(lambda _: reading, Links("https://bench.example.com"), {GERRIT: "gerrit"}),
        create_webhooks({"gerrit": secrets}, receive, registry),
        create_health(reading, registry),
        create_actions(actions),
        create_pages(
            lambda _: reading,
            pages=Pages(HealthCheck(reading), review_urls),
            stream_log=partial(_stream_log, logs or {}),
            actions_of=actions.forms_for,
            overview=overview,
            closing_of=closures.form_for,
        ),
        create_closing(closures),
        *_known_failures(known, patterns, HealthCheck(reading)),
        *_regressions(regressions, reading),
        *_compare(commits, reading),
        create_account(tokens, account_renderer(HealthCheck(reading), lambda: tokens.memory.now)),
        create_audit(audit_log or MemoryAuditLog(Memory()), HealthCheck(reading)),
    ]
    return _assemble(routers, access)


def _stream_log(logs: Mapping[str, bytes], key: str) -> Iterator[bytes]:
    if key not in logs:
        raise NotFound("the log is gone")
    yield logs[key]


def _registry(reading: Reading) -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(Metrics(reading, "0.1.0", lambda: {"home": Disk(total=100, free=40)}))
    return registry


def _sign_in(access: Access) -> APIRouter:
    ways_in = WaysIn(
        sessions=MemorySessions(), tokens=MemoryTokens(), address=access.address, limits=access.limits
    )
    return create_sign_in(ways_in, sign_in_page)


def _known_failures(
    known: PageKnownChanges | None, patterns: PagePatterns | None, health: HealthCheck
) -> tuple[APIRouter, ...]:
    changes, nobody = KnownChanges(MemoryStore()), OverrideRights(RecentAnswers({}))
    known = known or PageKnownChanges(changes, nobody, _no_failures)
    patterns = patterns or PagePatterns(changes, nobody, _no_failures)
    return (
        create_failures_api(known.reading_of),
        create_failures(known.reading_of, health, known.form_for, patterns),
        create_patterns(patterns),
        create_known_changes(known),
    )


def _regressions(page: PageRegressions | None, reading: Reading) -> tuple[APIRouter, ...]:
    page = page or PageRegressions(MemoryStore(), OverrideRights(RecentAnswers({})), _no_regressions)
    health, links = HealthCheck(reading), Links("https://bench.example.com")
    pages = create_regressions(page.reading_of, lambda _: reading, health, page.form_for, links)
    return create_regressions_api(page.reading_of), create_triage(page), pages


def _compare(page: PageCommits | None, reading: Reading) -> tuple[APIRouter, ...]:
    page = page or PageCommits(MemoryStore(), OverrideRights(RecentAnswers({})), _no_commits)
    pages = create_compare(page.reading_of, lambda _: reading, HealthCheck(reading), page.form_for)
    return create_commits_api(page.reading_of, lambda _: reading), create_comparing(page), pages


def build_compare(access: Access, page: PageCommits, reading: Reading) -> FastAPI:
    """Build the page that compares commits, with its form and API, alone."""
    return _assemble([create_assets(), *_compare(page, reading)], access)


def _no_commits(request: Request) -> CommitReading:
    raise NotFound(f"{request.url.path}: nothing is stored")


def build_regressions(access: Access, page: PageRegressions, builds: Reading | None = None) -> FastAPI:
    """Build the pages, forms and API of regressions alone; None: nobody sees a build."""
    return _assemble([create_assets(), *_regressions(page, builds or FakeReading())], access)


def build_failures(access: Access, known: PageKnownChanges, patterns: PagePatterns) -> FastAPI:
    """Build the pages and forms of known failures alone, in a tenth of the time of all."""
    return _assemble([create_assets(), *_known_failures(known, patterns, HealthCheck(FakeReading()))], access)


def _no_failures(request: Request) -> FailureReading:
    raise NotFound(f"{request.url.path}: nothing is stored")


def _no_regressions(request: Request) -> RegressionReading:
    raise NotFound(f"{request.url.path}: nothing is stored")


def build_pages(
    reading: Reading,
    *,
    uptime: timedelta = timedelta(0),
    checks: Mapping[str, Callable[[], str]] = MappingProxyType({}),
    logs: Mapping[str, bytes] = MappingProxyType({}),
    review_urls: Mapping[str, str] = MappingProxyType({}),
    overview: Overview = NO_OVERVIEW,
) -> FastAPI:
    """The pages and the health routes alone, which are put together in a third of the time."""
    registry = _registry(reading)
    moments = chain([0.0], repeat(uptime.total_seconds()))  # of the start, and of all reports
    health = HealthCheck(reading, checks=checks, clock=lambda: next(moments))
    routers = [
        create_health(reading, registry, health=health),
        create_pages(
            lambda _: reading,
            pages=Pages(health, review_urls),
            stream_log=partial(_stream_log, logs),
            overview=overview,
        ),
    ]
    return _assemble(routers)


def build_api(reading: Reading) -> FastAPI:
    """The API that reads alone."""
    return _assemble([create_api(lambda _: reading)])


def build_acting(reading: Reading, access: Access, store: Store, offers: ActionOffers) -> FastAPI:
    """Build the pages, and the forms for acting on a change, alone."""
    actions, pages = PageActions(store, offers, lambda _: reading), Pages(HealthCheck(reading))
    shown = create_pages(
        lambda _: reading, pages=pages, stream_log=partial(_stream_log, {}), actions_of=actions.forms_for
    )
    return _assemble([create_actions(actions), shown], access)


def build_account(
    access: Access, *, tokens: MemoryTokens | None = None, audit_log: AuditLog | None = None
) -> FastAPI:
    """Build the pages of the caller's account and of the audit log alone."""
    health, tokens = HealthCheck(FakeReading()), tokens or MemoryTokens()
    routers = [
        create_assets(),
        create_account(tokens, account_renderer(health, lambda: tokens.memory.now)),
        create_audit(audit_log or MemoryAuditLog(Memory()), health),
    ]
    return _assemble(routers, access)


def build_artifacts(
    stores: Mapping[ArtifactKind, ArtifactStore], access: Access, leases: set[str]
) -> FastAPI:
    """Build the routes of artifacts alone; ``leases`` are the machines that hold a build."""
    return _assemble([create_artifacts(stores, leases.__contains__)], access)


def build_webhooks(receive: Receive, secrets: Sequence[str] = SECRETS) -> FastAPI:
    """Build the webhook and the health routes alone, as quickly."""
    registry = CollectorRegistry()
    routers = [
        create_webhooks({"gerrit": secrets}, receive, registry),
        create_health(FakeReading(), registry),
    ]
    return _assemble(routers)


class _Later:
    def __init__(self, make: Callable[[], FastAPI]) -> None:
        self._made = cache(make)

    def __getattr__(self, name: str) -> object:
        return getattr(self._made(), name)

    async def __call__(self, scope: Scope, receive: ASGIReceive, send: Send) -> None:
        await self._made()(scope, receive, send)


def later(make: Callable[[], FastAPI]) -> FastAPI:
    """Put an application together at its first use: every process imports all tests, and one runs them."""
    return cast("FastAPI", _Later(make))


def _assemble(routers: Sequence[APIRouter], access: Access | None = None) -> FastAPI:
    return assemble(
        routers,
        access=access or Callers().access(),
        version="0.1.0",
        chart_paths=CHART_PATHS,
        problem_page=problem_page,
    )


def routes_of(routes: Iterable[BaseRoute]) -> Iterator[tuple[str, str]]:
    """The methods and path templates of all routes, also of those that other routers include."""
    for route in routes:
        inner = getattr(route, "original_router", None) or getattr(route, "app", None)
        methods = getattr(route, "methods", None)
        if methods is not None:
            yield from ((method, route.path) for method in methods)  # type: ignore[attr-defined]
        elif inner is not None:
            yield from routes_of(inner.routes)
        else:
            raise AssertionError(f"a route of an unknown kind: {route!r}")


def call(app: FastAPI, method: str, path: str, **more: object) -> httpx.Response:
    """One request, answered in memory."""

    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.request(method, path, **more)  # type: ignore[arg-type]

    return asyncio.run(send())


@contextmanager
def serving(app: FastAPI, protocol: type[H11Protocol] = H11Protocol) -> Iterator[str]:
    """The address of the application on a free port of loopback."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", http=protocol))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        deadline = time.monotonic() + 20
        while not server.started and thread.is_alive() and time.monotonic() < deadline:
            thread.join(0.02)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()
