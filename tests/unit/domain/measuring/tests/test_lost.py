"""Tests that ran for the parent and do not run for the patch set."""

from __future__ import annotations

import time
from dataclasses import replace

from service.domain.measuring.tests.cases import CaseStatus, TestCase, TestRun, with_inverted
from service.domain.measuring.tests.lost import LostTests, lost_tests
from service.domain.measuring.tests.record import TestSuite, read_tests, write_tests
from service.domain.wording.failures import losses_of_tests

RAN, SKIPPED, DISABLED = CaseStatus.PASSED, CaseStatus.SKIPPED, CaseStatus.DISABLED


def suite(*, is_cut: bool = False, program: str = "unit", **cases: CaseStatus) -> list[TestSuite]:
    found = [TestCase(name.replace("__", "."), status, 1.0) for name, status in cases.items()]
    return [TestSuite(program, TestRun(tuple(found), is_cut))]


def test_a_test_that_disappeared_is_named() -> None:
    lost = lost_tests(suite(A__B=RAN, A__C=CaseStatus.FAILED, A__D=RAN), suite(A__D=RAN))
    assert lost == LostTests(("A.B", "A.C"))
    assert losses_of_tests(lost) == ("2 tests fewer than the parent: A.B, A.C",)


def test_a_renamed_test_is_seen_beside_the_new_one() -> None:
    lost = lost_tests(suite(A__B=RAN, A__D=RAN), suite(A__E=RAN, A__D=RAN))
    assert losses_of_tests(lost) == ("1 test fewer than the parent: A.B; 1 new test",)


def test_a_test_that_became_disabled_or_skips_itself_is_named() -> None:
    now = suite(A__DISABLED_B=DISABLED, DISABLED_E__F=DISABLED, A__C=SKIPPED, A__D=RAN)
    lost = lost_tests(suite(A__B=RAN, E__F=RAN, A__C=RAN, A__D=RAN), now)
    assert losses_of_tests(lost) == ("2 tests now disabled: A.B, E.F", "1 test now skipped: A.C")


def test_a_test_that_now_passes_by_failing_is_named() -> None:
    (before,), (after,) = suite(A__B=RAN, A__C=RAN), suite(A__B=RAN, A__C=RAN)
    before = replace(before, run=with_inverted(before.run, []))
    after = replace(after, run=with_inverted(after.run, ["A.B"]))
    lost = lost_tests([before], [after])
    assert losses_of_tests(lost) == ("1 test now passes if it fails: A.B",)
    assert lost_tests([after], [after]) == LostTests()


def test_a_parent_whose_record_does_not_tell_which_tests_pass_by_failing_is_not_compared() -> None:
    (old,), (after,) = suite(A__B=RAN), suite(A__B=RAN)
    after = replace(after, run=with_inverted(after.run, ["A.B"]))
    assert lost_tests(read_tests(write_tests([old])), [after]) == LostTests()
    old = replace(old, run=with_inverted(old.run, None))
    assert lost_tests(read_tests(write_tests([old])), [after]) == LostTests()


def test_what_did_not_run_for_the_parent_is_no_loss() -> None:
    before = suite(A__B=SKIPPED, A__DISABLED_C=DISABLED, A__D=CaseStatus.NOT_RUN)
    assert losses_of_tests(lost_tests(before, suite(A__E=RAN))) == ()


def test_results_that_are_cut_prove_no_absence() -> None:
    assert lost_tests(suite(A__B=RAN), suite(is_cut=True, A__C=RAN)) == LostTests()
    assert lost_tests(suite(is_cut=True, A__B=RAN), suite(A__C=RAN)) == LostTests(("A.B",))


def test_tests_of_different_programs_are_different() -> None:
    lost = lost_tests(suite(A__B=RAN), suite(program="other", A__B=RAN))
    assert lost.gone == ("A.B",)


def test_many_tests_that_are_disabled_at_once_are_counted_in_linear_time() -> None:
    before, after = (
        [TestSuite("unit", TestRun(tuple(TestCase(f"A.T{n}", status, 1.0) for n in range(100_000))))]
        for status in (RAN, SKIPPED)
    )
    begun = time.process_time()
    lost = lost_tests(before, after)
    assert len(lost.stopped[SKIPPED]) == 100_000
    assert time.process_time() - begun < 5, "a second tuple for each name takes a minute"


def test_a_test_that_runs_beside_a_disabled_one_of_its_name_is_no_loss() -> None:
    assert lost_tests(suite(A__B=RAN), suite(A__B=RAN, A__DISABLED_B=DISABLED)) == LostTests()
    assert lost_tests(suite(A__B=RAN), suite(A__DISABLED_B=DISABLED, A__B=RAN)) == LostTests()
