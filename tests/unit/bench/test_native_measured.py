"""Read back the output of measured programs, and take medians over their launches."""

from __future__ import annotations

import json

import pytest

from bench.native.measured import (
    CPU,
    REAL,
    Launch,
    Measured,
    NotMeasured,
    read_benchmarks,
    read_googletest,
)
from bench.native.table import Unit

PLAIN = "TransportProtocols/GetSetTest.ServerRejectsLargeSize/Mcbp_XattrYes_JsonYes_SnappyYes"
PRINTED = f"""\
Note: Google Test filter = TransportProtocols/GetSetTest.ServerRejectsLargeSize*/Mcbp_*
[==========] Running 1 test from 1 test suite.
[ RUN      ] {PLAIN}
[       OK ] {PLAIN} (2912 ms)
[----------] 1 test from TransportProtocols/GetSetTest (2912 ms total)
[==========] 1 test from 1 test suite ran. (2913 ms total)
[  PASSED  ] 1 test.
"""


def test_a_passed_test_gives_its_time() -> None:
    assert read_googletest(PRINTED, "a").values == {(PLAIN, REAL): 2.912}


@pytest.mark.parametrize("state", ["  FAILED  ", "  SKIPPED "])
def test_a_test_that_did_not_pass_is_no_time(state: str) -> None:
    failed = PRINTED.replace(
        f"[       OK ] {PLAIN} (", f"[{state}] {PLAIN}, where GetParam() = (4-byte object <01>) ("
    )
    with pytest.raises(NotMeasured, match="JsonYes"):
        read_googletest(failed, "a")


def test_a_filter_that_matches_no_test_is_an_error() -> None:
    with pytest.raises(NotMeasured, match="ran no test"):
        read_googletest("[==========] 0 tests from 0 test suites ran. (0 ms total)\n", "a")


def benchmark_file(**row: object) -> bytes:
    known = {"name": "B/1", "run_name": "B/1", "run_type": "iteration", "iterations": 9, "threads": 1}
    timed = {**known, "real_time": 731.0, "cpu_time": 671.0, "time_unit": "ns", "Peak": 5.0, **row}
    return json.dumps({"context": {"benchgate_suite": "b"}, "benchmarks": [timed]}).encode()


def test_a_suites_file_gives_times_in_seconds_counters_and_its_context() -> None:
    launch = read_benchmarks(benchmark_file(), "a")
    assert launch.values == {
        ("B/1", REAL): pytest.approx(731e-9),
        ("B/1", CPU): pytest.approx(671e-9),
        ("B/1", "Peak"): 5.0,
    }
    assert launch.context == {"benchgate_suite": "b"}


def test_an_error_row_is_an_error() -> None:
    with pytest.raises(NotMeasured, match="wrong answer"):
        read_benchmarks(benchmark_file(error_occurred=True, error_message="wrong answer"), "a")


def test_medians_are_over_the_launches_of_an_arm() -> None:
    found = Measured(2)
    for before, after in ((1e-6, 4e-7), (9e-6, 5e-7), (2e-6, 6e-7)):
        found.add("old", Launch({("B/1", REAL): before}))
        found.add("new", Launch({("B/1", REAL): after}))
    change = found.change("old", "new", "B/1", Unit.NANOSECONDS)
    assert [change.before, change.after] == pytest.approx([2000, 500])
    assert found.values("old", "B/1") == (1e-6, 9e-6, 2e-6)
    assert found.benchmarks("old", "B/.*") == ("B/1",)


def test_missing_measurements_are_named() -> None:
    with pytest.raises(NotMeasured, match="old did not measure Peak of B/1"):
        Measured(2).median("old", "B/1", "Peak")
