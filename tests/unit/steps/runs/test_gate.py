"""Choose the jobs that a local gate runs, and those that it only names."""

from __future__ import annotations

import pytest

from service.domain.values.errors import BadProjectFile
from service.steps.runs.gate import choose_jobs

LINT = "  lint: {kind: style-check}\n"
UNIT = "  unit: {kind: external}\n"
TESTS = "  tests: {kind: ctest, pool: p}\n"
PERF = "  perf: {kind: benchmark, pool: p, build: {compile: make}, suites: [{name: a, program: build/a}]}\n"
PROBLEM = "jobs.lint.kind: this version does not run style-check"


def chosen(jobs: str, name: str | None = None) -> tuple[list[str], list[str]]:
    run, misconfigured = choose_jobs(f"version: 1\njobs:\n{jobs}", name, "benchgate.yaml of HEAD^")
    assert all(PROBLEM in job.problem for job in misconfigured)
    return [job.name for job in run], [job.name for job in misconfigured]


def test_a_job_of_an_unknown_kind_is_misconfigured_beside_a_benchmark_job() -> None:
    assert chosen(PERF + UNIT + LINT) == (["perf"], ["lint"])


def test_jobs_of_every_kind_with_a_runner_are_chosen() -> None:
    assert chosen(UNIT + TESTS + PERF) == (["tests", "perf"], [])
    assert chosen(UNIT + TESTS, "tests") == (["tests"], [])


def test_a_job_of_an_unknown_kind_alone_is_misconfigured() -> None:
    assert chosen(UNIT + LINT) == ([], ["lint"])


@pytest.mark.parametrize(("name", "expected"), [("perf", (["perf"], [])), ("lint", ([], ["lint"]))])
def test_a_named_job_is_chosen_alone(name: str, expected: tuple[list[str], list[str]]) -> None:
    assert chosen(PERF + LINT, name) == expected


def test_jobs_of_another_ci_are_refused() -> None:
    with pytest.raises(BadProjectFile, match="there is no job to run; another CI"):
        chosen(UNIT)
    with pytest.raises(BadProjectFile, match="job unit is of kind external"):
        chosen(UNIT, "unit")
