"""Jobs of kind command on a real machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.domain.failures.failure import FailureKind
from service.domain.runs.vote import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.kinds.conftest import Machine

pytestmark = pytest.mark.integration

FILES: dict[str, bytes | Path] = {"check.sh": b"test -e build/made && echo fine\n"}

HUNGRY: dict[str, bytes | Path] = {"hungry.py": b"import time\nkept = b'x' * (200 << 20)\ntime.sleep(60)\n"}


def job(command: str, more: str = "") -> str:
    return f"    kind: command\n    build: {{compile: touch build/made}}\n    command: {command}\n{more}"


def test_a_command_that_succeeds_passes(machine: Machine) -> None:
    report = machine.run(FILES, job("sh check.sh"))

    assert (report.outcome, report.causes, report.tests) == (Outcome.PASSED, (), "")
    assert b"== test: sh check.sh\nfine\n" in machine.log


@pytest.mark.parametrize(
    ("command", "headline", "cause"),
    [
        ("'echo nothing here; exit 3'", "exit code 3", "job ended with exit code 3: nothing here"),
        ("exit 4", "exit code 4", "job ended with exit code 4"),
    ],
)
def test_a_command_that_fails_has_its_end_and_last_line(
    machine: Machine, command: str, headline: str, cause: str
) -> None:
    report = machine.run(FILES, job(command))

    assert report.outcome is Outcome.FAILED
    assert [each.fault for each in report.failures] == [(FailureKind.COMMAND, "job", headline)]
    assert report.causes[0].startswith(cause)


def test_a_compile_error_in_the_output_is_the_failure(machine: Machine) -> None:
    report = machine.run({**FILES, "a.c": b"int main() { return x; }\n"}, job("cc a.c -o build/a"))

    assert [(each.kind, each.subject, each.place) for each in report.failures] == [
        (FailureKind.COMPILE, "a.c", "a.c:1")
    ]
    assert report.causes[0].startswith("Compile error at a.c:1:")


def test_a_pass_on_a_retry_passes_and_is_named(machine: Machine) -> None:
    flaky = "'test -e once || { touch once; exit 1; }'"
    assert machine.run(FILES, job(flaky)).outcome is Outcome.FAILED

    report = machine.run(FILES, job(flaky, "    retries: 1\n"))
    assert (report.outcome, report.retried) == (Outcome.PASSED, ("job",))
    assert report.causes == ("failed, then passed on a retry: job",)
    assert [(each.kind, each.headline) for each in report.cleared] == [(FailureKind.COMMAND, "exit code 1")]


def test_a_command_at_its_time_limit_is_not_tried_again(machine: Machine) -> None:
    report = machine.run(FILES, job("sleep 60", "    timeout: 1s\n    retries: 3\n"))

    assert report.causes == ("job was stopped after 1 s: limit on wall time",)
    assert [each.kind for each in report.failures] == [FailureKind.TIMEOUT]


def test_a_command_at_its_memory_limit_names_the_limit(machine: Machine) -> None:
    report = machine.run(FILES | HUNGRY, job("python3 hungry.py", "    memory: 64M\n"))

    assert report.outcome is Outcome.FAILED
    assert [each.kind for each in report.failures] == [FailureKind.MEMORY]


def test_a_limit_on_the_memory_of_the_build_fails_the_build(machine: Machine) -> None:
    build = "    build: {compile: test ! -e hungry.py || python3 hungry.py, memory: 64M}\n"
    report = machine.run(FILES | HUNGRY, f"    kind: command\n{build}    command: 'true'\n")

    assert report.outcome is Outcome.FAILED
    assert [each.kind for each in report.failures] == [FailureKind.MEMORY]
    assert "compile failed" in report.causes[0]


def test_a_command_that_writes_without_end_is_not_stopped_for_it(machine: Machine) -> None:
    report = machine.run(FILES, job("'yes | head -c 100000000; echo end'"))

    assert report.outcome is Outcome.PASSED
    assert machine.log.endswith(b"end\n")
