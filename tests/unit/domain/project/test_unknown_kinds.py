from __future__ import annotations

import pytest

from service.domain.project.benchmark import Suite
from service.domain.project.job_kinds import KINDS
from service.domain.project.project_file import parse_job, parse_project_file
from service.domain.values.errors import BadProjectFile

FILE = """\
version: 1
jobs:
  perf: {kind: benchmark, suites: [{name: a, program: build/a}]}
  lint:
    kind: KIND
    style: file
    voting: false
"""


@pytest.mark.parametrize("kind", ["style-check", "bench"])
def test_the_job_names_its_line_and_key_and_the_others_are_read(kind: str) -> None:
    perf, lint = parse_project_file(FILE.replace("KIND", kind)).jobs

    assert (perf.problem, perf.benchmark.suites) == ("", (Suite("a", "build/a"),))
    assert (lint.kind, lint.voting, lint.pool) == (kind, False, "")
    assert lint.problem == (
        f"benchgate.yaml:5: jobs.lint.kind: this version does not run {kind}; it runs {', '.join(KINDS)}"
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("paths: src", "jobs.lint.paths: a list is needed, found 'src'"),
        ("voting: 1", "jobs.lint.voting: true or false is needed, found 1"),
    ],
)
def test_the_keys_of_all_jobs_are_checked(line: str, message: str) -> None:
    with pytest.raises(BadProjectFile) as caught:
        parse_project_file(FILE.replace("voting: false", line))
    assert str(caught.value) == f"benchgate.yaml:7: {message}"


def test_a_stored_job_names_itself() -> None:
    assert parse_job("lint", {"kind": "lint"}).problem == (
        f"job lint: kind: this version does not run lint; it runs {', '.join(KINDS)}"
    )
