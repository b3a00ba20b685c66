"""JUnit XML: what CTest and GoogleTest wrote, and hostile files."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.measuring.tests import junit
from service.domain.measuring.tests.cases import MAX_BYTES, MOST_CASES, CaseStatus
from service.domain.measuring.tests.junit import Dialect, read_junit
from service.domain.values.errors import BadResults

SAMPLES = Path(__file__).parents[4] / "samples" / "testing"
CTEST = (SAMPLES / "ctest_3.25.1.xml").read_bytes()


def suite(*cases: str) -> bytes:
    return f"<testsuite>{''.join(cases)}</testsuite>".encode()


def test_each_end_of_a_ctest_test_is_read() -> None:
    run = read_junit(CTEST, Dialect.CTEST)

    assert {case.name: case.status for case in run.cases} == {
        "passes": CaseStatus.PASSED,
        "fails": CaseStatus.FAILED,
        "times.out": CaseStatus.FAILED,
        "segv": CaseStatus.FAILED,
        "aborts": CaseStatus.FAILED,
        "no.such": CaseStatus.NOT_RUN,
        "disabled": CaseStatus.DISABLED,
        "skips": CaseStatus.SKIPPED,
        "skips.regex": CaseStatus.SKIPPED,
        "will.fail": CaseStatus.PASSED,
        "flaky": CaseStatus.PASSED,
        "needs.fixture": CaseStatus.NOT_RUN,
        "fixture": CaseStatus.FAILED,
        "regex.fail": CaseStatus.FAILED,
    }
    assert not run.is_cut


def test_a_test_without_its_program_has_failed_though_ctest_writes_skipped() -> None:
    """CTest ends with 8 and lists it as failed; in JUnit it is `notrun`, as a test that skipped itself."""
    cases = {case.name: case for case in read_junit(CTEST, Dialect.CTEST).cases}

    assert [name for name, case in cases.items() if case.has_failed] == [
        *("fails", "times.out", "segv", "aborts", "no.such", "needs.fixture", "fixture", "regex.fail"),
    ]
    assert cases["no.such"].message == "Unable to find executable"
    assert cases["needs.fixture"].message == "Fixture dependency failed"
    assert cases["skips"].message == "SKIP_RETURN_CODE=77"


def test_durations_are_seconds() -> None:
    cases = {case.name: case for case in read_junit(CTEST, Dialect.CTEST).cases}
    assert cases["times.out"].seconds == pytest.approx(1.0028)


def test_a_failure_without_a_reason_has_the_output_without_colours() -> None:
    cases = {case.name: case for case in read_junit(CTEST, Dialect.CTEST).cases}

    assert cases["fails"].message == "a <b> & c ]]>\nred bell"
    assert cases["regex.fail"].message == "Error regular expression found in output. Regex=[ERROR]"


@pytest.mark.parametrize("status", ["", 'status="new"', 'status="notrun"', 'status="RUN"'])
def test_an_unknown_end_of_a_ctest_test_is_never_a_pass(status: str) -> None:
    [case] = read_junit(suite(f'<testcase name="a" {status}/>'), Dialect.CTEST).cases
    assert case.has_failed


def test_googletests_file_gives_names_messages_and_places() -> None:
    run = read_junit((SAMPLES / "gtest_1.12.1.xml").read_bytes(), Dialect.GENERIC)
    cases = {case.name: case for case in run.cases}

    assert {name: case.status for name, case in cases.items()} == {
        "A.Passes": CaseStatus.PASSED,
        "A.Fails": CaseStatus.FAILED,
        "A.Skips": CaseStatus.SKIPPED,
        "A.DISABLED_Off": CaseStatus.DISABLED,
        "Typed/0.Is": CaseStatus.PASSED,
        "Typed/1.Is": CaseStatus.FAILED,
        "B.Record": CaseStatus.PASSED,
        "C.Crashes": CaseStatus.PASSED,
        "C.Throws": CaseStatus.PASSED,
        "Some/P.Even/0": CaseStatus.FAILED,
        "Some/P.Even/1": CaseStatus.PASSED,
    }
    assert cases["A.Fails"].place == "t.cpp:4"
    assert cases["A.Fails"].message.splitlines()[:2] == ["Expected equality of these values:", "  x"]
    assert cases["A.Skips"].message == "needs root"


@pytest.mark.parametrize(
    ("inside", "status"),
    [
        ("", CaseStatus.PASSED),
        ('<failure message="no"/>', CaseStatus.FAILED),
        ("<error>no</error>", CaseStatus.FAILED),
        ("<skipped/><failure/>", CaseStatus.FAILED),
        ("<skipped/>", CaseStatus.SKIPPED),
        ("<system-out>failure</system-out>", CaseStatus.PASSED),
        ("<properties><failure/></properties>", CaseStatus.PASSED),
    ],
)
def test_the_end_of_a_generic_test_is_its_element(inside: str, status: CaseStatus) -> None:
    data = suite(f'<testcase classname="a" name="b" time="1,234.5">{inside}</testcase>')
    [case] = read_junit(data, Dialect.GENERIC).cases

    assert (case.name, case.status, case.seconds) == ("a.b", status, 1234.5)


def test_the_worse_of_two_results_with_one_name_counts() -> None:
    data = suite('<testcase name="a"/>', '<testcase name="a"><failure/></testcase>', '<testcase name="a"/>')
    [case] = read_junit(data, Dialect.GENERIC).cases
    assert case.status is CaseStatus.FAILED


@pytest.mark.parametrize("seconds", ["", "nan", "-1", "inf", "1e99", "soon"])
def test_an_impossible_duration_is_unknown(seconds: str) -> None:
    [case] = read_junit(suite(f'<testcase name="a" time="{seconds}"/>'), Dialect.GENERIC).cases
    assert case.seconds == 0


def test_a_suite_without_tests_is_a_run_without_cases() -> None:
    """`ctest -R nothing` writes one and exits with 0."""
    assert read_junit(suite(), Dialect.CTEST).cases == ()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b"{}", "line 1: it is not XML"),
        (b"<html></html>", "its root is 'html', not testsuite or testsuites"),
        (CTEST[: len(CTEST) // 2], "it is not XML"),
        (
            suite('<testcase name="\xff"/>').replace("\xff".encode(), b"\xff"),
            "it is not XML: not well-formed",
        ),
        (b'<?xml version="1.0" encoding="utf-7"?><testsuite/>', "it"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><testsuite name="&a;"/>', "document type"),
        (b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><testsuite/>', "document type"),
        (b"<testsuite>" * 101, "more than 100 elements deep"),
        (b"<testsuite>" + b"<a/>" * (20 * MOST_CASES) + b"</testsuite>", "more than 2000000 elements"),
        (suite("<testcase/>"), "a test has no name"),
        (suite(f'<testcase name="{"n" * 1025}"/>'), "1025 characters; at most 1024"),
        (b"<testsuite>" + b" " * MAX_BYTES, "at most"),
    ],
    ids=range(14),
)
def test_a_file_that_cannot_be_used_is_refused_with_its_reason(data: bytes, reason: str) -> None:
    with pytest.raises(BadResults) as refused:
        read_junit(data, Dialect.GENERIC)

    assert reason in str(refused.value)
    assert len(str(refused.value)) < 300


def test_a_bomb_of_entities_is_refused() -> None:
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
    bomb = f'<!DOCTYPE t [<!ENTITY e0 "ha">{levels}]><testsuite><testcase name="&e9;"/></testsuite>'
    with pytest.raises(BadResults, match="document type"):
        read_junit(bomb.encode(), Dialect.GENERIC)


def test_attributes_and_texts_of_megabytes_are_cut() -> None:
    huge = "x" * 5_000_000
    data = suite(f'<testcase name="a" junk="{huge}"><failure message="{huge}">{huge}</failure></testcase>')
    [case] = read_junit(data, Dialect.GENERIC).cases
    assert len(case.message) <= 4000


def attributes(count: int) -> str:
    return " ".join(f"a{number}=''" for number in range(count))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("before", ["", "name='a' "])
def test_millions_of_attributes_in_one_element_need_no_memory(encoding: str, before: str) -> None:
    """Expat and a dict need 200 bytes for each."""
    data = suite(f"<testcase {before}{attributes(2_000_000)}/>").decode().encode(encoding)
    tracemalloc.start()
    try:
        with pytest.raises(BadResults, match=r"more than (?:1000 attributes|8388608 bytes)"):
            read_junit(data, Dialect.GENERIC)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < (64 << 20)


@pytest.mark.parametrize(("count", "is_read"), [(999, True), (1001, False)])
def test_an_element_may_have_a_thousand_attributes(count: int, is_read: bool) -> None:  # noqa: FBT001
    data = suite(f'<testcase name="a" {attributes(count)}/>')
    if is_read:
        assert len(read_junit(data, Dialect.GENERIC).cases) == 1
    else:
        with pytest.raises(BadResults, match="more than 1000 attributes"):
            read_junit(data, Dialect.GENERIC)


def test_a_message_may_look_like_attributes() -> None:
    message = " ".join(f"a{number}='b'" for number in range(300_000))
    data = suite(f'<testcase name="a"><failure message="{message}"/></testcase>')
    assert read_junit(data, Dialect.GENERIC).cases[0].message.startswith("a0=")


def test_a_comment_of_any_length_is_read_or_refused_in_linear_time() -> None:
    begun = time.process_time()
    with pytest.raises(BadResults, match="a tag or comment has more than"):
        read_junit(suite(f"<!--{'x' * (50 << 20)}-->"), Dialect.GENERIC)
    assert time.process_time() - begun < 5


def test_the_number_of_cases_is_limited_but_later_failures_are_kept() -> None:
    many = [f'<testcase name="t{n}"/>' for n in range(MOST_CASES + 5)]
    run = read_junit(suite(*many, '<testcase name="last"><failure/></testcase>'), Dialect.GENERIC)

    assert run.is_cut
    assert len(run.cases) == MOST_CASES + 1
    assert run.cases[-1].name == "last"


def test_a_file_of_too_many_cases_is_refused_when_the_limit_is_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(junit, "_MOST_SEEN", 10)
    assert len(read_junit(suite(*['<testcase name="a"/>'] * 10), Dialect.GENERIC).cases) == 1
    with pytest.raises(BadResults, match="more than 10 test cases"):
        read_junit(suite(*['<testcase name="a"/>'] * 11, "<"), Dialect.GENERIC)


@given(st.integers(0, len(CTEST)), st.binary(max_size=20), st.integers(0, 200), st.sampled_from(Dialect))
def test_a_damaged_file_is_read_or_refused(at: int, put: bytes, left_out: int, dialect: Dialect) -> None:
    try:
        run = read_junit(CTEST[:at] + put + CTEST[at + left_out :], dialect)
    except BadResults:
        return
    assert all(case.name and case.seconds >= 0 for case in run.cases)
