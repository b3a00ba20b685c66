"""Answer every route with its rights and headers, also after an error and to HEAD."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest
import structlog
from typing_extensions import override

from service.domain.access.needs import Need
from service.domain.values.errors import TooMany, Transient
from service.domain.wording.refusals import SIGHT_UNKNOWN
from service.web.access.route_rights import RIGHTS
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.sample_project import sample_project
from tests.support.web import SECRETS, build_app, call, later, routes_of, serving

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.ports.review.shown import Change, Cursor

APP = later(lambda: build_app(sample_project(), logs={"log": b"compiled\n"}))
PAGES = (
    "/", "/changes/4712", "/changes/4712/1", "/changes/4713", "/changes/4716", "/changes/4721", "/runs/41",
    "/changes/4722", "/changes/666", "/runs/52",
    "/job/kv-engine-cv-perf/5904/", "/trends", "/trends?series=1", "/trends?series=1&series=2", "/machines",
    "/changes/1",
)  # fmt: skip


def test_a_route_that_changes_something_needs_a_right_or_a_secret() -> None:
    found = list(routes_of(APP.routes))
    assert len(found) > 20
    changing = {route for route in found if route[0] not in {"GET", "HEAD"}}
    open_to_all = {route for route in changing if RIGHTS[route] in {Need.NOTHING, Need.READ}}
    assert open_to_all == {("POST", "/webhooks/gerrit/{secret}"), ("POST", "/sign-in/local")}


@pytest.mark.parametrize("path", PAGES)
def test_every_page_allows_only_scripts_of_its_own(path: str) -> None:
    answer = call(APP, "GET", path)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'; script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert ("'unsafe-inline'" in policy) == path.startswith("/trends")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "<script>" not in answer.text
    assert " style=" not in answer.text
    assert " onclick=" not in answer.text


def test_a_missing_page_is_a_page_that_says_not_found() -> None:
    for path in ("/changes/1", "/changes/abc", "/runs/999", "/job/none/1/", "/?cursor=nonsense"):
        answer = call(APP, "GET", path)
        assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert "Not found" in answer.text


class Failing(FakeReading):
    failure: Exception = Transient("the database does not answer")

    @override
    def changes(self, limit: int, after: Cursor | None = None, words: object = None) -> Sequence[Change]:
        raise self.failure


@pytest.mark.parametrize(
    ("path", "failure", "status", "sentence", "advice"),
    [
        ("/nosuch", None, 404, "There is no page at this address.", "Check the address"),
        (
            "/",
            Transient("the database <does> not answer"),
            503,
            "The database &lt;does&gt; not",
            "Try again in 5 seconds. If it lasts, /readyz says",
        ),
        ("/", RuntimeError("secret"), 500, "The service failed to handle this request.", "give the operator"),
    ],
)
def test_an_error_is_a_page_for_browsers_and_a_problem_for_programs(
    path: str, failure: Exception | None, status: int, sentence: str, advice: str
) -> None:
    reading = Failing()
    reading.failure = failure or reading.failure
    app = build_app(reading)
    with structlog.testing.capture_logs():  # a traceback with all its values takes long to print
        page = call(app, "GET", path, headers={"Accept": "text/html,*/*;q=0.8", "X-Request-Id": "request-1"})
        answers = [
            call(app, "GET", path),
            call(
                app,
                "GET",
                f"/api/v1{path if failure is None else '/changes'}",
                headers={"Accept": "text/html"},
            ),
        ]
    assert (page.status_code, page.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert "default-src 'self'" in page.headers["content-security-policy"]
    for shown in (sentence, advice, '<a href="/">All changes</a>', "request-1"):
        assert shown in page.text
    assert "secret" not in page.text
    for answer in answers:
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")


@pytest.mark.parametrize(
    ("failure", "seconds", "sentence"),
    [
        (Transient("no database"), "5", "Try again in 5 seconds."),
        (Transient(SIGHT_UNKNOWN, 14.2), "15", "Try again in 15 seconds."),
        (Transient("no answer", 0.3), "1", "Try again in 1 second."),
        (TooMany("too many requests", 40.0), "40", "Try again in 40 seconds."),
    ],
)
def test_a_page_asks_once_to_try_again_after_the_time_in_its_header(
    failure: Exception, seconds: str, sentence: str
) -> None:
    reading = Failing()
    reading.failure = failure
    app = build_app(reading)
    page = call(app, "GET", "/", headers={"Accept": "text/html"})
    problem = call(app, "GET", "/api/v1/changes")
    assert [answer.headers["retry-after"] for answer in (page, problem)] == [seconds] * 2
    assert (page.text.lower().count("try again"), sentence in page.text) == (1, True)
    assert problem.json()["detail"] == str(failure)


@pytest.mark.parametrize("path", ["/changes/4712", "/api/v1/changes"])
def test_pages_and_answers_are_compressed_for_those_who_accept_it(path: str) -> None:
    plain = call(APP, "GET", path, headers={"Accept-Encoding": "identity"})
    packed = call(APP, "GET", path, headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) * 2 < int(plain.headers["content-length"])
    assert (packed.content, packed.headers["vary"]) == (plain.content, "Accept-Encoding")


def test_the_address_without_its_last_slash_redirects_to_the_build() -> None:
    answer = call(APP, "GET", "/job/kv-engine-cv-perf/5904")
    assert (answer.status_code, answer.headers["location"]) == (308, "/job/kv-engine-cv-perf/5904/")


def test_the_chart_library_is_served_with_an_immutable_address() -> None:
    page = call(APP, "GET", "/trends?series=1").text
    name = page.partition("/static/plotly-")[2].partition('"')[0]
    answer = call(APP, "GET", f"/static/plotly-{name}")
    assert len(answer.content) < 1_250_000
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert b"plotly.js" in answer.content[:100]
    assert call(APP, "GET", "/static/plotly-0.min.js").status_code == 404
    assert call(APP, "GET", "/static/..%2fpages.py").status_code == 404


@pytest.mark.parametrize("path", ["/healthz", "/", "/api/v1/changes", "/changes/1", "/metrics", "/nothing"])
def test_head_is_answered_as_get_without_the_body(path: str) -> None:
    got, head = (call(APP, method, path) for method in ("GET", "HEAD"))
    assert (head.status_code, head.content) == (got.status_code, b"")
    for name in ("content-type", "content-length", "etag", "content-security-policy"):
        if path != "/metrics" or name != "content-length":  # which tells of this process, and grows
            assert head.headers.get(name) == got.headers.get(name), name


def test_a_server_answers_head_without_a_body_and_continues() -> None:
    with serving(APP) as address, httpx.Client(base_url=address) as client:
        assert client.head("/").content == b""
        assert client.head("/healthz").headers["content-length"] == "15"
        assert client.get("/healthz").json() == {"status": "ok"}


def test_the_webhook_is_not_reached_by_head() -> None:
    assert call(APP, "HEAD", f"/webhooks/gerrit/{SECRETS[0]}").status_code == 405
