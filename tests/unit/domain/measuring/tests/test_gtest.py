"""GoogleTest's results: its JSON, its output after a crash, and hostile files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.measuring.tests.cases import MOST_CASES, CaseStatus
from service.domain.measuring.tests.gtest import read_gtest
from service.domain.values.errors import BadResults

SAMPLES = Path(__file__).parents[4] / "samples" / "testing"
DATA = (SAMPLES / "gtest_1.12.1.json").read_bytes()
OUTPUT = (SAMPLES / "gtest_1.12.1.txt").read_bytes()
CRASHED = (SAMPLES / "gtest_1.12.1_crash.txt").read_bytes()


def document(*tests: object) -> bytes:
    return json.dumps({"testsuites": [{"name": "S", "testsuite": tests}]}).encode()


def passed(**more: object) -> dict[str, Any]:
    return {"name": "a", "status": "RUN", "result": "COMPLETED", "time": "0.012s", "classname": "S"} | more


def test_names_and_ends_are_read_also_of_typed_and_parameterised_tests() -> None:
    assert {case.name: case.status for case in read_gtest(DATA, OUTPUT).cases} == {
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


def test_a_failure_has_the_place_and_text_of_its_first_assertion() -> None:
    cases = {case.name: case for case in read_gtest(DATA, OUTPUT).cases}

    assert cases["A.Fails"].place == "t.cpp:4"
    assert cases["A.Fails"].message == (
        "Expected equality of these values:\n  x\n    Which is: 3\n  4\nhint 0x7f12"
    )


def test_an_exception_has_no_place() -> None:
    cases = read_gtest((SAMPLES / "gtest_1.12.1_exception.json").read_bytes(), b"").cases
    [thrown] = (case for case in cases if case.has_failed)

    assert (thrown.name, thrown.place) == ("C.Throws", "")
    assert thrown.message == 'C++ exception with description "boom 42" thrown in the test body.'


def test_the_reason_of_a_skip_comes_from_the_output() -> None:
    cases = {case.name: case for case in read_gtest(DATA, OUTPUT).cases}
    assert cases["A.Skips"].message == "needs root"


def test_a_test_that_ended_the_program_has_failed() -> None:
    """GoogleTest writes no file then."""
    run = read_gtest(b"", CRASHED)
    cases = {case.name: case for case in run.cases}

    assert [name for name, case in cases.items() if case.has_failed] == [
        *("A.Fails", "Typed/1.Is", "C.Crashes"),
    ]
    assert cases["C.Crashes"].message == "the program ended during this test"
    assert cases["A.Skips"].status is CaseStatus.SKIPPED


def test_the_output_gives_durations_in_milliseconds() -> None:
    [case] = read_gtest(b"", b"[ RUN      ] A.b\n\x1b[32m[       OK ] \x1b[mA.b (1250 ms)\n").cases
    assert case.seconds == 1.25


def test_durations_are_seconds() -> None:
    [case] = read_gtest(document(passed()), b"").cases
    assert case.seconds == 0.012


@pytest.mark.parametrize(
    ("test", "status"),
    [
        (passed(result="SKIPPED"), CaseStatus.SKIPPED),
        (passed(status="NOTRUN", result="SUPPRESSED"), CaseStatus.DISABLED),
        (passed(result="NEW"), CaseStatus.NOT_RUN),
        (passed(failures=[]), CaseStatus.PASSED),
        (passed(failures=[{"failure": "a.cpp:1\nno"}]), CaseStatus.FAILED),
        (passed(failures=[{}]), CaseStatus.FAILED),
        (passed(failures="yes"), CaseStatus.FAILED),
        ({"name": "a", "status": "RUN"}, CaseStatus.PASSED),
    ],
)
def test_each_end_is_read_and_an_unknown_one_is_never_a_pass(
    test: dict[str, Any], status: CaseStatus
) -> None:
    [case] = read_gtest(document(test), b"").cases
    assert (case.name, case.status) == ("S.a", status)


def test_a_filter_without_a_match_gives_a_run_without_cases() -> None:
    assert read_gtest(b'{"testsuites": []}', b"").cases == ()


@pytest.mark.parametrize(
    ("data", "output", "reason"),
    [
        (b"", b"", "names no test"),
        (b" ", b"Segmentation fault\n", "names no test"),
        (b"<testsuites/>", b"", "line 1: it is not JSON"),
        (DATA[:200], OUTPUT, "it is not JSON"),
        (b'{"a": "\xff"}', b"", "byte 7: it is not UTF-8"),
        (b"[" * 1_000_000, b"", "it is nested too deeply"),
        (b"1" * 5000, b"", "it is not JSON"),
        (b"[" + b"{}," * 3_000_000 + b"{}]", b"", "more than 5000000 values"),
        (b"[]", b"", "it has no testsuites"),
        (b'{"testsuites": {}}', b"", "it has no testsuites"),
        (b'{"testsuites": [1]}', b"", "no name or no list"),
        (document(3), b"", "no name or no status"),
        (document(passed(name="")), b"", ""),
        (document(passed(name="n" * 1100)), b"", "at most 1024"),
    ],
    ids=range(14),
)
def test_a_file_that_cannot_be_used_is_refused_with_its_reason(
    data: bytes, output: bytes, reason: str
) -> None:
    if not reason:
        assert read_gtest(data, output).cases[0].name == "S."
        return
    with pytest.raises(BadResults) as refused:
        read_gtest(data, output)

    assert reason in str(refused.value)
    assert len(str(refused.value)) < 300


def test_the_number_of_cases_is_limited() -> None:
    run = read_gtest(document(*(passed(name=f"t{n}") for n in range(MOST_CASES + 1))), b"")
    assert run.is_cut
    assert len(run.cases) == MOST_CASES


@pytest.mark.parametrize(
    "part", ["[ RUN      ] a, ", "[", "[ ", "[ OK ] a (1 ms) ", " ", "x:1: Skipped", "[ RUN      ] a\n"]
)
def test_a_hostile_output_of_megabytes_is_read_to_its_end(part: str) -> None:
    """Quadratic work on its lines would take hours."""
    lines = "\n".join([part * (4096 // len(part)) + "x"] * 1000)
    run = read_gtest(b"", f"{lines}\n[ RUN      ] last.test\n".encode())
    assert run.cases[-1].name == "last.test"


@given(st.integers(0, len(DATA)), st.binary(max_size=20), st.integers(0, 200))
def test_a_damaged_file_is_read_or_refused(at: int, put: bytes, left_out: int) -> None:
    try:
        run = read_gtest(DATA[:at] + put + DATA[at + left_out :], CRASHED)
    except BadResults:
        return
    assert all(case.name for case in run.cases)


@given(st.lists(st.sampled_from([b"[ RUN      ] a.b", b"[       OK ] a.b (1 ms)", b"x:1: Skipped", b"\xff"])))
def test_any_output_is_read_or_refused(lines: list[bytes]) -> None:
    try:
        run = read_gtest(b"", b"\n".join(lines))
    except BadResults:
        return
    assert {case.name for case in run.cases} == {"a.b"}
