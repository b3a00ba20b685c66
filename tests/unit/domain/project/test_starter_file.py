from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from service.domain.project.project_file import parse_project_file, problems_of
from service.domain.project.starter.fetched import Download, Fetched
from service.domain.project.starter.file import (
    NO_DOWNLOAD,
    BuildSystem,
    Program,
    ProjectFacts,
    programs_in_text,
    starter_file,
)

GOLDEN: Final = Path(__file__).parents[3] / "samples" / "starter"
CMAKE = """\
add_executable(core_bench
  a.cc b.cc)
target_link_libraries(core_bench PRIVATE core benchmark::benchmark_main)
add_executable(old_style o.cc)
target_link_libraries(old_style core benchmark)
add_executable(tests t.cc)  # target_link_libraries(tests benchmark)
target_link_libraries(tests core my_benchmark benchmark_support)
add_library(helpers h.cc)
target_link_libraries(helpers PUBLIC benchmark::benchmark)
add_executable(${NAME} x.cc)
"""
MESON = """\
executable('core_bench', 'a.cc', dependencies: [core])
executable('speed', 'b.cc', dependencies: [benchmark_dep])
executable('tests', 't.cc', dependencies: [gtest])
"""
ASKED: Final = (Program("build/bench/queue_bench", "queue_bench", 12), Program("build/one", "one", 1))
WRAPS: Final = (
    Fetched("fmt-12.0.0.tar.gz", Download("https://example.org/v12.tar.gz"), "a" * 64),
    Fetched("fmt_12.0.0-1_patch.zip", Download("https://example.org/get_patch"), "b" * 64),
    Fetched("core", Download(git="https://git.example.org/core.git"), "c" * 40),
)
FACTS: Final = {
    "cmake_options.yaml": ProjectFacts(
        BuildSystem.CMAKE, ASKED, ("-DQUEUE_BUILD_BENCHMARKS=ON",), is_tried=True
    ),
    "cmake_preset.yaml": ProjectFacts(
        BuildSystem.CMAKE,
        ASKED,
        ("-DQUEUE_TESTS=OFF",),
        preset="linux",
        configuration="Release",
        is_tried=True,
    ),
    "cmake_untried.yaml": ProjectFacts(BuildSystem.CMAKE, (Program("build/a", "a"),)),
    "meson_wraps.yaml": ProjectFacts(
        BuildSystem.MESON,
        (Program("build/perf/speed", "perf/speed", 3),),
        (NO_DOWNLOAD, "-Dbenchmarks=enabled"),
        dependencies=WRAPS,
        is_tried=True,
    ),
    "make.yaml": ProjectFacts(BuildSystem.MAKE),
    "bazel.yaml": ProjectFacts(BuildSystem.BAZEL),
}


@pytest.mark.parametrize("is_tried", [True, False])
@pytest.mark.parametrize("paths", [(), ("build/a",), ("build/x/a", "build/y/a", "build/b")])
@pytest.mark.parametrize("system", BuildSystem)
def test_a_starter_file_has_no_errors_and_names_the_programs(
    system: BuildSystem, paths: tuple[str, ...], *, is_tried: bool
) -> None:
    programs = tuple(Program(path, path.rpartition("/")[2]) for path in paths)
    text = starter_file(ProjectFacts(system, programs, is_tried=is_tried))

    assert problems_of(text) == ()
    (job,) = parse_project_file(text).jobs
    assert job.benchmark.programs == (paths or ("build/my_benchmark",))
    assert ("EDIT" in text) == (not is_tried)


@pytest.mark.parametrize(
    "paths",
    [
        [f"build/bench/benchmark_of_part_{number}" for number in range(300)],
        ["build/a", "build/x/a", "build/a-2", "build/y/a", "build/_a"],
        [f"build/{'a' * 120}", f"build/x/{'a' * 120}"],
    ],
)
@pytest.mark.parametrize("system", [BuildSystem.CMAKE, BuildSystem.MESON])
def test_many_equal_and_long_names_are_accepted(system: BuildSystem, paths: list[str]) -> None:
    programs = tuple(Program(path, path.rpartition("/")[2]) for path in paths)
    text = starter_file(ProjectFacts(system, programs, is_tried=True))

    assert problems_of(text) == ()
    (job,) = parse_project_file(text).jobs
    assert job.benchmark.programs == tuple(paths)


