"""Test cases: several tries, and durations as benchmarks."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.measuring.formats.reader import read_run
from service.domain.measuring.formats.timed import durations
from service.domain.measuring.tests.cases import CaseStatus, TestCase, TestRun, case_of, combined
from service.domain.measuring.tests.gtest import read_gtest
from service.domain.measuring.tests.junit import Dialect, read_junit
from service.domain.values.errors import BadResults

SAMPLES = Path(__file__).parents[4] / "samples" / "testing"
STATUSES = st.sampled_from(CaseStatus)
RUNS = st.dictionaries(st.sampled_from("abcd"), STATUSES).map(
    lambda ends: TestRun(tuple(TestCase(name, end, 1.0) for name, end in ends.items()))
)


def run(**ends: CaseStatus) -> TestRun:
    return TestRun(tuple(TestCase(name, end, 1.0) for name, end in ends.items()))


def test_a_test_that_passes_on_a_retry_has_passed_and_is_named() -> None:
    first = read_junit((SAMPLES / "ctest_3.25.1_first_try.xml").read_bytes(), Dialect.CTEST)
    second = read_junit((SAMPLES / "ctest_3.25.1_second_try.xml").read_bytes(), Dialect.CTEST)
    final, retried = combined([first, second])

    assert {case.name: case.status for case in final.cases} == {
        "passes": CaseStatus.PASSED,
        "flaky": CaseStatus.PASSED,
    }
    assert retried == ("flaky",)
    assert final.cases[1].seconds == second.cases[0].seconds


@pytest.mark.parametrize(
    "later",
    [
        run(a=CaseStatus.FAILED),
        run(a=CaseStatus.SKIPPED),
        run(a=CaseStatus.NOT_RUN),
        run(a=CaseStatus.DISABLED),
        run(),
    ],
)
def test_a_failed_test_that_no_later_try_passes_stays_failed(later: TestRun) -> None:
    final, retried = combined([run(a=CaseStatus.FAILED), later])

    assert [case.status for case in final.cases] == [CaseStatus.FAILED]
    assert retried == ()


def test_a_failure_that_only_a_later_try_shows_counts() -> None:
    final, _ = combined([run(a=CaseStatus.FAILED), run(a=CaseStatus.PASSED, b=CaseStatus.FAILED)])
    assert [(case.name, case.has_failed) for case in final.cases] == [("a", False), ("b", True)]


@given(st.lists(RUNS, max_size=4))
def test_a_test_has_failed_if_it_failed_first_and_no_later_try_passed(tries: list[TestRun]) -> None:
    final, retried = combined(tries)

    for case in final.cases:
        ends = [each.status for run in tries for each in run.cases if each.name == case.name]
        began_badly = ends[0] in {CaseStatus.FAILED, CaseStatus.NOT_RUN}
        assert case.has_failed == (began_badly and CaseStatus.PASSED not in ends)
        assert (case.name in retried) == (began_badly and CaseStatus.PASSED in ends)


def test_a_combined_run_is_cut_if_a_try_is() -> None:
    assert combined([TestRun(()), TestRun((), is_cut=True)])[0].is_cut
    assert combined([]) == (TestRun(()), ())


def test_durations_are_read_as_benchmarks_in_seconds() -> None:
    found = read_run(written(run_of_ctest()), source="x")
    rows = {row.name: row for row in found.rows}

    assert rows["times.out"].error
    assert rows["regex.fail"].error == "Error regular expression found in output. Regex=[ERROR]"
    assert rows["no.such"].error == "Unable to find executable"
    assert rows["skips"].skipped == "SKIP_RETURN_CODE=77"
    assert rows["passes"].values == pytest.approx({"real_time": 0.00221882, "cpu_time": 0.00221882})
    assert rows["disabled"].error == "not run"  # it is asked for only if the parent ran it
    assert found.warnings == ()


def written(run: TestRun) -> bytes:
    return durations(run, [case.name for case in run.cases])


def run_of_ctest() -> TestRun:
    return read_junit((SAMPLES / "ctest_3.25.1.xml").read_bytes(), Dialect.CTEST)


def test_a_test_shorter_than_the_resolution_took_as_long_as_that() -> None:
    run = read_gtest((SAMPLES / "gtest_1.12.1.json").read_bytes(), b"")
    rows = {row.name: row for row in read_run(written(run), source="x").rows}

    assert rows["A.Passes"].values["real_time"] == pytest.approx(0.001)
    assert "Some/P.Even/1" in rows


@given(
    st.lists(
        st.builds(case_of, st.text(min_size=1).filter(lambda t: t.isprintable() and t.strip()), STATUSES,
                  st.floats(), st.text(), st.text()),
        unique_by=lambda case: case.name,
    )
)  # fmt: skip
def test_any_run_can_be_read_back(cases: list[TestCase]) -> None:
    found = read_run(written(TestRun(tuple(cases))), source="x")
    assert [row.name for row in found.rows] == [case.name for case in cases]


def test_names_and_messages_have_no_control_characters() -> None:
    case = case_of("a\tb\x1b[0m\0", CaseStatus.FAILED, 1, "x\r\n\x07y\u202e", "t.c\x00:1")
    assert (case.name, case.message, case.place) == ("a b[0m", "x\ny", "t.c:1")


@pytest.mark.parametrize("name", ["", " ", "\x00"])
def test_a_test_without_a_name_is_refused(name: str) -> None:
    with pytest.raises(BadResults, match="no name"):
        case_of(name, CaseStatus.PASSED, 1)
