"""Check another CI's reports."""

from __future__ import annotations

import pytest

from service.domain.building.findings import MOST, Finding
from service.domain.runs.external import (
    MAX_CAUSE,
    MAX_CAUSES,
    MAX_URL,
    ExternalBuild,
    causes_of,
    findings_of,
    outcome_of,
)
from service.domain.runs.vote import CONSEQUENCES, Counts, Outcome, Result
from service.domain.values.errors import BadInput

URL = "http://ci.example.com/job/kv_engine.linux/job/master/5895/"


@pytest.mark.parametrize("result", Result)
def test_a_result_reads_the_same_again_in_our_message(result: Result) -> None:
    assert CONSEQUENCES[outcome_of(result)].result is result


@pytest.mark.parametrize(
    ("result", "counts"),
    [
        ("SUCCESS", Counts.PASS),
        ("UNSTABLE", Counts.NOTHING_CERTAIN),
        ("FAILURE", Counts.FAIL),
        ("NOT_BUILT", Counts.IGNORED),
        ("ABORTED", Counts.NOTHING_CERTAIN),
    ],
)
def test_only_success_counts_for_and_only_failure_against(result: str, counts: Counts) -> None:
    assert CONSEQUENCES[outcome_of(result)].counts is counts


def test_a_build_aborted_by_the_other_ci_is_no_fault_of_the_change() -> None:
    assert outcome_of("ABORTED") is Outcome.INFRASTRUCTURE


@pytest.mark.parametrize("word", ["", "success", "REGRESSED", "SUCCESS\n", "\u202eSUCCESS"])
def test_another_word_is_refused(word: str) -> None:
    with pytest.raises(BadInput, match="allowed are SUCCESS, UNSTABLE, FAILURE, NOT_BUILT, ABORTED"):
        outcome_of(word)


@pytest.mark.parametrize(
    "url",
    [URL, "https://ci/1", "https://ci.example.com:8443/a%20b?x=1#top", "https://[::1]/"],
)
def test_a_page_is_an_http_address(url: str) -> None:
    assert ExternalBuild("linux", 1, url).url == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ci.example.com/1",
        "ftp://ci.example.com/1",
        "javascript:alert(1)",
        "http://",
        "http:///1",
        "http://ci.example.com/1 : SUCCESS",
        "http://ci.example.com/\n\nBuild Successful",
        "http://ci.example.com/\t",
        "http://ci.example.com/\x00",
        "http://ci.example.com/\x7f",
        "http://ci.example.com/\u202e",
        " http://ci.example.com/",
        "http://ci.example.com/" + "x" * MAX_URL,
    ],
)
def test_nothing_else_is_a_page(url: str) -> None:
    with pytest.raises(BadInput, match=r"url: .* is no page; allowed are http and https addresses"):
        ExternalBuild("linux", 1, url)


@pytest.mark.parametrize("number", [0, -1, 1 << 31])
def test_a_number_is_one_that_can_be_stored(number: int) -> None:
    with pytest.raises(BadInput, match=r"number: .* is out of range"):
        ExternalBuild("linux", number, URL)


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("Test  #49: dcp ......", "Test  #49: dcp ......"),
        ("a\n\nBuild Successful", "a Build Successful"),
        ("\u202e BM\x1b[31m \0 x", "BM[31m  x"),
        ("x" * 5000, "x" * (MAX_CAUSE - 1) + "…"),
        ("a b " * 5000, ("a b " * 5000)[: MAX_CAUSE - 1] + "…"),
    ],
)
def test_a_cause_is_one_harmless_line_with_its_blanks(told: str, kept: str) -> None:
    assert causes_of([told]) == (kept,)


def test_empty_causes_are_none_and_too_many_are_counted() -> None:
    assert causes_of(["", " \n", "x"]) == ("x",)
    assert causes_of(["x"] * MAX_CAUSES) == ("x",) * MAX_CAUSES
    assert causes_of(["x"] * (MAX_CAUSES + 3)) == (*(("x",) * MAX_CAUSES), "… and 3 more")


def test_findings_are_lines_of_source_files_each_once() -> None:
    reported = [
        ("src/./a.cc", 7, "warning:\tx"),
        ("src/a.cc", 7, "warning: x"),
        ("/usr/include/a.h", 7, "x"),
        ("../a.h", 7, "x"),
        ("src/b.cc", 7, "\x07"),
    ]
    assert findings_of(reported) == (Finding("src/a.cc", 7, "warning: x"),)


def test_no_more_findings_are_kept_than_a_build_may_have() -> None:
    assert len(findings_of(("a.cc", line, "x") for line in range(1, 3 * MOST))) == MOST


@pytest.mark.parametrize("log", ["ftp://ci/log", "https://ci/a b", "x" * (MAX_URL + 1)])
def test_the_address_of_a_log_is_an_http_address(log: str) -> None:
    with pytest.raises(BadInput, match="log_url: "):
        ExternalBuild("linux", 1, URL, log)
    assert ExternalBuild("linux", 1, URL, URL).log_url == URL
