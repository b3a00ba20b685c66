"""Find two failures in one log; the first must not hide the second.

A known failure waives a build only if all failures are known, so a hidden one would be a wrong +1.
"""

from __future__ import annotations

import pytest

from service.domain.failures.failure import MOST, FailureKind
from service.domain.failures.output.patterns import failures_in

TEST, CRASH, MEMORY = FailureKind.TEST, FailureKind.CRASH, FailureKind.MEMORY
SANITIZER = FailureKind.SANITIZER
RACE = """\
==================
WARNING: ThreadSanitizer: data race (pid=7)
  Write of size 4 at 0x7b04 by thread T1:
    #0 f /src/a.cc:4

  Previous write of size 4 at 0x7b04 by main thread:
    #0 g /src/a.cc:9

SUMMARY: ThreadSanitizer: data race /src/a.cc:4 in f
==================
"""
RACES = "ThreadSanitizer: reported 1 warnings\n"
LEAK = """\
==1==ERROR: LeakSanitizer: detected memory leaks

Direct leak of 4 byte(s) in 1 object(s) allocated from:
    #0 0x55 in f /src/a.cc:3

SUMMARY: AddressSanitizer: 4 byte(s) leaked in 1 allocation(s).
"""
UNDEFINED = """\
a.cc:1:2: runtime error: signed integer overflow: 1 + 2
    #0 0x55 in f /src/a.cc:1

SUMMARY: UndefinedBehaviorSanitizer: undefined-behavior a.cc:1:2
"""
USE_AFTER_FREE = """\
==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x60 at pc 0x55
    #0 0x55 in f /src/a.cc:3
SUMMARY: AddressSanitizer: heap-use-after-free /src/a.cc:3 in f
==1==ABORTING
"""
ASSERTION = "a.cpp:1: void f(): Assertion `x' failed.\n"
NO_MEMORY = "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n"
PASSED = "[ RUN      ] A.a\n{}[       OK ] A.a (1 ms)\n"
FAILED = "[ RUN      ] B.b\nt.cpp:1: Failure\nFailed\nno\n[  FAILED  ] B.b (0 ms)\n"
SIGNAL = "***Exception: SegFault  0.1 sec"
ABORTED = "Subprocess aborted***Exception:   0.1 sec"


def kinds(log: str) -> list[tuple[FailureKind, str]]:
    return [(each.kind, each.subject) for each in failures_in(log.encode().splitlines(keepends=True))]


def in_ctest(output: str, end: str = "***Failed  0.1 sec", name: str = "unit") -> str:
    return f"      Start 1: {name}\n1/2 Test #1: {name} ....{end}\n{output}\n      Start 2: other\n"


def test_a_race_in_one_test_does_not_hide_the_assertion_of_another() -> None:
    assert kinds(in_ctest(PASSED.format(RACE) + FAILED + RACES)) == [(SANITIZER, ""), (TEST, "B.b")]
    assert kinds(in_ctest(RACE, name="a") + in_ctest("1 != 2", name="b")) == [(SANITIZER, ""), (TEST, "b")]


@pytest.mark.parametrize("report", [RACE, LEAK])
def test_a_report_at_the_exit_does_not_hide_a_failure_that_the_program_printed(report: str) -> None:
    """Such a report only adds an exit code."""
    assert kinds(in_ctest(f"working\n{report}")) == [(SANITIZER, "")]
    assert kinds(in_ctest(f"check 3 failed: 4 != 5\n{report}")) == [(SANITIZER, ""), (TEST, "unit")]
    assert kinds(in_ctest(f"{report}not ok 3\n")) == [(SANITIZER, ""), (TEST, "unit")]


def test_a_report_explains_a_failed_googletest_run_with_passed_tests() -> None:
    output = PASSED.format(f"ERROR: this line is expected\n{RACE}") + f"[  PASSED  ] 1 test.\n{RACES}"
    assert kinds(in_ctest(output)) == [(SANITIZER, "")]


@pytest.mark.parametrize("report", [RACE, UNDEFINED])
def test_a_report_does_not_hide_a_crash(report: str) -> None:
    assert kinds(in_ctest(f"{report}log\n", SIGNAL)) == [*kinds(in_ctest(report))[:1], (CRASH, "unit")]
    assert kinds(in_ctest(f"[ RUN      ] A.a\n{report}log\n", SIGNAL))[1:] == [(CRASH, "A.a")]
    assert kinds(f"{report}log\nSegmentation fault (core dumped)\n")[1:] == [(CRASH, "")]


@pytest.mark.parametrize("report", [RACE, UNDEFINED])
def test_only_the_report_that_ends_the_program_explains_its_abort(report: str) -> None:
    assert len(kinds(in_ctest(report, ABORTED))) == 1
    assert kinds(in_ctest(f"{report}log\n", ABORTED))[1:] == [(CRASH, "unit")]
    assert kinds(in_ctest(f"{report}{ASSERTION}Aborted (core dumped)\n", ABORTED))[1:] == [(CRASH, "unit")]


@pytest.mark.parametrize("end", [ABORTED, SIGNAL, "***Failed  0.1 sec"])
def test_a_report_of_asan_always_ends_the_program(end: str) -> None:
    assert kinds(in_ctest(f"this failed\n{USE_AFTER_FREE}", end)) == [(SANITIZER, "")]


