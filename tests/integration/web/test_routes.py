from __future__ import annotations

import unicodedata
from dataclasses import replace
from datetime import timedelta, timezone
from html import unescape
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import httpx
import pytest
import structlog
from typing_extensions import override

from dashboards.pages import create_pages
from dashboards.rendering import Pages
from service.domain.access.needs import Need
from service.domain.runs.states import BuildState, RunState
from service.domain.values.errors import TooMany, Transient
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.refusals import SIGHT_UNKNOWN
from service.steps.runs.check_health import HealthCheck
from service.web.access.route_rights import RIGHTS
from service.web.application import assemble
from tests.support.access.callers import Callers
from tests.support.reading.add_patch_set import add_patch_set
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.sample_project import sample_project
from tests.support.reading.sample_standings import sample_standings
from tests.support.reading.views import build_view, change_view, comparison
from tests.support.web import GERRIT, SECRETS, build_app, build_pages, call, routes_of, serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from service.ports.review.shown import Change, Cursor

TEXT = b"first\n" + b"x" * (5 << 20) + b"\nlast"
APP = build_app(replace(sample_project(), log_bytes=len(TEXT)), logs={"log": TEXT})
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


def test_the_notes_of_a_build_are_on_its_page_and_not_in_its_message() -> None:
    page = call(APP, "GET", "/changes/4712/2").text

    assert page.count("3 of 27 pairs were disturbed by other work") == 1
    assert page.count("15 of 21 results are the same") == 2, "among the causes, and in the message"


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


def test_a_vote_for_a_change_with_undecided_results_says_how_many() -> None:
    reading = FakeReading()
    change = change_view(
        7, "Stripe", run_id=1, run_state=RunState.FINISHED, vote=1, header="Build Successful"
    )
    rows = [comparison(1, "BM_wide", 1.895, Verdict.UNDECIDED), comparison(2, "BM_same", 1.0, Verdict.SAME)]
    add_patch_set(reading, change, [(build_view(1, 1), rows)])
    app = build_pages(reading)
    for path, badges in (("/", 1), ("/changes/7", 3), ("/runs/1", 3), ("/job/kv-engine-cv-perf/1/", 1)):
        text = call(app, "GET", path).text  # of the vote, the build and the decision
        assert text.count('<span class="badge busy"') == text.count("· 1 undecided</span>") == badges, path
        assert "good" not in text
    assert "BM_wide" in call(app, "GET", "/changes/7").text


def test_the_votes_of_patch_sets_with_undecided_results_say_how_many() -> None:
    text = call(APP, "GET", "/changes/4720").text
    chips = text.partition('aria-label="Patch sets"')[2].partition("</nav>")[0]
    assert chips.count('<span class="busy">') == 3
    assert chips.count("+1 · 1 undecided") == 1
    assert chips.count("+1 · 1 slower, not counted") == 2


@pytest.mark.parametrize(
    "path", ["/changes/4712", "/changes/4712/2", "/runs/41", "/job/kv-engine-cv-perf/5904/"]
)
def test_a_failed_patch_set_says_what_to_do_now(path: str) -> None:
    text = call(APP, "GET", path).text
    steps = text.partition("What now?")[2].partition("</section>")[0]
    assert [line.partition("</code>")[0] for line in steps.split("<code>")[1:]] == [
        "benchgate gate --job kv-engine-cv-perf --seed 5f0c2a7e",
        "recheck kv-engine-cv-perf",
        "accept PureFollyExecutorBench/OneShotScheduleRun/real_time/threads: REASON",
        "override kv-engine-cv-perf BUG-ID REASON",
    ]


def test_a_green_or_outdated_patch_set_proposes_no_comment() -> None:
    assert "What now?" not in call(APP, "GET", "/changes/4711").text
    outdated = call(APP, "GET", "/changes/4720/1").text
    assert 'outdated: <a href="/changes/4720/3">patch set 3</a> is the newest' in outdated


def test_a_drawing_has_a_zero_and_marks_what_lies_beyond_its_ends() -> None:
    text = call(APP, "GET", "/changes/4711").text
    assert '<span class="axis"><span>−100 %</span><span>0</span><span>+100 %</span></span>' in text
    assert '<text class="cut" x="240" y="16" text-anchor="end">×53.1 »</text>' in text
    assert text.count("▸") == text.count('class="expand"')


