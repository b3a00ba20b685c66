"""Names of benchmarks: the entry of a project file that covers one, its family and its place in it."""

from __future__ import annotations

import pytest

from service.domain.project.benchmark_names import entry_for, family_of, natural_order


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("BM_Sort", "BM_Sort"),
        ("BM_Sort/8", "BM_Sort"),
        ("BM_Sort/64/real_time", "BM_Sort/64"),
        ("BM_Sort/640", "BM_Sort"),
        ("BM_Sort<int>/8", "BM_Sort"),
        ("BM_Sorted", None),
        ("Fixture/BM_Sort", None),
        ("", None),
    ],
)
def test_the_longest_entry_covers_its_benchmark_with_all_arguments(name: str, entry: str | None) -> None:
    assert entry_for(name, {"BM_Sort", "BM_Sort/64"}) == entry


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("BM_Map", "BM_Map"),
        ("BM_Map/512/threads:4", "BM_Map"),
        ("BM_Map<int, char>/8", "BM_Map"),
        ("BM_Map<N / 2, std::less<>>/iterations:9/real_time", "BM_Map"),
        ("BM_StringCopy/long/manual_time", "BM_StringCopy"),
        ("PureFollyExecutorBench/OneShotScheduleRun/real_time/threads:4", "PureFollyExecutorBench"),
        (
            "hash tables/insert #2",
            "hash tables",
        ),  # nanobench: title and name; Catch2: test case and benchmark
        ("vector push_back", "vector push_back"),
        ("<lambda>/8", "<lambda>"),
        ("/8", "/8"),
        ("", ""),
    ],
)
def test_a_family_is_what_comes_before_the_arguments(name: str, family: str) -> None:
    assert family_of(name) == family


def test_numbers_in_names_are_sorted_by_their_values() -> None:
    names = ["BM_Map", "BM_Map/8", "BM_Map/8/threads:2", "BM_Map/8/threads:16", "BM_Map/64", "BM_Map<int>/8"]
    assert sorted({*names}, key=natural_order) == names