@pytest.mark.parametrize(("output", "kind"), [(ASSERTION, CRASH), (NO_MEMORY, MEMORY)])
def test_an_abort_does_not_explain_another_signal(output: str, kind: FailureKind) -> None:
    """The first one was of a child process."""
    assert kinds(in_ctest(output, ABORTED)) == [(kind, "unit")]
    assert kinds(in_ctest(f"{output}log\n", SIGNAL)) == [(kind, "unit"), (CRASH, "unit")]


def test_a_failed_assertion_does_not_hide_that_its_test_crashes() -> None:
    output = "[ RUN      ] A.a\nt.cpp:1: Failure\nFailed\nno\n"
    assert kinds(in_ctest(output, SIGNAL)) == [(TEST, "A.a"), (CRASH, "A.a")]
    assert kinds(output) == [(TEST, "A.a"), (CRASH, "A.a")]


def test_an_assertion_does_not_hide_another_one_of_its_test() -> None:
    assertions = "".join(f"t.cpp:{line}: Failure\nFailed\n{what}\n" for line, what in enumerate("abab"))
    log = f"[ RUN      ] A.a\n{assertions}[  FAILED  ] A.a (0 ms)\n"
    assert kinds(log) == kinds(in_ctest(log)) == [(TEST, "A.a")] * 2
    assert kinds(f"[ RUN      ] A.a\n{assertions}") == [*[(TEST, "A.a")] * 2, (CRASH, "A.a")]


def test_assertions_that_differ_in_their_values_are_one_failure() -> None:
    """A loop over many values must not cut the list of failures."""
    assertions = "".join(f"t.cpp:4: Failure\nFailed\nitem {k} is wrong\n" for k in range(2 * MOST))
    assert kinds(f"[ RUN      ] A.a\n{assertions}[  FAILED  ] A.a (0 ms)\n") == [(TEST, "A.a")]


def test_a_test_of_too_many_assertions_shows_that_the_list_is_cut() -> None:
    words = (f"{one}{two}{three}" for one in "qwrtz" for two in "uiops" for three in "jklyxvnm" * 2)
    assertions = "".join(f"t.cpp:4: Failure\nFailed\n{word}{n * 'g'}\n" for n, word in enumerate(words))
    assert len(kinds(f"[ RUN      ] A.a\n{assertions}[  FAILED  ] A.a (0 ms)\n")) == MOST + 1


def test_blank_lines_count_between_a_crash_and_its_signal_and_end_what_they_ended() -> None:
    end = "Aborted (core dumped)\n"
    assert [len(kinds(f"{ASSERTION}{blank}{end}")) for blank in ("", 9 * "\n", 10 * "\n")] == [1, 1, 2]
    thrown, what = b"terminate called after throwing an instance of 'E'", b"  what():  no"
    assert [each.headline for each in failures_in([thrown, what])] == ["terminate: E: no"]
    assert [each.headline for each in failures_in([thrown, b"", what])] == ["terminate: E"]


def test_undefined_behaviour_explains_only_a_test_that_ends_with_it() -> None:
    assert kinds(in_ctest(UNDEFINED)) == [(SANITIZER, "a.cc")]
    assert kinds(in_ctest(f"{UNDEFINED}done\n")) == [(SANITIZER, "a.cc"), (TEST, "unit")]


def ctest(end: str, total: int) -> str:
    return (
        f"1/{total} Test #1: unit ....{end}\n\n"
        f"50% tests passed, 1 tests failed out of {total}\n\nThe following tests FAILED:\n"
    )


def test_a_test_that_passes_in_another_run_of_all_tests_has_still_failed() -> None:
    """A job may run its tests without and with a sanitizer."""
    log = ctest("***Failed  0.1 sec", 2) + ctest("   Passed  0.1 sec", 2)
    assert kinds(log) == [(TEST, "unit")]


@pytest.mark.parametrize(
    "line", ["1/1 Test #1: unit ....", "    Test #1: unit ....", "2/3 Test #1: unit .... "]
)
def test_a_test_that_passes_on_a_retry_has_not(line: str) -> None:
    again = f"{line}   Passed  0.1 sec\n"
    first = "1/3 Test #1: unit ....***Failed  0.1 sec\n"
    assert kinds(first + again) == []
    if "1/1" in line:  # ctest --rerun-failed
        assert kinds(ctest("***Failed  0.1 sec", 3) + again) == []


@pytest.mark.parametrize("is_in_ctest", [False, True])
def test_the_trace_of_an_assertion_does_not_hide_the_next_assertion(*, is_in_ctest: bool) -> None:
    """GoogleTest before version 1.13 writes no blank line between them."""
    first = (
        "t.cpp:4: Failure\nValue of: a\n  Actual: false\nExpected: true\nGoogle Test trace:\nt.cpp:2: once\n"
    )
    log = f"[ RUN      ] A.b\n{first}{first.replace('of: a', 'of: lost')}[  FAILED  ] A.b (0 ms)\n"
    headlines = [
        each.headline.split(";")[0]
        for each in failures_in((in_ctest(log) if is_in_ctest else log).encode().splitlines())
    ]
    assert headlines == ["Value of: a", "Value of: lost"]
