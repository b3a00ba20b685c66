"""Jobs of kind ctest on a real machine: CTest runs shell tests in the sandbox."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from service.domain.failures.failure import FailureKind
from service.domain.failures.signature import signature_of
from service.domain.measuring.tests.cases import CaseStatus
from service.domain.measuring.tests.record import read_tests
from service.domain.runs.vote import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from service.domain.runs.machine_report import MachineReport
    from tests.integration.kinds.conftest import Machine

pytestmark = pytest.mark.integration

JOB = """\
    kind: ctest
    build: {configure: cmake -S . -B build}
"""
HEAD = "cmake_minimum_required(VERSION 3.21)\nproject(t NONE)\nenable_testing()\n"
PASSES = "add_test(NAME passes COMMAND true)\n"
FLAKY = """\
add_test(NAME flaky COMMAND sh -c "test -e once || { touch once; exit 1; }")
"""

RACE_PROJECT = b"""\
cmake_minimum_required(VERSION 3.21)
project(t C)
enable_testing()
add_compile_options(-fsanitize=thread -g)
add_link_options(-fsanitize=thread)
add_executable(races race.c)
add_test(NAME races COMMAND races)
"""
RACE = b"""\
#include <pthread.h>
static int shared;
static void *add(void *unused) {
  for (int i = 0; i < 100000; ++i) ++shared;
  return unused;
}
int main(void) {
  pthread_t one, two;
  pthread_create(&one, 0, add, 0);
  pthread_create(&two, 0, add, 0);
  pthread_join(one, 0);
  pthread_join(two, 0);
  return 0;
}
"""


def project(*tests: str) -> dict[str, bytes | Path]:
    return {"CMakeLists.txt": (HEAD + "".join(tests)).encode()}


def statuses(machine: Machine, report: MachineReport) -> dict[str, CaseStatus]:
    (suite,) = read_tests(machine.host.artifacts.get(report.tests))
    return {case.name: case.status for case in suite.run.cases}


def test_tests_that_pass(machine: Machine) -> None:
    report = machine.run(project(PASSES), JOB)

    assert (report.outcome, report.causes, report.failures) == (Outcome.PASSED, (), ())
    assert statuses(machine, report) == {"passes": CaseStatus.PASSED}
    assert set(report.seconds) == {"build patch", "test"}


def test_each_way_to_fail_is_a_failure_with_its_reason(machine: Machine) -> None:
    report = machine.run(
        project(
            PASSES,
            'add_test(NAME fails COMMAND sh -c "echo why; exit 3")\n',
            "add_test(NAME slow COMMAND sleep 60)\nset_tests_properties(slow PROPERTIES TIMEOUT 1)\n",
            'add_test(NAME crashes COMMAND sh -c "kill -SEGV $$")\n',
            "add_test(NAME gone COMMAND /nonexistent/program)\n",
            'add_test(NAME skips COMMAND sh -c "exit 77")\n',
            "set_tests_properties(skips PROPERTIES SKIP_RETURN_CODE 77)\n",
        ),
        JOB,
    )

    assert report.outcome is Outcome.FAILED
    # CTest runs them beside each other, so they end in any order.
    assert {(each.kind, each.subject) for each in report.failures} == {
        (FailureKind.TEST, "fails"),
        (FailureKind.TIMEOUT, "slow"),
        (FailureKind.CRASH, "crashes"),
        (FailureKind.TEST, "gone"),
    }
    line = next(each.line for each in report.failures if each.subject == "fails")
    assert re.match(r"Failure of a CTest test \d/6 Test #2: fails \.\.\..*\*\*\*Failed", line)
    causes = dict(each.split(": ", 1) for each in report.causes)
    assert causes.pop("gone").startswith("Not Run")
    assert causes == {"fails": "why", "slow": "timeout", "crashes": "segmentation fault"}
    assert not report.is_cut
    assert statuses(machine, report) == {
        "passes": CaseStatus.PASSED,
        "fails": CaseStatus.FAILED,
        "slow": CaseStatus.FAILED,
        "crashes": CaseStatus.FAILED,
        "gone": CaseStatus.NOT_RUN,
        "skips": CaseStatus.SKIPPED,
    }


def test_a_pass_on_a_retry_passes_and_is_named(machine: Machine) -> None:
    report = machine.run(project(PASSES, FLAKY), f"{JOB}    retries: 2\n")

    assert (report.outcome, report.failures) == (Outcome.PASSED, ())
    assert report.retried == ("flaky",)
    assert report.causes == ("failed, then passed on a retry: flaky",)
    (cleared,) = report.cleared
    assert (cleared.kind, cleared.subject) == (FailureKind.TEST, "flaky")
    assert machine.log.count(b"== test: ") == 2


def test_an_intermittent_test_fails_without_retries(machine: Machine) -> None:
    report = machine.run(project(PASSES, FLAKY), JOB)

    assert (report.outcome, [each.subject for each in report.failures]) == (Outcome.FAILED, ["flaky"])


def test_a_test_that_always_fails_is_tried_again_and_fails_beside_one_that_passes(machine: Machine) -> None:
    report = machine.run(project(FLAKY, "add_test(NAME fails COMMAND false)\n"), f"{JOB}    retries: 1\n")

    assert report.outcome is Outcome.FAILED
    assert [each.subject for each in report.failures] == ["fails"]
    assert report.retried == ("flaky",)
    assert [each.subject for each in report.cleared] == ["flaky"]


def test_a_cleared_failure_has_the_signature_of_one_that_counts(machine: Machine) -> None:
    (counts,) = machine.run(project(PASSES, FLAKY), JOB).failures
    (cleared,) = machine.run(project(PASSES, FLAKY), f"{JOB}    retries: 2\n").cleared

    assert signature_of(cleared) == signature_of(counts)


@pytest.mark.parametrize(
    ("tests", "more", "cause"),
    [
        ((), "", "ctest: no test ran"),
        ((PASSES,), "    filter: nothing\n", "ctest: no test ran"),
        (
            (
                'add_test(NAME skips COMMAND sh -c "exit 77")\n',
                "set_tests_properties(skips PROPERTIES SKIP_RETURN_CODE 77)\n",
            ),
            "",
            "no test ran: all 1 tests are skipped or disabled",
        ),
    ],
)
def test_without_a_test_that_runs_a_patch_fails(
    machine: Machine, tests: tuple[str, ...], more: str, cause: str
) -> None:
    report = machine.run(project(*tests), JOB + more)

    assert (report.outcome, report.causes) == (Outcome.FAILED, (cause,))
    assert [each.headline for each in report.failures] == ["no test ran"]


def test_the_time_limit_names_the_running_test(machine: Machine) -> None:
    report = machine.run(
        project(PASSES, "add_test(NAME hangs COMMAND sleep 60)\n"), f"{JOB}    timeout: 2s\n"
    )

    assert report.outcome is Outcome.FAILED
    assert [(each.kind, each.subject) for each in report.failures] == [(FailureKind.TIMEOUT, "hangs")]
    assert report.causes == ("ctest was stopped after 2 s: limit on wall time during hangs",)


def test_a_build_that_fails_names_the_first_error(machine: Machine) -> None:
    files = project('message(FATAL_ERROR "no such option")\n')
    report = machine.run(files, JOB, before=project(""))

    assert (report.outcome, report.tests) == (Outcome.FAILED, "")
    assert [each.kind for each in report.failures] == [FailureKind.CONFIGURE]
    assert "CMakeLists.txt:4" in report.causes[0]


def test_tests_that_delete_their_results_fail(machine: Machine) -> None:
    report = machine.run(project('add_test(NAME kills COMMAND sh -c "kill -9 $PPID")\n'), JOB)

    assert report.outcome is Outcome.FAILED
    assert "left no results" in report.causes[0]


def test_a_race_that_thread_sanitizer_reports_is_the_failure(machine: Machine) -> None:
    job = JOB.replace("-B build", "-B build && cmake --build build")
    report = machine.run({"CMakeLists.txt": RACE_PROJECT, "race.c": RACE}, job)

    assert report.outcome is Outcome.FAILED
    ((failure),) = report.failures
    assert failure.kind is FailureKind.SANITIZER
    assert "data race" in failure.headline
    assert "Test #1: races" in failure.line
    assert report.causes == (f"races: race.c:4: {failure.headline}",)


def test_a_test_that_passes_if_it_fails_is_marked_also_beside_a_retry(machine: Machine) -> None:
    will_fail = "set_tests_properties(fails PROPERTIES WILL_FAIL TRUE)\n"
    files = project(PASSES, 'add_test(NAME fails COMMAND sh -c "exit 3")\n', will_fail, FLAKY)
    report = machine.run(files, f"{JOB}    retries: 1\n")
    (suite,) = read_tests(machine.host.artifacts.get(report.tests))

    assert (report.outcome, report.retried) == (Outcome.PASSED, ("flaky",))
    assert {case.name: case.is_inverted for case in suite.run.cases} == {
        "passes": False,
        "fails": True,
        "flaky": False,
    }
