"""``benchgate init`` on programs of other libraries, and on repositories of several projects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from service.domain.project.project_file import parse_project_file
from tests.integration.project.test_init import NOTHING, PROJECT, init

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration

NANOBENCH: Final = """
#include <nanobench.h>
#include <cstdio>
int main() {
    puts("| ns/op | op/s | err% | total | benchmark");
    puts("| 2.00 | 500,000,000.00 | 0.1% | 0.01 | `push`");
}
"""
CATCH2: Final = """
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <cstring>
// TEST_CASE("queue") { BENCHMARK("push") { return 1; }; }
int main(int count, char **words) {
    if (strcmp(words[1], "--list-tags") == 0) return puts("All available tags:\\n   1  [.benchmarks]");
    bool is_chosen = false;
    for (int k = 1; k < count; ++k) {
        is_chosen |= strcmp(words[k], "[.benchmarks]") == 0;
        if (strcmp(words[k], "--out") == 0)
            fputs("<Catch2TestRun><TestCase name=\\"queue\\"><BenchmarkResults name=\\"push\\">"
                  "<mean value=\\"2\\"/></BenchmarkResults></TestCase></Catch2TestRun>",
                  fopen(words[k + 1], "w"));
    }
    return is_chosen ? 0 : 1;
}
"""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (NANOBENCH, ("nanobench", "", ())),
        (CATCH2, ("catch2", "[.benchmarks]", ("--benchmark-samples", "20"))),
    ],
    ids=["nanobench", "catch2"],
)
def test_programs_of_other_libraries_are_run_once(
    tmp_path: Path, source: str, expected: tuple[object, ...]
) -> None:
    files = {
        "CMakeLists.txt": """
cmake_minimum_required(VERSION 3.16)
project(queue LANGUAGES CXX)
option(QUEUE_BENCH "Build the benchmarks" OFF)
if(QUEUE_BENCH)
  add_executable(queue_bench bench/queue.cpp)
  target_include_directories(queue_bench PRIVATE third_party)
endif()
add_executable(queue_test main.cpp)
""",
        "bench/queue.cpp": source,
        "main.cpp": "int main() {}\n",
        "third_party/nanobench.h": "",
        "third_party/catch2/catch_test_macros.hpp": "",
    }

    done = init(tmp_path / "project", files)

    assert done.returncode == 0, done.stderr
    text = (tmp_path / "project" / "benchgate.yaml").read_text()
    (suite,) = parse_project_file(text).jobs[0].benchmark.suites
    assert (suite.program, suite.format, suite.filter, suite.args) == ("build/queue_bench", *expected)
    assert "- name: queue_bench   # 1 benchmark\n" in text
    assert "uses nanobench: name" not in done.stderr
    assert "-DQUEUE_BENCH=ON" in text


def test_sources_with_benchmarks_of_other_libraries_are_named(tmp_path: Path) -> None:
    files = {
        "bench/map.cpp": "#include <nanobench.h>\n",
        "bench/set.cpp": "ankerl::nanobench::Bench().run(f);\n",
        "tests/all.cc": '#include <catch2/catch_all.hpp>\nBENCHMARK("sort") { return 1; };\n',
        "tests/some.cc": "#include <catch2/catch_all.hpp>\n",
        "third_party/x/test.cpp": "#include <nanobench.h>\n",
    }

    done = init(tmp_path / "project", {**NOTHING, **files})

    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == (
        "benchgate: no program of this CMake project links Google Benchmark; bench/map.cpp and 1 further "
        "file use nanobench: name the programs as suites with `format: nanobench` to measure them; "
        "tests/all.cc uses catch2: name the programs as suites with `format: catch2` to measure them"
    )


def test_the_first_of_several_projects_below_the_top_is_asked_and_the_others_are_named(
    tmp_path: Path,
) -> None:
    nothing_there = PROJECT["CMakeLists.txt"].replace("add_subdirectory(bench)", "# nothing to build")
    files = {f"labs/{name}/{path}": text for name in ("b", "c") for path, text in PROJECT.items()}
    files |= {f"labs/a/{path}": text for path, text in PROJECT.items()} | {
        "labs/a/CMakeLists.txt": nothing_there
    }
    done = init(tmp_path / "project", {**files, "README": "three labs"})

    assert done.returncode == 0, done.stderr
    (job,) = parse_project_file((tmp_path / "project" / "benchgate.yaml").read_text()).jobs
    assert "cmake -S labs/b -B build" in job.benchmark.build.configure
    assert (
        "only labs/b is in the file; write a job for each of the other projects with benchmarks: labs/c"
        in (done.stderr)
    )
