"""Names of benchmarks: the entry of a project file that covers one."""

from __future__ import annotations

import pytest

from service.domain.project.benchmark_names import entry_for


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
