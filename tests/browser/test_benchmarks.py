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
    """Twelve builds of 223 benchmarks: one that lacks pairs, a noisy, a failing and hostile ones."""
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
    rows[2] = replace(rows[2], verdict=Verdict.FAILING, error=None, ratio=None)
    rows += [
        comparison(301, SLOW, 0.985, Verdict.UNDECIDED, error=0.08, pairs=18, suite="waking"),
        comparison(302, "MixedLoad", 0.99, Verdict.UNDECIDED, error=0.011, pairs=40, suite="waking"),
    ]
    reading.more_pairs[301] = 640.0
    old = [comparison(303, "Untouched", 1.0, Verdict.SAME, reason=SAME_PROGRAM, pairs=12, suite="old")]
    for number in range(1, BUILDS + 1):
        change = change_view(number, "Make it faster", run_id=number)
        untouched = build_view(1000 + number, number, job="old-perf")
        add_patch_set(reading, change, [(build_view(number, number), rows), (untouched, old)])
        reading.spent |= {(number, "executor"): 900.0, (number, "waking"): 1500.0}
        reading.spent[1000 + number, "old"] = 60.0
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


def test_the_page_begins_with_its_suites_and_what_to_do(page: Page) -> None:
    page.goto("/benchmarks")
    expect(page.locator(".sentence")).to_contain_text("223 benchmarks in 3 suites")
    expect(page.locator(".sentence")).to_contain_text(
        "waking of kv-engine-cv-perf on master, 5.0 h in its last 12 builds"
    )
    advice = page.locator(".advice li")
    expect(advice).to_have_count(4)
    expect(advice.nth(2)).to_contain_text(
        "of kv-engine-cv-perf on master: undecided in 12 of 12 builds, hardly"
    )
    expect(page.locator("tbody tr").first).to_contain_text("SnoozeWake")
    expect(page.locator("tbody tr").first).to_contain_text("guards hardly anything")


def test_a_chip_lists_all_benchmarks_of_a_suggestion(page: Page) -> None:
    page.goto("/benchmarks?q=kv-engine")
    page.get_by_role("link", name="Noisy 1").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text("MixedLoad")
    assert page.url.endswith("?fault=noisy&q=kv-engine")
    page.get_by_label("Find by benchmark").fill("stats")
    page.keyboard.press("Enter")
    expect(page.locator(".empty")).to_contain_text("No benchmark matches “stats”")
    page.get_by_role("link", name="All", exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(50)


def test_order_search_and_pages_are_links_that_keep_each_other(page: Page) -> None:
    page.goto("/benchmarks")
    page.get_by_role("link", name="Name", exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(50)
    page.get_by_role("link", name="Next").click()
    assert page.url.endswith("?sort=name&page=2")
    page.get_by_label("Find by benchmark").fill("waking -mixed")
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator(".sentence")).to_contain_text("1 benchmark in 1 suite")
    assert page.url.endswith("q=waking+-mixed&sort=name")
    page.get_by_role("link", name="Undecided", exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(1)


def test_a_series_says_why_it_does_not_vote(page: Page) -> None:
    page.goto("/benchmarks?q=logqtime")
    expect(page.locator("tbody tr")).to_contain_text("votes again with at most 1")
    expect(page.locator("tbody tr")).to_contain_text("2 others yes, with a control; 0 of 40 A/A pairs")


def test_machines_begin_with_those_that_can_measure(page: Page) -> None:
    page.goto("/machines")
    expect(page.locator(".sentence")).to_have_text(
        "2 of 3 machines can measure; 1 busy. perf-03 takes no benchmarks: other work takes 100 % "
        "of its CPUs. Nothing is queued."
    )


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("path", ["/benchmarks", "/benchmarks?fault=noisy", "/benchmarks?q=zz", "/machines"])
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