@pytest.mark.parametrize(
    ("path", "addresses"),
    [
        ("/", ["c/kv_engine/+/4712/2"]),
        ("/changes/4712", ["c/kv_engine/+/4712/2", f"q/{'c0ffee12' * 5}", f"q/{'9' * 40}"]),
        ("/changes/4721", [f"q/{'8' * 40}", f"q/{'7' * 40}"]),
        ("/runs/41", ["c/kv_engine/+/4712/2", f"q/{'c0ffee12' * 5}", f"q/{'9' * 40}"]),
        ("/job/kv-engine-cv-perf/5904/", [f"q/{'c0ffee12' * 5}", f"q/{'9' * 40}"]),
    ],
)
def test_changes_and_commits_are_linked_to_the_review_server(path: str, addresses: list[str]) -> None:
    text = call(build_pages(sample_project(), review_urls={"gerrit": GERRIT}), "GET", path).text
    for address in addresses:
        assert f'<a href="{GERRIT}/{address}" rel="noopener noreferrer">' in text
    assert GERRIT not in call(APP, "GET", path).text


def test_a_change_names_the_parent_that_it_was_measured_against() -> None:
    assert "against its parent <code>9999999999</code>" in call(APP, "GET", "/changes/4712").text


def test_empty_pages_explain_how_they_fill() -> None:
    empty = build_pages(FakeReading())
    assert "The first change appears here when" in call(empty, "GET", "/").text
    assert "benchgate worker --pool" in call(empty, "GET", "/machines").text
    assert "No series yet" in call(empty, "GET", "/trends").text


def test_a_machine_that_takes_no_builds_shows_its_obstacle() -> None:
    reading = sample_project()
    reading.machine_rows = [replace(reading.machine_rows[0], build=None, obstacle="others use <all> CPUs")]

    assert (
        "takes no benchmarks: others use &lt;all&gt; CPUs"
        in call(build_pages(reading), "GET", "/machines").text
    )


def test_machines_that_share_a_host_are_shown_below_its_name() -> None:
    reading = sample_project()
    first, second = reading.machine_rows
    assert "Host <bdi>perf-01" not in call(build_pages(reading), "GET", "/machines").text
    reading.machine_rows = [first, second, replace(first, name="perf-01/lint", pool="lint")]

    text = call(build_pages(reading), "GET", "/machines").text
    places = [text.index(name) for name in ("Host <bdi>perf-01", "perf-01/lint", "Host <bdi>perf-02")]
    assert places == sorted(places)


def test_the_page_of_the_machines_says_what_each_of_the_next_builds_waits_for() -> None:
    reading = sample_standings()
    running = [build_view(9000 + n, 9000 + n, state=BuildState.RUNNING) for n in range(60)]
    reading.runs[0] = replace(reading.runs[0], builds=(*reading.runs[0].builds, *running))
    text = call(build_pages(reading), "GET", "/machines").text
    waits = [f"{place} in the queue of pool perf; perf-01 takes" for place in ("1st", "2nd")]
    places = [text.index(each) for each in (">Pool <bdi>perf</bdi></h3>", *waits)]
    assert places == sorted(places)


LOG = "/job/kv-engine-cv-perf/5904/log"


def test_a_long_log_opens_at_its_end_on_a_page_that_leads_back() -> None:
    text = call(APP, "GET", LOG).text
    assert '<a href="/job/kv-engine-cv-perf/5904/">' in text
    assert f'<a href="{LOG}.txt">as text</a>' in text
    assert text.count("x") < (256 << 10) + 1000
    assert '<span class="line unfinished" id="L3"><a href="#L3">3</a>last</span></pre>' in text


def test_the_whole_log_is_served_as_text() -> None:
    answer = call(APP, "GET", f"{LOG}.txt", headers={"Accept-Encoding": "identity"})
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.content == b"first\n" + b"x" * (5 << 20) + b"\nlast"
    assert answer.headers["content-length"] == str(len(answer.content))


@pytest.mark.parametrize(
    ("wanted", "part", "place"),
    [
        ("bytes=0-4", b"first", "0-4"),
        ("bytes=5242886-", b"\nlast", "5242886-5242890"),
        ("bytes=-4", b"last", "5242887-5242890"),
        ("bytes=5242887-99999999", b"last", "5242887-5242890"),
    ],
)
def test_a_range_of_a_log_is_served(wanted: str, part: bytes, place: str) -> None:
    answer = call(APP, "GET", f"{LOG}.txt", headers={"Range": wanted})
    assert (answer.status_code, answer.content) == (206, part)
    assert answer.headers["content-range"] == f"bytes {place}/5242891"


