"""Assemble the web application that ``benchgate serve`` runs."""

from __future__ import annotations

import gc
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from threading import Semaphore
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry

from dashboards.access.pages import account_renderer, create_audit
from dashboards.failures.pages import create_failures
from dashboards.pages import create_pages
from dashboards.rendering import Pages, problem_page, sign_in_page
from dashboards.review.overview import EXPIRING_DAYS, MOST_LINES, Overview
from dashboards.trunk.compare import create_compare
from dashboards.trunk.pages import create_regressions
from dashboards.trunk.trends import CHART_PATHS
from service.adapters.access.oidc import OidcProvider
from service.adapters.access.recent_answers import RecentAnswers
from service.adapters.access.sign_in_secret import read_secret
from service.adapters.access.viewers import Viewers
from service.adapters.postgres.room import DatabaseRoom
from service.adapters.review.gerrit.events import parse_event
from service.adapters.system.circuit_breaker import MOST_WAITING, CircuitBreaker
from service.adapters.system.disk import disk_of, disks_of
from service.config.control import ControlSettings
from service.domain.access.caller import Role, User
from service.domain.runs.health import LISTEN, RECONCILE, Patience
from service.domain.values.errors import Permanent, Transient
from service.domain.wording.health import git_url_problem
from service.ports.building import ArtifactKind
from service.steps.access.override_rights import OverrideRights
from service.steps.access.refused_sign_ins import RefusedSignIns
from service.steps.access.sign_in import ProviderSignIn
from service.steps.failures.change_known import KnownChanges
from service.steps.review.offered_actions import ActionOffers
from service.steps.review.receive_event import receive_events
from service.steps.runs.check_health import HealthCheck
from service.steps.runs.record_external_build import record_once
from service.steps.runs.record_tests import record_tests
from service.web.access.account import create_account
from service.web.access.address import Address
from service.web.access.authenticate import known_caller
from service.web.access.local_identity import LocalIdentity
from service.web.access.rate_limits import RateLimits
from service.web.access.route_rights import RIGHTS
from service.web.access.sign_in import CALLBACK, WaysIn, create_sign_in
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
from service.web.review.checks import create_gerrit_checks, origins_of
from service.web.review.webhooks import create_webhooks
from service.web.runs.external_builds import create_external_builds
from service.web.trunk.api import create_commits_api, create_regressions_api
from service.web.trunk.commits import PageCommits, create_comparing
from service.web.trunk.regressions import PageRegressions, create_triage
from service.wiring.control import build_control
from service.wiring.logs import log_as_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from fastapi import APIRouter, FastAPI, Request

    from service.ports.commits import CommitReading
    from service.ports.failures.reading import EndingKnown, FailureReading
    from service.ports.reading import Reading
    from service.ports.trunk import RegressionReading
    from service.web.api import ReadingOf
    from service.wiring.control import Control


