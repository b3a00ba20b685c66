"""Tell the reasons of failed CTest tests apart, whatever else the output has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.failures.failure import Failure, FailureKind
from service.domain.failures.output.patterns import failures_in
from service.domain.failures.signature import Signature, signature_of
from service.domain.measuring.tests.failed import failures_of_ctest
from service.domain.measuring.tests.junit import Dialect, read_junit

if TYPE_CHECKING:
    from collections.abc import Iterable

AFTER = "\n      Start 2: other\n2/2 Test #2: other ....   Passed 0.0 sec\n"
PYTHON = """\
F.
======================================================================
FAIL: test_expiry (store.Items)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/src/tests/store.py", line 12, in test_expiry
    self.assertEqual(left, 0)
AssertionError: {} != 0

----------------------------------------------------------------------
Ran 2 tests in 0.012s

FAILED (failures=1)"""
TAP = "1..3\nok 1 - opens\nnot ok 2 - {}\nok 3 - closes\n# failed 1 of 3"
NOISE = "connected to 127.0.0.1:{}\nwriting 17 items\n"
SAME = [
    ("waited 17 ms", "waited 2301 ms"),
    ("waited for 10.0.0.7:11210", "waited for [::1]:9000"),
    ("cannot open /tmp/tmp.Ab12Cd/x.db", "cannot open /tmp/tmp.Zz98Yx/x.db"),
    ("/src/store/a.sh: no", "/home/jenkins/workspace/kv-17/store/a.sh: no"),
    ("2026-11-23T04:00:00Z lost item 3", "2026-11-24T05:17:01Z lost item 44"),
    ("object at 0x7ffe01", "object at 0x55a0b2"),
    (NOISE.format(9000) + "no", NOISE.format(8091) + "no"),
    ("no", "no\nreal\t0m0.012s\nuser\t0m0.001s\nsys\t0m0.000s"),
    ("try 1 failed\ntry 2 failed\ntry 3 failed\nno", "try 1 failed\nno"),
    ("a: lost item 3\nb: lost item 4", "b: lost item 7\na: lost item 1"),
    ("\n".join(f"try {number} failed" for number in range(3000)) + "\nno", "try 1 failed\nno"),
    (PYTHON.format(3), PYTHON.format(4).replace("0.012s", "7.1s")),
    ("no " + "x 1 " * 100, "no " + "x 12345 " * 100),
]
DIFFERENT = [
    ("waited 17 ms", "not stored"),
    ("not stored", "not sent"),
    ("3 != 4", "3 < 4"),
    ("exit code 1", "exit code 2"),
    ("no item", "no item\nno store"),
    ("no item\n1 of 3 checks failed", "no store\n1 of 3 checks failed"),
    ("check size failed\n" + "done\n" * 50, "check age failed\n" + "done\n" * 50),
    (PYTHON.format(3), PYTHON.replace("test_expiry", "test_size").format(3)),
    (PYTHON.format(3), PYTHON.replace("AssertionError", "KeyError").format(3)),
    (TAP.format("wraps"), TAP.format("grows")),
    ("FAILED t.py::a - boom\n1 failed", "FAILED t.py::b - boom\n1 failed"),
    ("x " * 100 + "one", "x " * 100 + "two"),
    ("0 errors in the configuration\nwaited", "0 errors in the configuration\nlost"),
    ("FAIL: t/t0001.sh", "FAIL: t/t0001.sh\nFAIL: t/t0002.sh"),
    ("FAIL: t/t0002.sh", "FAIL: t/t0001.sh\nFAIL: t/t0002.sh"),
    ("  REQUIRE( f(1) == 2 )", "  REQUIRE( f(1) == 2 )\n  REQUIRE( f(2) == 4 )"),
    ("  REQUIRE( f(2) == 4 )", "  REQUIRE( f(1) == 2 )\n  REQUIRE( f(2) == 4 )"),
    ("error: check_1 failed", "error: check_1 failed\nerror: check_2 failed"),
    ("error: check_2 failed", "error: check_1 failed\nerror: check_2 failed"),
    ("lost item_2", "lost item_1\nlost item_2"),
    ("b FAILED\nc FAILED\nd FAILED", "a FAILED\nb FAILED\nc FAILED\nd FAILED"),
]


def in_ctest(output: str, end: str = "***Failed    0.01 sec") -> list[Failure]:
    log = f"      Start 1: unit\n1/2 Test #1: unit ....{end}\n{output}\n{AFTER}"
    return list(failures_in(log.encode().splitlines()))


def signature(output: str) -> Signature:
    [failure] = in_ctest(output)
    assert (failure.kind, failure.subject) == (FailureKind.TEST, "unit")
    return signature_of(failure)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_one_reason_is_one_signature(one: str, other: str) -> None:
    assert signature(one) == signature(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_two_reasons_are_two_signatures(one: str, other: str) -> None:
    assert signature(one) != signature(other)
    assert not signature(one).covers_any_failure


@given(st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta"]), min_size=1, max_size=30), st.data())
def test_another_failed_check_among_many_is_another_reason(names: list[str], data: st.DataObject) -> None:
    lines = [f"not ok {number} - {name}" for number, name in enumerate(names)]
    place = data.draw(st.integers(0, len(lines)))
    more = [*lines[:place], "not ok 99 - new", *lines[place:]]
    assert signature("\n".join(lines)) != signature("\n".join(more))


@given(st.text("abc ;:.,-=[]()\"'/\\#é", max_size=200))
def test_any_output_has_a_signature(text: str) -> None:
    for failure in in_ctest(text):
        assert len(signature_of(failure).text) <= 300


def test_the_headline_shows_the_lines_as_they_are() -> None:
    [failure] = in_ctest("begun\n\nwaited 17 ms\n----\ngiving up")
    assert failure.headline == "Failed: begun; waited 17 ms; giving up"


def test_many_failed_checks_fit_into_a_headline() -> None:
    lines = [f"not ok {number} - {chr(97 + number % 26) * 120}{number}" for number in range(100)]
    [failure] = in_ctest("\n".join(lines))
    assert len(failure.headline) < 1000
    assert "and 71 more" in failure.headline


@pytest.mark.parametrize("opening", ["error: check_", "not ok 1 - check_"])
def test_a_failed_check_counts_however_many_there_are(opening: str) -> None:
    def of_checks(numbers: Iterable[int]) -> Signature:
        return signature("\n".join(f"{opening}{number}" for number in numbers))

    for most in (10, 300, 1500):
        checks = range(most)
        assert of_checks(checks) == of_checks(checks)
        assert of_checks(checks) != of_checks([*checks[: most // 2], 9999, *checks[most // 2 :]])
        assert of_checks(checks) != of_checks(checks[1:])


def test_a_test_without_output_has_no_reason() -> None:
    """Neither has one with nothing but CTest's line, as in the causes of another CI."""
    assert signature("").text == "Failed"
    assert signature("").covers_any_failure
    assert signature(
        "----\n\n[ RUN      ] A.a\n[       OK ] A.a (1 ms)\n[  PASSED  ] 1 test."
    ).covers_any_failure


