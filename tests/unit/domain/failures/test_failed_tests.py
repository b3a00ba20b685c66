"""Failures of GoogleTest's results: the same as those of its output."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.domain.failures.failure import FailureKind
from service.domain.failures.output.patterns import failures_in
from service.domain.failures.signature import signature_of
from service.domain.measuring.tests.cases import MOST_OTHERS, CaseStatus, TestCase, TestRun
from service.domain.measuring.tests.failed import OPENING_OF_OTHERS, failures_of, failures_of_ctest
from service.domain.measuring.tests.gtest import read_gtest
from service.domain.measuring.tests.junit import Dialect, read_junit

SAMPLES = Path(__file__).parents[3] / "samples" / "testing"
OUTPUT = (SAMPLES / "gtest_1.12.1.txt").read_bytes()
CRASHED = (SAMPLES / "gtest_1.12.1_crash.txt").read_bytes()


def test_the_results_and_the_output_of_a_program_have_the_same_failures() -> None:
    results = failures_of(read_gtest((SAMPLES / "gtest_1.12.1.json").read_bytes(), OUTPUT))
    assert list(results) == list(failures_in(OUTPUT.splitlines()))


def test_a_crash_in_a_test_is_a_failure_of_its_kind() -> None:
    found = {failure.subject: failure.kind for failure in failures_of(read_gtest(b"", CRASHED))}
    assert found["C.Crashes"] is FailureKind.CRASH


def test_an_exception_has_the_same_signature_in_results_and_output() -> None:
    results = read_gtest((SAMPLES / "gtest_1.12.1_exception.json").read_bytes(), b"")
    output = (
        b"[ RUN      ] C.Throws\nunknown file: Failure\n"
        b'C++ exception with description "boom 43" thrown in the test body.\n[  FAILED  ] C.Throws (0 ms)\n'
    )
    [of_results], [of_output] = list(failures_of(results)), list(failures_in(output.splitlines()))

    assert signature_of(of_results).digest == signature_of(of_output).digest


def test_a_place_is_named_from_the_root_of_the_sources() -> None:
    case = TestCase("A.b", CaseStatus.FAILED, 0, "no", "/home/ann/kv/t/a.cc:3")
    [failure] = failures_of(TestRun((case,)), "/home/ann/kv")
    assert failure.place == "t/a.cc:3"


def test_the_output_of_another_framework_gives_the_reason_and_not_its_first_line() -> None:
    def text(reason: str) -> str:
        output = f"Traceback (most recent call last):\n  File &quot;a.py&quot;, line 3\nValueError: {reason}"
        data = f'<testsuite><testcase name="a"><failure>{output}</failure></testcase></testsuite>'
        [failure] = failures_of(read_junit(data.encode(), Dialect.GENERIC), opening=OPENING_OF_OTHERS)
        return signature_of(failure).text

    assert "ValueError: no mode" in text("no mode")
    assert text("no mode") != text("no name")


def test_each_failure_and_error_of_a_test_in_junit_counts() -> None:
    texts = [f"t.cpp:4&#x0A;Value of: {name}&#x0A;  Actual: {k}" for k, name in enumerate("xyx")]
    data = "".join(f'<failure message="{text}"/>' for text in texts) + '<error message="tear down"/>'
    run = read_junit(f'<testsuite><testcase name="a">{data}</testcase></testsuite>'.encode(), Dialect.GENERIC)

    assert [(failure.subject, signature_of(failure).text) for failure in failures_of(run)] == [
        ("a", "Value of: x"),
        ("a", "Value of: y"),
        ("a", "tear down"),
    ]


def test_a_test_with_too_many_failures_shows_that_the_list_is_cut() -> None:
    data = '<failure message="no"/>' * (MOST_OTHERS + 1)
    run = read_junit(f'<testsuite><testcase name="a">{data}</testcase></testsuite>'.encode(), Dialect.GENERIC)
    assert run.is_cut


def platforms(*reasons: str) -> TestRun:
    """Return the results of a test that failed on several platforms, each with its own suite."""
    suites = "".join(
        f'<testsuite><testcase classname="a" name="b"><failure message="{reason}"/></testcase></testsuite>'
        for reason in reasons
    )
    return read_junit(f"<testsuites>{suites}</testsuites>".encode(), Dialect.GENERIC)


def test_a_test_that_fails_on_two_platforms_has_the_failures_of_both() -> None:
    run = platforms("not stored", "not sent", "not stored")
    assert [(each.subject, each.headline) for each in failures_of(run)] == [
        ("a.b", "not stored"),
        ("a.b", "not sent"),
    ]
    assert not run.is_cut


def test_a_test_that_fails_on_too_many_platforms_shows_that_the_list_is_cut() -> None:
    assert not platforms(*["no"] * (MOST_OTHERS + 2)).is_cut
    assert platforms(*(f"no {number}" for number in range(MOST_OTHERS + 2))).is_cut


def test_two_ctest_tests_of_one_name_in_two_folders_have_both_failures() -> None:
    cases = "".join(
        f'<testcase name="unit" status="fail"><system-out>{output}</system-out></testcase>'
        for output in ("not stored", "not sent")
    )
    run = read_junit(f"<testsuite>{cases}</testsuite>".encode(), Dialect.CTEST)
    assert [each.headline for each in failures_of_ctest(run)] == ["Failed: not stored", "Failed: not sent"]


@pytest.mark.parametrize("ends", [("fail", "notrun"), ("notrun", "fail")])
def test_a_test_of_ctest_that_failed_and_could_not_run_has_both_reasons(ends: tuple[str, str]) -> None:
    texts = {"fail": "not stored", "notrun": "no program"}
    cases = "".join(
        f'<testcase name="unit" status="{end}"><system-out>{texts[end]}</system-out></testcase>'
        for end in ends
    )
    run = read_junit(f"<testsuite>{cases}</testsuite>".encode(), Dialect.CTEST)
    found = [each.headline for each in failures_of_ctest(run)]
    assert found == ["Failed: not stored", "Failed: no program"]


def test_a_test_that_ctest_could_not_run_is_reported_as_such() -> None:
    case = TestCase("unit", CaseStatus.NOT_RUN, 0, "Unable to find executable: /src/unit")
    [failure] = failures_of_ctest(TestRun((case,)))
    assert (failure.headline, failure.line) == (
        "Not Run",
        "Failure of a CTest test unit: Unable to find executable: /src/unit",
    )
