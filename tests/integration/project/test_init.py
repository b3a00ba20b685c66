"""``benchgate init`` on projects that real CMake configures and builds."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

from service.adapters.building.sandbox.unsandboxed import DirectRunner
from service.cli.local.progress import TerminalProgress
from service.domain.project.project_file import parse_project_file
from service.steps.project.init_inquiry import Inquiry

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytestmark = pytest.mark.integration

LIST: Final = """
#include <stdio.h>
#include <string.h>
int main(int count, char **words) {
    if (count == 2 && strcmp(words[1], "--benchmark_list_tests=true") == 0) puts("BM_Push/8\\nBM_Pop");
    return 0;
}
"""
# A library of the name, in a directory of the project, stands in for Google Benchmark.
PROJECT: Final = {
    "CMakeLists.txt": """
cmake_minimum_required(VERSION 3.16)
project(queue LANGUAGES C)
option(${PROJECT_NAME}_BUILD_BENCHMARKS "Build the benchmarks" OFF)
if(${PROJECT_NAME}_BUILD_BENCHMARKS)
  add_subdirectory(third_party/benchmark)
  add_subdirectory(bench)
endif()
""",
    "third_party/benchmark/CMakeLists.txt": """
project(benchmark LANGUAGES C)
option(BENCHMARK_BUILD_32_BITS "Build for 32 bits" OFF)
if(BENCHMARK_BUILD_32_BITS)
  message(FATAL_ERROR "no 32 bits here")
endif()
add_library(benchmark STATIC empty.c)
add_executable(own_test own_test.c)
target_link_libraries(own_test benchmark)
""",
    "third_party/benchmark/empty.c": "int empty(void) { return 0; }\n",
    "third_party/benchmark/own_test.c": LIST,
    "bench/CMakeLists.txt": """
add_executable(queue_bench queue_bench.c)
target_link_libraries(queue_bench benchmark)
add_executable(broken broken.c)
target_link_libraries(broken benchmark)
add_executable(other other.c)
target_link_libraries(other benchmark)
""",
    "bench/queue_bench.c": LIST,
    "bench/other.c": """
#include <stdio.h>
const char *const flag = "benchmark_list_tests";  // as a program of the library has it
int main(int count, char **words) { fprintf(stderr, "Invalid flag '%s'\\n", words[count - 1]); return 1; }
""",
    "bench/broken.c": "int main(void) { return undeclared; }\n",
}

TOOL: Final = "set(TOOL loaded)\n"
NOTHING: Final = {"CMakeLists.txt": "cmake_minimum_required(VERSION 3.16)\nproject(empty NONE)\n"}


def write(directory: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def init(directory: Path, files: Mapping[str, str], **more: str) -> subprocess.CompletedProcess[str]:
    """Call `benchgate init` in a new repository with these files, and a cache beside it."""
    write(directory, files)
    subprocess.run(["git", "init", "-q", str(directory)], check=True)
    return call_init(directory / "benchgate.yaml", None, **more)


def call_init(file: Path, directory: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "service.cli", "init", str(file)]
    cache = file.absolute().parent.parent / "cache"
    env = {**os.environ, "XDG_CACHE_HOME": str(cache), **more}
    return subprocess.run(words, check=False, capture_output=True, text=True, cwd=directory, env=env)


def commit(directory: Path) -> str:
    git = ("git", "-C", str(directory), "-c", "user.name=Dev", "-c", "user.email=dev@example.org")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first")):
        subprocess.run([*git, *words], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return head.stdout.strip()


def test_the_programs_of_a_project_are_built_and_asked(tmp_path: Path) -> None:
    directory = tmp_path / "project"
    done = init(directory, PROJECT)

    assert done.returncode == 0, done.stderr
    text = (directory / "benchgate.yaml").read_text()
    (job,) = parse_project_file(text).jobs
    assert job.benchmark.programs == ("build/bench/queue_bench",)
    assert job.benchmark.build.configure.endswith(" -Dqueue_BUILD_BENCHMARKS=ON")
    assert "- name: queue_bench   # 2 benchmarks\n" in text
    stages = [
        *("configure with -DCMAKE_BUILD_TYPE=Release",),
        "configure with -DCMAKE_BUILD_TYPE=Release -Dqueue_BUILD_BENCHMARKS=ON",
        *("compile 3 benchmark programs", "list the benchmarks of 3 programs"),
        *("try the file in the sandbox, without network", "perf: configure", "perf: compile"),
        "perf: list the benchmarks of 1 program",
    ]
    assert [line for line in done.stderr.splitlines() if line in stages] == stages
    assert "with your own permissions and network" in done.stderr
    assert "\n  it builds in the sandbox, without network\n" in done.stdout
    assert "left out: build/bench/broken was not built" in done.stderr
    reason = "exit code 1: Invalid flag '--benchmark_list_tests=true'"
    assert f"left out: build/bench/other lists no benchmark: {reason}; if it needs arguments" in done.stderr
    assert {path.name for path in directory.iterdir()} == {
        *(".git", "CMakeLists.txt", "third_party", "bench", "benchgate.yaml")
    }


def test_downloads_of_fetch_content_are_pinned(tmp_path: Path) -> None:
    library = tmp_path / "library"
    sources = {
        name.removeprefix("third_party/benchmark/"): text
        for name, text in PROJECT.items()
        if name.startswith("third_party/")
    }
    write(library, sources)
    head = commit(library)
    fetching = f"""
