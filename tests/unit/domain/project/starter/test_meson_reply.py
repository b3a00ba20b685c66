"""Answers of Meson 1.12.1, recorded on a small project.

Paths are replaced, and most of Meson's own options are left out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from service.domain.project.benchmark import Format
from service.domain.project.starter.cmake_reply import Executable
from service.domain.project.starter.meson_reply import (
    has_default_wraps,
    meson_benchmarks,
    meson_options,
    meson_programs,
    meson_subprojects,
)
from service.domain.values.errors import BadInput

SAMPLES: Final = Path(__file__).parents[4] / "samples" / "meson_introspect"
TARGETS: Final = (SAMPLES / "targets.json").read_text(encoding="utf-8")
PROJECT: Final = (SAMPLES / "projectinfo.json").read_text(encoding="utf-8")
OPTIONS: Final = (SAMPLES / "buildoptions.json").read_text(encoding="utf-8")
SPEED: Final = Executable("speed", "perf/speed")


def changed(text: str, changing: str, values: dict[str, Any]) -> str:
    """An answer in which one target or option has other values."""
    rows = json.loads(text)
    (row,) = [row for row in rows if row["name"] == changing]
    row.update(values)
    return json.dumps(rows)


def test_a_program_that_links_the_library_is_found() -> None:
    assert meson_programs(TARGETS, "/home/dev/build") == (SPEED,)


def test_a_program_of_an_earlier_meson_is_found_by_its_name() -> None:
    text = changed(TARGETS, "other", {"name": "core_bench"})
    assert meson_programs(text, "/home/dev/build") == (SPEED, Executable("core_bench", "perf/other"))


def test_a_program_of_an_earlier_meson_is_found_by_its_sources() -> None:
    libraries = {"/home/dev/project/perf/other.cc": Format.GOOGLE}

    assert meson_programs(TARGETS, "/home/dev/build", libraries) == (SPEED, Executable("other", "perf/other"))


def test_a_program_of_another_library_counts_if_none_links_google_benchmark() -> None:
    others = {
        "/home/dev/project/perf/other.cc": Format.CATCH2,
        "/home/dev/project/perf/speed.cc": Format.CATCH2,
    }
    without = changed(TARGETS, "speed", {"target_sources": [{"sources": ["/home/dev/project/x.cc"]}]})

    assert meson_programs(TARGETS, "/home/dev/build", others) == (SPEED,)
    assert meson_programs(without, "/home/dev/build", others) == (
        Executable("other", "perf/other", Format.CATCH2),
    )


@pytest.mark.parametrize(
    "values",
    [{"subproject": "vendored"}, {"type": "static library"}, {"filename": ["/home/dev/project/bin/speed"]}],
)
def test_a_program_of_a_subproject_or_outside_the_build_directory_is_left_out(values: dict[str, Any]) -> None:
    assert meson_programs(changed(TARGETS, "speed", values), "/home/dev/build") == ()


def test_the_options_for_benchmarks_that_are_off_are_switched_on() -> None:
    assert meson_options(OPTIONS) == ("-Dbench_extra=enabled",)
    off = changed(OPTIONS, "benchmarks", {"value": False})
    assert set(meson_options(off)) == {"-Dbench_extra=enabled", "-Dbenchmarks=true"}


@pytest.mark.parametrize(("value", "expected"), [("default", True), ("nofallback", False)])
def test_the_wrap_mode_of_the_project_is_noticed(value: str, *, expected: bool) -> None:
    assert has_default_wraps(changed(OPTIONS, "wrap_mode", {"value": value})) == expected


@pytest.mark.parametrize("name", ["vendored:benchmarks", "tests"])
def test_other_options_and_those_of_subprojects_are_left_alone(name: str) -> None:
    text = changed(OPTIONS, "bench_extra", {"name": name})
    assert meson_options(text) == ()


@pytest.mark.parametrize("text", ["", "{}", "WARNING: old\n[]"])
def test_what_is_no_answer_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="meson introspect: its answer cannot be read"):
        meson_options(text)


def test_the_declared_benchmarks_are_commands() -> None:
    command = ["/home/dev/build/perf/tests", "-ts=all of it", "/home/dev/data"]
    answer = json.dumps([{"name": "bench", "cmd": command}, {"name": "again", "cmd": command}])

    assert meson_benchmarks(answer, "/home/dev/build") == ("perf/tests '-ts=all of it' /home/dev/data",)


def test_the_subprojects_in_use_are_named_with_their_directory() -> None:
    assert meson_subprojects(PROJECT) == ("subprojects", ("vendored", "google-benchmark"))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"subproject_dir": "x"}', "{}, {}", "1"])
def test_what_names_no_subprojects_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="meson introspect: its answer cannot be read"):
        meson_subprojects(text)


def test_an_option_named_after_performance_is_found_too() -> None:
    text = changed(OPTIONS, "bench_extra", {"name": "perf_tests"})
    assert meson_options(text) == ("-Dperf_tests=enabled",)
