"""The table of `make vm-test` shows what a place found differently, and what it did not find at all."""

from __future__ import annotations

from typing import Final

from tools.vm.table import failures, found_in, table

CASE: Final = (
    '<testcase classname="tests.escape.test_escapes" name="test_an_escape_is_refused[0]">{}</testcase>'
)
ANSWER: Final = (
    '<properties><property name="escape attempt" '
    "value=\"('keys', 'add a key', 'filter of system calls', '{}')\"/></properties>"
)
OTHER: Final = '<testcase classname="tests.test_sandbox_ends" name="test_an_end">{}</testcase>'


def report(*cases: str) -> str:
    return f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"


HERE: Final = found_in(report(CASE.format(ANSWER.format("ENOSYS")), OTHER.format("")))


def test_an_attempt_is_named_with_what_answered_it() -> None:
    assert HERE == {"keys: add a key": "ENOSYS", "test_sandbox_ends: test_an_end": "passed"}


def test_another_answer_differs_and_is_no_failure() -> None:
    there = found_in(report(CASE.format(ANSWER.format("EPERM")), OTHER.format("")))

    assert table({"v1": HERE, "v2": there}) == [
        "attempt or test                 v1      v2      same?",
        "keys: add a key                 ENOSYS  EPERM   DIFFERS",
        "test_sandbox_ends: test_an_end  passed  passed  same",
    ]
    assert failures(there, HERE) == []


def test_a_success_of_an_attempt_and_a_test_that_did_not_run_are_failures() -> None:
    escaped = found_in(report(CASE.format(ANSWER.format("escaped") + "<failure/>")))

    assert escaped == {"keys: add a key": "FAILED: escaped"}
    assert failures(escaped, HERE) == ["keys: add a key", "test_sandbox_ends: test_an_end"]


def test_a_test_that_was_skipped_is_no_failure() -> None:
    assert (
        failures(found_in(report(CASE.format(ANSWER.format("ENOSYS")), OTHER.format("<skipped/>"))), HERE)
        == []
    )