include(FetchContent)
FetchContent_Declare(benchmark GIT_REPOSITORY {library} GIT_TAG HEAD
  PATCH_COMMAND ${{CMAKE_COMMAND}} -E true)
FetchContent_MakeAvailable(benchmark)
"""
    project = {name: text for name, text in PROJECT.items() if not name.startswith("third_party/")}
    top = project["CMakeLists.txt"].replace("  add_subdirectory(third_party/benchmark)\n", fetching)

    done = init(tmp_path / "project", {**project, "CMakeLists.txt": top})

    assert done.returncode == 1, done.stderr
    text = (tmp_path / "project" / "benchgate.yaml").read_text()
    edit = "  # EDIT: its PATCH_COMMAND does not run"
    assert f"  benchmark: {edit}\n    git: file://{library}\n    commit: {head}\n" in text
    assert "\n  check the lines marked EDIT\n" in done.stdout
    assert f"""BENCHGATE_FETCH_FROM='["file://{tmp_path}/"]' benchgate gate""" in done.stdout


@pytest.mark.parametrize(
    ("place", "directory", "command"),
    [
        ("my project", "my project", "benchgate gate --project-file benchgate.yaml\n"),
        (
            "my project",
            ".",
            "benchgate gate --repo 'my project' --project-file 'my project/benchgate.yaml'\n",
        ),
        ("my project/below", "my project", "benchgate gate --project-file below/benchgate.yaml\n"),
    ],
)
def test_the_printed_command_tries_the_file_from_this_directory(
    tmp_path: Path, place: str, directory: str, command: str
) -> None:
    write(tmp_path / place, {"Makefile": ""})
    subprocess.run(["git", "init", "-q", str(tmp_path / "my project")], check=True)
    file = (tmp_path / place / "benchgate.yaml").relative_to(tmp_path / directory)

    done = call_init(file, tmp_path / directory)

    assert done.stdout.endswith(f"  {command}"), done.stderr
    assert ("is not the top of the repository" in done.stderr) is place.endswith("below")


def test_a_projects_own_downloads_are_put_where_it_looks_for_them(tmp_path: Path) -> None:
    write(tmp_path / "served" / "data", {"numbers.txt": "8"})
    write(tmp_path / "served", {"tool-1.2.cmake": TOOL})
    commit(tmp_path / "served" / "data")
    below = f"""
cmake_minimum_required(VERSION 3.16)
project(bench LANGUAGES C)
file(DOWNLOAD file://{tmp_path}/served/tool-1.2.cmake ${{CMAKE_BINARY_DIR}}/cmake/tool.cmake
     EXPECTED_HASH SHA256={hashlib.sha256(TOOL.encode()).hexdigest()})
include(${{CMAKE_BINARY_DIR}}/cmake/tool.cmake)
add_custom_target(data test -d data || git clone -q {tmp_path}/served/data
                  WORKING_DIRECTORY ${{CMAKE_BINARY_DIR}})
add_subdirectory(third_party/benchmark)
add_executable(queue_bench queue_bench.c)
target_link_libraries(queue_bench benchmark)
add_dependencies(queue_bench data)
"""
    files = {
        "CMakeLists.txt": "cmake_minimum_required(VERSION 3.16)\nproject(queue NONE)\n",
        "tests/bench/CMakeLists.txt": below,
        "tests/bench/queue_bench.c": LIST,
        **{f"tests/bench/{name}": text for name, text in PROJECT.items() if name.startswith("third_party/")},
    }

    done = init(tmp_path / "project", files)

    assert done.returncode == 0, done.stderr
    (job,) = parse_project_file((tmp_path / "project" / "benchgate.yaml").read_text()).jobs
    build = job.benchmark.build
    assert (list(build.dependencies), build.keep) == (["tool-1", "data"], ("data",))
    # Without the sources of the downloads, only the lines that put them in place make it build.
    write(tmp_path / "deps" / "tool-1", {"tool-1.2.cmake": TOOL})
    (tmp_path / "served").rename(tmp_path / "gone")
    (tmp_path / "gone" / "data").rename(tmp_path / "deps" / "data")
    subprocess.run(
        ["sh", "-c", f"set -e\n{build.configure}\n{build.compile}"],
        check=True,
        capture_output=True,
        cwd=tmp_path / "project",
        env={**os.environ, "BENCHGATE_DEPS": str(tmp_path / "deps")},
    )
    assert (tmp_path / "project" / "build" / "data" / "numbers.txt").is_file()


def test_only_a_repository_itself_has_a_commit(tmp_path: Path) -> None:
    """Git would also name that of the repository around a directory: the project's own."""
    write(tmp_path, {"unpacked/x": "", "broken/.git/x": ""})
    commit(tmp_path)
    write(tmp_path, {"own/x": ""})
    own = commit(tmp_path / "own")
    inquiry = Inquiry(DirectRunner(), tmp_path, tmp_path, TerminalProgress())

    commits = [inquiry.commit_of(str(tmp_path / name)) for name in ("own", "unpacked", "broken", "none")]
    assert commits == [own, "", "", ""]


