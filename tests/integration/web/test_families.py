"""The page of a family of benchmarks, and the links to it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from service.domain.verdict.inference.verdict import Verdict
from service.ports.reading import MOST_UNTOUCHED
from service.ports.verdict import SeriesWithPoints, UntouchedCommit
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.views import series_view, trend_point
from tests.support.web import build_pages, call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fastapi import FastAPI

POINTS = tuple(
    trend_point(index, 1.0, verdict=Verdict.SLOWER if index in {4, 9} else Verdict.SAME)
    for index in range(20)
)


def site_with(*names: str, points: Sequence[object] = POINTS) -> FastAPI:
    trends = [
        SeriesWithPoints(series_view(number, name), tuple(points))  # type: ignore[arg-type]
        for number, name in enumerate(names, 1)
    ]
    return build_pages(FakeReading(trends=trends))


def page_of(app: FastAPI, path: str) -> str:
    answer = call(app, "GET", path)
    assert answer.status_code == 200
    return answer.text


def test_a_trend_leads_to_all_of_its_family() -> None:
    app = site_with("BM_Map/8", "BM_Map/64", "BM_Sort", "BM_Only/1")
    page = page_of(app, "/trends?series=2&range=1y")
    assert '<a href="/trends/2/family?range=1y">all of <bdi>BM_Map</bdi></a>' in page
    assert "all of <bdi>BM_Only</bdi>" in page_of(app, "/trends?series=4"), "nobody counts them here"
    for alone in ("/trends?series=3", "/trends?series=1&series=2"):
        assert "/family" not in page_of(app, alone)


def test_a_family_has_a_chart_and_a_link_for_each_member() -> None:
    page = page_of(site_with("BM_Map/64", "BM_Map/8", "BM_Sort"), "/trends/1/family?range=all&by=commit")
    assert page.index("series=2&amp;range=all&amp;by=commit") < page.index(
        "series=1&amp;range=all&amp;by=commit"
    )
    assert page.count('<svg class="small-chart"') == 2
    assert "<h1><bdi>BM_Map</bdi>: 2 benchmarks</h1>" in page
    assert f'last <a href="/runs/{POINTS[9].run_id}">▼ slower 2026-' in page
    assert "slower or faster than their parent" in page
    assert "since 000000000000"[:16] in page
    assert "BM_Sort" not in page


def test_every_control_of_a_family_is_in_its_links() -> None:
    since = POINTS[3].revision
    page = page_of(site_with("BM_a/1", "BM_a/2"), f"/trends/1/family?since={since}&until=2026-11-30T00:00Z")
    assert f'"/trends/1/family?range=30d&amp;since={since}&amp;until=2026' in page
    assert f'"/trends/1/family?since={since}"' in page, "the newest"
    assert '"/trends/1/family?until=2026' in page, "since the oldest"
    assert f"since {since[:10]}" in page
    assert "At a gap" not in page


def test_a_family_with_a_gap_says_what_the_levels_behind_it_are_relative_to() -> None:
    points = [replace(point, ratio=None, error=None) if point is POINTS[5] else point for point in POINTS]
    page = page_of(site_with("BM_a/1", "BM_a/2", points=points), "/trends/1/family")
    assert "relative to the first commit there" in page


def test_bytes_get_worse_and_not_slower() -> None:
    series = [replace(series_view(k, f"BM_a/{k}"), metric="bytes") for k in (1, 2)]
    app = build_pages(FakeReading(trends=[SeriesWithPoints(each, POINTS) for each in series]))
    for path in ("/trends/1/family", "/trends?series=1", "/trends?series=1&series=2"):
        page = page_of(app, path)
        assert "Triangles are worse" in page
        assert "slower" not in re.sub(r"<path[^>]*>", "", page)


def test_a_large_family_says_how_many_benchmarks_and_commits_it_leaves_out() -> None:
    many = tuple(trend_point(index, 1.0) for index in range(201))
    page = page_of(
        site_with(*(f"BM_Map/{size}" for size in range(84)), points=many), "/trends/42/family?range=all"
    )
    assert "60 of 84 benchmarks, around the one that you came from" in page
    shown = [int(each) for each in re.findall(r'<h2><a href="/trends\?series=([0-9]+)', page)]
    assert shown == [*range(12, 72)], "30 before it, and 29 behind it"
    assert "a page holds no more" in page
    assert page.count('<svg class="small-chart"') == 60
    assert len(page) < 250_000
    small = page_of(site_with("BM_Map/1", "BM_Map/2", points=many), "/trends/1/family?range=all")
    assert "left out" not in small


def test_a_family_says_that_older_commits_are_left_out_when_too_many_touch_nothing() -> None:
    untouched = tuple(
        UntouchedCommit(f"{k + 1:040x}", f"{k:040x}", POINTS[0].measured_at) for k in range(MOST_UNTOUCHED)
    )
    for count, is_said in ((MOST_UNTOUCHED, True), (MOST_UNTOUCHED - 1, False)):
        trend = SeriesWithPoints(series_view(1, "BM_a/1"), POINTS, untouched[:count])
        page = page_of(build_pages(FakeReading(trends=[trend])), "/trends/1/family?range=all")
        assert ("Older commits are left out" in page) == is_said


def test_a_series_of_huge_ratios_is_drawn() -> None:
    points = [trend_point(index, 1.0, ratio=1e300) for index in range(3)]
    page = page_of(site_with("BM_a/1", points=points), "/trends/1/family?range=all")
    assert "3 commits between ×1.0e+300" in page


def test_a_family_of_one_has_a_page() -> None:
    assert "<h1><bdi>BM_Sort</bdi>: 1 benchmark</h1>" in page_of(site_with("BM_Sort"), "/trends/1/family")


def test_a_family_without_merged_commits_says_so() -> None:
    page = page_of(site_with("BM_Map/1", "BM_Map/2", points=()), "/trends/1/family")
    assert page.count("No merged commit was measured against its parent in this range.") == 2


def test_a_hostile_family_is_shown_as_text() -> None:
    hostile = '"><script>alert(1)</script>&quot;'
    app = site_with(f"{hostile}/1", f"{hostile}/2")
    for path in ("/trends?series=1", "/trends/1/family"):
        assert "<script>alert" not in page_of(app, path)


def test_the_page_of_a_family_needs_no_styles_or_scripts_of_its_own() -> None:
    answer = call(site_with("BM_Map/1"), "GET", "/trends/1/family")
    assert "unsafe-inline" not in answer.headers["content-security-policy"]
    assert "style=" not in answer.text
    assert "plotly" not in answer.text


def test_a_family_that_does_not_exist_has_no_page() -> None:
    app = site_with("BM_Map/1")
    for path in ("/trends/9/family", "/trends/0/family", "/trends/1/family?range=2d"):
        assert call(app, "GET", path).status_code == 404
