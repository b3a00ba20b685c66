from __future__ import annotations

import pytest

from service.domain.project.starter.libraries import other_benchmarks


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
    sentences = other_benchmarks([("bench/a.cc", text)])

    assert [each.split(":")[0] for each in sentences] == ([f"bench/a.cc uses {library}"] if library else [])
