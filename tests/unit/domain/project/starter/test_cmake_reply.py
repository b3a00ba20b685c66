"""Replies of CMake 3.25.1, recorded on small projects.

Paths are replaced, and most entries of the caches are left out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from service.domain.project.benchmark import Format
from service.domain.project.starter.cmake_reply import CacheEntry, Executable, is_usable, parse_reply
from service.domain.values.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLES: Final = Path(__file__).parents[4] / "samples" / "cmake_api"


def files(
    name: str, change: Callable[[str, dict[str, Any]], None] = lambda _name, _content: None
) -> dict[str, str]:
    """The files of a recorded reply, after a change to each."""
    recorded = json.loads((SAMPLES / f"{name}.json").read_text(encoding="utf-8"))
    for file, content in recorded.items():
        change(file, content)
    return {file: json.dumps(content) for file, content in recorded.items()}


def test_without_its_option_a_project_has_no_benchmark_program() -> None:
    reply = parse_reply(files("system_library_off"))

    assert reply.programs == ()
    assert reply.cache["STACK_BENCH"] == CacheEntry("BOOL", "OFF")


def test_a_program_that_links_the_library_of_the_system_is_found() -> None:
    reply = parse_reply(files("system_library"))

    assert (reply.programs, reply.configuration) == ((Executable("stack_bench", "stack_bench"),), "")


def test_programs_of_other_libraries_are_found_by_their_sources() -> None:
    assert parse_reply(files("system_library_off")).others == ()
    reply = parse_reply(files("system_library_off"), {"tests.cc": Format.CATCH2, "x.cpp": Format.NANOBENCH})

    assert reply.programs == ()
    assert reply.others == (Executable("tests", "tests", Format.CATCH2),)


def test_a_program_that_also_links_google_benchmark_is_its_own() -> None:
    reply = parse_reply(files("system_library"), {"stack_bench.cpp": Format.NANOBENCH})

    assert (reply.programs, reply.others) == ((Executable("stack_bench", "stack_bench"),), ())


def test_the_programs_of_a_library_that_the_project_fetches_are_left_out() -> None:
    assert parse_reply(files("fetched_library")).programs == (Executable("queue_bench", "bench/queue_bench"),)


@pytest.mark.parametrize("kind", ["EXECUTABLE", "UTILITY"])
def test_a_program_beside_another_target_of_the_name_of_the_library_is_found(kind: str) -> None:
    """Such as `add_custom_target(benchmark …)`, which runs the programs."""

    def change(_name: str, content: dict[str, Any]) -> None:
        if content.get("type") == "STATIC_LIBRARY":
            content["type"] = kind
        if content.get("name") == "library_test":
            content["paths"]["source"] = "bench"

    programs = parse_reply(files("fetched_library", change)).programs
    assert "library_test" in {program.name for program in programs}


def test_a_generator_of_several_configurations_builds_the_one_for_releases() -> None:
    reply = parse_reply(files("several_configurations"))

    assert reply.configuration == "Release"
    assert reply.programs == (Executable("queue_bench", "bench/Release/queue_bench"),)


def test_a_configuration_whose_name_a_shell_could_misread_is_refused() -> None:
    def rename(_name: str, content: dict[str, Any]) -> None:
        for configuration in content.get("configurations", ()):
            configuration["name"] = "Fast # $(reboot)"

    with pytest.raises(BadInput, match=r"configuration Fast # \$\(reboot\) is unusual"):
        parse_reply(files("several_configurations", rename))
    assert parse_reply(files("system_library", rename)).configuration == ""


@pytest.mark.parametrize("name", ["--version", "a b", "a;b", "a\n", "$(reboot)", "a: b"])
def test_a_program_whose_name_could_be_misread_cannot_be_used(name: str) -> None:
    assert not is_usable(Executable(name, "bench/a"))
    assert not is_usable(Executable("a", name))


def test_a_program_outside_the_build_directory_cannot_be_used() -> None:
    def move(_name: str, content: dict[str, Any]) -> None:
        for artifact in content.get("artifacts", ()):
            artifact["path"] = f"/home/dev/project/bin/{artifact['path'].rpartition('/')[2]}"

    reply = parse_reply(files("system_library", move))

    assert reply.programs == ()
    assert reply.unusable == (Executable("stack_bench", "/home/dev/project/bin/stack_bench"),)


def test_the_newest_index_counts() -> None:
    both = {**files("system_library"), "index-2000-01-01T00-00-00-0000.json": "{}"}
    assert parse_reply(both).programs


@pytest.mark.parametrize("without", ["index-", "codemodel-", "cache-", "target-"])
def test_an_incomplete_reply_is_refused(without: str) -> None:
    left = {name: text for name, text in files("system_library").items() if not name.startswith(without)}
    with pytest.raises(BadInput, match=r"CMake's file API: it(s reply cannot be read| left no reply)"):
        parse_reply(left)
