"""Search the test cases on a build's page, with and without comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from service.domain.measuring.tests.cases import CaseStatus, TestCase, TestRun
from service.domain.measuring.tests.record import TestSuite, write_tests
from tests.support.reading.sample_project import sample_project
from tests.support.web import build_app, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

COMPARED = "/job/kv-engine-cv-perf/5904/"
NOT_COMPARED = "/job/kv_engine.docs/311/"
CASES = (
    TestCase("ExecutorPool/SnoozeWake", CaseStatus.PASSED, 2.0),
    TestCase("Hash/Insert", CaseStatus.PASSED, 1.0),
)


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    reading = sample_project()
    reading.about = {each: {"tests": "tests"} for each in (401, 402)}  # builds 5904 and 311
    tests = write_tests([TestSuite("ctest", TestRun(CASES))])
    with serving(build_app(reading, logs={"log": b"compiled\n", "tests": tests})) as address:
        yield address


@pytest.mark.parametrize(
    ("address", "label", "rows"),
    [(COMPARED, "Find benchmarks and tests", 1), (NOT_COMPARED, "Find tests", 0)],
)
def test_one_search_narrows_all_tables_of_a_build(page: Page, address: str, label: str, rows: int) -> None:
    page.goto(address)
    search = page.get_by_role("searchbox")
    expect(search).to_have_count(1)
    expect(search).to_have_accessible_name(label)
    expect(page.locator(".tests tbody tr")).to_have_count(2)
    page.keyboard.press("/")
    expect(search).to_be_focused()
    page.keyboard.type("SnoozeWake")
    expect(page.locator(".tests tbody tr")).to_have_count(1)
    expect(page.locator("tr.row")).to_have_count(rows)
    page.wait_for_url("**?q=SnoozeWake")
    search.fill("nothing")
    expect(page.get_by_text("No test matches “nothing”.")).to_be_visible()
    search.fill("")
    expect(page.locator(".tests tbody tr")).to_have_count(2)
