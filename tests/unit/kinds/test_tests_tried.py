"""Runners of the kinds that test, on a sandbox that replays recorded tries."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.domain.building.sandbox_command import Completed, StoppedBy
from service.domain.failures.failure import FailureKind
from service.domain.failures.output.ends import is_specific
from service.domain.measuring.tests.record import read_tests
from service.domain.project.project_file import parse_job
from service.domain.runs.vote import Outcome
from service.domain.values.errors import Unfit
from service.kinds.runners import RUNNERS
from tests.support.building.build_host import MemorySandbox, memory_host, session_of
from tests.support.building.memory_source import MemorySource
from tests.support.memory.files import MemoryArtifacts

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from service.domain.building.sandbox_command import Command
    from service.domain.runs.machine_report import MachineReport
    from service.ports.building import ByteSink

SAMPLES = Path(__file__).parents[2] / "samples" / "testing"
ERRORS = Completed(8, 2.0)


@dataclass
class Replay(MemorySandbox):
    """A sandbox in which each try leaves these results and this output; None: no results."""

    tries: list[tuple[Completed, bytes | None, bytes]] = field(default_factory=list)
    launched: list[Command] = field(default_factory=list)

    def run(self, command: Command, *, log: ByteSink | None, watch: Callable[[], None]) -> Completed:
        end, results, output = self.tries[len(self.launched)]
        self.launched.append(command)
        if results is not None:
            (Path(command.mounts[-1].source) / "results").write_bytes(results)
        assert log is not None
        log.write(output)
        return end


def sample(name: str) -> bytes:
    return (SAMPLES / name).read_bytes()


def run(
    scratch: Path, job: dict[str, Any], *tries: tuple[Completed, bytes | None, bytes]
) -> tuple[MachineReport, Replay, MemoryArtifacts]:
    source = MemorySource()
    source.commit("patch", None, {}, "patch")
    sandbox, artifacts = Replay(tries=list(tries)), MemoryArtifacts()
    parsed = parse_job("tests", job)
    host = memory_host(source, sandbox, scratch, artifacts=artifacts)
    report = RUNNERS[parsed.kind](session_of(host, parsed))
    assert len(sandbox.launched) == len(tries)
    return report, sandbox, artifacts


def test_each_test_that_ctest_lists_as_failed_is_a_failure(tmp_path: Path) -> None:
    report, *_ = run(tmp_path, {"kind": "ctest"}, (ERRORS, sample("ctest_3.25.1.xml"), b""))

    assert report.outcome is Outcome.FAILED
    # The output has nothing: the results name them, also those that JUnit calls skipped.
    names = ("fails", "times.out", "segv", "aborts", "no.such", "needs.fixture", "fixture", "regex.fail")
    assert {each.subject for each in report.failures} == set(names)


def test_the_second_try_reruns_what_failed(tmp_path: Path) -> None:
    report, sandbox, artifacts = run(
        tmp_path,
        {
            "kind": "ctest",
            "retries": 1,
            "filter": "a|b",
            "args": ["-L", "quick"],
            "memory": "1G",
            "timeout": 9,
            "build": {"disk": "40G"},
        },
        (ERRORS, sample("ctest_3.25.1_first_try.xml"), b""),
        (Completed(0, 1.0), sample("ctest_3.25.1_second_try.xml"), b""),
    )

    first, second = (command.argv[4:] for command in sandbox.launched)
    assert first == ("--test-dir", "build", "--tests-regex", "a|b", "-L", "quick")
    assert second == (*first, "--rerun-failed")
    limits = sandbox.launched[0].limits
    assert (limits.memory_bytes, limits.wall_seconds, limits.log_bytes) == (1 << 30, 9.0, None)
    assert limits.disk_bytes == 40 << 30  # for the tree with what the build wrote there
    assert not any(command.aslr for command in sandbox.launched)
    assert (report.outcome, report.retried) == (Outcome.PASSED, ("flaky",))
    (suite,) = read_tests(artifacts.get(report.tests))
    assert suite.retried == ("flaky",)


def test_a_machine_without_ctest_is_unfit(tmp_path: Path) -> None:
    with pytest.raises(Unfit, match="there is no ctest"):
        run(tmp_path, {"kind": "ctest"}, (Completed(127, 0.1), None, b"sh: 1: exec: ctest: not found\n"))


@pytest.mark.parametrize(
    ("end", "results", "cause"),
    [
        (Completed(0, 1.0), None, "CTest writes them from version 3.21 on"),
        (Completed(0, 1.0), b"<testsuite><testcase", "it is not XML"),
        (ERRORS, b"<testsuite/>", "ctest: no test ran"),
        (ERRORS, b'<testsuite><testcase name="a" status="run"/></testsuite>', "ctest ended with exit code 8"),
    ],
)
def test_results_alone_and_an_exit_code_alone_are_not_trusted(
    tmp_path: Path, end: Completed, results: bytes | None, cause: str
) -> None:
    report, *_ = run(tmp_path, {"kind": "ctest", "retries": 3}, (end, results, b""))

    assert report.outcome is Outcome.FAILED
    assert cause in report.causes[0]


@pytest.mark.parametrize(
    ("limit", "kind"), [(StoppedBy.MEMORY, FailureKind.MEMORY), (StoppedBy.DISK, FailureKind.COMMAND)]
)
def test_tests_at_a_limit_are_not_tried_again(tmp_path: Path, limit: StoppedBy, kind: FailureKind) -> None:
    output = b"      Start  1: a\n1/2 Test  #1: a ...   Passed    0.01 sec\n      Start  2: b\n"
    end = Completed(137, 5.0, limit)
    report, *_ = run(tmp_path, {"kind": "ctest", "retries": 3}, (end, None, output))

    assert [(each.kind, each.subject) for each in report.failures] == [(kind, "b")]
    assert report.is_cut, "the tests behind it did not run"


def test_a_limit_of_a_whole_command_is_no_failure_that_can_be_known(tmp_path: Path) -> None:
    end = Completed(137, 5.0, StoppedBy.WALL)
    report, *_ = run(tmp_path, {"kind": "command", "command": "make check"}, (end, None, b"checking\n"))

    [failure] = report.failures
    assert failure.kind is FailureKind.TIMEOUT
    assert not is_specific(failure)


def test_a_command_has_only_the_failures_that_its_output_names(tmp_path: Path) -> None:
    """Another step of it that fails in unknown words is not among them."""
    output = b"1/1 Test #1: a ....***Failed 1.00 sec\n0% tests passed\npackaging went astray\n"
    end = (Completed(2, 5.0), None, output)
    report, *_ = run(tmp_path, {"kind": "command", "command": "make check package"}, end)

    assert [(each.kind, each.subject) for each in report.failures] == [(FailureKind.TEST, "a")]
    assert not report.is_cut


def test_a_crash_of_a_program_runs_all_its_tests_again(tmp_path: Path) -> None:
    job = {"kind": "gtest", "programs": ["build/t"], "filter": "C.*", "retries": 2}
    crash = (Completed(134, 1.0), None, sample("gtest_1.12.1_crash.txt"))
    report, sandbox, _ = run(tmp_path, job, crash, crash, crash)

    assert [command.argv[4:6] for command in sandbox.launched] == [("./build/t", "--gtest_filter=C.*")] * 3
    assert report.outcome is Outcome.FAILED
    assert FailureKind.CRASH in {each.kind for each in report.failures}


def test_the_second_try_of_a_program_is_of_its_failed_tests(tmp_path: Path) -> None:
    job = {"kind": "gtest", "programs": ["build/t"], "retries": 1, "args": ["--x"]}
    failed = b"""{"testsuites": [{"name": "A", "testsuite": [
        {"name": "a", "status": "RUN", "result": "COMPLETED", "time": "0.1s"},
        {"name": "b/1", "status": "RUN", "result": "COMPLETED", "failures": [{"failure": "t.cc:4\\nno"}]},
        {"name": "c", "status": "RUN", "result": "COMPLETED", "failures": [{"failure": "t.cc:5\\nno"}]}]}]}"""
    passed = b"""{"testsuites": [{"name": "A", "testsuite": [
        {"name": "b/1", "status": "RUN", "result": "COMPLETED", "time": "0.1s"},
        {"name": "c", "status": "RUN", "result": "COMPLETED", "time": "0.1s"}]}]}"""
    report, sandbox, _ = run(
        tmp_path, job, (Completed(1, 1.0), failed, b""), (Completed(0, 1.0), passed, b"")
    )

    assert [command.argv[4:] for command in sandbox.launched] == [
        ("./build/t", "--x"),
        ("./build/t", "--gtest_filter=A.b/1:A.c", "--x"),
    ]
    assert (report.outcome, report.retried) == (Outcome.PASSED, ("A.b/1", "A.c"))


def test_a_command_that_fails_in_each_try_has_the_failures_of_all(tmp_path: Path) -> None:
    errors = [f"{name}.cc:1:2: error: no".encode() for name in "ab"]
    report, *_ = run(
        tmp_path,
        {"kind": "command", "command": "make", "retries": 1},
        *((Completed(2, 1.0), None, error + b"\n") for error in errors),
    )

    assert [each.subject for each in report.failures] == ["a.cc", "b.cc"]
