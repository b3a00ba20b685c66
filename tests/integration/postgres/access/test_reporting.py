"""Another CI that reports with an API token, in a real database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

import pytest

from service.adapters.postgres.access.tokens import PostgresTokens
from service.domain.access.scopes import parse_scope
from service.domain.building.spec import BuildSpec, Revision
from service.domain.project.job_kinds import JobKind
from service.domain.project.project_file import parse_job
from service.domain.runs.states import BuildState
from service.domain.values.identity import RunKind
from service.ports.access import NewToken
from service.steps.runs.record_external_build import record_once
from service.steps.runs.record_tests import record_tests
from service.web.application import assemble
from service.web.runs.external_builds import create_external_builds
from tests.support.access.callers import Callers
from tests.support.memory.files import MemoryArtifacts
from tests.support.store_samples import named, queue
from tests.support.web import call

if TYPE_CHECKING:
    import httpx
    from fastapi import FastAPI

    from service.adapters.postgres.store import PostgresStore
    from service.ports.runs.builds import NewBuild
    from tests.support.postgres import Database

pytestmark = pytest.mark.integration

CI: Final = NewToken(
    name="ci",
    scopes=frozenset({parse_scope("report:kv_engine/linux")}),
    lifetime=timedelta(days=30),
    created_by="root on ci-1",
)
BUILD: Final = {
    "project": "kv_engine",
    "change": 7,
    "revision": "1" * 40,
    "url": "https://ci.example.com/job/linux/5/",
    "result": "SUCCESS",
}


@pytest.fixture
def tokens(database: Database) -> PostgresTokens:
    return PostgresTokens(database.owner)


@pytest.fixture
def app(store: PostgresStore, tokens: PostgresTokens) -> FastAPI:
    """The route, and two jobs of a check that wait for another CI."""
    sides = (
        Revision("p" * 40, "q" * 40, "ref", "reviewed"),
        Revision("1" * 40, "t" * 40, "ref", "unreviewed"),
    )

    def external(job: str) -> NewBuild:
        config = parse_job(job, {"kind": "external"})
        spec = BuildSpec(RunKind.CHECK, "review", "kv_engine", "master", *sides, config).to_mapping()
        return named(job, kind=JobKind("external"), pool="", sequence="", spec=spec)

    queue(store, external("linux"), external("macos"))
    reports = create_external_builds(
        ("review",), partial(record_once, store), partial(record_tests, store, MemoryArtifacts())
    )
    return assemble([reports], access=Callers().access(find_token=tokens.find), version="0.1.0")


def send(app: FastAPI, text: str, path: str = "linux/5", **other: object) -> httpx.Response:
    headers = {"Authorization": f"Bearer {text}", "Idempotency-Key": "key"}
    return call(app, "POST", f"/api/v1/builds/{path}", json=BUILD | other, headers=headers)


def states(database: Database) -> list[tuple[str, str]]:
    return [tuple(row) for row in database.rows("SELECT job, state FROM build ORDER BY id")]


def test_a_report_ends_the_build_and_notes_the_use(
    app: FastAPI, tokens: PostgresTokens, database: Database
) -> None:
    _, text = tokens.add(CI)

    first, again = send(app, text), send(app, text)

    assert (first.status_code, first.json(), again.json()) == (200, {"recorded": True}, {"recorded": True})
    assert ("linux", BuildState.FINISHED) in states(database)
    assert tokens.list()[0].used_at is not None
    assert send(app, text, "linux/6").status_code == 400


def test_many_equal_reports_at_once_have_one_effect(
    app: FastAPI, tokens: PostgresTokens, database: Database
) -> None:
    _, text = tokens.add(CI)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: send(app, text), range(8)))

    assert {(answer.status_code, answer.text) for answer in answers} == {(200, '{"recorded":true}')}
    assert database.value("SELECT count(*) FROM report") == 1
    assert database.value("SELECT count(*) FROM outbox WHERE payload ->> 'task' = 'vote'") == 1


def test_a_refused_report_stores_nothing(app: FastAPI, tokens: PostgresTokens, database: Database) -> None:
    _, text = tokens.add(CI)
    before = states(database)
    statuses = [
        send(app, text, "macos/5").status_code,
        send(app, text, project="other").status_code,
        send(app, text, change=999).status_code,
        send(app, text, url="ftp://x").status_code,
        send(app, text.swapcase()).status_code,
    ]
    assert statuses == [403, 403, 503, 400, 401]
    assert (states(database), database.value("SELECT count(*) FROM report")) == (before, 0)


def test_a_token_for_another_project_reaches_no_change_of_this_one(
    app: FastAPI, tokens: PostgresTokens, database: Database
) -> None:
    _, text = tokens.add(replace(CI, scopes=frozenset({parse_scope("report:other/linux")})))
    before = states(database)

    answer = send(app, text, project="other")

    assert (answer.status_code, states(database)) == (503, before)


def test_a_revoked_or_expired_token_is_refused_at_its_next_report(
    app: FastAPI, tokens: PostgresTokens, database: Database
) -> None:
    revoked, first = tokens.add(CI)
    expired, second = tokens.add(CI)
    assert [send(app, text).status_code for text in (first, second)] == [200, 200]

    tokens.revoke(revoked.id, "root")
    database.change("UPDATE token SET expires_at = now() WHERE id = :id", id=expired.id)

    assert [send(app, text).status_code for text in (first, second)] == [401, 401]
