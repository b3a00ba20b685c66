"""Jobs that run tests: their keys, defaults and mistakes."""

from __future__ import annotations

import json

import pytest

from service.domain.project.project_file import parse_job, parse_project_file, problems_of
from service.domain.project.tests import CommandConfiguration, CTestConfiguration, GTestConfiguration
from service.domain.values.errors import BadProjectFile

FILE = "version: 1\njobs:\n  tests:\n    kind: {}\n    {}\n"


def refusal(kind: str, line: str) -> str:
    with pytest.raises(BadProjectFile) as caught:
        parse_project_file(FILE.format(kind, line))
    return str(caught.value)


@pytest.mark.parametrize(
    ("kind", "line", "expected"),
    [
        ("ctest", "voting: true", CTestConfiguration()),
        (
            "ctest",
            "{directory: build/x, filter: a|b, args: [-L, quick], timeout: 20m, memory: 4G, retries: 2}",
            CTestConfiguration(
                directory="build/x",
                filter="a|b",
                args=("-L", "quick"),
                timeout=1200.0,
                memory=4 << 30,
                retries=2,
            ),
        ),
        ("gtest", "programs: [build/a, build/b]", GTestConfiguration(programs=("build/a", "build/b"))),
        ("command", "command: make check", CommandConfiguration(command="make check")),
    ],
)
def test_the_keys_of_a_kind(kind: str, line: str, expected: object) -> None:
    text = FILE.format(kind, line)
    if line.startswith("{"):
        text = f"version: 1\njobs:\n  tests: {{kind: {kind}, {line[1:]}"
    (job,) = parse_project_file(text).jobs

    assert (job.configuration, job.compares, job.problem) == (expected, False, "")
    assert parse_job("tests", json.loads(json.dumps(job.source))) == job


@pytest.mark.parametrize(
    ("kind", "line", "message"),
    [
        ("gtest", "", "4: jobs.tests: the key 'programs' is missing"),
        ("gtest", "programs: []", "5: jobs.tests.programs: at least one program is needed"),
        ("gtest", "programs: [a, a]", "5: jobs.tests.programs: programs must differ; twice: a"),
        ("command", "", "4: jobs.tests: the key 'command' is missing"),
        (
            "command",
            "command: ' '",
            "5: jobs.tests.command: ' ' is not allowed; allowed are texts of at most",
        ),
        ("ctest", "retries: 6", "5: jobs.tests.retries: 6 is out of range; allowed is 0 to 5"),
        ("ctest", "memory: 1T", "5: jobs.tests.memory: '1T' is not a size; allowed are 512M, 4G or bytes"),
        ("ctest", "directory: /x", "5: jobs.tests.directory: '/x' is not allowed; allowed are paths inside"),
        ("ctest", "suites: []", "5: jobs.tests.suites: unknown key; allowed are kind, pool, paths, build, "),
        ("ctest", "policy: {floor: 1%}", "5: jobs.tests.policy.floor: unknown key; allowed are on_nothing"),
    ],
)
def test_mistakes_name_line_and_key(kind: str, line: str, message: str) -> None:
    assert refusal(kind, line).startswith(f"benchgate.yaml:{message}")


def test_a_stored_benchmark_job_may_have_a_key_that_had_no_effect() -> None:
    stored = {"kind": "benchmark", "suites": [{"name": "a", "program": "build/a"}], "retries": 1}
    job = parse_job("perf", stored)

    assert (job.problem, job.source) == ("", stored)
    assert job.config_hash != parse_job("perf", {**stored, "retries": 0}).config_hash


COMPARED = """\
version: 1
jobs:
  tests:
    kind: {}
    {}
    compare: true
    build: {{keep: ["**"]}}
    policy: {{vote_at: 10%, machine_time: 20m}}
"""


@pytest.mark.parametrize(
    ("kind", "line", "suites"),
    [
        ("ctest", "directory: build/x", ["ctest"]),
        ("gtest", "programs: [build/a, build/b]", ["build/a", "build/b"]),
    ],
)
def test_durations_are_compared_if_the_job_asks_for_it(kind: str, line: str, suites: list[str]) -> None:
    (job,) = parse_project_file(COMPARED.format(kind, line)).jobs

    assert (job.compares, job.problem) == (True, "")
    assert [suite.name for suite in job.benchmark.suites] == suites
    assert (job.policy.vote_at, job.policy.machine_time) == (0.1, 1200.0)
    assert parse_job("tests", json.loads(json.dumps(job.source))) == job


def test_ctest_is_no_program_that_a_build_creates() -> None:
    (job,) = parse_project_file(COMPARED.format("ctest", "retries: 1")).jobs

    assert job.benchmark.programs == ()


@pytest.mark.parametrize(
    ("kind", "lines", "problem"),
    [
        (
            "ctest",
            "compare: true",
            '5: jobs.tests.compare: needs `keep: ["**"]` in `build`: CTest runs in copies of the whole build',
        ),
        (
            "ctest",
            'compare: true\n    build: {keep: ["**"]}\n    directory: out',
            "7: jobs.tests.directory: with compare, 'out' must be build or a directory below it",
        ),
        (
            "gtest",
            "compare: true\n    programs: [build/a, bin/b]",
            "6: jobs.tests.programs[1]: with compare, 'bin/b' is not in the build directory; allowed are",
        ),
    ],
)
def test_a_job_that_cannot_compare_is_misconfigured(kind: str, lines: str, problem: str) -> None:
    (job,) = parse_project_file(FILE.format(kind, lines)).jobs

    assert job.problem.startswith(f"benchgate.yaml:{problem}")
    assert not job.compares


@pytest.mark.parametrize("kind", ["command", "clang-format", "clang-tidy", "clang-analyzer"])
def test_other_kinds_do_not_know_the_key(kind: str) -> None:
    problems = problems_of(FILE.format(kind, "compare: true"))

    assert any("5: jobs.tests.compare: unknown key" in str(each) for each in problems)


def test_a_job_that_compares_nothing_has_no_benchmarks() -> None:
    (job,) = parse_project_file(FILE.format("ctest", "compare: false")).jobs

    with pytest.raises(TypeError, match="job tests of kind ctest compares nothing"):
        assert job.benchmark
