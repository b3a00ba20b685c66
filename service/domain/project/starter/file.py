"""Write a first ``benchgate.yaml`` for a project, with comments that explain what to edit."""

from __future__ import annotations

import json
import posixpath
import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, count
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import yaml

from service.domain.project.benchmark import Format
from service.domain.project.starter.cmake_files import FILE, LIBRARY
from service.domain.project.starter.fetched import (
    NAME,
    Fetched,
    dependencies_lines,
    given_options,
    kept_places,
    placing_lines,
)
from service.domain.values.text import counted, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class BuildSystem(StrEnum):
    """Build systems; a project with an unknown one gets commands to replace."""

    CMAKE = "CMake"
    MESON = "Meson"
    MAKE = "make"
    BAZEL = "Bazel"
    OTHER = "an unknown build system"


BUILD_FILES: Final[Mapping[BuildSystem, tuple[str, ...]]] = MappingProxyType(
    {
        BuildSystem.CMAKE: ("CMakeLists.txt",),
        BuildSystem.MESON: ("meson.build",),
        BuildSystem.MAKE: ("Makefile", "makefile", "GNUmakefile"),
        BuildSystem.BAZEL: ("MODULE.bazel", "WORKSPACE", "WORKSPACE.bazel"),
    }
)
"""Names of build files; the first system with a file at the top is the project's."""


@dataclass(frozen=True, slots=True)
class Program:
    """A benchmark program below ``build/``; ``benchmarks`` is their number, if it is known.

    ``target`` is the build system's name for it: for Meson, the path without ``build/``. ``filter`` is the
    test spec of a program of Catch2; empty: the default.
    """

    path: str
    target: str
    benchmarks: int | None = None
    format: Format = Format.GOOGLE
    filter: str = ""


@dataclass(frozen=True, slots=True)
class ProjectFacts:
    """Facts about a project, from which its file is written.

    Args:
        options: they enable the benchmarks, or disable Meson's downloads or the tests.
        preset: CMake's, for release builds; empty: none.
        configuration: the chosen one of a generator that has several; empty: none.
        dependencies: what configuring and building downloaded.
        is_tried: init has built and run the programs; otherwise a person must check them.
        directory: the project's, relative to the top; empty: the top.
        data: paths below ``build/`` with files that the programs read.
        failure: why the project could not be configured.
    """

    system: BuildSystem
    programs: tuple[Program, ...] = ()
    options: tuple[str, ...] = ()
    preset: str = ""
    configuration: str = ""
    dependencies: tuple[Fetched, ...] = ()
    is_tried: bool = False
    directory: str = ""
    data: tuple[str, ...] = ()
    failure: str = ""


NO_DOWNLOAD: Final = "--wrap-mode=nodownload"
"""Meson's option that uses existing downloads only, and fails at once if one is missing."""

