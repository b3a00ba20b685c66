"""No address shows anything of a change that its reader does not see."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pytest

from service.domain.measuring.tests.cases import TestRun
from service.domain.measuring.tests.record import TestSuite, write_tests
from service.domain.runs.health import FailingStep, Step
from service.domain.runs.states import BuildState
from service.domain.values.identity import BuildName, ChangeKey
from service.domain.verdict.explanation.explanation import Explanation, Stack, pack
from service.domain.verdict.inference.verdict import Verdict
from service.ports.verdict import SeriesWithPoints
from service.web.access.route_rights import RIGHTS
from tests.support.reading.add_patch_set import add_patch_set
from tests.support.reading.claimed import CONFIRMED
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.views import (
    NOW,
    build_view,
    change_view,
    comparison,
    machine_view,
    series_view,
)
from tests.support.web import build_app, call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import FastAPI

HIDDEN: Final = "zebra"  # in every name and text of the hidden change
VALUES: Final[Mapping[str, str]] = {
    "{change}": "7",
    "{patch_set}": "1",
    "{run_id}": "70",
    "{job}": "perf-zebra",
    "{number}": "1",
    "{series_id}": "1",
    "{place}": "1",
}
QUERIES: Final[Mapping[str, str]] = {
    "/api/v1/builds/{job}/{number}/samples": "?series=1",
    "/api/v1/gerrit/checks": "?change=7&patchset=1",
    "/trends": "?q=BM&series=1",
}
ROUTES: Final = sorted(path for method, path in RIGHTS if method == "GET")
TRUNK: Final = ("regressions", "regressions/{regression_id}", "ledger", "branches", "commits", "compare")
FROM_DATABASE: Final = (*TRUNK, "known-failures", "known-failures/{known_id}")
# Pages of people and operators, artifacts for machines, files, a redirection, and texts that are the same for
# everybody. Failures are read from the database, and hidden as postgres/failures/test_known_failures.py
# shows; so are regressions, and the commits that are compared. A framed trend shows what everybody may see.
ELSEWHERE: Final = frozenset(
    path
    for path in ROUTES
    if path.startswith(
        (
            "/sign-in",
            "/account",
            "/audit",
            "/api/v1/artifacts",
            "/static",
            "/docs",
            "/failures",
            "/regressions",
            "/compare",
        )
    )
) | {
    "/healthz",
    "/metrics",
    "/api/v1/openapi.json",
    "/api/v1/voting-statuses",
    *(f"/api/v1/{name}" for name in FROM_DATABASE),
    "/job/{job}/{number}",
    "/trends/{series_id}/embed",
}


@pytest.fixture(scope="module")
def sites() -> tuple[FastAPI, FastAPI]:
    """Build the site for readers who see the change, and the one for those who do not."""
    tests = write_tests([TestSuite(HIDDEN, TestRun(()))])
    reading = stored()
    reading.log_bytes = len(HIDDEN)
    shown, hiding = (
        build_app(each, logs={"log": HIDDEN.encode(), "tests": tests})
        for each in (reading, reading.seen_by(None))
    )
    return shown, hiding


def stored() -> FakeReading:
    reading = FakeReading()
    hidden = change_view(7, f"Subject {HIDDEN}", owner=HIDDEN, run_id=70, header=HIDDEN, vote=-1)
    build = build_view(1, 1, job=f"perf-{HIDDEN}", causes=(HIDDEN,))
    add_patch_set(reading, hidden, [(build, [comparison(1, f"BM_{HIDDEN}", 0.9, Verdict.SLOWER)])], HIDDEN)
    queued = build_view(3, 3, job=build.job, state=BuildState.QUEUED, result=None)
    add_patch_set(reading, replace(hidden, number=9, id=9, address="9", run_id=90), [(queued, [])])
    add_patch_set(reading, change_view(8, "Shown", run_id=80), [(build_view(2, 2), [])])
    series = series_view(1, f"BM_{HIDDEN}", job=build.job)
    reading.trends.append(SeriesWithPoints(series, ()))
    reading.machine_rows.append(machine_view("perf-01", build=BuildName(build.job, 1)))
    reading.failing.append(FailingStep(Step.PLAN, "7", 3, f"no route to {HIDDEN}", NOW))
    explained = Explanation("executor", f"BM_{HIDDEN}", stacks=(Stack((HIDDEN,), 1.0, 1.1),))
    reading.explained[build.id] = pack([explained])
    reading.claimed[70] = [replace(CONFIRMED, benchmark=f"BM_{HIDDEN}")]
    reading.about = {each: {"tests": "tests"} for each in (1, 2)}
    reading.hidden |= {ChangeKey("gerrit", 7), ChangeKey("gerrit", 9)}
    return reading


def body_of(app: FastAPI, route: str) -> str:
    path = route + QUERIES.get(route, "")
    for name, value in VALUES.items():
        path = path.replace(name, value)
    text = call(app, "GET", path).text
    for own in (f"perf-{HIDDEN}/1", f"perf-{HIDDEN}%2F1"):  # a page repeats its own address
        text = text.replace(own, "")
    return text


def test_a_framed_trend_shows_nothing_hidden_even_to_those_who_may_see_it(
    sites: tuple[FastAPI, FastAPI],
) -> None:
    for site in sites:
        answer = call(site, "GET", "/trends/1/embed")
        assert answer.status_code == 404
        assert HIDDEN not in answer.text


@pytest.mark.parametrize("route", sorted(set(ROUTES) - ELSEWHERE))
def test_a_route_shows_a_hidden_change_to_its_people_only(sites: tuple[FastAPI, FastAPI], route: str) -> None:
    shown, hiding = sites
    assert HIDDEN in body_of(shown, route)
    assert HIDDEN not in body_of(hiding, route)
