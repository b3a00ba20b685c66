"""The inquiry of a CMake project: configure it, build its benchmark programs, and ask them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from service.domain.errors import CommandFailed, NotFound
from service.domain.project.starter.cmake_files import PRESETS, benchmark_options, release_preset
from service.domain.project.starter.cmake_reply import QUERIES, CMakeReply, parse_reply
from service.domain.project.starter_file import BuildSystem, Program, ProjectFacts
from service.steps.local.init_fetched import find_fetched

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from service.steps.local.init_inquiry import Inquiry

_API: Final = ".cmake/api/v1"
_RELEASE: Final = ("-DCMAKE_BUILD_TYPE=Release",)
# An option that is on may bring further options, such as one for each group of benchmarks.
_ROUNDS: Final = 3
_KEEP_GOING: Final[Mapping[str, tuple[str, ...]]] = {
    "Ninja": ("--", "-k", "0"),
    "Ninja Multi-Config": ("--", "-k", "0"),
    "Unix Makefiles": ("--", "-k"),
}


def ask_cmake(inquiry: Inquiry, files: Mapping[str, str]) -> ProjectFacts:
    """Find the benchmark programs of a CMake project.

    Args:
        inquiry: the project.
        files: its CMake files, by their paths, with its presets.

    Raises:
        CommandFailed: the project cannot be configured here.
        NotFound: no program links Google Benchmark, or none of them lists a benchmark.
    """
    preset, build, reply = _configure_plainly(inquiry, files)
    options, build, reply = _switch_on(inquiry, files, preset, build, reply)
    for target in reply.unusable:
        inquiry.progress.note(f"left out: {target.path}, because programs must be below the build directory")
    if reply.unusable and not reply.programs:
        raise NotFound(
            "every program that links Google Benchmark is built outside the build directory: let the project "
            "build them below it, or copy them there in `compile` of a file that you write"
        )
    if not reply.programs:
        tried = f", also with {' '.join(options)}" if options else ""
        raise NotFound(f"no program of this CMake project links Google Benchmark{tried}")
    dependencies = find_fetched(inquiry, reply.cache)
    found = [Program(f"build/{each.path}", each.name) for each in reply.programs]
    _compile(inquiry, build, reply)
    programs = inquiry.ask(build, found)
    if not programs:
        raise NotFound("no program that links Google Benchmark can be built here and lists benchmarks")
    return ProjectFacts(
        BuildSystem.CMAKE, programs, options, preset, reply.configuration, dependencies, is_tried=True
    )


def _configure_plainly(inquiry: Inquiry, files: Mapping[str, str]) -> tuple[str, Path, CMakeReply]:
    """Configure with a preset for release builds, or without if there is none that works."""
    preset = _preset(inquiry, files)
    if preset:
        build = inquiry.scratch / "preset"
        try:
            return preset, build, _configure(inquiry, build, ("--preset", preset))
        except CommandFailed as failed:
            inquiry.progress.note(f"the preset {preset} is not used: {failed}\n{failed.tail}")
    build = inquiry.scratch / "plain"
    return "", build, _configure(inquiry, build, _RELEASE)


def _preset(inquiry: Inquiry, files: Mapping[str, str]) -> str:
    if PRESETS not in files:
        return ""
    try:
        return release_preset(files[PRESETS], inquiry.run("cmake", "--list-presets"))
    except CommandFailed as failed:
        inquiry.progress.note(f"{PRESETS} is not used: {failed}\n{failed.tail}")
        return ""


def _switch_on(
    inquiry: Inquiry, files: Mapping[str, str], preset: str, build: Path, before: CMakeReply
) -> tuple[tuple[str, ...], Path, CMakeReply]:
    """Configure again with the project's options for benchmarks, without those that fail or bring none."""
    first = ("--preset", preset) if preset else _RELEASE
    reply, options = before, tuple[str, ...]()
    fresh = inquiry.scratch / "again"  # the cache of the other directory has the options
    for _ in range(_ROUNDS):
        named = (f"-D{name}=ON" for name in benchmark_options(files, reply.cache))
        new = tuple(option for option in named if option not in options)  # a project may force one off
        if not new:
            break
        try:
            reply = _configure(inquiry, build, (*first, *options, *new))
        except CommandFailed as failed:
            inquiry.progress.note(f"not used: {' '.join(new)}: {failed}\n{failed.tail}")
            return options, fresh, _configure(inquiry, fresh, (*first, *options))
        options = (*options, *new)
    if options and reply.programs and len(reply.programs) <= len(before.programs):
        return (), fresh, _configure(inquiry, fresh, first)
    return options, build, reply


def _configure(inquiry: Inquiry, build: Path, arguments: Sequence[str]) -> CMakeReply:
    queries = build / _API / "query"
    queries.mkdir(parents=True, exist_ok=True)
    for query in QUERIES:
        (queries / query).touch()
    inquiry.progress.say(f"configuring: cmake {' '.join(arguments)}")
    inquiry.run("cmake", "-S", str(inquiry.directory), "-B", str(build), *arguments)
    replies = build / _API / "reply"
    return parse_reply({path.name: path.read_text("utf-8") for path in replies.glob("*.json")})


def _compile(inquiry: Inquiry, build: Path, reply: CMakeReply) -> None:
    """Build the programs; one that does not build is missing afterwards, and the others are built."""
    targets = [target.name for target in reply.programs]
    chosen = ("--config", reply.configuration) if reply.configuration else ()
    generator = reply.cache.get("CMAKE_GENERATOR")
    more = _KEEP_GOING.get(generator.value, ()) if generator else ()
    jobs = str(len(os.sched_getaffinity(0)))
    inquiry.progress.say(f"building the programs that link Google Benchmark: {len(targets)}")
    try:
        inquiry.run(
            *("cmake", "--build", str(build), "--parallel", jobs, *chosen, "--target", *targets, *more)
        )
    except CommandFailed as failed:
        inquiry.progress.note(f"{failed}\n{failed.tail}")
