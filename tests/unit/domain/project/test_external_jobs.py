"""Jobs of kind external in the project file."""

from __future__ import annotations

import pytest

from service.domain.project.configuration import ExternalConfiguration, Reuse
from service.domain.project.job_kinds import JobKind
from service.domain.project.policy import Policy, VoteWhen
from service.domain.project.project_file import parse_job, parse_project_file
from service.domain.values.errors import BadProjectFile

JOB = "version: 1\njobs:\n  linux:\n    kind: external\n"


def refusal(line: str) -> str:
    with pytest.raises(BadProjectFile) as caught:
        parse_project_file(f"{JOB}    {line}")
    return str(caught.value)


def test_every_key_is_read() -> None:
    more = "    voting: false\n    paths: [src/]\n    policy: {on_nothing_to_build: none}"
    job = parse_project_file(JOB + more).job("linux")

    assert (job.kind, job.voting, job.paths) == (JobKind("external"), False, ("src/",))
    assert job.policy == Policy(on_nothing_to_build=VoteWhen.NONE)
    assert parse_job("linux", job.source) == job


def test_results_are_reused_only_if_the_job_says_so() -> None:
    job = parse_project_file(JOB + "    reuse: equal-trees").job("linux")
    assert job.configuration == ExternalConfiguration(Reuse.EQUAL_TREES)
    assert job.configuration.shares_results
    assert not parse_project_file(JOB).job("linux").configuration.shares_results
    assert refusal("reuse: always").endswith("allowed are never, equal-trees")


def test_the_kind_is_the_only_required_key() -> None:
    job = parse_project_file(JOB).job("linux")

    assert (job.voting, job.paths, job.policy) == (True, (), Policy())
    assert (job.pool, job.configuration) == ("", ExternalConfiguration())


@pytest.mark.parametrize(
    "line",
    [
        "pool: perf",
        "build: {compile: make}",
        "suites: [{name: a, program: build/a}]",
        "instructions: report",
        "instructions: off",
        "retries: 1",
        "retries: 0",
        "url: x",
        "sutes: []",
    ],
)
def test_a_key_of_other_kinds_is_unknown_here(line: str) -> None:
    assert refusal(line) == (
        f"benchgate.yaml:5: jobs.linux.{line.partition(':')[0]}: unknown key; "
        "allowed are kind, paths, reuse, policy, voting"
    )


def test_a_policy_for_measurements_is_refused() -> None:
    assert refusal("policy: {floor: 1%}") == (
        "benchgate.yaml:5: jobs.linux.policy.floor: unknown key; allowed are on_nothing_to_build"
    )
