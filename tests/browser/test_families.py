"""The page of a family of benchmarks."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib import resources
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from service.domain.verdict.inference.verdict import Verdict
from service.ports.verdict import SeriesWithPoints
from tests.browser.test_pages import AXE
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.views import series_view, trend_point
from tests.support.web import build_app, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from service.ports.verdict import Point

pytestmark = pytest.mark.browser
GAP = 30  # of one benchmark
LONG = "BM_Map<" + "std::vector<std::pair<int, std::string>>, " * 9 + "N>/64"


def points_of(number: int) -> tuple[Point, ...]:
    """The merged commits of a benchmark; one is slower, by half for the second; the third becomes faster."""
    worst = {2: 0.5, 3: 24.0}.get(number, 0.9)
    verdict = Verdict.FASTER if worst > 1 else Verdict.SLOWER
    changes = [(worst, verdict) if index == 9 + number else (1.0, Verdict.SAME) for index in range(40)]
    points = [
        trend_point(index, 1.0, ratio=ratio * math.exp(0.002 * ((index * 7) % 5 - 2)), verdict=verdict)
        for index, (ratio, verdict) in enumerate(changes)
    ]
    if number == 4:
        points[GAP] = replace(points[GAP], ratio=None, error=None)
    return tuple(points)


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    names = (*(f"BM_Map/{8 << number}/threads:4" for number in range(11)), LONG)
    trends = [
        SeriesWithPoints(series_view(number, name), points_of(number)) for number, name in enumerate(names, 1)
    ]
    with serving(build_app(FakeReading(trends=trends))) as address:
        yield address


def test_a_trend_leads_to_its_family_and_each_member_back_to_its_trend(page: Page) -> None:
    page.goto("/trends?series=3&range=30d")
    page.get_by_role("link", name="all of BM_Map").click()
    page.wait_for_url("**/trends/3/family?range=30d")
    expect(page.locator(".members li")).to_have_count(12)
    expect(page.get_by_role("img", name="40 commits between").first).to_be_visible()
    expect(page.locator(".members li").first).to_contain_text("▼ slower")
    page.get_by_role("link", name="BM_Map/16/threads:4").click()
    page.wait_for_url("**/trends?series=2&range=30d")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_family_is_accessible_and_as_wide_as_its_window(page: Page, width: int, scheme: str) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto("/trends/1/family")
    page.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text())
    assert page.evaluate(AXE) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    columns = {round(each.bounding_box()["x"]) for each in page.locator(".members li").all()}  # type: ignore[index]
    assert len(columns) == (1 if width == 390 else 3)
    edges = page.locator(".small-chart text").evaluate_all("labels => labels.map(each => each.getBBox().x)")
    assert edges
    assert min(edges) >= 0, "with its sign"
