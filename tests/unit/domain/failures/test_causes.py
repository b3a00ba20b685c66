from __future__ import annotations

from service.domain.failures.evidence import parent_builds
from service.domain.failures.failure import FailureKind, failure_of
from service.domain.values.identity import BuildName
from service.domain.wording.failures import also_on_parent, failure_causes, passed_on_retry

LINE = "Failure of a CTest test 1/2 Test #1: a ...***Failed 0.1 sec"


def test_a_failed_test_has_the_line_of_ctest_and_the_place_of_its_assertion() -> None:
    failure = failure_of(FailureKind.TEST, "Suite.Case", "Expected equality: x; 4", LINE, "t.cpp:4")
    assert failure_causes([failure]) == (LINE, "t.cpp:4: Expected equality: x; 4")


def test_the_dots_between_the_columns_of_ctest_are_cut_to_three() -> None:
    line = "Failure of a CTest test 1/2 Test #1: a.b....c ..............***Failed 0.1 sec"
    failure = failure_of(FailureKind.TEST, "a.b....c", "Failed", line)
    assert failure_causes([failure]) == (
        "Failure of a CTest test 1/2 Test #1: a.b....c ...***Failed 0.1 sec",
    )


def test_failures_of_one_test_share_its_line() -> None:
    race = failure_of(FailureKind.SANITIZER, "", "data race in push", LINE)
    other = failure_of(FailureKind.SANITIZER, "", "data race in pop", LINE)
    assert failure_causes([race, other]) == (LINE, "data race in push")


def test_a_tests_first_assertion_is_shown_and_the_others_are_counted() -> None:
    failures = [failure_of(FailureKind.TEST, "A.a", name, LINE, f"t.cpp:{k}") for k, name in enumerate("xyz")]
    assert failure_causes(failures) == (LINE, "t.cpp:0: x; and 2 more assertions")
    assert failure_causes(failures[:2]) == (LINE, "t.cpp:0: x; and 1 more assertion")


def test_a_compile_error_is_one_line() -> None:
    line = "Compile error at a.cc:3:5: error: 'x' was not declared"
    assert failure_causes([failure_of(FailureKind.COMPILE, "a.cc", "error: …", line, "a.cc:3")]) == (line,)


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
