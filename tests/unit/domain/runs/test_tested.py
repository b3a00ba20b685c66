"""Decide the outcome and the failures of tests that were tried once or more."""

from __future__ import annotations

import pytest

from service.domain.building.sandbox_command import Completed, StoppedBy
from service.domain.failures.failure import MOST, FailureKind, failure_of
from service.domain.failures.output.ends import is_specific
from service.domain.measuring.tests.cases import CaseStatus, TestCase, TestRun
from service.domain.runs.tested import (
    Tested,
    Try,
    cleared_in_tests,
    failures_of_tests,
    has_unrun_tests,
    outcome_of_tests,
    with_named,
)
from service.domain.runs.vote import Outcome

SUCCESS = Completed(0, 1.0)
ERRORS = Completed(8, 1.0)
KILLED = Completed(137, 60.0, StoppedBy.WALL)


def run(**statuses: CaseStatus) -> TestRun:
    return TestRun(tuple(TestCase(name, status, 1.0) for name, status in statuses.items()))


def ctest(*tries: Try, **more: object) -> Tested:
    return Tested("ctest", tries, **more)  # type: ignore[arg-type]


P, F, S, N, D = (
    CaseStatus.PASSED,
    CaseStatus.FAILED,
    CaseStatus.SKIPPED,
    CaseStatus.NOT_RUN,
    CaseStatus.DISABLED,
)


@pytest.mark.parametrize(
    "tries",
    [
        (Try(SUCCESS, run(a=P)),),
        (Try(SUCCESS, run(a=P, b=S, c=D)),),
        (Try(ERRORS, run(a=F, b=P)), Try(SUCCESS, run(a=P))),
        (Try(ERRORS, run(a=F)), Try(ERRORS, run(a=F)), Try(SUCCESS, run(a=P))),
    ],
)
def test_a_patch_passes_if_each_test_passed_at_last(tries: tuple[Try, ...]) -> None:
    tested = ctest(*tries)
    assert outcome_of_tests([tested]) is Outcome.PASSED
    assert list(tested.failures()) == []


@pytest.mark.parametrize(
    ("tries", "headlines"),
    [
        ((Try(ERRORS, run(a=F)),), ["Failed"]),
        ((Try(ERRORS, run(a=P, b=N)),), ["Not Run"]),
        # The exit code alone is not trusted, and neither is the file.
        ((Try(SUCCESS, run(a=F)),), ["Failed"]),
        ((Try(ERRORS, run(a=P)),), ["exit code 8"]),
        ((Try(SUCCESS, None, "there is no such file"),), ["exit code 0"]),
        ((Try(ERRORS, run()),), ["no test ran"]),
        ((Try(SUCCESS, run()),), ["no test ran"]),
        ((Try(SUCCESS, run(a=S, b=D)),), ["no test ran"]),
        ((Try(KILLED, None, "there is no such file"),), ["timeout"]),
        ((Try(ERRORS, run(a=F)), Try(KILLED, None, "none")), ["timeout", "Failed"]),
        # Missing in the second try, or not run there: it has not passed.
        ((Try(ERRORS, run(a=F, b=F)), Try(SUCCESS, run(a=P))), ["Failed"]),
        ((Try(ERRORS, run(a=F)), Try(SUCCESS, run(a=S))), ["Failed"]),
        ((Try(ERRORS, run(a=F)), Try(ERRORS, run(a=P))), ["exit code 8"]),
    ],
)
def test_a_patch_fails_with_a_reason(tries: tuple[Try, ...], headlines: list[str]) -> None:
    tested = [ctest(*tries)]
    assert outcome_of_tests(tested) is Outcome.FAILED
    assert [each.headline for each in failures_of_tests(tested)[0]] == headlines


def test_one_failed_program_fails_the_build() -> None:
    tested = [ctest(Try(SUCCESS, run(a=P))), ctest(Try(ERRORS, run(b=F)))]
    assert outcome_of_tests(tested) is Outcome.FAILED
    assert [each.subject for each in failures_of_tests(tested)[0]] == ["b"]


def test_a_program_without_tests_passes_beside_one_that_has_some() -> None:
    tested = [ctest(Try(SUCCESS, run(a=P))), ctest(Try(SUCCESS, run(b=S)))]
    assert outcome_of_tests(tested) is Outcome.PASSED


def test_a_test_that_the_output_names_is_not_named_again() -> None:
    line = "Failure of a CTest test 1/2 Test #1: a ....***Failed 0.1 sec"
    inner = failure_of(FailureKind.TEST, "Suite.Case", "Expected equality", line)
    (found, is_cut) = failures_of_tests([ctest(Try(ERRORS, run(a=F, b=F)), named=(inner,))])
    assert [(each.subject, each.headline) for each in found] == [
        ("Suite.Case", "Expected equality"),
        ("b", "Failed"),
    ]
    assert not is_cut


def test_a_failure_of_a_test_that_passed_on_a_retry_is_no_reason() -> None:
    named = tuple(failure_of(FailureKind.TEST, name, "Failed") for name in ("a", "b"))
    tries = (Try(ERRORS, run(a=F, b=F)), Try(ERRORS, run(a=P, b=F)))
    tested = ctest(*tries, named=named)
    assert tested.retried == ("a",)
    assert [each.subject for each in tested.failures()] == ["b"]


