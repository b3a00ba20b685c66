from __future__ import annotations

import json

import pytest

from service.domain.project.starter.cmake_files import (
    OPTION_WORDS,
    benchmark_options,
    benchmark_projects,
    options_of_tests,
    release_preset,
)
from service.domain.project.starter.cmake_reply import CacheEntry

OFF = CacheEntry("BOOL", "OFF")


def options(text: str, cache: dict[str, CacheEntry], **files: str) -> tuple[str, ...]:
    return benchmark_options({"CMakeLists.txt": text, **files}, cache)


@pytest.mark.parametrize(
    "declared",
    [
        'option(QUEUE_BENCHMARKS "Build them" OFF)',
        'OPTION( "QUEUE_BENCHMARKS" "Build them" OFF)',
        'option(${PROJECT_NAME}_BENCHMARKS "Build them" OFF)',
        'include(CMakeDependentOption)\ncmake_dependent_option(QUEUE_BENCHMARKS "Build them" OFF "TOP" OFF)',
        "queue_option(\n  QUEUE_BENCHMARKS OFF)",
        'option_if_not_defined(QUEUE_BENCHMARKS "Build them" OFF)',
        'set(QUEUE_BENCHMARKS false CACHE BOOL "Build them")',
    ],
)
def test_an_option_for_benchmarks_that_is_off_and_declared_is_found(declared: str) -> None:
    assert options(declared, {"QUEUE_BENCHMARKS": OFF, "QUEUE_TESTS": OFF}) == ("QUEUE_BENCHMARKS",)


@pytest.mark.parametrize("guard", ["if(QUEUE_BUILD_BENCHMARKS)", "IF ( DEFINED QUEUE_BUILD_BENCHMARKS )"])
def test_a_variable_that_is_only_asked_for_is_an_option(guard: str) -> None:
    text = f"{guard}\n  add_subdirectory(bench)\nendif()"
    assert options(text, {}) == ("QUEUE_BUILD_BENCHMARKS",)
    assert options(f"# {guard}", {}) == ()
    assert options(text, {"QUEUE_BUILD_BENCHMARKS": CacheEntry("INTERNAL", "OFF")}) == ()


def test_the_name_of_an_option_may_have_dots_and_dashes() -> None:
    cache = {"queue.bench-marks": OFF, "queue": OFF}
    assert options("cmake_dependent_option(queue.bench-marks x OFF TOP OFF)", cache) == ("queue.bench-marks",)


@pytest.mark.parametrize(
    ("declared", "entry"),
    [
        ("option(QUEUE_BENCH x OFF)", CacheEntry("BOOL", "ON")),
        ("option(QUEUE_BENCH x OFF)", CacheEntry("STRING", "OFF")),
        ("# option(QUEUE_BENCH x OFF)", OFF),
        ("set(QUEUE_BENCH OFF CACHE BOOL x FORCE)", OFF),
        ("option(QUEUE_BENCH_ALL x OFF)", OFF),
        ('parse_option("${OPTION}")\nparse_option(${A}_${B})', OFF),
    ],
)
def test_an_entry_that_is_on_or_no_own_option_is_left_alone(declared: str, entry: CacheEntry) -> None:
    assert options(declared, {"QUEUE_BENCH": entry}) == ()


def test_the_options_of_a_nested_project_are_left_alone() -> None:
    nested = {
        "third_party/benchmark/CMakeLists.txt": "project (benchmark CXX)\noption(BENCHMARK_ENABLE_LTO x OFF)",
        "third_party/benchmark/cmake/more.cmake": "option(BENCHMARK_BUILD_32_BITS x OFF)",
        "cmake/own.cmake": "option(OWN_BENCH x OFF)",
        "benchmarks/CMakeLists.txt": "option(MORE_BENCH x OFF)",
    }
    names = ("BENCHMARK_ENABLE_LTO", "BENCHMARK_BUILD_32_BITS", "OWN_BENCH", "MORE_BENCH")

    assert options("project(queue)", dict.fromkeys(names, OFF), **nested) == ("OWN_BENCH", "MORE_BENCH")


def test_options_of_other_names_are_found_only_if_asked_for() -> None:
    text = "option(QUEUE_DEVELOPER_MODE x OFF)\noption(QUEUE_TESTS x OFF)"
    cache = dict.fromkeys(("QUEUE_DEVELOPER_MODE", "QUEUE_TESTS"), OFF)

    assert options(text, cache) == ()
    found = [benchmark_options({"CMakeLists.txt": text}, cache, words) for words in OPTION_WORDS]
    assert found == [(), ("QUEUE_DEVELOPER_MODE",), ("QUEUE_TESTS",)]


