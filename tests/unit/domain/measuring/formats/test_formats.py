"""Formats of programs: how each starts them, by arguments, environment and directory."""

from __future__ import annotations

import json
from contextlib import nullcontext

import pytest

from service.domain.building.sandbox_command import Completed
from service.domain.measuring.formats.gtest import GTest
from service.domain.measuring.formats.program import RESULT, Invocation, NotMeasured, Output
from service.domain.measuring.formats.suites import LIBRARIES, format_of
from service.domain.measuring.repetitions import SHORT
from service.domain.measuring.sampled_stacks import Place
from service.domain.project.benchmark import Format, Suite
from service.domain.project.tests import GTestConfiguration
from service.domain.values.errors import BadResults
from tests.support.building.sampling import profile_bytes

NANOBENCH = Suite("s", "build/s", format=Format.NANOBENCH)

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


def test_nanobench_runs_endlessly_by_each_part_of_a_name_that_the_program_may_have_given() -> None:
    found = format_of(NANOBENCH).sample(NANOBENCH, "it's/sort/10")
    assert """for name in 'it'"'"'s/sort/10' 'it'"'"'s/sort' sort/10 sort 10; do""" in found.line


@pytest.mark.parametrize(
    ("ran", "others", "is_sure"),
    [
        ("insert", [], True),
        ("map/insert", ["insert"], True),
        ("insert", ["set/insert"], False),
        ("insert", ["insert/10"], False),
        ("map/insert", ["map/insert #2"], False),
        ("insert", ["inserts", "set/inserts"], True),
    ],
)
def test_a_name_that_another_benchmark_may_have_is_not_sampled(
    ran: str, others: list[str], *, is_sure: bool
) -> None:
    names = ["map/insert", *others]
    rows = [{"name": name, "measurements": [{"elapsed": 1e-6, "iterations": 9}]} for name in names]
    results = json.dumps({"results": rows}).encode() + b"\n" + ran.encode()
    output = Output(Completed(0, 1.0), b"%d\n%b%b" % (len(results), results, profile_bytes([(7, [9])])), b"")
    with nullcontext() if is_sure else pytest.raises(BadResults, match="may have the name"):
        profile = format_of(NANOBENCH).profile(output, "map/insert")
        assert (profile.time, profile.place, sum(profile.stacks.values())) == (1e-6, Place(), 7)


def test_catch2_samples_the_test_cases_that_a_benchmark_can_be_in() -> None:
    args = ("--benchmark-warmup-time", "10", "--benchmark-samples", "5", "--data", "")
    warm_up = "--benchmark-warmup-time=20"
    suite = Suite("s", "build/s", format=Format.CATCH2, filter="[x]", args=(*args, warm_up))
    found = format_of(suite).sample(suite, 'a, "b"/[c]/push').arguments
    assert found[:6] == ("./build/s", *args[2:], r'"a\, \"b\"","a\, \"b\"/\[c\]"')
    assert "".join(found).count("--benchmark-warmup-time") == 1, "a second one is an error"
    with pytest.raises(NotMeasured):
        format_of(suite).sample(suite, "push")
