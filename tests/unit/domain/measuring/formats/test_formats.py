"""Formats of programs: how each starts them, by arguments, environment and directory."""

from __future__ import annotations

import pytest

from service.domain.measuring.formats.gtest import GTest
from service.domain.measuring.formats.program import RESULT, Invocation, NotMeasured
from service.domain.measuring.formats.suites import LIBRARIES, format_of
from service.domain.measuring.repetitions import SHORT
from service.domain.project.benchmark import Format, Suite
from service.domain.project.tests import GTestConfiguration

SUITE = Suite("a", "build/a", args=("data.txt", "-v"))
GOOGLE = LIBRARIES[Format.GOOGLE]


def every_start(suite: Suite) -> list[Invocation]:
    return [GOOGLE.list(suite), GOOGLE.invoke(suite, ("x",), SHORT), GOOGLE.count(suite, "x")]


def test_arguments_come_before_benchgates_own() -> None:
    """A program that reads argv[1] could not be measured before."""
    for start in every_start(SUITE):
        assert start.arguments[:3] == ("./build/a", "data.txt", "-v")
        assert all(each.startswith(("--benchmark_", "--v=")) for each in start.arguments[3:])


def test_a_listing_has_the_filter_of_the_suite() -> None:
    listing = GOOGLE.list(Suite("a", "build/a", filter="BM_x"))

    assert listing.arguments == ("./build/a", "--benchmark_list_tests=true", "--benchmark_filter=BM_x")


def test_counting_binds_functions_before_the_first_iteration() -> None:
    assert [dict(each.env) for each in every_start(SUITE)] == [{}, {}, {"LD_BIND_NOW": "1"}]


@pytest.mark.parametrize(
    ("cwd", "program", "line", "path"),
    [
        ("", "build/a", "exec ", "./build/a"),
        ("", "./build/x/a", "exec ", "./build/x/a"),
        (".", "build/a", "cd ./. && exec ", "./build/a"),
        ("data", "build/a", "cd ./data && exec ", "./../build/a"),
        ("data/in/", "build/x/a", "cd ./data/in/ && exec ", "./../../build/x/a"),
        ("build", "build/x/a", "cd ./build && exec ", "./x/a"),
        ("build", "build/a", "cd ./build && exec ", "./a"),
        ("my data; rm", "build/a", "cd './my data; rm' && exec ", "./../build/a"),
        ("-P", "build/a", "cd ./-P && exec ", "./../build/a"),
    ],
)
def test_a_program_starts_in_the_directory_of_its_suite(cwd: str, program: str, line: str, path: str) -> None:
    for start in every_start(Suite("a", program, cwd=cwd)):
        assert start.line.startswith(line)
        assert start.arguments[0] == path


def test_all_benchmarks_of_nanobench_run_in_each_launch() -> None:
    suite = Suite("a", "build/a", args=("/dev/stdout",), format=Format.NANOBENCH)
    start = format_of(suite).invoke(suite, ("sum",), SHORT)

    assert (start.arguments, start.file) == (("./build/a", "/dev/stdout"), RESULT)
    assert start.line == 'exec "$@" >>"${BENCHGATE_OUT:-/out}/result.json"'


@pytest.mark.parametrize(("spec", "chosen"), [("", "[!benchmark]"), ("[fast],x*", "[fast],x*")])
def test_the_filter_of_catch2_is_a_test_spec(spec: str, chosen: str) -> None:
    suite = Suite("a", "build/a", filter=spec, args=("--benchmark-samples", "20"), format=Format.CATCH2)
    start = format_of(suite).list(suite)

    assert start.arguments[:4] == ("./build/a", "--benchmark-samples", "20", chosen)
    assert start.line == 'exec "$@" --reporter xml --out "${BENCHGATE_OUT:-/out}/result.json" >/dev/null'


def test_each_library_of_the_project_file_has_a_format() -> None:
    assert {*LIBRARIES} == {*Format}


def test_a_suite_of_a_kind_has_its_own_format() -> None:
    (suite,) = GTestConfiguration(programs=("build/a",), memory=1).suites
    assert format_of(suite) == GTest(memory=1)


@pytest.mark.parametrize("program", [LIBRARIES[Format.NANOBENCH], GTest()])
def test_instructions_are_counted_in_timed_loops_only(program: GTest) -> None:
    with pytest.raises(NotMeasured, match="instructions of a cannot be counted"):
        program.count(SUITE, "x")