def test_the_next_build_system_counts_if_one_has_no_benchmark_programs(tmp_path: Path) -> None:
    # Without project(), Meson fails too if it is installed.
    files = {
        "meson.build": "executable('core_bench', 'a.c')\n",
        "subprojects/other/meson.build": "executable('other_bench', 'a.c')\n",
    }
    done = init(tmp_path / "project", {**NOTHING, **files})

    assert done.returncode == 1, done.stderr
    assert "other_bench" not in done.stdout
    assert " for Meson\n  benchmark program build/core_bench\n" in done.stdout
    assert "no program of this CMake project links Google Benchmark" in done.stderr


def test_a_project_without_benchmark_programs_ends_with_one_sentence(tmp_path: Path) -> None:
    done = init(tmp_path / "project", {**NOTHING, "meson.build": "# no programs\n", "Makefile": ""})

    assert done.returncode == 3
    why = (
        "could not configure the project"
        if shutil.which("meson")
        else "is not installed, so it could not be asked"
    )
    last = done.stderr.splitlines()[-1]
    assert last == f"benchgate: no program of this CMake project links Google Benchmark; Meson {why}"
    assert not (tmp_path / "project" / "benchgate.yaml").exists()


def test_a_project_that_does_not_configure_gets_a_file_with_lines_to_edit(tmp_path: Path) -> None:
    files = {
        "CMakeLists.txt": "cmake_minimum_required(VERSION 3.16)\nproject(queue NONE)\n"
        "find_package(NoSuchPackage REQUIRED)\nadd_subdirectory(bench)\n",
        "bench/CMakeLists.txt": PROJECT["bench/CMakeLists.txt"],
    }
    done = init(tmp_path / "project", files)

    assert done.returncode == 1, done.stderr
    assert "NoSuchPackage" in done.stderr
    text = (tmp_path / "project" / "benchgate.yaml").read_text()
    assert "program: build/bench/queue_bench   # EDIT\n" in text
    error = "package NoSuchPackage is not found: install it\n"
    assert f" -B build -DCMAKE_BUILD_TYPE=Release   # EDIT: it failed here: {error}" in text
    assert f"\n  it does not configure here: {error}" in done.stdout
    assert parse_project_file(text).jobs


def test_a_file_with_which_the_project_does_not_build_without_network_is_no_success(tmp_path: Path) -> None:
    """The configure run finds a file of this machine that no sandbox shows."""
    write(tmp_path, {"tool.cmake": TOOL})
    top = PROJECT["CMakeLists.txt"] + f"include({tmp_path}/tool.cmake)\n"

    done = init(tmp_path / "project", {**PROJECT, "CMakeLists.txt": top})

    assert done.returncode == 1, done.stderr
    assert "\n  without network: configure failed: CMake Error at CMakeLists.txt:9 (include)" in done.stdout
    assert f"\n  the whole log: {tmp_path}/cache/benchgate/logs/local-" in done.stdout


def test_the_sources_of_the_trial_are_those_of_a_repository(tmp_path: Path) -> None:
    write(tmp_path, PROJECT)

    done = call_init(tmp_path / "benchgate.yaml")

    assert done.returncode == 1, done.stderr
    assert "not a git repository" in done.stdout
    assert "run `git init` first\n" in done.stdout


