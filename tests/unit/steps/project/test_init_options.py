"""The search for options that bring benchmark programs, with replies by the options that are on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from service.domain.project.benchmark import Format
from service.domain.project.starter.cmake_reply import CacheEntry, CMakeReply, Executable
from service.domain.values.errors import CommandFailed
from service.steps.project.init_inquiry import ToolFailed
from service.steps.project.init_options import OptionSearch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass
class Project:
    """A project with options, by the programs that each set of them brings at least.

    ``behind`` are options that exist only if another one is on. ``others`` are those that each bring a
    program of another library.
    """

    options: Sequence[str]
    programs: Mapping[frozenset[str], int]
    behind: Mapping[str, str] = field(default_factory=dict)
    refused: str = ""
    others: frozenset[str] = frozenset()
    notes: list[str] = field(default_factory=list)

    def configure(self, arguments: Sequence[str]) -> CMakeReply:
        on = {each[2:-3] for each in arguments if each.endswith("=ON")}
        if self.refused in on:
            failed = CommandFailed("cmake -S", "exit code 1", "  no 32 bits here")
            raise ToolFailed(failed, "package lib32 is not found")
        names = [each for each in self.options if self.behind.get(each, "") in {"", *on}]
        cache = {name: CacheEntry("BOOL", "ON" if name in on else "OFF") for name in names}
        number = max((number for needed, number in self.programs.items() if needed <= on), default=0)
        found = tuple(Executable(f"b{each}", f"b{each}") for each in range(number))
        others = tuple(Executable(each, each, Format.NANOBENCH) for each in on & self.others)
        return CMakeReply(cache, "", found, others=others)

    def find(self) -> tuple[str, ...]:
        declared = "\n".join(f"option({name} x OFF)" for name in self.options)
        self.search = OptionSearch(self.configure, {"CMakeLists.txt": declared}, self)
        return self.search.find(self.configure(()))

    def say(self, text: str, done: float | None = None) -> None:
        pass

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_the_likely_option_is_tried_first_and_others_stay_off() -> None:
    options = ("X_BENCH_LTO", "X_BENCH_32_BITS", "X_BUILD_BENCHMARKS")
    project = Project(options, {frozenset({"X_BUILD_BENCHMARKS"}): 3})

    assert project.find() == ("-DX_BUILD_BENCHMARKS=ON",)
    assert project.notes == [
        "tried -DX_BUILD_BENCHMARKS=ON: 3 programs with Google Benchmark",
        ("left off, because -DX_BUILD_BENCHMARKS=ON brings programs: -DX_BENCH_LTO=ON -DX_BENCH_32_BITS=ON"),
    ]


@pytest.mark.parametrize("name", ["FOO_ENABLE_PERF_TESTS", "FOO_MICROBENCH", "FOO_DEVELOPER_MODE"])
def test_an_option_is_found_by_any_of_the_usual_words(name: str) -> None:
    assert Project((name,), {frozenset({name}): 1}).find() == (f"-D{name}=ON",)


def test_options_that_bring_programs_only_together_are_found() -> None:
    project = Project(("X_TESTS", "X_BENCH"), {frozenset({"X_TESTS", "X_BENCH"}): 1})

    assert project.find() == ("-DX_BENCH=ON", "-DX_TESTS=ON")


def test_an_option_that_fails_alone_is_no_part_of_what_is_tried_together() -> None:
    both = frozenset({"X_TESTS", "X_BENCH"})
    project = Project(("X_BENCH_32", "X_TESTS", "X_BENCH"), {both: 1}, refused="X_BENCH_32")

    assert project.find() == ("-DX_BENCH=ON", "-DX_TESTS=ON")


def test_an_option_that_another_one_brings_is_tried_with_it() -> None:
    project = Project(
        ("X_DEVELOPER", "X_BENCH"), {frozenset({"X_DEVELOPER", "X_BENCH"}): 1}, {"X_BENCH": "X_DEVELOPER"}
    )

    assert project.find() == ("-DX_DEVELOPER=ON", "-DX_BENCH=ON")


def test_of_the_options_behind_another_those_with_more_programs_are_on() -> None:
    behind = dict.fromkeys(("X_BENCH_MAPS", "X_BENCH_LTO"), "X_BENCH")
    programs = {frozenset({"X_BENCH"}): 1, frozenset({"X_BENCH", "X_BENCH_MAPS"}): 2}

    project = Project(("X_BENCH", *behind), programs, behind)

    assert project.find() == ("-DX_BENCH=ON", "-DX_BENCH_MAPS=ON")


def test_an_option_that_fails_is_switched_off_for_the_next() -> None:
    programs = {frozenset({"X_BENCH"}): 1}
    project = Project(("X_BENCH_32", "X_BENCH"), programs, refused="X_BENCH_32")
    assert project.find() == ("-DX_BENCH=ON",)

    project = Project(("X_BENCH", "Y_BENCHMARKS"), {frozenset({"Y_BENCHMARKS"}): 1}, refused="X_BENCH")
    assert project.find() == ("-DY_BENCHMARKS=ON",)
    assert project.search.tried[0] == "-DX_BENCH=ON (package lib32 is not found)"
    assert project.notes[0] == "not used: -DX_BENCH=ON: cmake -S: exit code 1\n  no 32 bits here"


def test_an_option_with_several_of_the_words_is_tried_once() -> None:
    project = Project(("X_PERF_TESTS",), {}, refused="X_PERF_TESTS")

    assert project.find() == ()
    assert len(project.search.tried) == 1


def test_all_that_was_tried_is_named_and_bounded() -> None:
    project = Project([f"X_BENCH_{number}" for number in range(40)], {})

    assert project.find() == ()
    assert project.search.tried[:2] == ["-DX_BENCH_0=ON", "-DX_BENCH_1=ON"]
    assert len(project.search.tried) <= 16


def test_the_options_with_the_most_programs_of_other_libraries_are_remembered() -> None:
    project = Project(("X_BENCH", "X_BENCH_MORE"), {}, others=frozenset({"X_BENCH", "X_BENCH_MORE"}))

    assert project.find() == ()
    assert project.search.others == ("-DX_BENCH=ON", "-DX_BENCH_MORE=ON")


def test_programs_of_other_libraries_do_not_end_the_search() -> None:
    project = Project(("X_BENCH", "X_PERF"), {frozenset({"X_PERF"}): 1}, others=frozenset({"X_BENCH"}))

    assert project.find() == ("-DX_PERF=ON",)
