"""Show trends on a page, and one of them in a frame on other sites."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta, timezone
from html import unescape
from html.parser import HTMLParser

import pytest

from tests.support.reading.sample_project import sample_project
from tests.support.web import build_app, build_pages, call, later

APP = later(lambda: build_app(sample_project()))


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