def test_a_range_beyond_the_end_of_a_log_is_refused() -> None:
    answer = call(APP, "GET", f"{LOG}.txt", headers={"Range": "bytes=5242891-"})
    assert (answer.status_code, answer.headers["content-range"]) == (416, "bytes */5242891")


@pytest.mark.parametrize("wanted", ["bytes=0-1,4-5", "lines=1-2", "bytes=-", "bytes=a-b"])
def test_a_range_of_another_form_is_ignored(wanted: str) -> None:
    assert call(APP, "HEAD", f"{LOG}.txt", headers={"Range": wanted}).status_code == 200


def test_only_the_wanted_part_of_a_log_is_read() -> None:
    taken: list[int] = []

    def chunks() -> Iterator[bytes]:
        for _ in range(64):
            taken.append(1 << 20)
            yield b"x" * (1 << 20)

    reading = replace(sample_project(), log_bytes=64 << 20)
    health = HealthCheck(reading)
    pages = create_pages(lambda _: reading, pages=Pages(health), stream_log=lambda _: chunks())
    app = assemble([pages], access=Callers().access(), version="0.1.0")
    answer = call(app, "HEAD", f"{LOG}.txt")
    assert (answer.headers["content-length"], taken) == (str(64 << 20), [])
    part = call(app, "GET", f"{LOG}.txt", headers={"Range": "bytes=2000000-2000999"})
    assert (len(part.content), sum(taken)) == (1000, 2 << 20)


def test_control_characters_of_a_patch_set_reach_no_page() -> None:
    hostile = "first\tline\r\n\x1b[31mred\x1b[0m\x07\x00 \u202egnp.exe\nlast"
    reading = FakeReading()
    change = change_view(
        7, "Stripe", run_id=1, run_state=RunState.FINISHED, vote=1, header="Build Successful"
    )
    add_patch_set(reading, change, [(build_view(1, 1), [])], message=hostile)
    reading.patch_set_rows = [replace(reading.patch_set_rows[0], message=hostile)]
    log = hostile.encode() + b"\xff"
    app = build_pages(replace(reading, log_bytes=len(log)), logs={"log": log})
    build = "/job/kv-engine-cv-perf/1"
    for path in ("/changes/7", "/runs/1", f"{build}/", f"{build}/log", f"{build}/log.txt"):
        text = call(app, "GET", path).text
        assert not {c for c in text if c not in "\n\t" and unicodedata.category(c) in {"Cc", "Cf"}}, path
        assert "first\tline" in text


def test_a_build_without_a_stored_log_is_still_shown() -> None:
    answer = call(build_pages(sample_project()), "GET", "/job/kv-engine-cv-perf/5904/")
    assert "The log is no longer stored." in answer.text


def test_the_address_without_its_last_slash_redirects_to_the_build() -> None:
    answer = call(APP, "GET", "/job/kv-engine-cv-perf/5904")
    assert (answer.status_code, answer.headers["location"]) == (308, "/job/kv-engine-cv-perf/5904/")


def test_only_the_page_for_frames_may_be_framed_and_it_has_no_forms() -> None:
    framed = call(APP, "GET", "/trends/1/embed?range=all&series=2")
    policy = framed.headers["content-security-policy"]
    assert "default-src 'self'; script-src 'self';" in policy
    assert policy.endswith("frame-ancestors *")
    assert "x-frame-options" not in framed.headers
    assert "<form" not in framed.text
    assert 'data-figure="/trends/1/figure.json?series=2&amp;range=all"' in framed.text
    for path in ("/trends", "/trends/1/figure.json", "/trends/1/embed/", "/trends/x/embed", "/changes/4712"):
        headers = call(APP, "GET", path).headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-frame-options"] == "DENY"


def test_every_control_of_a_trend_is_in_the_links_of_the_others() -> None:
    page = call(APP, "GET", "/trends?series=1&series=2&range=1y&by=commit&axis=log&q=BM").text
    assert '"/trends?q=BM&amp;series=1&amp;series=2&amp;range=1y&amp;by=commit"' in page, "the linear axis"
    assert 'data-figure="/trends/1/figure.json?series=2&amp;range=1y&amp;by=commit&amp;axis=log"' in page
    assert '"/trends?q=BM&amp;series=1&amp;range=1y&amp;by=commit&amp;axis=log"' in page, "without series 2"


