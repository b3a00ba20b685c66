"""Starts of programs: arguments, environment and directory."""

from __future__ import annotations

import pytest

from service.domain.measuring.invocation import (
    RESULT,
    Invocation,
    to_count,
    to_list,
    to_measure,
    to_run_whole,
)
from service.domain.measuring.whole_programs import WHOLE_PROGRAMS
from service.domain.project.benchmark import Format, Suite

CPUS = (2, 3)
SUITE = Suite("a", "build/a", args=("data.txt", "-v"), env={"SIZE": "9"})
FLAGS = ("--benchmark_filter=x",)


def every_start(suite: Suite) -> list[Invocation]:
    return [
        to_list(suite, CPUS),
        to_measure(suite, FLAGS, CPUS, {"BENCHGATE_PAD": "xx"}),
        to_count(suite, FLAGS, CPUS),
    ]


def test_arguments_come_before_benchgates_own() -> None:
    """A program that reads argv[1] could not be measured before."""
    for start in every_start(SUITE):
        assert start.arguments[:3] == ("./build/a", "data.txt", "-v")
        assert all(each.startswith("--benchmark_") for each in start.arguments[3:])


def test_a_listing_has_the_filter_of_the_suite() -> None:
    listing = to_list(Suite("a", "build/a", filter="BM_x"), CPUS)

    assert listing.arguments == ("./build/a", "--benchmark_list_tests=true", "--benchmark_filter=BM_x")


def test_the_environment_of_a_suite_is_beside_benchgates_own() -> None:
    assert [dict(each.env) for each in every_start(SUITE)] == [
        {"SIZE": "9"},
        {"SIZE": "9", "BENCHGATE_PAD": "xx"},
        {"SIZE": "9", "LD_BIND_NOW": "1"},
    ]


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
    start = to_run_whole(Suite("a", "build/a", args=("/dev/stdout",), format=Format.NANOBENCH), CPUS, {})

    assert (start.arguments, start.file) == (("./build/a", "/dev/stdout"), RESULT)
    assert start.line == 'exec "$@" >>"${BENCHGATE_OUT:-/out}/result.json"'


@pytest.mark.parametrize(("spec", "chosen"), [("", "[!benchmark]"), ("[fast],x*", "[fast],x*")])
def test_the_filter_of_catch2_is_a_test_spec(spec: str, chosen: str) -> None:
    suite = Suite("a", "build/a", filter=spec, args=("--benchmark-samples", "20"), format=Format.CATCH2)
    start = to_run_whole(suite, CPUS, {})

    assert start.arguments[:4] == ("./build/a", "--benchmark-samples", "20", chosen)
    assert start.line == 'exec "$@" --reporter xml --out "${BENCHGATE_OUT:-/out}/result.json" >/dev/null'


def test_each_library_but_google_benchmark_has_a_reader() -> None:
    assert {*WHOLE_PROGRAMS} == {*Format} - {Format.GOOGLE}
