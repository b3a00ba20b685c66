from __future__ import annotations

import pytest

from service.domain.project.benchmark import Format
from service.domain.project.starter.libraries import library_of, not_measured, other_libraries, spec_of


@pytest.mark.parametrize(
    ("text", "library"),
    [
        ("#include <nanobench.h>", "nanobench"),
        ('#include "third_party/nanobench.h"', "nanobench"),
        ("ankerl::nanobench::Bench bench;", "nanobench"),
        ('#include "catch.hpp"\nBENCHMARK("x") {}', "catch2"),
        ('#include <catch2/benchmark/catch_benchmark.hpp>\nBENCHMARK_ADVANCED("x")(auto meter) {}', "catch2"),
        ("#include <catch2/catch_test_macros.hpp>", ""),
        ("#include <benchmark/benchmark.h>\nBENCHMARK(BM_Push);", ""),
    ],
)
def test_a_source_that_another_library_measures_is_named(text: str, library: str) -> None:
    found = other_libraries([("bench/a.cc", text), ("bench/b.cc", "int main() {}")])

    assert found == ({"bench/a.cc": Format(library)} if library else {})
    sentences = not_measured(found)
    assert [each.split(":")[0] for each in sentences] == ([f"bench/a.cc uses {library}"] if library else [])


def test_a_program_uses_the_library_of_one_of_its_sources() -> None:
    others = {"bench/a.cc": Format.NANOBENCH, "tests/b.cc": Format.CATCH2}

    assert library_of(["main.cc", "tests/b.cc"], others) is Format.CATCH2
    assert library_of(["main.cc"], others) is None


@pytest.mark.parametrize(
    ("tags", "spec"),
    [
        ("All available tags:\n   1  [!benchmark]\n   9  [benchmark]\n2 tags\n", ""),
        ("All available tags:\n  12  [.]\n  12  [.][Benchmarks]\n   3  [find]\n", "[Benchmarks]"),
        ("All available tags:\n   3  [find]\n1 tag\n", "*"),
        ("All available tags:\n0 tags\n", "*"),
        ("", "*"),
    ],
)
def test_the_benchmarks_of_catch2_are_chosen_by_a_tag(tags: str, spec: str) -> None:
    assert spec_of(tags) == spec