def test_a_series_that_is_named_twice_is_drawn_once() -> None:
    names = {each["name"] for each in call(APP, "GET", "/trends/1/figure.json?series=1").json()["data"]}
    assert {"merged", "patch sets"} <= names


def test_a_permalink_ends_at_the_newest_point_so_that_it_stays() -> None:
    page = call(APP, "GET", "/trends?series=1").text
    newest = max(point.measured_at for point in sample_project().trends[0].points)
    until = f"until={newest:%Y-%m-%dT%H}%3A{newest:%M}%3A{newest:%S}.000000Z"
    assert f"/trends?series=1&amp;range=90d&amp;{until}</code>" in page
    again = call(APP, "GET", f"/trends?series=1&range=90d&{until}").text
    assert "Without points after" in again
    assert f"{until}</code>" in again


def test_a_permalink_has_all_points_also_in_a_fraction_of_a_second_and_of_another_zone() -> None:
    trend = sample_project().trends[0]
    last = trend.points[-1]
    moment = last.measured_at.astimezone(timezone(timedelta(hours=5))).replace(microsecond=123456)
    moved = replace(trend, points=(*trend.points[:-1], replace(last, measured_at=moment)))
    app = build_pages(replace(sample_project(), trends=[moved]))
    permalink = (
        "/trends?series=1" + parsed(call(app, "GET", "/trends?series=1").text)[0].partition("series=1")[2]
    )
    assert "69 points as a table" in call(app, "GET", permalink).text


def test_the_frame_for_other_sites_holds_the_name_of_a_benchmark_as_text() -> None:
    trend = sample_project().trends[0]
    name = "BM_\"><script>alert(1)</script>&quot;'"
    hostile = replace(trend, series=replace(trend.series, benchmark=name))
    app = build_pages(replace(sample_project(), trends=[hostile]))
    pasted = parsed(call(app, "GET", "/trends?series=1&by=commit").text)[1]
    (frame,) = elements(pasted)
    assert frame == (
        "iframe",
        {"src": "/trends/1/embed?by=commit", "width": "900", "height": "480", "title": name},
    )


def parsed(page: str) -> list[str]:
    """Return the texts of the page's codes that a person copies."""
    texts = page.partition('<details class="share">')[2].partition("</details>")[0].split("<code>")[1:]
    return [unescape(text.partition("</code>")[0]) for text in texts]


def elements(text: str) -> list[tuple[str, dict[str, str | None]]]:
    found: list[tuple[str, dict[str, str | None]]] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: found.append((tag, dict(attrs)))  # type: ignore[method-assign]
    parser.feed(text)
    return found


def test_an_error_is_not_for_frames() -> None:
    headers = call(APP, "GET", "/trends/99/embed").headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"


def test_a_page_says_where_older_points_are() -> None:
    trend = sample_project().trends[0]
    many = tuple(replace(trend.points[-1]) for _ in range(300))
    app = build_pages(replace(sample_project(), trends=[replace(trend, points=many)]))
    page = call(app, "GET", "/trends?series=1").text
    assert "200 points as a table" in page
    assert "These are the newest ones" in page


def test_a_commit_that_is_not_in_the_range_is_not_taken_for_the_reference() -> None:
    known = sample_project().trends[0].points[5].revision
    for since, note in (("e" * 40, True), (known, False)):
        answer = call(APP, "GET", f"/trends/1/figure.json?since={since}").json()
        assert any("is not in this range" in text for text in answer["notes"]) == note


@pytest.mark.parametrize(
    "wrong",
    [
        *("since=HEAD", "since=" + "a" * 65, "shown=all", "range=2d", "by=author", "axis=3"),
        *("until=yesterday", "series=0", "series=2&series=3&series=4&series=5&series=6&series=7"),
    ],
)
def test_what_is_no_revision_or_view_is_no_address(wrong: str) -> None:
    assert call(APP, "GET", f"/trends?series=1&{wrong}").status_code == 404
    assert call(APP, "GET", f"/trends/1/figure.json?{wrong}").status_code in {404, 422}


def test_a_series_without_parents_is_shown_by_its_values() -> None:
    trend = sample_project().trends[0]
    old = tuple(replace(point, parent=None) for point in trend.points)
    reading = replace(sample_project(), trends=[replace(trend, points=old)])
    page = call(build_pages(reading), "GET", "/trends?series=1").text
    assert "since this one" not in page
    assert "Change since a commit" not in page


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