@pytest.mark.parametrize("name", ["QUEUE_DEVELOPMENT_CHECKS", "QUEUE_TEST_COVERAGE", "QUEUE_SANITIZE_TESTS"])
def test_an_option_for_another_build_than_a_release_is_left_alone(name: str) -> None:
    """One of these makes the programs slower, and another is found beside it."""
    files = {"CMakeLists.txt": f"option({name} x OFF)"}
    found = [benchmark_options(files, {name: OFF}, words) for words in OPTION_WORDS]
    assert found == [(), (), ()]


@pytest.mark.parametrize(
    "declared", ["${A}_${B}_BENCH_${C}", "X${A}BENCH_X", "${A}X_${B}X${C}", "${A}_BENCH_X"]
)
def test_variables_stand_for_any_part_of_a_name(declared: str) -> None:
    assert options(f"option({declared})", {"X_X_BENCH_X": OFF, "BENCH_OF_ANOTHER": OFF}) == ("X_X_BENCH_X",)


def test_many_variables_in_a_name_take_no_time() -> None:
    """Eight took five seconds, and nine a minute."""
    cache = {f"X{'BENCH' * 8}": OFF, f"X{'BENCH' * 8}_Y": OFF}
    assert options(f"option(X{'${A}' * 50}_Y)", cache) == (f"X{'BENCH' * 8}_Y",)


LINKING = "project(bench)\nadd_executable(a a.cc)\ntarget_link_libraries(a benchmark ${MORE})\n"


def test_projects_below_the_top_that_link_google_benchmark_are_found() -> None:
    files = {
        "CMakeLists.txt": LINKING,
        "tests/speed/CMakeLists.txt": LINKING,
        "deep/CMakeLists.txt": "project(deep)",
        "deep/er/CMakeLists.txt": "target_link_libraries(a PRIVATE benchmark::benchmark_main)",
        "plain/CMakeLists.txt": "project(plain)\ntarget_link_libraries(a my_benchmark)",
        "part/CMakeLists.txt": "target_link_libraries(a benchmark)",
        "third_party/x/CMakeLists.txt": LINKING,
        "a: b/CMakeLists.txt": LINKING,
    }
    assert benchmark_projects(files) == ("deep", "tests/speed")


PRESETS = json.dumps(
    {
        "version": 3,
        "configurePresets": [
            {"name": "base", "hidden": True, "generator": "Ninja"},
            {"name": "dev", "inherits": "base", "cacheVariables": {"CMAKE_BUILD_TYPE": "Debug"}},
            {
                "name": "fast",
                "hidden": True,
                "cacheVariables": {"CMAKE_BUILD_TYPE": {"type": "STRING", "value": "Release"}},
            },
            {"name": "windows", "inherits": ["base", "fast"]},
            {"name": "linux", "inherits": ["base", "fast"]},
            {"name": "circle", "inherits": "circle"},
        ],
    }
)
LISTING = (
    'Available configure presets:\n\n  "dev"    - for developers\n  "circle"\n  "linux"  - the "fast" one\n'
)


def test_the_first_usable_preset_that_inherits_a_release_build_is_chosen() -> None:
    assert release_preset(PRESETS, LISTING) == "linux"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"configurePresets": [1]}', PRESETS])
def test_without_a_usable_preset_none_is_chosen(text: str) -> None:
    assert release_preset(text, '  "dev"\n  "circle"\n') == ""


def test_the_options_of_an_own_project_that_links_the_library_are_found() -> None:
    tests = "project(queue_tests)\noption(QUEUE_BENCH x OFF)\ntarget_link_libraries(a benchmark)\n"

    assert options("project(queue)", {"QUEUE_BENCH": OFF}, **{"tests/CMakeLists.txt": tests}) == (
        "QUEUE_BENCH",
    )


@pytest.mark.parametrize(
    ("text", "name", "entry", "is_found"),
    [
        ("option(QUEUE_TESTS x ON)", "QUEUE_TESTS", CacheEntry("BOOL", "ON"), True),
        ("include(CTest)", "BUILD_TESTING", CacheEntry("BOOL", "ON"), True),
        ("option(QUEUE_TESTS x OFF)", "QUEUE_TESTS", OFF, False),
        ("option(QUEUE_BENCH_TESTS x ON)", "QUEUE_BENCH_TESTS", CacheEntry("BOOL", "ON"), False),
        ("", "OTHER_TESTS", CacheEntry("BOOL", "ON"), False),
    ],
)
def test_options_for_tests_that_are_on_are_found(
    text: str, name: str, entry: CacheEntry, *, is_found: bool
) -> None:
    assert options_of_tests({"CMakeLists.txt": text}, {name: entry}) == ((name,) if is_found else ())
