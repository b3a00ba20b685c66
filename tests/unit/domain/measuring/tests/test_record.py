from __future__ import annotations

import pytest

from service.domain.measuring.tests.cases import CaseStatus, TestCase, TestRun
from service.domain.measuring.tests.record import RECORD_BYTES, TestSuite, read_tests, write_tests
from service.domain.values.errors import BadInput

CASES = (
    TestCase("a", CaseStatus.PASSED, 0.25),
    TestCase("b", CaseStatus.FAILED, 1.5, "x\ny", "t.cpp:4"),
    TestCase("c", CaseStatus.SKIPPED, 0.0, "needs root"),
    TestCase("d", CaseStatus.PASSED, 0.5, is_inverted=True),
)


def test_a_record_is_read_as_it_was_written() -> None:
    suites = (
        TestSuite("build/a", TestRun(CASES, lists_inverted=True), ("a",)),
        TestSuite("build/b", TestRun((), is_cut=True)),
    )
    assert read_tests(write_tests(suites)) == suites


def test_equal_cases_give_equal_bytes() -> None:
    assert write_tests([TestSuite("ctest", TestRun(CASES))]) == write_tests(
        [TestSuite("ctest", TestRun(CASES))]
    )


def test_a_long_record_keeps_failures_and_says_that_it_is_cut() -> None:
    passed = [TestCase(f"{number:05} {'x' * 1000}", CaseStatus.PASSED, 1.0) for number in range(20_000)]
    failed = TestCase("last", CaseStatus.FAILED, 1.0, "y" * 4000)
    data = write_tests([TestSuite("ctest", TestRun((*passed, failed)))])

    (suite,) = read_tests(data)
    assert len(data) <= RECORD_BYTES
    assert suite.run.is_cut
    assert suite.run.cases[0].name.startswith("00000 ")
    assert (suite.run.cases[-1].name, len(suite.run.cases[-1].message)) == ("last", 500)


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b'{"suites": [1]}', b'{"suites": [{"cases": [{"name": "a", "status": "odd"}]}]}'],
)
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(BadInput, match="it is no record of tests"):
        read_tests(data)
