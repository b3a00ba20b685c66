from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from service import cli
from service.domain.project.job_kinds import KINDS

if TYPE_CHECKING:
    from pathlib import Path

GOOD = "version: 1\njobs:\n  perf:\n    kind: benchmark\n    suites: [{name: a, program: build/a}]\n"
SUITE_KEYS = (
    "name, program, filter, args, metrics, higher_is_better, units, cpus, repetitions, min_time, timeout,"
    " env, cwd, format, renamed"
)
BAD = """\
version: 1
lable: Performance
jobs:
  perf:
    kind: benchmark
    suites:
      - name: a
        programme: build/a
      - {name: b, program: build/b, cpus: 0}
  lint: {kind: style-check}
  unit: {kind: external, pool: perf}
"""


def check(text: str, *arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli.benchgate, ["check", *arguments], input=text)
    return done.exit_code, done.stdout


def test_a_correct_file_has_no_errors() -> None:
    assert check(GOOD, "-") == (0, "")


def test_every_error_is_printed_with_line_key_and_allowed_values() -> None:
    code, printed = check(BAD, "-")

    assert code == 2
    assert printed.splitlines() == [
        "<stdin>:2: lable: unknown key; allowed are version, label, jobs, dependencies, manifest, commands",
        "<stdin>:7: jobs.perf.suites[0]: the key 'program' is missing",
        f"<stdin>:8: jobs.perf.suites[0].programme: unknown key; allowed are {SUITE_KEYS}",
        "<stdin>:9: jobs.perf.suites[1].cpus: 0 is out of range; allowed is 1 to 1024",
        f"<stdin>:10: jobs.lint.kind: this version does not run style-check; it runs {', '.join(KINDS)}",
        "<stdin>:11: jobs.unit.pool: unknown key; allowed are kind, paths, reuse, policy, voting",
    ]


def test_a_file_is_named_as_it_was_given(tmp_path: Path) -> None:
    file = tmp_path / "benchgate.yaml"
    file.write_text(GOOD.replace("1", "3"))

    code, printed = check("", str(file))

    assert (code, printed) == (2, f"{file}:1: version: '3' is not allowed; allowed are 1\n")


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("", "<stdin>: the file is empty\n"),
        ("jobs: [", "<stdin>:1: not YAML: "),
        ("- 1", "<stdin>:1: a mapping is needed, found a list\n"),
        ("version: 1\njobs: [perf]\n", "<stdin>:2: jobs: a mapping is needed, found a list\n"),
        ("version: 1\njobs:\n  perf: 5\n", "<stdin>:3: jobs.perf: a mapping is needed, found 5\n"),
        ("version: 1\njobs:\n  perf: {kind: 5}\n", "<stdin>:3: jobs.perf.kind: a text is needed, found 5\n"),
        ("version: 1\njobs:\n  perf: {kind: []}\n", "<stdin>:3: jobs.perf.kind: a text is needed"),
    ],
)
def test_a_file_other_than_a_project_file(text: str, printed: str) -> None:
    code, lines = check(text, "-")

    assert code == 2
    assert lines.startswith(printed)


def test_a_file_other_than_text_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "benchgate.yaml"
    file.write_bytes(b"version: 1\n\xff\n")
    done = CliRunner().invoke(cli.benchgate, ["check", str(file)])

    assert str(done.exception) == f"{file}:2: not UTF-8 text"


def test_a_program_outside_the_build_directory_is_an_error() -> None:
    code, printed = check(GOOD.replace("build/a", "bin/a"), "-")

    assert code == 2
    assert printed == (
        "<stdin>:5: jobs.perf.suites[0].program: 'bin/a' is not in the build directory; "
        "allowed are paths below build/\n"
    )
