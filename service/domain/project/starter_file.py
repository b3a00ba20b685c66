"""A first ``benchgate.yaml`` for a project, with comments that say what to edit."""

from __future__ import annotations

import posixpath
import re
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class BuildSystem(StrEnum):
    """The build systems that a starter file is written for; any other project gets commands to replace."""

    CMAKE = "CMake"
    MESON = "Meson"
    MAKE = "make"
    OTHER = "an unknown build system"


BUILD_FILES: Final[Mapping[BuildSystem, tuple[str, ...]]] = MappingProxyType(
    {
        BuildSystem.CMAKE: ("CMakeLists.txt",),
        BuildSystem.MESON: ("meson.build",),
        BuildSystem.MAKE: ("Makefile", "makefile", "GNUmakefile"),
    }
)
"""The names of build files; a project has the first system whose file is at its top."""
_EXAMPLE: Final = "build/my_benchmark"
_NAME: Final = r"([A-Za-z0-9][A-Za-z0-9._+-]*)"  # also harmless in YAML and in a shell
_DIRECTORY: Final = re.compile(r"[A-Za-z0-9._+-]+(/[A-Za-z0-9._+-]+)*|")
_COMMENT: Final = re.compile(r"#.*")
_CMAKE_PROGRAM: Final = re.compile(rf"add_executable\s*\(\s*{_NAME}\s", re.IGNORECASE)
_CMAKE_LINK: Final = re.compile(
    rf"target_link_libraries\s*\(\s*{_NAME}\s[^)]*?(?<=\s)(?:benchmark::)?benchmark(?:_main)?[\s)]",
    re.IGNORECASE,
)
_MESON_PROGRAM: Final = re.compile(rf"executable\s*\(\s*'{_NAME}'([^)]*)\)")
_COMMANDS: Final[Mapping[BuildSystem, tuple[str, str]]] = MappingProxyType(
    {
        BuildSystem.CMAKE: (
            "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release",
            "cmake --build build --parallel --target {targets}",
        ),
        BuildSystem.MESON: ("meson setup build --buildtype=release", "meson compile -C build"),
        BuildSystem.MAKE: ("", "make {targets} && cp {targets} build/"),
        BuildSystem.OTHER: ("", "./build.sh"),
    }
)
_HEAD: Final = """\
# Benchgate reads this file from the branch that changes are merged into.
# `benchgate check` lists its errors; Benchgate's docs/reference.md describes all keys.
version: 1
label: Verified                 # the Gerrit label to vote on
jobs:
  perf:                         # any name
    kind: benchmark
    # paths: ["src/**"]         # build only changes that touch these files
    build:                      # `sh -c` runs both in the top directory, without network
{build}
    suites:                     # Google Benchmark programs, below build/
{suites}
    policy:
      vote_at: 2%               # an estimate of at least this, certainly above `floor`, votes -1
      machine_time: 10m         # measuring time of all suites together
  # tests:                      # other kinds run tests and linters, without measuring:
  #   kind: command             # also ctest and gtest; Benchgate's docs/test-jobs.md describes them
  #   command: make check
"""


def benchmark_programs(system: BuildSystem, files: Mapping[str, str]) -> tuple[str, ...]:
    """Find the programs that link Google Benchmark, as paths below ``build/``.

    Args:
        system: the build system.
        files: its build files, by their paths in the project.
    """
    code = {path: _COMMENT.sub("", text) for path, text in files.items()}
    match system:
        case BuildSystem.CMAKE:
            linked = {name for text in code.values() for name in _CMAKE_LINK.findall(text)}
            found = [(path, name) for path, name in _cmake_programs(code) if name in linked]
        case BuildSystem.MESON:
            found = [
                (path, name)
                for path, text in code.items()
                for name, arguments in _MESON_PROGRAM.findall(text)
                if "bench" in name.lower() or "benchmark" in arguments
            ]
        case BuildSystem.MAKE | BuildSystem.OTHER:
            found = []
    places = [(posixpath.dirname(path), name) for path, name in found]
    programs = [posixpath.join("build", place, name) for place, name in places if _DIRECTORY.fullmatch(place)]
    return tuple(dict.fromkeys(programs))


def _cmake_programs(code: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for path, text in code.items():
        for name in _CMAKE_PROGRAM.findall(text):
            yield path, name


def starter_file(system: BuildSystem, programs: Sequence[str]) -> str:
    """Write a valid project file; without programs, with an example to replace."""
    chosen = programs or (_EXAMPLE,)
    is_guess = not programs
    names = [posixpath.basename(program) for program in chosen]
    configure, compile_ = (line.format(targets=" ".join(names)) for line in _COMMANDS[system])
    edit_build = "   # EDIT" if is_guess else ""
    build = [f"      configure: {configure}"] if configure else []
    build.append(f"      compile: {compile_}{edit_build}")
    suites: list[str] = []
    for name, program in zip(_distinct(names), chosen, strict=True):
        suites += [f"      - name: {name}", f"        program: {program}{edit_build}"]
    suites.append("        # filter: BM_Hot          # measure only some of its benchmarks")
    return _HEAD.format(build="\n".join(build), suites="\n".join(suites))


def _distinct(names: Sequence[str]) -> Iterator[str]:
    """Yield the names of suites: those of their programs, with a number if two are equal."""
    for place, name in enumerate(names):
        yield f"{name}-{place + 1}" if name in names[:place] else name
