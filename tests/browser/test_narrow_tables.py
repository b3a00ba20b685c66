"""Tables on the screen of a phone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from service.domain.measuring.tests.cases import CaseStatus, TestCase, TestRun
from service.domain.measuring.tests.record import TestSuite, write_tests
from service.domain.runs.retention import StoredSize
from tests.support.reading.sample_project import OVERRIDDEN, sample_project
from tests.support.web import build_app, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]

NAME = "ep-engine_ep_unit_tests.PersistentAndEphemeral/ConnectionTest"
CASES = (
    TestCase(NAME, CaseStatus.FAILED, 29.49, "Expected equality of these values: x; 4", "tests/a.cc:12"),
    TestCase("ep_testsuite_dcp.value_eviction.comp_active", CaseStatus.PASSED, 12.8),
)


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    reading = sample_project()
    reading.about[401] = {"tests": "tests"}  # build 5904
    first, second = reading.machine_rows
    busy = "other work on this host uses 3.1 of 16 CPUs: ninja, cc1plus"
    reading.machine_rows[1] = replace(second, name="perf-01/lint/2", pool="lint", host=first.host)
    reading.machine_rows[0] = replace(first, obstacle=busy)
    reading.sizes = [
        StoredSize(
            name=name, records=1_204_000, database_bytes=3 << 30, artifacts=90_412, artifact_bytes=120 << 30
        )
        for name in ("pairs", "comparisons")
    ]
    tests = write_tests([TestSuite("ctest --test-dir build", TestRun(CASES), (CASES[1].name,))])
    with serving(build_app(reading, logs={"log": b"compiled\n", "tests": tests})) as address:
        yield address


@pytest.mark.parametrize(
    ("address", "table", "words"),
    [
        ("/job/kv-engine-cv-perf/5904/", ".tests", ["✕ failed", "29.5 s", "passed on a retry", "12.8 s"]),
        (f"/changes/{OVERRIDDEN}", ".overrides", ["Bob Reviewer", "ep_unit_tests time out", "MB-37948"]),
        (f"/changes/{OVERRIDDEN}", ".runs", ["check", "finished", "2026-11-21 02:17"]),
        ("/machines", ".machines", ["Host perf-01", "takes no benchmarks", "kv-engine-cv-perf/5907", "ago"]),
        ("/machines", ".storage", ["comparisons", "1,204,000", "132 GB", "with 90412 files"]),
    ],
)
def test_all_of_a_table_is_in_view_without_scrolling_sideways(
    page: Page, address: str, table: str, words: list[str]
) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(address)
    shown = page.locator(table)
    for text in words:
        expect(shown).to_contain_text(text)
    rights = shown.locator("th, td").evaluate_all(
        "all => all.map(each => each.getBoundingClientRect().right)"
    )
    assert max(rights) <= 390
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_the_worst_results_come_before_what_to_do_and_that_before_the_rest(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/job/kv-engine-cv-perf/5904/")

    places = [".worst", ".next-steps", ".build .row", "#log"]
    tops = [page.locator(place).first.bounding_box() for place in places]
    first, *others = [box["y"] for box in tops if box]

    assert first < 844, "the first result is in view without scrolling"
    assert [first, *others] == sorted([first, *others])
    assert len(others) == 3
