"""Benchmarks and machines in a browser: order, search, pages, and a narrow screen."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.reasons import SAME_PROGRAM
from tests.support.reading.add_patch_set import add_patch_set
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.sample_project import HOSTILE_NAMES, sample_project
from tests.support.reading.views import build_view, change_view, comparison, machine_view
from tests.support.web import build_app, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]
SLOW = "CB3ExecutorBench/SnoozeWake/real_time/threads:16"
BUILDS = 12


def project() -> FakeReading:
    """Twelve builds of 230 benchmarks: one that is never decided, a noisy, a failing and hostile ones."""
    reading, sample = FakeReading(), sample_project()
    reading.trends, reading.voting_status_rows = sample.trends, sample.voting_status_rows
    reading.machine_rows = [
        *sample.machine_rows,
        machine_view("perf-03", obstacle="other work takes 100 % of its CPUs"),
    ]
    names = [trend.series.benchmark for trend in sample.trends]
    names += [f"StatsBench/Count/{k}" for k in range(220 - len(names))]
    rows = [
        comparison(k, name, 1.0, Verdict.SAME, error=0.0011 * (1 + k % 7) / 4)
        for k, name in enumerate(names, start=1)
    ]
    rows[2] = replace(rows[2], verdict=Verdict.BROKEN, error=None, ratio=None)
    rows += [
        comparison(301, SLOW, 0.985, Verdict.UNDECIDED, error=0.018, pairs=900, suite="waking"),
        comparison(302, "MixedLoad", 0.99, Verdict.SAME, error=0.011, pairs=32, suite="waking"),
        comparison(303, "Untouched", 1.0, Verdict.SAME, reason=SAME_PROGRAM, pairs=12, suite="old"),
    ]
    for number in range(1, BUILDS + 1):
        change = change_view(number, "Make it faster", run_id=number)
        add_patch_set(reading, change, [(build_view(number, number), rows)])
        reading.spent |= {(number, "executor"): 900.0, (number, "waking"): 1500.0, (number, "old"): 60.0}
    return reading


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving(build_app(project())) as found:
        yield found


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A browser that runs no scripts."""
    context = browser.new_context(base_url=address, java_script_enabled=False)
    yield context.new_page()
    context.close()


def test_the_page_begins_with_what_to_do_and_the_costliest(page: Page) -> None:
    page.goto("/benchmarks")
    expect(page.locator(".sentence")).to_contain_text(
        "223 benchmarks cost 8.2 h of machine time in 30 days; 1"
    )
    expect(page.locator(".advice li")).to_have_count(4)
    expect(page.locator(".advice li").first).to_contain_text("undecided in 12 of 12 builds")
    expect(page.locator("tbody tr").first).to_contain_text("SnoozeWake")


def test_order_search_and_pages_are_links_that_keep_each_other(page: Page) -> None:
    page.goto("/benchmarks")
    page.get_by_role("link", name="Name", exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(200)
    page.get_by_role("link", name="Next").click()
    expect(page.locator("tbody tr")).to_have_count(23)
    assert page.url.endswith("?sort=name&page=2")
    page.get_by_label("Find by benchmark").fill("waking -mixed")
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(1)
    assert page.url.endswith("q=waking+-mixed&sort=name")
    page.get_by_role("link", name="Machine time").click()
    expect(page.locator("tbody tr")).to_have_count(1)


def test_a_series_says_why_it_does_not_vote(page: Page) -> None:
    page.goto("/benchmarks?q=logqtime")
    expect(page.locator("tbody tr")).to_contain_text("votes again with at most 1")


def test_machines_begin_with_those_that_take_builds(page: Page) -> None:
    page.goto("/machines")
    expect(page.locator(".sentence")).to_have_text(
        "2 of 3 machines take builds; 1 busy. perf-03 takes no builds that compare: other work takes 100 % "
        "of its CPUs. Nothing is queued."
    )


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize(
    "path", ["/benchmarks", "/benchmarks?sort=noise&q=x", "/benchmarks?q=zz", "/machines"]
)
def test_a_page_has_no_fault_of_access_and_fits(
    browser: Browser, address: str, path: str, width: int
) -> None:
    page = browser.new_page(base_url=address, viewport={"width": width, "height": 844})
    page.goto(path)
    page.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text())
    found = page.evaluate("axe.run().then((all) => all.violations.map((v) => [v.id, v.nodes[0].html]))")
    assert found == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.close()


def test_hostile_names_are_text(page: Page) -> None:
    page.goto("/benchmarks?sort=name")
    assert HOSTILE_NAMES[0] in (page.locator("table").text_content() or "")
    assert page.locator("table img").count() == 0