# As the README of GoogleTest advised for years.
DOWNLOADING: Final = {
    "test/CMakeLists.txt": """
configure_file(gtest.txt.in download/CMakeLists.txt)
execute_process(COMMAND ${CMAKE_COMMAND} -G "${CMAKE_GENERATOR}" . RESULT_VARIABLE result
                WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/download)
execute_process(COMMAND ${CMAKE_COMMAND} --build . RESULT_VARIABLE result
                WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/download)
add_subdirectory(${CMAKE_CURRENT_BINARY_DIR}/googletest-src ${CMAKE_CURRENT_BINARY_DIR}/googletest-build)
""",
    "test/gtest.txt.in": """
cmake_minimum_required(VERSION 3.5)
project(download NONE)
include(ExternalProject)
ExternalProject_Add(googletest
  GIT_REPOSITORY file://{}
  GIT_TAG HEAD
  SOURCE_DIR "${{CMAKE_CURRENT_BINARY_DIR}}/googletest-src"
  CONFIGURE_COMMAND ""
  BUILD_COMMAND ""
  INSTALL_COMMAND "")
""",
}


@pytest.mark.parametrize("has_option", [True, False])
def test_tests_that_download_by_external_project_are_off_or_named(
    tmp_path: Path, *, has_option: bool
) -> None:
    library = tmp_path / "library"
    write(library, {"CMakeLists.txt": "project(googletest NONE)\n"})
    commit(library)
    option = "option(QUEUE_TESTS x ON)\nif(QUEUE_TESTS)\n  add_subdirectory(test)\nendif()\n"
    files = {
        **PROJECT,
        "CMakeLists.txt": PROJECT["CMakeLists.txt"] + (option if has_option else "add_subdirectory(test)\n"),
        "test/CMakeLists.txt": DOWNLOADING["test/CMakeLists.txt"],
        "test/gtest.txt.in": DOWNLOADING["test/gtest.txt.in"].format(library),
    }

    done = init(tmp_path / "project", files)

    (job,) = parse_project_file((tmp_path / "project" / "benchgate.yaml").read_text()).jobs
    assert not job.benchmark.build.dependencies
    assert job.benchmark.build.configure.endswith(" -DQUEUE_TESTS=OFF") is has_option
    named = f"googletest, which ExternalProject downloads from file://{library} (test/gtest.txt.in, line 5)"
    assert (f"not pinned: {named} and takes from no `dependencies`" in done.stderr) is not has_option
    assert ("without network: configure failed" in done.stdout) is not has_option
    assert done.returncode == (0 if has_option else 1), done.stderr


def test_a_variable_of_the_project_keeps_external_project_from_downloading(tmp_path: Path) -> None:
    """As in the projects of PyTorch, which download unless somebody names the directory."""
    library = tmp_path / "library"
    write(library, {"CMakeLists.txt": "project(googletest NONE)\n"})
    pin = commit(library)
    source = "${CMAKE_CURRENT_BINARY_DIR}/googletest-src"
    using = DOWNLOADING["test/CMakeLists.txt"].replace(
        "add_subdirectory", f'set(GTEST_DIR "{source}" CACHE STRING "Sources")\nendif()\nadd_subdirectory'
    )
    files = {
        **PROJECT,
        "CMakeLists.txt": PROJECT["CMakeLists.txt"] + "add_subdirectory(test)\n",
        "test/CMakeLists.txt": "if(NOT DEFINED GTEST_DIR)\n"
        + using.replace(f"add_subdirectory({source}", "add_subdirectory(${GTEST_DIR}"),
        "test/gtest.txt.in": DOWNLOADING["test/gtest.txt.in"].format(library),
    }

    done = init(tmp_path / "project", files)

    assert done.returncode == 0, done.stderr
    (job,) = parse_project_file((tmp_path / "project" / "benchgate.yaml").read_text()).jobs
    ((name, dependency),) = job.benchmark.build.dependencies.items()
    assert (name, dependency.commit) == ("googletest", pin)
    assert job.benchmark.build.configure.endswith(' -DGTEST_DIR="$BENCHGATE_DEPS/googletest"')


def test_a_repository_that_git_takes_from_elsewhere_is_pinned_there(tmp_path: Path) -> None:
    library = tmp_path / "mirror" / "library"
    write(library, {"CMakeLists.txt": "project(library NONE)\n"})
    commit(library)
    settings = tmp_path / "settings"
    settings.write_text(f'[url "file://{tmp_path}/mirror/"]\n\tinsteadOf = https://git.invalid/team/\n')
    fetching = """
include(FetchContent)
FetchContent_Declare(library GIT_REPOSITORY https://git.invalid/team/library GIT_TAG HEAD)
FetchContent_MakeAvailable(library)
"""
    files = {**PROJECT, "CMakeLists.txt": PROJECT["CMakeLists.txt"] + fetching}

    done = init(tmp_path / "project", files, GIT_CONFIG_GLOBAL=str(settings))

    assert done.returncode == 0, done.stderr + done.stdout
    text = (tmp_path / "project" / "benchgate.yaml").read_text()
    assert f"  library:\n    git: file://{library}\n" in text
