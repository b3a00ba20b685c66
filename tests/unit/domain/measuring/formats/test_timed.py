"""Tests that are measured like benchmarks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.domain.building.sandbox_command import Completed
from service.domain.measuring.formats.program import MAX_LISTED, NotMeasured, Output
from service.domain.measuring.formats.reader import read_run
from service.domain.measuring.formats.suites import format_of
from service.domain.measuring.formats.timed import TimedTests, durations, ran_in, too_short
from service.domain.measuring.repetitions import SHORT
from service.domain.measuring.tests.cases import CaseStatus, TestCase, TestRun
from service.domain.project.tests import CTestConfiguration, GTestConfiguration, TimedTestsConfiguration

if TYPE_CHECKING:
    from service.domain.project.benchmark import OwnSuite

SAMPLES = Path(__file__).parents[4] / "samples" / "testing"
(CTEST,) = CTestConfiguration(directory="build/x", filter="a|b", args=("-L", "quick", "-j8")).suites
(GTEST,) = GTestConfiguration(programs=("build/t",), filter="A.*", args=("--fast",)).suites


def arguments(suite: OwnSuite, *names: str) -> tuple[str, ...]:
    """The arguments that choose these tests, or else those of the job."""
    own = format_of(suite)
    return (own.invoke(suite, names, SHORT) if names else own.list(suite)).arguments


def output(name: str, exit_code: int) -> Output:
    return Output(Completed(exit_code, 1.0), (SAMPLES / name).read_bytes(), b"")


def run(**seconds: float) -> TestRun:
    return TestRun(tuple(TestCase(name, CaseStatus.PASSED, each) for name, each in seconds.items()))


def ended(*statuses: CaseStatus) -> TestRun:
    return TestRun(tuple(TestCase(str(each), each, 1.0) for each in statuses))


def test_ctest_runs_all_tests_of_the_job_one_after_the_other() -> None:
    assert arguments(CTEST) == (
        *("--test-dir", "build/x", "-L", "quick", "-j8"),
        *("--tests-regex", "a|b", "--parallel", "1"),
    )


@pytest.mark.parametrize("name", [r"a+b [x] (y) {z} $ ^ . * ? | c\d", "plain", "Suite/Case.1", "ü"])
def test_ctest_runs_exactly_the_named_tests(name: str) -> None:
    started = arguments(CTEST, name, "other")
    pattern = started[started.index("--tests-regex") + 1]

    assert [each for each in (name, "other", f"{name}2", f"x{name}") if re.search(pattern, each)] == [
        name,
        "other",
    ]
    assert "a|b" not in started


def test_ctest_writes_its_logs_below_its_directory() -> None:
    assert (format_of(CTEST).written, format_of(GTEST).written) == (("build/x/Testing",), ())


def test_tests_are_launched_in_small_groups() -> None:
    names = [f"t{number:02}" for number in range(21)]
    assert format_of(CTEST).group(names, ()) == (tuple(names[:20]), ("t20",))


def test_googletest_runs_the_named_tests() -> None:
    assert arguments(GTEST) == ("./build/t", "--fast", "--gtest_filter=A.*")
    assert arguments(GTEST, "A.b", "Some/P.Even/1")[-1] == "--gtest_filter=A.b:Some/P.Even/1"


def test_separators_of_googletests_filters_match_any_character() -> None:
    """As such, they would end the name of one test or begin that of a test to leave out."""
    assert arguments(GTEST, "A.b-c:d e")[-1] == "--gtest_filter=A.b?c?d?e"


def test_results_of_both_programs_are_read() -> None:
    ctest = format_of(CTEST).listed(output("ctest_3.25.1.xml", 8))
    gtest = format_of(GTEST).listed(output("gtest_1.12.1.json", 1))

    assert {"passes", "times.out"} <= set(ctest.names)
    assert "A.Passes" in gtest.names
    assert "passes" in ctest.seconds
    assert "times.out" not in ctest.seconds


def junit(count: int) -> bytes:
    """JUnit XML of that many long tests, which all pass."""
    cases = "".join(f'<testcase name="t{number}" status="run" time="1"/>' for number in range(count))
    return f"<testsuite>{cases}</testsuite>".encode()


@pytest.mark.parametrize(
    ("count", "exit_code", "why"),
    [
        (1, 8, "exit code 8, although no test failed"),
        (MAX_LISTED + 1, 0, "has more than 10000 tests to compare"),
        (0, 1, "result.json: it is empty"),
    ],
)
def test_a_program_that_does_not_end_well_is_not_measured(count: int, exit_code: int, why: str) -> None:
    left = Output(Completed(exit_code, 1.0), junit(count) if count else b"", b"oh no")
    with pytest.raises(NotMeasured) as caught:
        format_of(CTEST).listed(left)

    assert caught.value.what == why


def test_tests_are_compared_by_real_time() -> None:
    assert (CTEST.metrics, GTEST.metrics) == (("real_time",), ("real_time",))


def test_durations_are_those_of_the_named_tests_in_seconds() -> None:
    (row,) = read_run(durations(run(a=0.2, b=3.0), ["b"]), source="x").rows

    assert row.name == "b"
    assert row.values["real_time"] == pytest.approx(3.0)


@pytest.mark.parametrize("known", [TestRun(()), TestRun((TestCase("a", CaseStatus.DISABLED, 0.0),))])
def test_a_named_test_that_did_not_run_has_an_error(known: TestRun) -> None:
    (row,) = read_run(durations(known, ["a"]), source="x").rows

    assert row.error


def test_tests_that_did_not_run_cannot_be_measured() -> None:
    found = ran_in(ended(*CaseStatus))

    assert found == (CaseStatus.PASSED, CaseStatus.FAILED, CaseStatus.NOT_RUN)


def test_a_skipped_test_that_the_parent_runs_is_measured() -> None:
    found = ran_in(ended(CaseStatus.SKIPPED, CaseStatus.DISABLED), [*CaseStatus, "removed"])

    assert found == (CaseStatus.SKIPPED,)


@pytest.mark.parametrize(
    ("base", "patch", "expected"),
    [
        ({"a": 0.099}, {"a": 0.05}, {"a"}),
        ({"a": 0.1}, {"a": 0.05}, set()),
        ({"a": 0.01}, {"a": 5.0}, set()),
        ({"a": 0.01}, {}, {"a"}),
        ({}, {"a": 0.01, "b": 1.0}, {"a"}),
    ],
    ids=["both", "a faster patch", "a slower patch", "removed", "new"],
)
def test_a_test_is_too_short_if_it_is_on_both_sides(
    base: dict[str, float], patch: dict[str, float], expected: set[str]
) -> None:
    assert too_short(base, patch) == expected


def test_a_test_that_passes_on_no_side_is_never_too_short() -> None:
    """Its failure is named, however early it comes."""
    failed = format_of(CTEST).listed(output("ctest_3.25.1.xml", 8))

    assert "fails" in failed.names
    assert "fails" not in too_short(failed.seconds, failed.seconds)
    assert too_short({}, {"fails": 0.01}) == {"fails"}


@pytest.mark.parametrize("missing", [TimedTests, TimedTestsConfiguration])
def test_a_kind_without_its_own_parts_cannot_be_made(missing: type) -> None:
    """Before, it failed when a build first asked for them."""
    with pytest.raises(TypeError, match="abstract"):
        missing()
