from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.review.links import Links
from service.domain.runs.states import RunState
from service.domain.values.errors import BadInput
from service.web.application import assemble
from service.web.review.checks import INSTANCE_HEADER, create_gerrit_checks, origin_of, origins_of
from tests.support.access.callers import Callers
from tests.support.reading.add_patch_set import add_patch_set
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.sample_project import REGRESSION, sample_project
from tests.support.reading.views import build_view, change_view
from tests.support.web import call

if TYPE_CHECKING:
    from fastapi import FastAPI

ORIGIN = "https://gerrit.example"
PATH = "/api/v1/gerrit/checks"


def app_of(reading: FakeReading, origin: str = ORIGIN) -> FastAPI:
    links = Links("https://perf.example")
    origins = {origin: "gerrit"} if origin else {}
    routers = [create_gerrit_checks(lambda _: reading, links, origins)]
    return assemble(routers, access=Callers().access(), version="0.1.0")


@pytest.mark.parametrize(
    "query",
    [
        "change=1&patchset=1",
        f"change={REGRESSION}&patchset=9",
        f"change={REGRESSION}&patchset=2&sha={'0' * 40}",
        f"change={REGRESSION}&patchset=2&repo=another",
    ],
)
def test_an_unknown_patch_set_is_a_problem_that_gerrits_pages_may_read(query: str) -> None:
    answer = call(app_of(sample_project()), "GET", f"{PATH}?{query}", headers={"Origin": ORIGIN})
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    assert answer.headers["access-control-allow-origin"] == ORIGIN


def test_revision_and_project_may_be_named_and_may_be_left_empty() -> None:
    for more in (f"sha={'c0ffee12' * 5}&repo=kv_engine", "sha=&repo="):
        answer = call(app_of(sample_project()), "GET", f"{PATH}?change={REGRESSION}&patchset=2&{more}")
        assert answer.status_code == 200


@pytest.mark.parametrize(
    "query", ["", "change=1", "change=x&patchset=1", "change=1&patchset=0", "change=1&patchset=1&sha=HEAD"]
)
def test_invalid_parameters_are_rejected(query: str) -> None:
    answer = call(app_of(sample_project()), "GET", f"{PATH}?{query}", headers={"Origin": ORIGIN})
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert answer.headers["access-control-allow-origin"] == ORIGIN


