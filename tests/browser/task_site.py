"""A database in PostgreSQL with an answer to each question of test_tasks.py, and all pages over it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlencode

from dashboards.review.overview import Overview
from service.adapters.access.recent_answers import RecentAnswers
from service.adapters.postgres.reading import PostgresReading
from service.adapters.postgres.trunk.shown_commits import PostgresCommitReading
from service.domain.failures.failure import Failure, FailureKind
from service.domain.runs.overrides import OverrideKind
from service.domain.runs.states import RunState
from service.domain.runs.vote import Result
from service.domain.verdict.explanation.explanation import pack
from service.ports.runs.decisions import NewOverride
from service.steps.access.override_rights import OverrideRights
from service.steps.review.offered_actions import ActionOffers
from service.web.access.route_rights import RIGHTS
from service.web.failures.changes import PageKnownChanges
from service.web.failures.patterns import PagePatterns
from service.web.trunk.commits import PageCommits
from service.web.trunk.regressions import PageRegressions
from tests.integration.postgres.failures.known_site import FLAKY, PEOPLE
from tests.integration.postgres.failures.known_site import Site as KnownSite
from tests.integration.postgres.site import PostgresSite
from tests.integration.postgres.trunk.regression_site import SAME, UNDECIDED
from tests.integration.postgres.trunk.regression_site import Site as RegressionSite
from tests.support.access.callers import Callers
from tests.support.fakes import FakeReviewServer
from tests.support.reading.explained import DISASSEMBLED
from tests.support.trunk import SLOWER, key
from tests.support.web import build_app, serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fastapi import FastAPI
    from playwright.sync_api import Browser, BrowserContext

    from service.domain.access.caller import Role
    from tests.support.postgres import Database

SLOW, OVERRIDDEN, WAITING, BROKEN = 7, 8, 9, 77
LOG: Final = b"compiled\n"
SUBJECTS: Final[Mapping[int, str]] = {
    SLOW: "Hash keys once",
    OVERRIDDEN: "Take the lock early",
    WAITING: "Batch notifications",
}
OTHER: Final = Failure(FailureKind.TEST, "ep.replica", "Which is: 4", "2/2 Test #2: ep.replica")
BRANCH: Final = {"instance": "review", "project": "kv_engine", "branch": "master"}
FIRST, LAST = (f"{number:040x}" for number in (1, 3))  # merged commits
LOOKS: Final[Sequence[tuple[int, Literal["light", "dark"]]]] = (
    *((1280, "light"), (1280, "dark")),
    *((390, "dark"), (390, "light")),
)
"""The widths and colours in which every page is looked at."""

_NO_PAGES: Final = ("/api/", "/static/", "/sign-in/", "/healthz", "/readyz", "/metrics")
PAGES: Final = [
    path
    for method, path in RIGHTS
    if method == "GET" and not path.startswith(_NO_PAGES) and "." not in path
    if path != "/job/{job}/{number}"  # it leads to the same with a slash
]
"""The routes of all pages."""

_QUERIES: Final[Mapping[str, str]] = {
    "/trends": "?series={series_id}",
    "/compare": f"?{urlencode(BRANCH)}&base={FIRST}&patch={LAST}",
}


@dataclass(frozen=True)
class TaskSite:
    """A running application, its callers, and the values of parameters in its addresses."""

    address: str
    callers: Callers
    values: Mapping[str, object]

    def address_of(self, path: str) -> str:
        """Return an address of a page that has something to show."""
        return (path + _QUERIES.get(path, "")).format(**self.values)

    def sign_in(self, browser: Browser, role: Role, width: int = 1280) -> BrowserContext:
        """Open a window of Al, who is in the group that may override."""
        context = browser.new_context(base_url=self.address, viewport={"width": width, "height": 900})
        cookie = self.callers.access(base_url=self.address).address.session_cookie
        secret = self.callers.sign_in(role)
        context.add_cookies([{"name": cookie, "value": secret, "url": self.address, "sameSite": "Lax"}])
        return context


@contextmanager
def task_site(database: Database) -> Iterator[TaskSite]:
    """Fill a fresh database, and serve the application."""
    pages, trunk, failures = PostgresSite(database), RegressionSite(database), KnownSite(database)
    _merge(trunk)
    values = _add_changes(pages) | {"regression_id": min(trunk.states())} | _fail(failures)
    _add_machines(pages)
    _override(pages, trunk)
    database.change("UPDATE change SET is_public = true")
    database.change(
        "INSERT INTO public_branch (instance, project, branch)"
        " SELECT DISTINCT instance, project, branch FROM change ON CONFLICT DO NOTHING"
    )
    callers = Callers()
    app = _app(database, callers, trunk, failures)
    with serving(app) as address:
        app.state.access = callers.access(base_url=address)
        yield TaskSite(address, callers, values)


def _app(database: Database, callers: Callers, trunk: RegressionSite, failures: KnownSite) -> FastAPI:
    members = {("1000003", "reviewers")}
    accounts = FakeReviewServer(accounts=dict(PEOPLE), members=members)
    answers = RecentAnswers({"gerrit": accounts, "review": accounts})
    rights = OverrideRights(answers)
    return build_app(
        PostgresReading(database.owner),
        access=callers.access(),
        offers=ActionOffers(answers),
        store=trunk.store,
        logs={"artifact": LOG},
        known=PageKnownChanges(failures.changes, rights, lambda _: failures.reading),
        patterns=PagePatterns(failures.changes, rights, lambda _: failures.reading),
        regressions=PageRegressions(trunk.store, rights, lambda _: trunk.reading),
        commits=PageCommits(trunk.store, rights, lambda _: PostgresCommitReading(database.owner)),
        overview=Overview(
            lambda _: trunk.reading.week(datetime.now(UTC)), lambda _: failures.reading.ending(7, 6)
        ),
    )


def _add_changes(pages: PostgresSite) -> dict[str, object]:
    """Add a change that got −1, one that is overridden, and one that waits."""
    for number, subject in SUBJECTS.items():
        pages.add_change(number)
        pages.database.change(
            "UPDATE change SET subject = :subject WHERE number = :number", subject=subject, number=number
        )
        pages.database.change(
            "UPDATE patch_set SET subject = :subject WHERE revision = :revision",
            subject=subject,
            revision=f"{number}-1",
        )
    run = pages.add_run(change=SLOW)
    cause = "1 of 2 results is slower; worst: BM_Hash items/s −10.0 % [−12.0, −8.0], 8 pairs"
    build = pages.add_build(run, cause, result=Result.FAILURE, benchmarks=["BM_Hash", "BM_Find"])
    pages.database.change(
        """UPDATE build SET outcome = 'slower', blamed = '["BM_Hash"]'
           WHERE id = (SELECT max(id) FROM build)"""
    )
    pages.explain(build, pack([DISASSEMBLED]))
    pages.claim(run, "BM_Hash")
    pages.add_log(build, [(0, LOG)], (len(LOG), b""))
    pages.database.change(
        "UPDATE comparison SET verdict = 'same', ratio = 1.001, low = 0.99, high = 1.01 WHERE series_id ="
        " (SELECT id FROM series WHERE benchmark = 'BM_Find')"
    )
    pages.decide(run, -1)
    waiting = pages.add_run(change=WAITING, state=RunState.RUNNING)
    pages.add_build(waiting, result=None)
    series = pages.add_series("BM_Hash")
    return {
        "change": f"gerrit~{SLOW}",
        "patch_set": 1,
        "run_id": run,
        "series_id": series,
        "job": build.job,
        "number": build.number,
        "place": 1,
    }


def _add_machines(pages: PostgresSite) -> None:
    pages.add_machine("perf-01")
    pages.add_machine("lint-01", "lint")
    pages.add_session("perf-01", "BM_Hash")
    pages.database.change("UPDATE machine SET obstacle = 'other work takes 100 % of its CPUs'")


def _merge(trunk: RegressionSite) -> None:
    """Merge a commit that made BM_Scan slower, which the gate had called undecided, and two harmless ones."""
    scan, get = key("BM_Scan"), key("BM_Get")
    trunk.merge({scan: SLOWER, get: SAME}, {scan: UNDECIDED, get: SAME})
    for _ in range(2):
        trunk.merge({scan: SAME, get: SAME}, {scan: SAME, get: SAME})
    trunk.compare_distant(1, 3, {scan: SAME, get: SAME})
    trunk.database.change("UPDATE comparison SET error = 0.004, base = 1e-6, patch = 1e-6")
    slower = "SET ratio = 1.08, low = 1.07, high = 1.09"
    trunk.database.change(f"UPDATE comparison {slower}, patch = 1.08e-6 WHERE verdict = 'slower'")
    trunk.database.change(f"UPDATE regressed_result {slower}")
    trunk.database.change(
        "UPDATE patch_set SET subject = 'Scan by blocks' WHERE id = (SELECT min(id) FROM patch_set)"
    )


def _override(pages: PostgresSite, trunk: RegressionSite) -> None:
    run = pages.add_run(change=OVERRIDDEN)
    pages.add_build(run, "compile failed with exit code 1", result=Result.FAILURE)
    build = pages.database.value("SELECT max(id) FROM build")
    pages.database.change("UPDATE build SET outcome = 'failed' WHERE id = :build", build=build)
    entry = NewOverride(
        OverrideKind.OVERRIDE, "1000003", "Bob Reviewer", builds=[build], bug="MB-1", reason="the pool is old"
    )
    with trunk.store.transaction() as tx:
        patch_set = pages.database.value("SELECT patch_set_id FROM run WHERE id = :run", run=run)
        tx.overrides.add(patch_set, entry)
    pages.decide(run, 1)


def _fail(failures: KnownSite) -> dict[str, object]:
    """Add a failing build, and two known failures: one expires soon, and the bug of the other is closed."""
    run = failures.fail(BROKEN, OTHER)
    failures.fail(BROKEN + 1, FLAKY)
    known = failures.make_known(days=3)
    closed = failures.make_known(failure=OTHER)
    change = failures.database.change
    change("UPDATE known_failure SET bug = 'MB-9' WHERE id = :known", known=closed)
    change("INSERT INTO bug (bug, url, is_closed, read_at) VALUES ('MB-9', 'http://bugs/9', true, now())")
    build = (
        "SELECT b.job || '/' || b.number FROM run_build r JOIN build b ON b.id = build_id WHERE run_id = :run"
    )
    return {"known_id": known, "failed": failures.database.value(build, run=run)}