@pytest.mark.parametrize(
    ("tries", "cleared"),
    [
        ((Try(ERRORS, run(a=F, b=P)), Try(SUCCESS, run(a=P))), ["a"]),
        ((Try(ERRORS, run(a=F, b=F)), Try(ERRORS, run(a=P, b=F)), Try(SUCCESS, run(b=P))), ["a", "b"]),
        ((Try(ERRORS, run(a=F, b=F)), Try(ERRORS, run(a=P, b=F))), ["a"]),
        ((Try(ERRORS, run(a=F)), Try(ERRORS, run(a=F))), []),
        ((Try(SUCCESS, run(a=P)),), []),
        ((Try(ERRORS, run(a=F)), Try(SUCCESS, run(a=S))), []),
    ],
)
def test_a_retry_clears_the_failures_of_the_tests_that_pass(
    tries: tuple[Try, ...], cleared: list[str]
) -> None:
    assert [each.subject for each in cleared_in_tests([ctest(*tries)])] == cleared


def test_a_cleared_failure_is_the_one_that_the_output_of_its_try_names() -> None:
    output = b"1/2 Test #1: a ....***Exception: SegFault 0.1 sec\n2/2 Test #2: b ....***Failed 0.1 sec\n"
    again = b"1/2 Test #1: a ....   Passed 0.1 sec\n2/2 Test #2: b ....***Failed 0.1 sec\n"
    tries = (Try(ERRORS, run(a=F, b=F)), Try(ERRORS, run(a=P, b=F)))
    (failure,) = cleared_in_tests([ctest(*with_named(tries, (output, again), ""))])
    assert (failure.kind, failure.subject) == (FailureKind.CRASH, "a")
    assert failure.line.startswith("Failure of a CTest test 1/2 Test #1: a ....***Exception")


def test_a_failure_that_another_program_has_to_the_end_is_not_cleared() -> None:
    race = failure_of(FailureKind.SANITIZER, "", "data race in add")
    passed = ctest(Try(ERRORS, run(a=F), named=(race,)), Try(SUCCESS, run(a=P)))
    assert [each.headline for each in cleared_in_tests([passed])] == ["data race in add", "Failed"]
    failed = ctest(Try(ERRORS, run(b=F)), named=(race,))
    assert [each.headline for each in cleared_in_tests([passed, failed])] == ["Failed"]


def test_tests_still_running_at_the_limit_are_named() -> None:
    tested = ctest(Try(KILLED, None, "none"), unfinished=("a", "b"))
    ((failure,), _) = failures_of_tests([tested])
    assert failure.kind is FailureKind.TIMEOUT
    assert not is_specific(failure), "known, it would waive each run that takes too long"
    assert failure.line == "ctest was stopped after 60 s: limit on wall time during a, b"


def test_a_kill_beside_a_limit_is_not_reported_twice() -> None:
    kill = failure_of(FailureKind.CRASH, "a", "killed")
    tested = ctest(Try(KILLED, None, "none"), named=(kill,))
    assert [each.headline for each in tested.failures()] == ["timeout"]


def test_the_memory_limit_is_a_failure_of_its_own_kind() -> None:
    end = Completed(137, 3.0, StoppedBy.MEMORY)
    ((failure,), _) = failures_of_tests([ctest(Try(end, None, "none"))])
    assert (failure.kind, failure.headline) == (FailureKind.MEMORY, "out of memory")


CRASH = Completed(139, 1.0)


@pytest.mark.parametrize(
    ("tries", "has_unrun"),
    [
        ((Try(KILLED, run(a=F), "none"),), True),
        ((Try(KILLED, run(a=F)),), True),
        ((Try(CRASH, run(a=F), "no results"), Try(CRASH, run(a=F), "no results")), True),
        ((Try(CRASH, run(a=F), "no results"), Try(ERRORS, run(a=F, b=P))), False),
        ((Try(ERRORS, run(a=F, b=P)), Try(KILLED, None, "none")), False),
        ((Try(CRASH, None, "no results"), Try(SUCCESS, run(a=P))), False),
    ],
)
def test_tests_behind_a_limit_or_a_crash_did_not_run(tries: tuple[Try, ...], *, has_unrun: bool) -> None:
    assert has_unrun_tests([ctest(*tries)]) is has_unrun


def test_a_program_that_crashes_after_its_results_has_a_failure_beside_that_of_its_test() -> None:
    found, _ = failures_of_tests([ctest(Try(CRASH, run(a=F, b=P)))])
    assert [(each.kind, each.subject) for each in found] == [
        (FailureKind.TEST, "a"),
        (FailureKind.COMMAND, "ctest"),
    ]


def test_an_incomplete_list_of_failures_is_marked_as_cut() -> None:
    many = {f"t{number}": F for number in range(MOST + 1)}
    found, is_cut = failures_of_tests([ctest(Try(ERRORS, run(**many)))])
    assert (len(found), is_cut) == (MOST, True)
    assert failures_of_tests([ctest(Try(ERRORS, run(a=F)), is_cut=True)])[1]
