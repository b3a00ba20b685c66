"""Choose the jobs that a local gate runs, and those that it only names."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.adapters.machines.local_build import LocalBuild
from service.domain.building.spec import LOCAL
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BadProjectFile, Permanent
from service.steps.runs.gate import choose_jobs, gate, gate_until_explained
from tests.support.building.build_host import Silence
from tests.unit.steps.machines.test_execute import Machine, spec_of

if TYPE_CHECKING:
    from pathlib import Path

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


def slower(tmp_path: Path) -> tuple[Machine, LocalBuild]:
    machine = Machine(tmp_path)
    program = {"instructions": {"BM_a": 500}, "events": {"Bcm": 10}}
    for commit, time in (("parent", 1e-6), ("patch1", 1.5e-6)):
        machine.write(commit, json.dumps({"benchmarks": {"BM_a": time}, **program}))
    spec = replace(spec_of(machine.source), instance=LOCAL, is_explained=True)
    return machine, LocalBuild(spec, "seed", tmp_path / "binaries")


def test_ctrl_c_while_a_slow_down_is_explained_keeps_the_verdict_of_the_pairs(tmp_path: Path) -> None:
    machine, build = slower(tmp_path)
    spec = replace(spec_of(machine.source), instance=LOCAL, is_explained=True)

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    machine.sandbox.before_count = interrupt
    found, is_ended = gate_until_explained(spec, build, machine.host, Silence())
    assert (found.end.outcome, is_ended) == (Outcome.SLOWER, True)

    _, again = slower(tmp_path)
    machine.sandbox.before = interrupt
    with pytest.raises(KeyboardInterrupt):
        gate_until_explained(spec, again, machine.host, Silence())


def test_a_permanent_fault_of_an_explanation_changes_no_verdict(tmp_path: Path) -> None:
    machine, build = slower(tmp_path)
    spec = replace(spec_of(machine.source), instance=LOCAL, is_explained=True)

    def fail(_: object) -> None:
        raise Permanent("the command has a NUL")

    machine.sandbox.before_count = fail
    found = gate(spec, build, machine.host, Silence())
    assert found.end.outcome is Outcome.SLOWER
    assert [each["obstacle"] for each in found.why] == ["the command has a NUL"]
