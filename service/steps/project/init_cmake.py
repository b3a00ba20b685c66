"""Configure a CMake project, build its benchmark programs, and ask them for their benchmarks."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service.domain.project.starter.cmake_files import (
    PRESETS,
    benchmark_projects,
    options_of_tests,
    release_preset,
)
from service.domain.project.starter.cmake_reply import QUERIES, CMakeReply, parse_reply
from service.domain.project.starter.external import not_pinned, variable_of
from service.domain.project.starter.fetched import Fetched, with_own_names
from service.domain.project.starter.file import BuildSystem, Program, ProjectFacts
from service.domain.project.starter.libraries import without_google
from service.domain.project.starter.traced import TRACING, can_trace
from service.domain.values.errors import CommandFailed, NotFound
from service.domain.values.text import counted, plain
from service.steps.project.init_data import named_data
from service.steps.project.init_external import find_external
from service.steps.project.init_fetched import find_fetched, pin_of
from service.steps.project.init_inquiry import ToolFailed
from service.steps.project.init_options import OptionSearch
from service.steps.project.init_placed import find_clones, find_files, trace_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from service.steps.project.init_inquiry import Inquiry

_API: Final = ".cmake/api/v1"
_MOST_NAMED: Final = 10  # projects in one note
_RELEASE: Final = ("-DCMAKE_BUILD_TYPE=Release",)
_KEEP_GOING: Final[Mapping[str, tuple[str, ...]]] = {
    "Ninja": ("--", "-k", "0"),
    "Ninja Multi-Config": ("--", "-k", "0"),
    "Unix Makefiles": ("--", "-k"),
}


@dataclass(frozen=True, slots=True)
class _Project:
    """A project in the directory of an inquiry, or ``below`` it, with its CMake files by their paths."""

    inquiry: Inquiry
    files: Mapping[str, str]
    below: str = ""


@dataclass(frozen=True, slots=True)
class _Configured:
    """A project that is configured in a build directory, by a preset or without, and with options.

    ``given`` are options with paths on this machine; in the project file, paths of builds replace them.
    """

    project: _Project
    preset: str
    options: tuple[str, ...]
    build: Path
    reply: CMakeReply
    given: tuple[str, ...] = ()


def ask_cmake(inquiry: Inquiry, files: Mapping[str, str]) -> ProjectFacts:
    """Find the benchmark programs of a CMake project, or of another one below its directory if it has none.

    Programs of other libraries are asked only if none links Google Benchmark.

    Args:
        inquiry: the project.
        files: its CMake files, by their paths, with its presets.

    Raises:
        CommandFailed: the project cannot be configured here.
        NotFound: there is no benchmark program, or none of them lists a benchmark.
    """
    others = list[_Configured]()
    try:
        return _ask(_Project(inquiry, files), others)
    except (CommandFailed, NotFound):
        facts = _ask_below(inquiry, files, others) or _first_of(others)
        if facts is None:
            raise
        return facts


def _ask_below(inquiry: Inquiry, files: Mapping[str, str], others: list[_Configured]) -> ProjectFacts | None:
    """Ask the projects below the top that have benchmarks; return None if none links Google Benchmark."""
    projects = benchmark_projects(files, inquiry.libraries)
    for number, directory in enumerate(projects):
        inquiry.progress.note(f"looking at {directory}, a project of its own with benchmarks")
        scratch = inquiry.scratch / f"below-{number}"
        scratch.mkdir()
        own = {
            path.removeprefix(f"{directory}/"): text
            for path, text in files.items()
            if path.startswith(f"{directory}/")
        }
        try:
            facts = _ask(_Project(replace(inquiry, scratch=scratch), own, directory), others)
        except (CommandFailed, NotFound) as failed:
            why = failed.reason if isinstance(failed, ToolFailed) else failed
            inquiry.progress.note(f"{directory} is not used: {why}")
            continue
        if further := projects[number + 1 :]:
            more = ", …" if len(further) > _MOST_NAMED else ""
            inquiry.progress.note(
                f"only {directory} is in the file; write a job for each of the other projects with "
                f"benchmarks: {', '.join(further[:_MOST_NAMED])}{more}"
            )
        return facts
    return None


def _first_of(others: Sequence[_Configured]) -> ProjectFacts | None:
    """Take the first project with programs of another library; return None if none can be built."""
    for each in others:
        try:
            return _facts(each)
        except (CommandFailed, NotFound) as failed:
            each.project.inquiry.progress.note(f"{each.project.below or 'the top'} is not used: {failed}")
    return None


def _ask(project: _Project, others: list[_Configured]) -> ProjectFacts:
    """Ask a project for programs that link Google Benchmark; one with others is added to ``others``."""
    inquiry = project.inquiry
    configured, search = _switch_on(project)
    reply = configured.reply
    for target in reply.unusable:
        inquiry.progress.note(
            f"left out: {plain(target.path)}, because programs must be below the build directory, and have "
            "names without special characters"
        )
    if reply.unusable and not reply.programs:
        raise NotFound(
            "every program that links Google Benchmark is built outside the build directory: let the project "
            "build them below it, or copy them there in `compile` of a file that you write"
        )
    if not reply.programs:
        others += _with_others(configured, search)
        also = f", also with {', '.join(search.tried)}" if search.tried else ""
        raise NotFound(f"no program of this CMake project links Google Benchmark{also}")
    return _facts(configured)


def _with_others(plain: _Configured, search: OptionSearch) -> Iterator[_Configured]:
    """Yield the project as it has the most programs of other libraries; nothing if it has none."""
    if search.tried:  # the cache has what was tried
        plain = _configured(plain.project, plain.preset, search.others, "others")
    if plain.reply.others:
        yield replace(plain, reply=replace(plain.reply, programs=plain.reply.others))


def _facts(configured: _Configured) -> ProjectFacts:
    """Build the programs, and ask them for their benchmarks."""
    project, inquiry = configured.project, configured.project.inquiry
    configured, given = _given(configured)
    if find_external(configured.build):
        configured = _without_tests(configured)
    build, reply = configured.build, configured.reply
    dependencies = (*given, *find_fetched(inquiry, reply.cache), *find_files(inquiry, build))
    found = [Program(f"build/{each.path}", each.name, format=each.format) for each in reply.programs]
    _compile(inquiry, build, reply)
    programs = inquiry.ask(build, found)
    if not programs:
        raise NotFound("no benchmark program can be built here and lists benchmarks")
    external = find_external(build)
    for each in external:
        inquiry.progress.note(not_pinned(each, project.files))
    clones = find_clones(inquiry, build, without={each.download.place for each in external})
    fetched = with_own_names(inquiry.rewritten((*dependencies, *clones)))
    return ProjectFacts(
        BuildSystem.CMAKE,
        programs,
        configured.options,
        configured.preset,
        reply.configuration,
        fetched,
        is_tried=True,
        directory=project.below,
        data=named_data(build, programs, (each.download.place for each in fetched)),
    )


def _configured(
    project: _Project, preset: str, options: tuple[str, ...], directory: str, given: tuple[str, ...] = ()
) -> _Configured:
    build = project.inquiry.scratch / directory
    reply = _configure(project, build, (*_first(preset), *options, *given))
    return _Configured(project, preset, options, build, reply, given)


def _configure_plainly(project: _Project) -> _Configured:
    """Configure with a preset for release builds, or without if there is none that works."""
    inquiry = project.inquiry
    preset = _preset(inquiry, project.files)
    if preset:
        try:
            return _configured(project, preset, (), "preset")
        except CommandFailed as failed:
            inquiry.progress.note(f"the preset {preset} is not used: {failed}\n{failed.tail}")
    return _configured(project, "", (), "plain")


def _preset(inquiry: Inquiry, files: Mapping[str, str]) -> str:
    if PRESETS not in files:
        return ""
    try:
        return release_preset(files[PRESETS], inquiry.run("cmake", "--list-presets"))
    except CommandFailed as failed:
        inquiry.progress.note(f"{PRESETS} is not used: {failed}\n{failed.tail}")
        return ""


def _switch_on(project: _Project) -> tuple[_Configured, OptionSearch]:
    """Configure, and again with the options that bring benchmark programs."""
    plain = _configure_plainly(project)
    first = _first(plain.preset)
    search = OptionSearch(
        lambda options: _configure(project, plain.build, (*first, *options)),
        project.files,
        project.inquiry.progress,
    )
    options = search.find(plain.reply)
    if not search.tried or not (options or plain.reply.programs):
        return plain, search
    if search.last and search.tried == [" ".join(options)]:
        return replace(plain, options=options, reply=search.last), search
    # The cache of the other directory has what was tried.
    return _configured(project, plain.preset, options, "again"), search


def _first(preset: str) -> tuple[str, ...]:
    return ("--preset", preset) if preset else _RELEASE


def _given(before: _Configured) -> tuple[_Configured, tuple[Fetched, ...]]:
    """Name the directories of ExternalProject's downloads by the project's variables, if that avoids them."""
    project, inquiry = before.project, before.project.inquiry
    variables = {
        each: variable
        for each in find_external(before.build)
        if (variable := variable_of(each, before.reply.cache))
    }
    if not variables:
        return before, ()
    named = tuple(f"-D{variable}={each.download.place}" for each, variable in variables.items())
    try:
        after = _configured(project, before.preset, before.options, "given", named)
    except CommandFailed as failed:
        inquiry.progress.note(f"variables are not used: {failed}\n{failed.tail}")
        return before, ()
    left = {each.name for each in find_external(after.build)}
    pinned = [
        Fetched(each.name, each.download, pin_of(inquiry, each.download, Path(each.kept)), variable=variable)
        for each, variable in variables.items()
        if each.name not in left
    ]
    programs = {*after.reply.programs, *after.reply.others}
    is_whole = programs.issuperset(before.reply.programs) and all(each.pin for each in pinned)
    if not (pinned and is_whole):
        return before, ()
    return replace(after, reply=replace(after.reply, programs=before.reply.programs)), tuple(pinned)


def _without_tests(before: _Configured) -> _Configured:
    """Switch off an option for tests if ExternalProject downloads nothing then, and all programs stay."""
    project, programs = before.project, set(before.reply.programs)
    for number, name in enumerate(options_of_tests(project.files, before.reply.cache)):
        without = (*before.options, f"-D{name}=OFF")
        try:
            found = _configured(project, before.preset, without, f"without-{number}", before.given)
        except CommandFailed:
            continue
        if programs.issubset((*found.reply.programs, *found.reply.others)) and not find_external(found.build):
            project.inquiry.progress.note(f"-D{name}=OFF, because the tests download by ExternalProject")
            return replace(found, reply=replace(found.reply, programs=before.reply.programs))
    return before


def _configure(project: _Project, build: Path, arguments: Sequence[str]) -> CMakeReply:
    inquiry = project.inquiry
    queries = build / _API / "query"
    queries.mkdir(parents=True, exist_ok=True)
    for query in QUERIES:
        (queries / query).touch()
    inquiry.progress.say(f"configure with {' '.join(arguments)}")
    traced = tuple[str, ...]()
    if can_trace(inquiry.run("cmake", "-E", "capabilities")):
        traced = (*TRACING, f"--trace-redirect={trace_file(inquiry, build)}")
    source = inquiry.directory / project.below
    inquiry.run("cmake", "-S", str(source), "-B", str(build), *arguments, *traced)
    replies = build / _API / "reply"
    below = f"{project.below}/" if project.below else ""
    others = {
        path.removeprefix(below): library
        for path, library in without_google(inquiry.libraries).items()
        if path.startswith(below)
    }
    return parse_reply({path.name: path.read_text("utf-8") for path in replies.glob("*.json")}, others)


def _compile(inquiry: Inquiry, build: Path, reply: CMakeReply) -> None:
    """Build the programs; one that does not build is missing afterwards, and the others are built."""
    targets = [target.name for target in reply.programs]
    chosen = ("--config", reply.configuration) if reply.configuration else ()
    generator = reply.cache.get("CMAKE_GENERATOR")
    more = _KEEP_GOING.get(generator.value, ()) if generator else ()
    jobs = str(len(os.sched_getaffinity(0)))
    inquiry.progress.say(f"compile {counted(len(targets), 'benchmark program')}")
    try:
        inquiry.run(
            *("cmake", "--build", str(build), "--parallel", jobs, *chosen, "--target", *targets, *more)
        )
    except CommandFailed as failed:
        inquiry.progress.note(f"{failed}\n{failed.tail}")
