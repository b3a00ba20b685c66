"""A project with dependencies is built by real tools, without network and without a change of its files."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from service.adapters.building.sandbox.unsandboxed import DirectRunner
from service.adapters.sources.dependencies.cache import CachedDependencies
from service.domain.runs.vote import Outcome
from service.domain.sources.allowed import AllowedSources
from tests.integration.adapters.sources.git.git_repository import Repository

if TYPE_CHECKING:
    from pathlib import Path

    from service.domain.runs.machine_report import MachineReport
    from tests.integration.kinds.conftest import Machine

pytestmark = pytest.mark.integration

LIBRARY = b"""\
cmake_minimum_required(VERSION 3.16)
project(mylib CXX)
add_library(mylib INTERFACE)
target_include_directories(mylib INTERFACE ${CMAKE_CURRENT_SOURCE_DIR})
"""
PROJECT = b"""\
cmake_minimum_required(VERSION 3.16)
project(program CXX)
include(FetchContent)
FetchContent_Declare(MyLib GIT_REPOSITORY https://example.org/mylib.git GIT_TAG v1.2)
FetchContent_MakeAvailable(MyLib)
find_package(installed REQUIRED)
file(DOWNLOAD https://example.org/data.txt ${CMAKE_BINARY_DIR}/data.txt EXPECTED_HASH SHA256=DIGEST)
add_executable(program main.cpp)
target_link_libraries(program mylib installed)
"""
DATA = b"one file\n"
MAIN = b'#include "mylib.h"\nint main() { return MYLIB - 12; }\n'
INSTALLED = b"add_library(installed INTERFACE IMPORTED)\n"
OWN = b"set(CMAKE_CXX_FLAGS_INIT -DOWN)\n"
FILES: dict[str, bytes | Path] = {
    "CMakeLists.txt": PROJECT.replace(b"DIGEST", hashlib.sha256(DATA).hexdigest().encode()),
    "main.cpp": MAIN,
    "own.cmake": OWN,
}
CONFIGURE = "mkdir -p build && cp /deps/data/data.txt build && cmake -B build -DCMAKE_BUILD_TYPE=Release"


class Sources:
    """Dependencies on the machine itself, and machines that may fetch them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        library = Repository(directory / "mylib")
        commit = library.commit({"mylib.h": b"#define MYLIB 12\n", "CMakeLists.txt": LIBRARY})
        installed = Repository(directory / "installed")
        package = installed.commit({"lib/cmake/installed/installedConfig.cmake": INSTALLED})
        (directory / "data.txt").write_bytes(DATA)
        here = f"file://{directory}"
        self.keys = (
            f"MyLib: {{git: '{here}/mylib', commit: '{commit}'}}, "
            f"installed: {{git: '{here}/installed', commit: '{package}'}}, "
            f"data: {{url: '{here}/data.txt', sha256: {hashlib.sha256(DATA).hexdigest()}}}"
        )

    def give(self, machine: Machine, *, allowed: str = "") -> None:
        sources = AllowedSources.parse([allowed or f"file://{self._directory}/"])
        host = machine.host
        cache = CachedDependencies(
            self._directory / "kept", sources, host.scratch, host.sandbox, host.artifacts
        )
        machine.host = replace(host, dependencies=cache)


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    return Sources(tmp_path)


def run(
    machine: Machine, keys: str, configure: str = CONFIGURE, command: str = "build/program"
) -> MachineReport:
    job = (
        f"    kind: command\n    build:\n      configure: {configure}\n      compile: cmake --build build\n"
        f"      dependencies: {{{keys}}}\n    command: {command}\n"
    )
    return machine.run(FILES, job)


@pytest.mark.parametrize(
    "configure",
    [
        CONFIGURE,
        f"{CONFIGURE} -DCMAKE_TOOLCHAIN_FILE=own.cmake -C /deps/.benchgate.cmake",
        f"{CONFIGURE} -C /deps/.benchgate.cmake",
    ],
)
def test_fetch_content_packages_and_single_files_are_found(
    machine: Machine, sources: Sources, configure: str
) -> None:
    sources.give(machine)
    report = run(machine, sources.keys, configure)

    assert (report.outcome, report.causes) == (Outcome.PASSED, ()), machine.log.decode()


def test_meson_finds_archives_among_its_downloads_and_can_add_others(
    machine: Machine, sources: Sources
) -> None:
    sources.give(machine)
    keys = sources.keys.replace("data:", "data-1.zip:")
    cache = "cd $MESON_PACKAGE_CACHE_DIR && cmp $OLDPWD/subprojects/packagecache/data-1.zip data-1.zip"
    configure = f"{cache} && touch other.zip && cmp data-1.zip /deps/data-1.zip && cat MyLib/mylib.h"
    job = (
        f"    kind: command\n    build:\n      configure: {configure}\n      compile: {configure}\n"
        f"      dependencies: {{{keys}}}\n    command: cat subprojects/packagecache/other.zip\n"
    )
    report = machine.run({"meson.build": b"project('program')\n"}, job)

    assert (report.outcome, report.causes) == (Outcome.PASSED, ()), machine.log.decode()


def test_without_a_sandbox_the_variables_name_the_directory(machine: Machine, sources: Sources) -> None:
    machine.host = replace(machine.host, sandbox=DirectRunner())
    sources.give(machine)
    report = run(machine, sources.keys, CONFIGURE.replace("/deps", "$BENCHGATE_DEPS"))

    assert (report.outcome, report.causes) == (Outcome.PASSED, ()), machine.log.decode()


def test_a_command_of_the_patch_cannot_change_a_dependency(machine: Machine, sources: Sources) -> None:
    sources.give(machine)
    report = run(machine, sources.keys, command="'echo evil > /deps/MyLib/mylib.h'")

    assert report.outcome is Outcome.FAILED
    assert b"Read-only file system" in machine.log
    assert run(machine, sources.keys).outcome is Outcome.PASSED


def test_a_forbidden_source_ends_the_build_before_it_begins(machine: Machine, sources: Sources) -> None:
    sources.give(machine, allowed="example.org")
    report = run(machine, sources.keys)

    assert report.outcome is Outcome.MISCONFIGURED
    (cause,) = report.causes
    assert cause.startswith("dependency MyLib: file:///")
    assert cause.endswith("its operator can add the beginning of this URL to BENCHGATE_FETCH_FROM")
    assert b"== configure" not in machine.log


OFFLINE = (
    "configure failed: https://example.org/mylib.git cannot be downloaded, because builds have no network: "
    "add it as `mylib` to `dependencies` in benchgate.yaml"
)
NOTHING: dict[str, bytes | Path] = {"CMakeLists.txt": b"project(program NONE)\n"}
BENCHMARK = """\
    kind: benchmark
    build: {configure: cmake -B build, compile: cmake --build build}
    suites: [{name: program, program: build/program}]
"""


TESTS = "    kind: command\n    build: {configure: cmake -B build}\n    command: 'true'\n"
BLAMED = pytest.mark.parametrize(
    ("before", "outcome"), [(FILES, Outcome.MISCONFIGURED), (NOTHING, Outcome.FAILED)]
)


@BLAMED
def test_a_test_job_blames_the_patch_only_for_a_download_that_it_adds(
    machine: Machine, before: dict[str, bytes | Path], outcome: Outcome
) -> None:
    report = machine.run({**FILES, "README": b"after"}, TESTS, before)

    assert (report.outcome, report.causes) == (outcome, (OFFLINE,))


@BLAMED
def test_a_comparison_blames_the_patch_only_for_a_download_that_it_adds(
    machine: Machine, before: dict[str, bytes | Path], outcome: Outcome
) -> None:
    end = machine.compare(before, {**FILES, "README": b"after"}, BENCHMARK).end

    assert (end.outcome, end.causes) == (outcome, (OFFLINE,))