@pytest.mark.parametrize(
    ("end", "text"),
    [
        ("***Timeout  60.0 sec", "timeout"),
        ("***Exception: SegFault  0.1 sec", "segmentation fault"),
        ("***Not Run  0.0 sec", "Not Run"),
    ],
)
def test_an_end_that_is_its_own_reason_has_no_other(end: str, text: str) -> None:
    [failure] = in_ctest("waiting for the store", end)
    assert signature_of(failure).text == text


def test_a_regular_expression_that_fails_a_test_is_not_the_whole_reason() -> None:
    end = "***Failed  Error regular expression found in output. Regex=[ERROR]  0.01 sec"
    [failure] = in_ctest("ERROR here", end)
    assert failure.headline == ("Failed: Error regular expression found in output. Regex=[ERROR]; ERROR here")


def test_a_googletest_test_that_ends_its_program_has_its_printed_reason() -> None:
    [failure] = in_ctest("[ RUN      ] A.a\ncannot open x.db")
    assert (failure.subject, failure.headline) == ("A.a", "Failed: cannot open x.db")


def test_a_report_of_a_sanitizer_is_no_part_of_the_reason() -> None:
    report = "a.cc:1:2: runtime error: signed integer overflow: 1 + 2"
    [_, failure] = in_ctest(f"{report}\nnot stored")
    assert failure.headline == "Failed: not stored"


def test_two_tries_that_fail_alike_are_one_failure_and_others_are_two() -> None:
    def twice(one: str, other: str) -> list[str]:
        tries = (f"1/1 Test #1: unit ....***Failed  0.1 sec\n{output}\n{AFTER}" for output in (one, other))
        return [failure.headline for failure in failures_in("\n".join(tries).encode().splitlines())]

    assert twice("waited 17 ms", "waited 23 ms") == ["Failed: waited 17 ms"]
    assert twice("waited 17 ms", "not stored") == ["Failed: waited 17 ms", "Failed: not stored"]


@pytest.mark.parametrize("output", [first for first, _ in DIFFERENT if "FAIL" not in first])
def test_the_results_of_ctest_have_the_reason_of_its_log(output: str) -> None:
    text = output.replace("<", "&lt;")
    data = (
        f'<testsuite><testcase name="unit" status="fail" time="0.1"><failure message=""/>'
        f"<system-out>{text}</system-out></testcase></testsuite>"
    )
    [failure] = failures_of_ctest(read_junit(data.encode(), Dialect.CTEST))
    assert signature_of(failure) == signature(output)


def of_log(log: str) -> list[tuple[str, str]]:
    return [(each.subject, signature_of(each).text) for each in failures_in(log.encode().splitlines())]


def test_a_test_of_unittest_has_the_exception_behind_it() -> None:
    size = PYTHON.format(4).replace("expiry", "size").removeprefix("F.\n")
    both = PYTHON.format(3).replace("-" * 70 + "\nRan 2 tests in 0.012s\n\nFAILED (failures=1)", size)
    [(expiry, first), (other, second)] = of_log(both)
    assert (expiry, other) == ("store.Items.test_expiry", "store.Items.test_size")
    assert "AssertionError: N != N" in first
    assert of_log(PYTHON.format(7)) == [(expiry, first)]
    assert of_log(PYTHON.replace("AssertionError", "KeyError").format(3)) != [(expiry, first)]
    assert "size" in second


def test_a_test_of_tap_has_the_lines_behind_it() -> None:
    log = "not ok 1 - opens\n# got 3\nok 2 - reads\n# fine\nnot ok 3 - closes\nnot ok 4 - ends\n1..4"
    assert of_log(log) == [("opens", "Failed: # got N"), ("closes", "Failed"), ("ends", "Failed")]


def test_a_reason_behind_a_test_does_not_hide_another_failure() -> None:
    found = of_log("not ok 1 - opens\n# no\na.cc:1:2: error: no")
    assert {subject for subject, _ in found} == {"opens", "a.cc"}
    assert of_log("not ok 1 - opens\n" + "log\n" * 200)[0][0] == "opens"


def test_a_short_summary_without_a_reason_has_none() -> None:
    [failure] = failures_in([b"FAILED t/a.py::test_a"])
    assert signature_of(failure).covers_any_failure
