"""A filter chooses the benchmarks that a person means, and no others."""

from __future__ import annotations

import time
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.project.benchmark_names import is_chosen


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("Insert", "HTB/Insert/iterations:100000/threads:24"),
        ("HTB/Insert", "HTB/Insert"),
        ("HTB/*", "HTB/Insert/threads:24"),
        ("HTB/*/threads:24", "HTB/Insert/real_time/threads:24"),
        ("*Insert*", "HTB/Insert"),
        ("*", "anything"),
        ("a**b", "ab"),
        ("BM_Ptr<int*>", "BM_Ptr<int*>/8"),
    ],
)
def test_a_filter_chooses_by_a_part_or_with_wildcards_by_the_whole(pattern: str, name: str) -> None:
    assert is_chosen(pattern, name)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("", "HTB/Insert"),
        ("insert", "HTB/Insert"),
        ("HTB/*", "OldHTB/Insert"),
        ("*/threads:2", "HTB/Insert/threads:24"),
        ("HTB/?nsert", "HTB/Insert"),
        ("HTB/[I]nsert", "HTB/Insert"),
        ("ab*ba", "aba"),
        ("a*b*a", "aa"),
    ],
)
def test_a_filter_does_not_choose_more_than_it_says(pattern: str, name: str) -> None:
    assert not is_chosen(pattern, name)


@given(st.text("ab*", min_size=1, max_size=8), st.text("ab", max_size=12))
def test_stars_are_those_of_fnmatch(pattern: str, name: str) -> None:
    assert is_chosen(pattern, name) == (pattern in name or fnmatchcase(name, pattern))


def test_a_filter_of_many_stars_is_quick() -> None:
    started = time.process_time()

    assert not is_chosen("*a" * 100 + "b", "a" * 100_000)
    assert time.process_time() - started < 1.0
