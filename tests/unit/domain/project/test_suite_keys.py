"""The keys of a suite that say how its program is started, and those that only one library has."""

from __future__ import annotations

import pytest

from service.domain.project.benchmark import Format
from service.domain.project.project_file import parse_project_file
from service.domain.values.errors import BadProjectFile
from tests.unit.domain.project.test_project_file import job_with, refusal, suite_with


def problem_of(text: str) -> str:
    return parse_project_file(text).jobs[0].problem


@pytest.mark.parametrize("name", ["A", "_x1", "PATHS", "PATH_TO_DATA", "BENCHMARK_X", "OLD_", "ld_x", "HOME"])
def test_a_variable_that_may_be_set(name: str) -> None:
    (suite,) = parse_project_file(suite_with(f'env: {{{name}: "1"}}')).jobs[0].benchmark.suites

    assert suite.env == {name: "1"}


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "LD_",
        "BENCHGATE_PAD",
        "BENCHGATE_",
        "",
        "1A",
        "A-B",
        "A=B",
        "Ä",
    ],
)
def test_a_variable_that_changes_how_a_program_is_started(name: str) -> None:
    """The loader would run code of the patch in the programs that set the limits of a launch."""
    with pytest.raises(BadProjectFile, match="is not allowed as a name here; allowed are names of letters"):
        parse_project_file(suite_with(f'env: {{"{name}": "1"}}'))


@pytest.mark.parametrize("entry", ["args: [x]", "env: {A: x}", "cwd: x", "format: catch2"])
def test_pairs_are_shared_if_a_program_is_started_alike(entry: str) -> None:
    """But its build is the same."""
    job, plain = (parse_project_file(suite_with(each)).jobs[0] for each in (entry, "cpus: 1"))

    assert job.config_hash != plain.config_hash
    assert job.build_hash == plain.build_hash


@pytest.mark.parametrize("library", [Format.NANOBENCH, Format.CATCH2])
def test_other_libraries_are_compared_by_real_time(library: Format) -> None:
    """They measure no CPU time."""
    given = ("cpus: 1", f"format: {library}", f"format: {library}, metrics: [instructions]")
    suites = [parse_project_file(suite_with(each)).jobs[0].benchmark.suites[0] for each in given]

    assert [suite.metrics for suite in suites] == [(), ("real_time",), ("instructions",)]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("format: nanobench, filter: x", ".filter: nanobench has no filter: choose the benchmarks by `args`"),
        ("format: nanobench, metrics: [cpu_time]", ".metrics: nanobench measures no CPU time: use real_time"),
        ("format: nanobench, repetitions: 3", ".repetitions: only Google Benchmark has it"),
        ("format: catch2, min_time: 1s", ".min_time: only Google Benchmark has it: set what catch2 has in"),
        ("format: catch2, filter: '[x]'", ""),
        ("format: google, filter: x, metrics: [cpu_time], repetitions: 3, min_time: 1s", ""),
    ],
)
def test_a_key_that_the_library_of_a_suite_does_not_have(entry: str, problem: str) -> None:
    assert problem in problem_of(suite_with(entry))
    assert bool(problem_of(suite_with(entry))) is bool(problem)


@pytest.mark.parametrize(("library", "is_refused"), [("google", False), ("catch2", True)])
def test_instructions_are_counted_in_programs_of_google_benchmark_only(
    library: str, *, is_refused: bool
) -> None:
    suites = f"suites: [{{name: a, program: build/a}}, {{name: b, program: build/b, format: {library}}}]"
    found = problem_of(job_with("instructions: report", suites))

    assert (
        ".instructions: instructions are counted in programs of Google Benchmark only" in found
    ) is is_refused


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("metrics: {a: 1}", ".metrics: a list is needed, found a mapping"),
        ("filter: {}", ".filter: a text is needed, found a mapping"),
        ("units: [B]", ".units: a mapping is needed, found a list"),
        ('units: {a: "k B"}', ".units.a: 'k B' is not allowed; allowed are units of 1 to 16 characters"),
        ("cwd: ../x", ".cwd: '../x' is not allowed; allowed are paths inside the source tree"),
        ("cwd: /tmp", ".cwd: '/tmp' is not allowed; allowed are paths inside the source tree"),
        ("format: gtest", ".format: 'gtest' is not allowed; allowed are google, nanobench, catch2"),
        ("env: [A=1]", ".env: a mapping is needed, found a list"),
        ("env: {A: 1}", ".env.A: a text is needed, found 1"),
        (
            "env: {LD_PRELOAD: x}",
            ".env.LD_PRELOAD: 'LD_PRELOAD' is not allowed as a name here; allowed are",
        ),
    ],
)
def test_values_that_are_refused(entry: str, message: str) -> None:
    assert refusal(suite_with(entry)).startswith(f"benchgate.yaml:5: jobs.perf.suites[0]{message}")
