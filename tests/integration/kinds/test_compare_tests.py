"""Durations of tests, compared with the parent's on a real machine: CTest and GoogleTest in the sandbox."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from service.domain.runs.vote import Outcome
from service.domain.verdict.inference.verdict import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from service.steps.runs.gate import LocalVerdict
    from tests.integration.kinds.conftest import Machine

    Files = dict[str, bytes | Path]

pytestmark = pytest.mark.integration

# Sleeping is the same on a busy machine, and its differences here are far above these.
POLICY = """\
    policy: {max_pairs: 14, false_alarms: 20%, floor: 10%, vote_at: 20%, same_within: 20%, machine_time: 5m}
"""
CTEST = """\
    kind: ctest
    compare: true
    retries: 1
    build: {configure: cmake -S . -B build, keep: ["**"]}
"""
GTEST = """\
    kind: gtest
    compare: true
    programs: [build/t]
    build: {compile: cp t build/t && chmod +x build/t}
"""
HEAD = "cmake_minimum_required(VERSION 3.21)\nproject(t NONE)\nenable_testing()\n"
EQUAL = 'add_test(NAME "equal [a+b]" COMMAND sleep 0.2)\n'
QUICK = "add_test(NAME quick COMMAND true)\n"
WRITES = 'add_test(NAME writes COMMAND sh -c "echo x > written")\n'
SOURCE = b"""\
#include <gtest/gtest.h>
#include <unistd.h>
#include <fstream>
static double seconds() { double found = 0; std::ifstream("seconds") >> found; return found; }
TEST(Store, Sleeps) { usleep(static_cast<unsigned>(seconds() * 1e6)); }
TEST(Store, IsEqual) { usleep(200000); }
TEST(Store, IsQuick) {}
"""


def sleeps(name: str, seconds: float) -> str:
    return f"add_test(NAME {name} COMMAND sleep {seconds})\n"


def project(*tests: str) -> Files:
    return {"CMakeLists.txt": (HEAD + "".join(tests)).encode()}


def verdicts(found: LocalVerdict) -> dict[str, Verdict]:
    return {each.row.benchmark: each.verdict for each in found.comparisons}


def test_a_test_of_ctest_that_takes_longer_is_slower(machine: Machine) -> None:
    base = project(EQUAL, QUICK, WRITES, sleeps("store", 0.1))
    found = machine.compare(base, project(EQUAL, QUICK, WRITES, sleeps("store", 0.4)), CTEST + POLICY)

    assert found.end.outcome is Outcome.SLOWER, found.end.causes
    of_equal = verdicts(found).pop("equal [a+b]")
    assert of_equal in {Verdict.SAME, Verdict.UNDECIDED}
    assert verdicts(found) == {
        "equal [a+b]": of_equal,
        "store": Verdict.SLOWER,
        "writes": Verdict.FAILING,  # the directory of the build is read-only
    }
    assert found.end.causes[0].startswith("1 of 3 results is slower; worst: store real time ×")
    assert "1 test is not compared with the parent: it takes less than 100 ms" in found.end.causes


def test_a_test_of_googletest_that_takes_longer_is_slower(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "t.cc").write_bytes(SOURCE)
    argv = ["g++", "-O0", "t.cc", "-o", "t", "-lgtest", "-lgtest_main", "-lpthread"]
    subprocess.run(argv, cwd=tmp_path, check=True)
    program = (tmp_path / "t").read_bytes()
    found = machine.compare(
        {"t": program, "seconds": b"0.02"}, {"t": program, "seconds": b"0.3"}, GTEST + POLICY
    )

    assert found.end.outcome is Outcome.SLOWER, found.end.causes
    assert verdicts(found)["Store.Sleeps"] is Verdict.SLOWER
    assert verdicts(found).get("Store.IsEqual") in {Verdict.SAME, Verdict.UNDECIDED}
    assert "Store.IsQuick" not in verdicts(found)


def test_a_failed_test_is_the_end_before_anything_is_measured(machine: Machine) -> None:
    found = machine.compare(
        project(EQUAL, "add_test(NAME store COMMAND true)\n"),
        project(EQUAL, "add_test(NAME store COMMAND false)\n"),
        CTEST,
    )

    assert (found.end.outcome, found.comparisons) == (Outcome.FAILED, ())
    assert "store" in found.end.causes[0]
    assert "measure" not in found.seconds


def test_too_short_tests_are_not_compared(machine: Machine) -> None:
    found = machine.compare(project(QUICK), project(QUICK, sleeps("new", 0.01)), CTEST)

    assert (found.end.outcome, found.comparisons) == (Outcome.PASSED, ())
    assert found.end.causes == ("2 tests are not compared with the parent: each takes less than 100 ms",)
