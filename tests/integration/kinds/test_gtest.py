"""Jobs of kind gtest on a real machine: programs with the real GoogleTest."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from service.domain.failures.failure import FailureKind
from service.domain.measuring.tests.cases import CaseStatus
from service.domain.measuring.tests.record import read_tests
from service.domain.runs.vote import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.kinds.conftest import Machine

pytestmark = pytest.mark.integration

SOURCE = b"""\
#include <gtest/gtest.h>
#include <unistd.h>
#include <cstdlib>
#include <fstream>
TEST(A, Passes) {}
TEST(A, Fails) { EXPECT_EQ(1 + 1, 3); }
TEST(A, Skips) { GTEST_SKIP() << "needs root"; }
TEST(B, Flaky) {
  const bool is_first = !std::ifstream("once").good();
  std::ofstream("once") << 1;
  EXPECT_FALSE(is_first);
}
TEST(C, Crashes) { std::abort(); }
TEST(D, CrashesOnce) {
  if (!std::ifstream("once").good()) { std::ofstream("once") << 1; std::abort(); }
}
TEST(D, IsBehindTheCrash) { EXPECT_FALSE(std::getenv("BEHIND_FAILS")); }
TEST(E, Hangs) { sleep(60); }
TEST(F, LeavesWithSuccess) { std::exit(0); }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Compile once; the jobs copy the program."""
    place = tmp_path_factory.mktemp("gtest")
    (place / "t.cc").write_bytes(SOURCE)
    argv = ["g++", "-O0", "t.cc", "-o", "t", "-lgtest", "-lgtest_main", "-lpthread"]
    subprocess.run(argv, cwd=place, check=True)
    return (place / "t").read_bytes()


def job(chosen: str, more: str = "", programs: str = "[build/t]") -> str:
    compile_ = "cp t build/t && chmod +x build/t; chmod +x build/t u || true"
    return (
        f"    kind: gtest\n    build: {{compile: {compile_}}}\n"
        f"    programs: {programs}\n    filter: '{chosen}'\n{more}"
    )


def test_programs_that_pass(machine: Machine, program: bytes) -> None:
    report = machine.run({"t": program}, job("A.Passes:A.Skips"))

    assert (report.outcome, report.causes) == (Outcome.PASSED, ())
    (suite,) = read_tests(machine.host.artifacts.get(report.tests))
    assert suite.program == "build/t"
    assert {case.name: case.status for case in suite.run.cases} == {
        "A.Passes": CaseStatus.PASSED,
        "A.Skips": CaseStatus.SKIPPED,
    }


def test_a_failed_test_has_its_place_and_expression(machine: Machine, program: bytes) -> None:
    report = machine.run({"t": program}, job("A.*", "    retries: 1\n"))

    assert report.outcome is Outcome.FAILED
    ((failure),) = report.failures
    assert (failure.kind, failure.subject, failure.place) == (FailureKind.TEST, "A.Fails", "t.cc:6")
    assert report.causes[0] == "Failure of a GoogleTest test A.Fails"
    assert report.causes[1].startswith("t.cc:6: Expected equality")
    assert b"--gtest_filter=A.Fails" in machine.log


def test_a_pass_on_a_retry_passes_and_is_named(machine: Machine, program: bytes) -> None:
    report = machine.run({"t": program}, job("A.Passes:B.*", "    retries: 1\n"))

    assert (report.outcome, report.retried, report.failures) == (Outcome.PASSED, ("B.Flaky",), ())
    assert [each.subject for each in report.cleared] == ["B.Flaky"]
    assert report.causes == ("failed, then passed on a retry: B.Flaky",)


def test_a_crash_names_the_running_test(machine: Machine, program: bytes) -> None:
    report = machine.run({"t": program}, job("A.Passes:C.*"))

    assert report.outcome is Outcome.FAILED
    assert [(each.kind, each.subject) for each in report.failures] == [(FailureKind.CRASH, "C.Crashes")]


def test_tests_behind_a_crash_run_in_the_retry(machine: Machine, program: bytes) -> None:
    report = machine.run({"t": program}, job("D.*", "    retries: 1\n"))

    assert (report.outcome, report.retried) == (Outcome.PASSED, ("D.CrashesOnce",))
    (suite,) = read_tests(machine.host.artifacts.get(report.tests))
    assert {case.name for case in suite.run.cases} == {"D.CrashesOnce", "D.IsBehindTheCrash"}


def test_the_time_limit_names_the_running_test(machine: Machine, program: bytes) -> None:
    report = machine.run({"t": program}, job("A.Passes:E.*", "    timeout: 2s\n    retries: 1\n"))

    assert [(each.kind, each.subject) for each in report.failures] == [(FailureKind.TIMEOUT, "E.Hangs")]
    assert report.causes == ("build/t was stopped after 2 s: limit on wall time during E.Hangs",)


def test_a_test_that_leaves_with_success_fails(machine: Machine, program: bytes) -> None:
    report = machine.run({"t": program}, job("F.*"))

    assert report.outcome is Outcome.FAILED
    assert [each.subject for each in report.failures] == ["F.LeavesWithSuccess"]


@pytest.mark.parametrize(
    ("files", "chosen", "programs", "cause"),
    [
        ({}, "G.*", "[build/t]", "no test ran"),
        ({}, "A.Passes", "[build/other]", "the build did not create the program"),
        ({"t": b"#!/bin/sh\nexit 0\n"}, "", "[build/t]", "is no GoogleTest program"),
    ],
)
def test_without_results_a_patch_fails(
    machine: Machine,
    program: bytes,
    files: dict[str, bytes | Path],
    chosen: str,
    programs: str,
    cause: str,
) -> None:
    report = machine.run({"t": program, **files}, job(chosen, programs=programs))

    assert report.outcome is Outcome.FAILED
    assert cause in report.causes[-1]


def test_one_program_that_fails_fails_the_build(machine: Machine, program: bytes) -> None:
    report = machine.run(
        {"t": program, "u": b"#!/bin/sh\nexit 3\n"},
        job("A.Passes", programs="[build/t, u]"),
    )

    assert report.outcome is Outcome.FAILED
    assert [each.subject for each in report.failures] == ["u"]