_OFF: Final = "=OFF"
_EXAMPLE: Final = Program("build/my_benchmark", "my_benchmark")
_EDIT: Final = "   # EDIT"
_TARGETS: Final = " --target "
_LONGEST_COMMAND: Final = 4000  # characters; a key may have 4096
_LONGEST_NAME: Final = 90  # characters; the name of a suite may have 100
_TEXT_OF_YAML: Final = "tag:yaml.org,2002:str"
_BELOW: Final = r"[A-Za-z0-9._+-]+(?:/[A-Za-z0-9._+-]+)*"
_DIRECTORY: Final = re.compile(rf"{_BELOW}|")
_COMMENT: Final = re.compile(r"#.*")
_CMAKE_PROGRAM: Final = re.compile(rf"add_executable\s*\(\s*({NAME})\s", re.IGNORECASE)
_CMAKE_OUTPUT: Final = re.compile(
    rf"set\s*\(\s*CMAKE_RUNTIME_OUTPUT_DIRECTORY\s+\"?\$\{{\w*BINARY_DIR\}}/?({_BELOW}|)\"?\s*\)",
    re.IGNORECASE,
)
_CMAKE_LINK: Final = re.compile(rf"target_link_libraries\s*\(\s*({NAME})(?=\s)[^)]*?{LIBRARY}", re.IGNORECASE)
_MESON_PROGRAM: Final = re.compile(rf"executable\s*\(\s*'({NAME})'([^)]*)\)")
_COMPILE: Final[Mapping[BuildSystem, str]] = MappingProxyType(
    {
        BuildSystem.CMAKE: "cmake --build build --parallel $(nproc){configuration}" + _TARGETS + "{targets}",
        BuildSystem.MESON: "meson compile -C build {targets}",
        BuildSystem.MAKE: "make {targets} && cp {targets} build/",
        BuildSystem.BAZEL: "bazel build -c opt //:{targets} && cp -L bazel-bin/{targets} build/",
        BuildSystem.OTHER: "./build.sh",
    }
)
_ONLY_THESE: Final[Mapping[BuildSystem, str]] = MappingProxyType(
    {
        BuildSystem.CMAKE: "Only the benchmark programs: no other is measured.",
        BuildSystem.MESON: "Only the benchmark programs: no other is measured.",
        BuildSystem.MAKE: "Nothing lists the programs of a Makefile: name them, and copy them into build/.",
        BuildSystem.BAZEL: "Name the programs, and copy them into build/. The build has no network.",
        BuildSystem.OTHER: "The command that puts the programs into build/.",
    }
)
_HEAD: Final = """\
# Benchgate reads this file from the branch that changes are merged into.
# `benchgate check` lists its errors; Benchgate's docs/user/reference.md describes all keys.
version: 1
label: Verified                 # the Gerrit label to vote on
{dependencies}jobs:
  perf:                         # any name
    kind: benchmark
    # paths: ["src/**"]         # build only changes that touch these files
    build:                      # `sh -c` runs both in the top directory, without network
{build}
    suites:                     # benchmark programs, below build/
{suites}
    policy:
      vote_at: 2%               # an estimate of at least this, certainly above `floor`, votes -1
      machine_time: 10m         # measuring time of all suites together
  # tests:                      # other kinds run tests and linters, without measuring:
  #   kind: command             # also ctest and gtest; Benchgate's docs/user/test-jobs.md describes them
  #   command: make check
"""


def programs_in_text(system: BuildSystem, files: Mapping[str, str]) -> tuple[Program, ...]:
    """Search build files for programs that link Google Benchmark, if the build system gives no answer.

    ``files`` are the texts of build files by path in the project.
    """
    code = {path: _COMMENT.sub("", text) for path, text in files.items()}
    match system:
        case BuildSystem.CMAKE:
            linked = {name for text in code.values() for name in _CMAKE_LINK.findall(text)}
            found = [(path, name) for path, name in _cmake_programs(code) if name in linked]
            # Programs of all directories are there.
            if outputs := [output for text in code.values() for output in _CMAKE_OUTPUT.findall(text)]:
                found = [(posixpath.join(outputs[0], FILE), name) for _, name in found]
        case BuildSystem.MESON:
            found = [
                (path, name)
                for path, text in code.items()
                for name, arguments in _MESON_PROGRAM.findall(text)
                if "bench" in name.lower() or "benchmark" in arguments
            ]
        case BuildSystem.MAKE | BuildSystem.BAZEL | BuildSystem.OTHER:
            found = []
    places = [(posixpath.dirname(path), name) for path, name in found]
    programs = [
        Program(
            posixpath.join("build", place, name),
            posixpath.join(place, name) if system is BuildSystem.MESON else name,
        )
        for place, name in places
        if _DIRECTORY.fullmatch(place)
    ]
    return tuple(dict.fromkeys(programs))


