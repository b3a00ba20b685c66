"""Failures in the output of CTest: the failures in the output of its tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.output.patterns import failures_in
from service.domain.failures.signature import signature_of

SAMPLES = Path(__file__).parents[3] / "samples" / "failures"
TEST, CRASH, TIMEOUT = FailureKind.TEST, FailureKind.CRASH, FailureKind.TIMEOUT
SANITIZER = FailureKind.SANITIZER


def found(log: str) -> list[Failure]:
    return list(failures_in(log.encode().splitlines(keepends=True)))


def ends(log: str) -> list[tuple[FailureKind, str, str]]:
    return [each.fault for each in found(log)]


def test_two_runs_of_one_suite_have_the_same_signatures() -> None:
    """Once with the output of failed tests, once with all output, of tests beside each other."""
    quiet, verbose = (
        (SAMPLES.parent / "testing" / f"ctest_3.25.1_programs{mode}.log").read_text()
        for mode in ("", "_verbose")
    )
    assert {signature_of(failure) for failure in found(quiet)} == {
        signature_of(failure) for failure in found(verbose)
    }
    assert [(kind, subject) for kind, subject, _ in ends(quiet)] == [
        (TEST, "A.Fails"),
        (TEST, "A.Fails"),
        (TEST, "Typed/1.Is"),
        (TEST, "Some/P.Even/0"),
        (CRASH, "C.Crashes"),
        (SANITIZER, ""),
        (SANITIZER, ""),
    ]


def in_ctest(output: str, end: str = "***Failed    0.01 sec") -> str:
    after = "      Start 2: other\n2/2 Test #2: other ....   Passed 0.0 sec\n"
    return f"      Start 1: unit\n1/2 Test #1: unit ....{end}\n{output}\n{after}"


def test_a_failed_test_of_ctest_is_the_assertions_in_its_output() -> None:
    """So that a second, new failure in a known test program is a failure of its own."""
    output = (
        "[ RUN      ] A.a\nt.cpp:1: Failure\nFailed\nno\n[  FAILED  ] A.a (0 ms)\n"
        "[ RUN      ] A.b\n[  FAILED  ] A.b (0 ms)"
    )
    failures = found(in_ctest(output))

    assert [(f.subject, f.headline) for f in failures] == [("A.a", "no"), ("A.b", "Failed")]
    assert {f.line for f in failures} == {
        "Failure of a CTest test 1/2 Test #1: unit ....***Failed    0.01 sec"
    }


def test_verbose_output_belongs_to_the_test_of_its_number() -> None:
    log = (
        "      Start 1: one\n      Start 2: two\n1: [ RUN      ] A.a\n2: [ RUN      ] B.b\n"
        "1: a.cpp:1: Failure\n2: b.cpp:2: Failure\n1: Failed\n2: Failed\n"
        "1: [  FAILED  ] A.a (0 ms)\n2: [  FAILED  ] B.b (0 ms)\n1/2 Test #1: one ...   Passed 0.0 sec\n"
        "2/2 Test #2: two ...***Failed 0.0 sec\n"
    )
    assert [(f.subject, f.place) for f in found(log)] == [("B.b", "b.cpp:2")]


def test_a_time_out_during_a_test_of_googletest_names_that_test() -> None:
    assert ends(in_ctest("[ RUN      ] A.a\n", "***Timeout 60.0 sec")) == [(TIMEOUT, "A.a", "timeout")]


def test_an_error_that_a_test_prints_is_no_compile_error() -> None:
    assert ends(in_ctest("a.cc:3:5: error: no such thing")) == [
        (TEST, "unit", "Failed: a.cc:3:5: error: no such thing")
    ]


def test_a_report_of_a_sanitizer_replaces_the_end_of_its_test() -> None:
    report = (SAMPLES / "gcc12_asan.log").read_text()
    [failure] = found(in_ctest(f"[ RUN      ] A.a\n{report}", "Subprocess aborted***Exception:   0.05 sec"))

    assert failure.kind is SANITIZER
    assert failure.line.startswith("Failure of a CTest test 1/2 Test #1: unit")


UNDEFINED = "a.cc:1:2: runtime error: signed integer overflow: 1 + 2"


def test_a_time_out_counts_beside_a_failed_assertion() -> None:
    """The assertion does not explain it."""
    output = "[ RUN      ] A.a\nt.cpp:1: Failure\nFailed\nno\n[  FAILED  ] A.a (0 ms)"
    assert ends(in_ctest(output, "***Timeout 60.0 sec")) == [
        (TEST, "A.a", "no"),
        (TIMEOUT, "unit", "timeout"),
    ]


def test_a_crash_counts_beside_a_race_long_before_it() -> None:
    output = "SUMMARY: ThreadSanitizer: data race /src/a.cc:4 in f\n" + "log\n" * 200
    assert [kind for kind, *_ in ends(in_ctest(output, "***Exception: SegFault"))] == [SANITIZER, CRASH]


@pytest.mark.parametrize(("lines", "kinds"), [(0, [SANITIZER]), (1, [SANITIZER, TEST])])
def test_undefined_behaviour_explains_a_failed_test_only_at_its_end(
    lines: int, kinds: list[FailureKind]
) -> None:
    """A program usually goes on behind such a report, and fails for another reason."""
    assert [kind for kind, *_ in ends(in_ctest(UNDEFINED + "\n" + "log\n" * lines))] == kinds


def test_a_failure_of_two_tests_stays_if_one_of_them_passes_later() -> None:
    report = "SUMMARY: ThreadSanitizer: data race /src/a.cc:4 in f\n"
    log = (
        in_ctest(report)
        + in_ctest(report).replace("unit", "second")
        + "1/2 Test #1: unit ....   Passed 0.0 sec\n"
    )
    assert [kind for kind, *_ in ends(log)] == [SANITIZER]
    assert ends(log + "1/2 Test #1: second ....   Passed 0.0 sec\n") == []


def test_a_repeated_failure_does_not_hide_another_one() -> None:
    output = (UNDEFINED + "\n") * 1000 + "t.cpp:1: Assertion `x' failed.\n"
    assert [kind for kind, *_ in ends(in_ctest(output))] == [SANITIZER, CRASH]


def test_tests_only_listed_as_failed_are_found() -> None:
    """The middle of a long log is cut away, its end is not."""
    log = (
        "50% tests passed, 2 tests failed out of 4\n\nThe following tests FAILED:\n"
        "\t  2 - a b (Failed)\n\t 13 - c (SEGFAULT)\n\t 14 - d (Disabled)\n"
    )
    assert ends(log) == [(TEST, "a b", "Failed"), (CRASH, "c", "segmentation fault")]