def create_app() -> FastAPI:
    """Create the app with webhooks, API, pages and health from the environment's settings."""
    log_as_json()
    settings = ControlSettings()
    plane = build_control(settings)
    registry, is_public = CollectorRegistry(), settings.read == "public"
    public = plane.reading.seen_by(None)
    patience, disks = _patience(settings, plane), partial(disks_of, _directories(settings))
    registry.register(Metrics(public, version("benchgate"), disks, patience))
    health = HealthCheck(public, patience, _checks(settings, plane))
    waiting = Semaphore(MOST_WAITING)
    servers = {name: server.for_pages() for name, server in plane.servers.items()}
    answers = RecentAnswers(servers, waiting=waiting)
    reading_of = _reading_by_caller(plane, answers)
    viewers = Viewers(answers)

    def regressions_of(request: Request) -> RegressionReading:
        return plane.regressions.seen_by(viewers.of(known_caller(request)))

    actions = PageActions(plane.store, ActionOffers(answers), reading_of)
    ways_in = _ways_in(settings, plane, waiting)
    receive = partial(receive_events, plane.store, parse_event)
    routers = [
        create_sign_in(ways_in, sign_in_page),
        create_webhooks(settings.webhook_secrets_by_instance, receive, registry),
        create_api(reading_of),
        create_external_builds(
            settings.instances,
            partial(record_once, plane.store, patterns=plane.failure_patterns),
            partial(record_tests, plane.store, plane.artifacts),
        ),
        create_artifacts(
            {ArtifactKind.BUILDS: plane.artifacts, ArtifactKind.DOWNLOADS: plane.downloads},
            plane.leases.is_held_by,
        ),
        create_gerrit_checks(reading_of, plane.links, origins_of(plane.addresses)),
        create_health(public, registry, health=health, is_public=is_public),
        *_pages(plane, actions, health, _overview(plane, answers, regressions_of)),
        *_failures(plane, answers, health),
        *_regressions(plane, answers, health, regressions_of, reading_of),
        *_compare(plane, answers, health, reading_of),
        create_account(plane.tokens, account_renderer(health)),
        create_audit(plane.audit_log, health),
    ]
    app = assemble(
        routers,
        access=ways_in.access(RIGHTS, is_public=is_public),
        version=version("benchgate"),
        chart_paths=CHART_PATHS,
        problem_page=problem_page,
    )
    # What is loaded stays: a full collection would walk through all of it every few requests.
    gc.collect()
    gc.freeze()
    return app


def _directories(settings: ControlSettings) -> dict[str, Path]:
    """Return the directories of the control plane; artifacts may be in a bucket."""
    return {"home": settings.home} | ({} if settings.bucket_url else {"artifacts": settings.artifacts_path})


def _patience(settings: ControlSettings, plane: Control) -> Patience:
    """Return how long each part of the service may be silent."""
    return Patience.of_intervals(
        settings.reconcile_seconds,
        listeners=[plane.part(LISTEN, name) for name in settings.event_streams],
        reconciled=[plane.part(RECONCILE, name) for name in plane.servers],
    )


def _ways_in(settings: ControlSettings, plane: Control, waiting: Semaphore) -> WaysIn:
    address = Address(settings.base_url)
    breaker = CircuitBreaker("the identity provider", waiting)
    return WaysIn(
        sessions=plane.sessions,
        tokens=plane.tokens,
        address=address,
        limits=RateLimits(),
        provider=_provider_sign_in(settings, plane, f"{address.origin}{CALLBACK}", breaker),
        local=LocalIdentity(lambda: read_secret(settings.home)) if settings.has_local_identity else None,
    )


def _provider_sign_in(
    settings: ControlSettings, plane: Control, callback: str, breaker: CircuitBreaker
) -> ProviderSignIn | None:
    """Build the sign-in at the identity provider; return None if the settings name none.

    The provider sends people back to ``callback``; ``breaker`` guards the requests to it.
    """
    if not settings.oidc_issuer:
        return None
    secret = settings.oidc_client_secret.get_secret_value()
    return ProviderSignIn(
        provider=OidcProvider(settings.oidc_issuer, settings.oidc_client_id, secret, breaker.run),
        sessions=plane.sessions,
        role_groups={Role(name): groups for name, groups in settings.role_groups.items()},
        callback=callback,
        record_refusal=RefusedSignIns(plane.store).record,
    )


def _pages(
    plane: Control, actions: PageActions, health: HealthCheck, overview: Overview
) -> tuple[APIRouter, ...]:
    """Create the pages, and the routes that receive their forms."""
    closures = PageClosures(plane.store)
    pages = create_pages(
        actions.reading_of,
        pages=Pages(health, plane.addresses, plane.links),
        stream_log=plane.artifacts.stream,
        actions_of=actions.forms_for,
        overview=overview,
        closing_of=closures.form_for,
    )
    return create_actions(actions), create_closing(closures), pages