def test_an_unchanged_answer_is_not_sent_to_gerrits_page_again() -> None:
    app = app_of(sample_project())
    query = f"{PATH}?change={REGRESSION}&patchset=2"
    first = call(app, "GET", query, headers={"Origin": ORIGIN})
    etag = first.headers["etag"]
    again = call(app, "GET", query, headers={"Origin": ORIGIN, "If-None-Match": etag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    assert again.headers["access-control-allow-origin"] == ORIGIN


@pytest.mark.parametrize(
    "other",
    ["https://evil.example", "http://gerrit.example", f"{ORIGIN}:8443", f"{ORIGIN}.evil.example", "null"],
)
def test_only_pages_of_the_configured_gerrit_may_read(other: str) -> None:
    app = app_of(sample_project())
    query = f"{PATH}?change={REGRESSION}&patchset=2"
    ours = call(app, "GET", query, headers={"Origin": ORIGIN})
    assert ours.headers["access-control-allow-origin"] == ORIGIN
    assert ours.headers["access-control-allow-credentials"] == "true"
    theirs = call(app, "GET", query, headers={"Origin": other})
    for answer in (ours, theirs):
        assert answer.headers["vary"] == "Origin, Accept-Encoding"
    assert not [name for name in theirs.headers if name.startswith("access-control")]


def test_without_a_gerrit_no_other_origin_is_named() -> None:
    for origin in (ORIGIN, ""):
        headers = {"Origin": origin}
        answer = call(
            app_of(sample_project(), ""), "GET", f"{PATH}?change={REGRESSION}&patchset=2", headers=headers
        )
        assert answer.status_code == 200
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert answer.headers["vary"] == "Accept-Encoding"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_the_route_only_reads(method: str) -> None:
    headers = {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}
    answer = call(app_of(sample_project()), method, f"{PATH}?change=1&patchset=1", headers=headers)
    assert answer.status_code == 405
    assert "access-control-allow-methods" not in answer.headers


def test_the_document_has_gerrits_names() -> None:
    document = call(app_of(FakeReading()), "GET", "/api/v1/openapi.json").json()
    assert document["paths"][PATH]["get"]["operationId"] == "getGerritChecks"
    run = document["components"]["schemas"]["CheckRun"]
    assert {"checkName", "externalId", "scheduledTimestamp", "results"} <= set(run["properties"])
    # The answer omits these without a value, so they are optional.
    left_out = {"labelName", "change", "patchset", "startedTimestamp", "finishedTimestamp"}
    assert left_out.isdisjoint(run["required"])


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("", ""),
        ("https://gerrit.example/r/", "https://gerrit.example"),
        ("https://Bot:secret@Gerrit.Example:443/", "https://gerrit.example"),
        ("http://gerrit.example:8080", "http://gerrit.example:8080"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
    ],
)
def test_an_origin_is_written_as_browsers_write_it(url: str, origin: str) -> None:
    assert origin_of(url) == origin


@pytest.mark.parametrize("url", ["gerrit.example", "ssh://gerrit.example", "https://", "https://a:b"])
def test_an_invalid_server_address_has_no_origin(url: str) -> None:
    with pytest.raises(BadInput):
        origin_of(url)


def test_each_of_two_gerrits_gets_its_own_change() -> None:
    """Both have a change 1 with a patch set 1."""
    reading = FakeReading()
    for place, instance in enumerate(("core", "edge"), 1):
        change = change_view(1, "x", id=place, instance=instance, run_id=place, run_state=RunState.FINISHED)
        add_patch_set(reading, change, [(build_view(place, 70 + place), ())])
    origins = origins_of({"core": "https://core.example/r", "edge": "https://edge.example"})
    links = Links("https://perf.example", has_several=True)
    routers = [create_gerrit_checks(lambda _: reading, links, origins)]
    app = assemble(routers, access=Callers().access(), version="0.1.0")
    for place, origin in ((1, "https://core.example"), (2, "https://edge.example")):
        answer = call(app, "GET", f"{PATH}?change=1&patchset=1", headers={"Origin": origin})
        assert [run["checkLink"][-4:] for run in answer.json()["runs"]] == [f"/7{place}/"]
        assert answer.headers["access-control-allow-origin"] == origin
    for headers in ({}, {"Origin": "https://evil.example"}):
        answer = call(app, "GET", f"{PATH}?change=1&patchset=1", headers=headers)
        assert (answer.status_code, "access-control-allow-origin" in answer.headers) == (404, False)


@pytest.mark.parametrize(("is_public", "status"), [(False, 401), (True, 404)])
def test_an_answer_names_the_asking_gerrit_of_two(*, is_public: bool, status: int) -> None:
    """Also an error: its page links to the change, by a number that both may have."""
    origins = {"https://core.example": "core", "https://edge.example": "edge"}
    routers = [create_gerrit_checks(lambda _: sample_project(), Links("https://perf.example"), origins)]
    app = assemble(routers, access=Callers().access(is_public=is_public), version="0.1.0")

    def named(headers: dict[str, str]) -> tuple[int, str | None, str | None]:
        answer = call(app, "GET", f"{PATH}?change=1&patchset=9", headers=headers)
        given = answer.headers
        return answer.status_code, given.get(INSTANCE_HEADER), given.get("access-control-expose-headers")

    assert named({"Origin": "https://core.example"}) == (status, "core", INSTANCE_HEADER)
    assert named({"Origin": "https://edge.example"}) == (status, "edge", INSTANCE_HEADER)
    assert named({"Origin": "https://evil.example"}) == (status, None, None)


def test_the_answer_for_the_only_gerrit_names_none() -> None:
    app = app_of(sample_project())
    answer = call(app, "GET", f"{PATH}?change={REGRESSION}&patchset=2", headers={"Origin": ORIGIN})
    assert (answer.status_code, INSTANCE_HEADER in answer.headers) == (200, False)


def test_two_gerrits_with_one_origin_are_refused() -> None:
    with pytest.raises(BadInput, match="core and edge have the same scheme, host and port"):
        origins_of({"core": "https://review.example/core", "edge": "https://review.example/edge"})