def test_data_that_programs_read_are_kept_beside_repositories_of_the_build() -> None:
    clone = Fetched("words", Download(git="https://git.example.org/x.git"), "a" * 40, "build/words")
    data = ("_deps/corpus-build/json", "null", "words")
    facts = ProjectFacts(
        BuildSystem.CMAKE, (Program("build/parse", "parse"),), dependencies=(clone,), data=data
    )
    text = starter_file(facts)

    assert problems_of(text) == ()
    job = parse_project_file(text).job("perf")
    assert job.configuration.build is not None
    assert job.configuration.build.keep == ("words", "_deps/corpus-build/json", "null")


@pytest.mark.parametrize("name", ["on", "null", "12", "1.5", "0x10", "2024-01-01", "2024-13-45"])
def test_names_that_yaml_reads_as_another_value_stay_texts(name: str) -> None:
    data = Fetched(name, Download(git="https://git.example.org/x.git"), "a" * 40, f"build/{name}")
    facts = ProjectFacts(BuildSystem.CMAKE, (Program(f"build/{name}", name),), dependencies=(data,))
    text = starter_file(facts)

    assert problems_of(text) == ()
    job = parse_project_file(text).job("perf")
    assert [suite.name for suite in job.benchmark.suites] == [name]
    assert job.configuration.build is not None
    assert job.configuration.build.keep == (name,)


@pytest.mark.parametrize(
    ("system", "compile_"),
    [
        (BuildSystem.CMAKE, "cmake --build build --parallel $(nproc)"),
        (BuildSystem.MESON, "meson compile -C build"),
    ],
)
def test_all_targets_are_built_if_their_names_are_too_long(system: BuildSystem, compile_: str) -> None:
    names = [f"{'long' * 25}{number}" for number in range(50)]
    programs = tuple(Program(f"build/{name}", name) for name in names)
    job = parse_project_file(starter_file(ProjectFacts(system, programs, is_tried=True))).job("perf")

    assert job.configuration.build is not None
    assert job.configuration.build.compile == compile_


@pytest.mark.parametrize("name", FACTS)
def test_a_starter_file_explains_each_choice(name: str) -> None:
    assert starter_file(FACTS[name]) == (GOLDEN / name).read_text(encoding="utf-8")


def test_the_programs_of_cmake_are_those_that_link_google_benchmark() -> None:
    found = programs_in_text(
        BuildSystem.CMAKE, {"CMakeLists.txt": "project(x)", "bench/CMakeLists.txt": CMAKE}
    )
    assert [each.path for each in found] == ["build/bench/core_bench", "build/bench/old_style"]


@pytest.mark.parametrize(
    ("directory", "place"), [("${CMAKE_BINARY_DIR}/bin", "build/bin/"), ('"${PROJECT_BINARY_DIR}"', "build/")]
)
def test_the_programs_of_cmake_are_in_the_directory_for_all(directory: str, place: str) -> None:
    top = f"set(CMAKE_RUNTIME_OUTPUT_DIRECTORY {directory})"
    found = programs_in_text(BuildSystem.CMAKE, {"CMakeLists.txt": top, "bench/CMakeLists.txt": CMAKE})
    assert [each.path for each in found] == [f"{place}core_bench", f"{place}old_style"]


def test_the_line_that_failed_is_marked_with_the_error() -> None:
    facts = ProjectFacts(BuildSystem.CMAKE, (Program("build/a", "a"),), failure="x: error: \"y'\n # z: [")
    text = starter_file(facts)

    assert problems_of(text) == ()
    assert "-DCMAKE_BUILD_TYPE=Release   # EDIT: it failed here: x: error: \"y' # z: [\n" in text


def test_the_programs_of_meson_are_named_or_link_like_benchmarks() -> None:
    found = programs_in_text(BuildSystem.MESON, {"meson.build": MESON})
    assert [each.path for each in found] == ["build/core_bench", "build/speed"]


def test_a_directory_that_yaml_could_misread_is_left_out() -> None:
    assert programs_in_text(BuildSystem.CMAKE, {"a: b/CMakeLists.txt": CMAKE}) == ()