def _cmake_programs(code: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for path, text in code.items():
        for name in _CMAKE_PROGRAM.findall(text):
            yield path, name


def starter_file(facts: ProjectFacts) -> str:
    """Write a valid project file; without programs, it has an example to replace.

    Untested lines are marked EDIT.
    """
    edit = "" if facts.is_tried else _EDIT
    programs = facts.programs or (_EXAMPLE,)
    build: list[str] = []
    if configure := _configure(facts):
        build += [f"      # {line}" for line in _reasons(facts)]
        if placing := [*placing_lines(facts.dependencies)]:
            build += [
                "      configure: |",
                *(f"        {line} &&" for line in placing),
                f"        {configure}",
            ]
        else:
            failed = f"{_EDIT}: it failed here: {plain(facts.failure)}" if facts.failure else ""
            build.append(f"      configure: {configure}{failed}")
    configuration = f" --config {facts.configuration}" if facts.configuration else ""
    targets = " ".join(dict.fromkeys(program.target for program in programs))
    template = _COMPILE[facts.system]
    compile_ = template.format(targets=targets, configuration=configuration)
    why = _ONLY_THESE[facts.system]
    if len(compile_) > _LONGEST_COMMAND:
        why, compile_ = (
            "All targets, because the names of the programs are too long for one key.",
            template.format(targets="", configuration=configuration).removesuffix(_TARGETS).rstrip(),
        )
    build += [f"      # {why}", f"      compile: {compile_}{edit}"]
    if kept := tuple(dict.fromkeys((*kept_places(facts.dependencies), *facts.data))):
        build += [
            "      # Programs also find these when they are launched.",
            f"      keep: [{', '.join(map(_as_text, kept))}]",
        ]
    suites: list[str] = []
    for name, program in zip(_distinct(programs), programs, strict=True):
        suites.append(f"      - name: {_as_text(name)}{_count(program)}")
        suites.append(f"        program: {program.path}{edit}")
        if program.format is not Format.GOOGLE:
            suites.append(f"        format: {program.format}")
        if program.format is Format.CATCH2:
            suites.append(
                '        args: [--benchmark-samples, "20"]   # of 100: more and shorter launches find more'
            )
        if program.filter:
            suites.append(f"        filter: {json.dumps(program.filter, ensure_ascii=False)}")
    if any(program.format is Format.GOOGLE for program in programs):
        suites.append("        # filter: BM_Hot          # measure only some of its benchmarks")
    dependencies = "".join(f"{line}\n" for line in dependencies_lines(facts.dependencies))
    return _HEAD.format(dependencies=dependencies, build="\n".join(build), suites="\n".join(suites))


def _configure(facts: ProjectFacts) -> str:
    options = "".join(f" {option}" for option in (*facts.options, *given_options(facts.dependencies)))
    match facts.system:
        case BuildSystem.CMAKE if facts.preset:
            return f"cmake --preset {facts.preset} -B build{options}"
        case BuildSystem.CMAKE:
            return f"cmake -S {facts.directory or '.'} -B build -DCMAKE_BUILD_TYPE=Release{options}"
        case BuildSystem.MESON:
            return f"meson setup build --buildtype=release{options}"
        case BuildSystem.MAKE | BuildSystem.BAZEL | BuildSystem.OTHER:
            return ""


def _reasons(facts: ProjectFacts) -> Iterator[str]:
    if facts.preset:
        yield f"{facts.preset} is a preset for release builds; -B, because programs must be below build/."
    else:
        yield "A release build, because that is what users run."
    if NO_DOWNLOAD in facts.options:
        yield "nodownload: builds have no network, and Meson would try a missing download for half a minute."
    off = [option for option in facts.options if option.endswith(_OFF)]
    if off:
        yield "The tests are off: they would download by ExternalProject, and builds have no network."
    if not {NO_DOWNLOAD, *off}.issuperset(facts.options):
        yield "The options switch the benchmarks on, which this project builds only if asked."
    if facts.directory:
        yield f"The project in {facts.directory} has the benchmarks; the one at the top has none."
    if any(given_options(facts.dependencies)):
        yield "The directories with $BENCHGATE_DEPS keep ExternalProject from downloading."
    if any(each.place for each in facts.dependencies):
        yield "The first lines put what the project downloads by itself where it looks before it does so."


def _as_text(harmless: str) -> str:
    """Quote a text that YAML would read as a number, a boolean or the like."""
    node = yaml.compose(harmless, Loader=yaml.SafeLoader)
    is_text = node is not None and node.tag == _TEXT_OF_YAML
    return harmless if is_text else f'"{harmless}"'


def _count(program: Program) -> str:
    if program.benchmarks is None:
        return ""
    return f"   # {counted(program.benchmarks, 'benchmark')}"


def _distinct(programs: Sequence[Program]) -> Iterator[str]:
    """Yield unique names of suites: their programs' names, numbered if equal."""
    used = set[str]()
    for program in programs:
        name = posixpath.basename(program.path).lstrip("._+-")[:_LONGEST_NAME] or "suite"
        others = (f"{name}-{number}" for number in count(2))
        chosen = next(each for each in chain((name,), others) if each not in used)
        used.add(chosen)
        yield chosen
