from __future__ import annotations

import pytest

from service.domain.project.benchmark import Format
from service.domain.project.starter.libraries import (
    libraries_in,
    library_of,
    not_measured,
    spec_of,
    without_google,
)


@pytest.mark.parametrize(
    ("text", "library"),
    [
        ("#include <nanobench.h>", "nanobench"),
        ('#include "third_party/nanobench.h"', "nanobench"),
        ("ankerl::nanobench::Bench bench;", "nanobench"),
        ('#include "catch.hpp"\nBENCHMARK("x") {}', "catch2"),
        ('#include <catch2/benchmark/catch_benchmark.hpp>\nBENCHMARK_ADVANCED("x")(auto meter) {}', "catch2"),
        ("#include <catch2/catch_test_macros.hpp>", ""),
        ('#include "own.h"\nTEST_CASE("lists") {\n  BENCHMARK("push") {', "catch2"),
        ('#include "own.h"\nTEST_CASE("lists") {}', ""),
        ("#include <benchmark/benchmark.h>\nBENCHMARK(BM_Push);", "google"),
    ],
)
def test_the_library_of_a_source_is_recognised_and_named_if_it_is_another_one(
    text: str, library: str
) -> None:
    found = libraries_in([("bench/a.cc", text), ("bench/b.cc", "int main() {}")])

    assert found == ({"bench/a.cc": Format(library)} if library else {})
    sentences = not_measured(without_google(found))
    is_other = library not in {"", "google"}
    assert [each.split(":")[0] for each in sentences] == ([f"bench/a.cc uses {library}"] if is_other else [])


def test_a_program_uses_the_library_of_one_of_its_sources() -> None:
    others = {"bench/a.cc": Format.NANOBENCH, "tests/b.cc": Format.CATCH2}

    assert library_of(["main.cc", "tests/b.cc"], others) is Format.CATCH2
    assert library_of(["main.cc"], others) is None


@pytest.mark.parametrize(
    ("tags", "spec"),
    [
        ("All available tags:\n   1  [!benchmark]\n   9  [benchmark]\n2 tags\n", ""),
        ("All available tags:\n  12  [.]\n  12  [.][Benchmarks]\n   3  [find]\n", "[Benchmarks]"),
        ("All available tags:\n   3  [superfast]\n   3  [perfect-hash]\n   1  [sort-perf]\n", "[sort-perf]"),
        ("All available tags:\n   3  [find]\n   3  [workbench]\n2 tags\n", "*"),
        ("All available tags:\n0 tags\n", "*"),
        ("", "*"),
    ],
)
def test_the_benchmarks_of_catch2_are_chosen_by_a_tag(tags: str, spec: str) -> None:
    assert spec_of(tags) == spec
