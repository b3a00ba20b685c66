"""Lay out the table of test cases on a build's page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.measuring.test_table import MOST_ROWS, lay_out
from service.domain.measuring.tests.cases import CaseStatus, TestCase, TestRun
from service.domain.measuring.tests.record import TestSuite, write_tests
from service.domain.runs.states import RunState
from service.domain.values.search import Words, parse_words
from tests.support.reading.add_patch_set import add_patch_set
from tests.support.reading.fake_reading import FakeReading
from tests.support.reading.views import build_view, change_view
from tests.support.web import build_app, call

if TYPE_CHECKING:
    from fastapi import FastAPI

CASES = (
    TestCase("quick", CaseStatus.PASSED, 0.1),
    TestCase("slow", CaseStatus.PASSED, 9.0),
    TestCase("flaky", CaseStatus.PASSED, 0.2),
    TestCase("gone", CaseStatus.NOT_RUN, 0.0),
    TestCase("skips", CaseStatus.SKIPPED, 0.0),
)


def test_failed_tests_come_first_then_retried_ones_then_the_slowest() -> None:
    suites = [
        TestSuite("a", TestRun(CASES), ("flaky",)),
        TestSuite("b", TestRun((TestCase("fails", CaseStatus.FAILED, 1.0),))),
    ]
    table = lay_out(suites, Words())

    assert table is not None
    assert [row.case.name for row in table.rows] == ["fails", "gone", "flaky", "slow", "quick", "skips"]
    assert [row.case.name for row in table.rows if row.is_retried] == ["flaky"]
    assert table.counts == {
        CaseStatus.PASSED: 3,
        CaseStatus.FAILED: 1,
        CaseStatus.SKIPPED: 1,
        CaseStatus.NOT_RUN: 1,
    }
    assert (table.retried, table.hidden, round(table.seconds, 6)) == (1, 0, 10.3)


def test_a_search_chooses_by_name_and_program() -> None:
    suites = [TestSuite("build/kv", TestRun(CASES))]
    table = lay_out(suites, parse_words("kv -slow qu"))

    assert table is not None
    assert [row.case.name for row in table.rows] == ["quick"]


def test_the_rest_of_many_tests_is_counted() -> None:
    many = tuple(TestCase(f"t{number}", CaseStatus.PASSED, 1.0 + number) for number in range(MOST_ROWS + 7))
    table = lay_out([TestSuite("a", TestRun(many, is_cut=True))], Words())

    assert table is not None
    assert (len(table.rows), table.hidden, table.is_cut) == (MOST_ROWS, 7, True)
    assert table.rows[0].case.name == f"t{MOST_ROWS + 6}"


def test_a_build_without_test_cases_has_no_table() -> None:
    assert lay_out([TestSuite("a", TestRun(()))], Words()) is None


def test_the_page_of_a_build_shows_its_tests_as_harmless_text() -> None:
    hostile = TestCase("<b>x</b>", CaseStatus.FAILED, 2.0, "why\n\x1b[31m<script>", "t.cc:4")
    record = write_tests([TestSuite("build/kv", TestRun((hostile, *CASES)), ("flaky",))])
    app = _app_with(record)
    page = call(app, "GET", "/job/kv-engine-cv-perf/1/").text

    assert "&lt;b&gt;x&lt;/b&gt;" in page.replace("<wbr>", "")
    assert "<script>" not in page.partition('id="tests"')[2].partition("</section>")[0]
    assert "1 passed on a retry" in page
    assert page.index("✕</span> failed") < page.index("✕</span> not run")
    served = call(app, "GET", "/job/kv-engine-cv-perf/1/tests.json")
    assert (served.headers["content-type"], served.content) == ("application/json", record)


def test_the_tests_are_searched() -> None:
    app = _app_with(write_tests([TestSuite("build/kv", TestRun(CASES))]))

    found = call(app, "GET", "/job/kv-engine-cv-perf/1/?q=quick").text.partition('id="tests"')[2]
    assert ("quick" in found, "skips" in found) == (True, False)
    nothing = call(app, "GET", "/job/kv-engine-cv-perf/1/?q=nothing").text
    assert "No test matches “nothing”." in nothing


def test_a_build_without_its_record_is_still_shown() -> None:
    app = _app_with(None)
    assert 'id="tests"' not in call(app, "GET", "/job/kv-engine-cv-perf/1/").text
    assert call(app, "GET", "/job/kv-engine-cv-perf/1/tests.json").status_code == 404


def _app_with(record: bytes | None) -> FastAPI:
    reading = FakeReading()
    change = change_view(
        7, "Stripe", run_id=1, run_state=RunState.FINISHED, vote=1, header="Build Successful"
    )
    add_patch_set(reading, change, [(build_view(1, 1), [])])
    reading.about[1] = {"tests": "tests"}
    return build_app(reading, logs={"log": b""} | ({} if record is None else {"tests": record}))
