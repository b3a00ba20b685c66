from __future__ import annotations

from dataclasses import replace

import pytest

from service.domain.failures.evidence import parent_builds
from service.domain.failures.failure import FailureKind, failure_of
from service.domain.values.identity import BuildName
from service.domain.wording.failures import also_on_parent, failure_causes, passed_on_retry

LINE = "Failure of a CTest test 1/2 Test #1: a ...***Failed 0.1 sec"


def test_a_failed_test_of_ctest_has_the_place_and_words_of_its_assertion() -> None:
    failure = failure_of(FailureKind.TEST, "Suite.Case", "Expected equality: x; 4", LINE, "t.cpp:4")
    assert failure_causes([failure]) == ("a: Suite.Case: t.cpp:4: Expected equality: x; 4",)
    in_name = replace(failure, line=LINE.replace(": a ", ": unit.Suite "))
    assert failure_causes([in_name]) == ("unit.Suite.Case: t.cpp:4: Expected equality: x; 4",)
    of_program = failure_of(FailureKind.TEST, "a", "Failed: sum(2, 3) is 6; FAIL", LINE)
    assert failure_causes([of_program]) == ("a: sum(2, 3) is 6; FAIL",)


def test_a_test_of_ctest_that_says_nothing_is_named_without_dots_and_durations() -> None:
    line = "Failure of a CTest test 1/2 Test #1: a.b....c ..............***Failed 0.1 sec"
    failure = failure_of(FailureKind.TEST, "a.b....c", "Failed", line)
    assert failure_causes([failure]) == ("a.b....c: failed, and its output does not say why",)
    listed = failure_of(FailureKind.TIMEOUT, "a", "timeout", "Failure of a CTest test a (Timeout)")
    assert failure_causes([listed]) == ("a: timeout",)


def test_a_test_that_ctest_could_not_start_has_its_words() -> None:
    line = "Failure of a CTest test a: Unable to find executable: a"
    assert failure_causes([failure_of(FailureKind.TEST, "a", "Not Run", line)]) == (
        "a: Unable to find executable: a",
    )


def test_failures_of_one_test_share_its_line() -> None:
    race = failure_of(FailureKind.SANITIZER, "", "data race in push", LINE)
    other = failure_of(FailureKind.SANITIZER, "", "data race in pop", LINE)
    assert failure_causes([race, other]) == ("a: data race in push; and 1 more failure",)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (LINE, ("a: A.a: t.cpp:0: x; and 2 more assertions",)),
        ("A.a", ("A.a", "t.cpp:0: x; and 2 more assertions")),
    ],
)
def test_a_tests_first_assertion_is_shown_and_the_others_are_counted(
    line: str, shown: tuple[str, ...]
) -> None:
    failures = [failure_of(FailureKind.TEST, "A.a", name, line, f"t.cpp:{k}") for k, name in enumerate("xyz")]
    assert failure_causes(failures) == shown
    assert failure_causes(failures[:2])[-1].endswith("t.cpp:0: x; and 1 more assertion")


@pytest.mark.parametrize(
    ("printed", "place", "shown"),
    [
        ("src/calc.cc:3:5", "src/calc.cc:3", "src/calc.cc:3"),
        ("../src/calc.cc:3:5", "src/calc.cc:3", "src/calc.cc:3"),
        ("/src/src/calc.cc:3:5", "src/calc.cc:3", "src/calc.cc:3"),
        ("/src/calc.cc:3:5", "calc.cc:3", "calc.cc:3"),
        ("/scratch/tree/src/calc.cc:3:5", "src/calc.cc:3", "src/calc.cc:3"),
        ("/usr/include/vector:3:5", "vector:3", "/usr/include/vector:3:5"),
    ],
)
def test_a_compile_error_is_one_line_with_the_path_of_the_repository(
    printed: str, place: str, shown: str
) -> None:
    error = "error: 'x' was not declared"
    failure = failure_of(FailureKind.COMPILE, "calc.cc", error, f"Compile error at {printed}: {error}", place)
    assert failure_causes([failure]) == (f"Compile error at {shown}: {error}",)


def test_other_lines_name_the_repositorys_paths_too() -> None:
    line = "Linker error: /usr/bin/ld: /src/src/calc.cc:7: undefined reference to `f'"
    failure = failure_of(FailureKind.LINK, "f", "undefined reference", line)
    assert failure_causes([failure]) == (line.replace("/src/src", "src"),)


def test_the_sixth_failure_is_counted_only() -> None:
    failures = [failure_of(FailureKind.TEST, f"t{k}", "Failed", f"line {k}") for k in range(7)]
    assert failure_causes(failures) == (*(f"line {k}" for k in range(5)), "… and 2 more")
    assert failure_causes(failures, is_cut=True)[-1] == "… and at least 2 more"


def test_tests_that_passed_on_a_retry_are_named() -> None:
    names = [f"t{k}" for k in range(6)]
    assert passed_on_retry(names[:1]) == "failed, then passed on a retry: t0"
    assert passed_on_retry(names) == "failed, then passed on a retry: t0, t1, t2, t3, t4 and 1 more"


def test_failures_that_the_parent_has_too_are_named_by_its_builds() -> None:
    first, second = BuildName("linux", 12), BuildName("linux", 9)
    test = failure_of(FailureKind.TEST, "ep.expiry", "Failed", LINE)
    race = failure_of(FailureKind.SANITIZER, "", "data race in push", LINE)
    vague = failure_of(FailureKind.COMMAND, "make", "Error 2", "make: *** [all] Error 2")
    assert also_on_parent(parent_builds([(vague, first)])) == ()
    assert also_on_parent(parent_builds([(test, first), (test, first), (vague, first), (race, second)])) == (
        "ep.expiry also fails on the parent, build linux/12",
        "data race in push also fails on the parent, build linux/9",
    )
    many = [(failure_of(FailureKind.TEST, f"t{k}", "Failed", LINE), first) for k in range(7)]
    assert also_on_parent(parent_builds(many)) == (
        "t0, t1, t2, t3, t4 and 2 more also fail on the parent, build linux/12",
    )
