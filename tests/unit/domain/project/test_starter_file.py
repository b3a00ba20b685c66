from __future__ import annotations

import pytest

from service.domain.project.project_file import parse_project_file, problems_of
from service.domain.project.starter_file import BuildSystem, benchmark_programs, starter_file

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


@pytest.mark.parametrize("programs", [(), ("build/a",), ("build/x/a", "build/y/a", "build/b")])
@pytest.mark.parametrize("system", BuildSystem)
def test_a_starter_file_has_no_errors_and_names_the_programs(
    system: BuildSystem, programs: tuple[str, ...]
) -> None:
    text = starter_file(system, programs)

    assert problems_of(text) == ()
    (job,) = parse_project_file(text).jobs
    assert job.benchmark.programs == (programs or ("build/my_benchmark",))
    assert ("EDIT" in text) == (not programs)


def test_the_programs_of_cmake_are_those_that_link_google_benchmark() -> None:
    found = benchmark_programs(
        BuildSystem.CMAKE, {"CMakeLists.txt": "project(x)", "bench/CMakeLists.txt": CMAKE}
    )
    assert found == ("build/bench/core_bench", "build/bench/old_style")


def test_the_programs_of_meson_are_named_or_link_like_benchmarks() -> None:
    assert benchmark_programs(BuildSystem.MESON, {"meson.build": MESON}) == (
        "build/core_bench",
        "build/speed",
    )


def test_a_directory_that_yaml_could_misread_is_left_out() -> None:
    assert benchmark_programs(BuildSystem.CMAKE, {"a: b/CMakeLists.txt": CMAKE}) == ()
