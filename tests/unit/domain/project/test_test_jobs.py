"""Jobs that run tests: their keys, defaults and mistakes."""

from __future__ import annotations

import json

import pytest

from service.domain.errors import BadProjectFile
from service.domain.project.project_file import parse_job, parse_project_file
from service.kinds.command.configuration import CommandConfiguration
from service.kinds.ctest.configuration import CTestConfiguration
from service.kinds.gtest.configuration import GTestConfiguration

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
