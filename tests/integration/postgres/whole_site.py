"""One database with changes, a queue, regressions and known failures, and the whole application over it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.adapters.access.recent_answers import RecentAnswers
from service.adapters.postgres.reading import PostgresReading
from service.adapters.postgres.trunk.shown_commits import PostgresCommitReading
from service.domain.runs.states import RunState
from service.domain.verdict.explanation.explanation import pack
from service.steps.access.override_rights import OverrideRights
from service.web.failures.changes import PageKnownChanges
from service.web.trunk.commits import PageCommits
from service.web.trunk.regressions import PageRegressions
from tests.contract.reading.site import measure
from tests.integration.postgres.failures.known_site import Site as KnownSite
from tests.integration.postgres.site import PostgresSite
from tests.integration.postgres.trunk.regression_site import SAME
from tests.integration.postgres.trunk.regression_site import Site as RegressionSite
from tests.support.reading.explained import EXPLAINED
from tests.support.trunk import SLOWER, key
from tests.support.web import build_app

if TYPE_CHECKING:
    from fastapi import FastAPI

    from tests.support.postgres import Database

COMMITS: Final = tuple(f"{number:040x}" for number in (1, 2, 3))  # merged, the oldest first


@dataclass(frozen=True)
class WholeSite:
    """The application, and the numbers of what its database has."""

    app: FastAPI
    known: int
    regression: int
    series: int  # of merged commits


def fill(database: Database) -> WholeSite:
    """Fill a fresh database, all of it public: on Gerrit ``gerrit`` changes, on ``review`` a branch."""
    pages, trunk, failures = PostgresSite(database), RegressionSite(database), KnownSite(database)
    pages.add_change(patch_sets=2)
    pages.explain(measure(pages, 1, "BM_a", "BM_b"), pack([EXPLAINED]))
    pages.claim(1, "BM_a")
    pages.add_build(pages.add_run(2, state=RunState.RUNNING), result=None)
    pages.add_machine("perf-01")
    pages.add_session("perf-01", "BM_a")
    both = {key("BM_a"): SLOWER, key("BM_b"): SAME}
    for rows in (both, dict.fromkeys(both, SAME), dict.fromkeys(both, SAME)):
        trunk.merge(rows, dict.fromkeys(both, SAME))
    trunk.compare_distant(1, 3, both)
    failures.fail(77)
    known = failures.make_known()
    database.change("UPDATE comparison SET error = 0.005")
    database.change("UPDATE change SET is_public = true")
    database.change(
        "INSERT INTO public_branch (instance, project, branch)"
        " SELECT DISTINCT instance, project, branch FROM change ON CONFLICT DO NOTHING"
    )
    series = database.value("SELECT id FROM series WHERE instance = 'review' AND benchmark = 'BM_a'")
    return WholeSite(application(database), known, min(trunk.states()), series)


def application(database: Database) -> FastAPI:
    """Make the application over a database as it is."""
    trunk, failures, rights = RegressionSite(database), KnownSite(database), OverrideRights(RecentAnswers({}))
    return build_app(
        PostgresReading(database.owner),
        known=PageKnownChanges(failures.changes, rights, lambda _: failures.reading),
        regressions=PageRegressions(trunk.store, rights, lambda _: trunk.reading),
        commits=PageCommits(trunk.store, rights, lambda _: PostgresCommitReading(database.owner)),
    )
