"""Thin a long line."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.verdict.trend.thinning import thinned

HEIGHTS = st.lists(st.floats(-10, 10), min_size=1, max_size=300)
MOST = st.integers(8, 60)


@given(HEIGHTS, MOST)
def test_a_line_keeps_its_ends_and_its_extremes_within_the_limit(heights: list[float], most: int) -> None:
    kept = thinned(heights, (), most)
    assert len(kept) <= most
    assert kept == sorted(set(kept))
    assert {0, len(heights) - 1} <= set(kept)
    shown = [heights[each] for each in kept]
    assert (min(shown), max(shown)) == (min(heights), max(heights))


@given(HEIGHTS, MOST, st.data())
def test_marked_points_stay_as_long_as_they_fill_at_most_half(
    heights: list[float], most: int, data: st.DataObject
) -> None:
    marked = data.draw(st.sets(st.integers(0, len(heights) - 1), max_size=most // 2))
    kept = thinned(heights, marked, most)
    assert marked <= set(kept)
    assert len(kept) <= most


@given(st.lists(st.floats(-10, 10), min_size=61, max_size=300), MOST)
def test_a_line_of_marked_points_alone_is_thinned_like_any_other(heights: list[float], most: int) -> None:
    kept = thinned(heights, range(len(heights)), most)
    assert len(kept) <= most
    assert max(heights) in [heights[each] for each in kept]


def test_a_line_that_fits_is_drawn_as_it_is() -> None:
    assert thinned([3.0, 1.0, 2.0] * 4, {1}, 12) == list(range(12))


def test_a_single_outlier_of_a_long_line_stays_and_each_section_has_its_share() -> None:
    heights = [float(k % 7) for k in range(100_000)]
    heights[77_777] = 99.0
    kept = thinned(heights, (), 1000)
    assert 77_777 in kept
    assert 900 < len(kept) <= 1000
    assert max(after - before for before, after in pairwise(kept)) < 500


def test_a_line_needs_some_points() -> None:
    with pytest.raises(ValueError, match="7 points are too few"):
        thinned([1.0] * 20, (), 7)