def _overview(
    plane: Control, answers: RecentAnswers, regressions_of: Callable[[Request], RegressionReading]
) -> Overview:
    """Return what the first page has beside changes."""
    viewers = Viewers(answers)

    def ending_of(request: Request) -> Sequence[EndingKnown]:
        reading = plane.failures.seen_by(viewers.of(known_caller(request)))
        return reading.ending(EXPIRING_DAYS, MOST_LINES + 1)

    def names_of(request: Request) -> tuple[str, ...]:
        caller = known_caller(request)
        if not isinstance(caller, User):
            return ()
        names = {caller.name: None, caller.email: None}
        for instance in plane.servers:
            # Without an answer, the identity provider's name is likely the same.
            with suppress(Transient, Permanent):
                account = answers.account_of(instance, caller.email)
                names |= {} if account is None else {account.name: None}
        return tuple(filter(None, names))

    return Overview(lambda request: regressions_of(request).week(datetime.now(UTC)), ending_of, names_of)


def _failures(plane: Control, answers: RecentAnswers, health: HealthCheck) -> tuple[APIRouter, ...]:
    """Create pages and API of known failures, and the routes that receive the forms of the pages."""
    viewers = Viewers(answers)

    def reading_of(request: Request) -> FailureReading:
        return plane.failures.seen_by(viewers.of(known_caller(request)))

    changes, rights = KnownChanges(plane.store), OverrideRights(answers)
    page = PageKnownChanges(changes, rights, reading_of)
    patterns = PagePatterns(changes, rights, reading_of)
    pages = create_failures(reading_of, health, page.form_for, patterns, plane.addresses)
    api = create_failures_api(reading_of)
    return api, create_patterns(patterns), create_known_changes(page), pages


def _regressions(
    plane: Control,
    answers: RecentAnswers,
    health: HealthCheck,
    reading_of: Callable[[Request], RegressionReading],
    builds_of: ReadingOf,
) -> tuple[APIRouter, ...]:
    """Create pages and API of regressions, and the route that receives a form's judgements."""
    page = PageRegressions(plane.store, OverrideRights(answers), reading_of)
    pages = create_regressions(reading_of, builds_of, health, page.form_for, plane.links, plane.addresses)
    return create_regressions_api(reading_of), create_triage(page), pages


def _compare(
    plane: Control, answers: RecentAnswers, health: HealthCheck, reading_of: ReadingOf
) -> tuple[APIRouter, ...]:
    """Create page and API that compare commits, and the route that receives the page's form."""
    viewers = Viewers(answers)

    def commits_of(request: Request) -> CommitReading:
        return plane.commits.seen_by(viewers.of(known_caller(request)))

    page = PageCommits(plane.store, OverrideRights(answers), commits_of)
    pages = create_compare(commits_of, reading_of, health, page.form_for, plane.addresses)
    return create_commits_api(commits_of, reading_of), create_comparing(page), pages


def _reading_by_caller(plane: Control, answers: RecentAnswers) -> ReadingOf:
    public = plane.reading.seen_by(None)
    viewers = Viewers(answers)

    def reading_of(request: Request) -> Reading:
        viewer = viewers.of(known_caller(request))
        return public if viewer is None else plane.reading.seen_by(viewer)

    return reading_of


def _checks(settings: ControlSettings, plane: Control) -> Mapping[str, Callable[[], str]]:
    """Return the checks of what the database does not tell, by name."""
    return {
        "queue": plane.queue.check,
        "git": lambda: _git_problem(settings),
        "database": DatabaseRoom(plane.engine).check,
        **({} if settings.bucket_url else {"artifacts": lambda: _disk_problem(settings)}),
    }


def _disk_problem(settings: ControlSettings) -> str:
    """Return how little room the disk of the artifacts has; empty if it has enough."""
    try:
        shortage = disk_of(settings.artifacts_path).shortage
    except OSError as error:
        return f"their directory cannot be read: {error.strerror}"
    return f"their disk has {shortage}" if shortage else ""


def _git_problem(settings: ControlSettings) -> str:
    """Return why no project of a review server can be fetched; empty if there is no reason."""
    problems = (git_url_problem(*settings.git_url_of(instance)) for instance in settings.instances)
    return next(filter(None, problems), "")
