"""Changes of the level in values that were not measured in pairs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.verdict.trend.change_points import find_changes

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SPREAD = 0.01


def _noise(seed: int = 1, values: int = 400) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(0, _SPREAD, values)


def _alike(share: float, seed: int = 1, values: int = 400) -> NDArray[np.float64]:
    found = _noise(seed, values)
    for at in range(1, values):
        found[at] = share * found[at - 1] + (1 - share**2) ** 0.5 * found[at]
    return found


def _places(values: NDArray[np.float64] | list[float]) -> list[int]:
    return [each.at for each in find_changes([*values])]


def test_steps_are_found_where_they_are_with_size_and_interval() -> None:
    values = _noise()
    values[100:] += math.log(1.05)
    values[250:] -= math.log(1.08)
    first, second = find_changes([*values])
    assert abs(first.at - 100) <= 2
    assert abs(second.at - 250) <= 2
    assert first.low < math.log(1.05) < first.high
    assert second.low < -math.log(1.08) < second.high
    assert max(first.chance, second.chance) < 0.01


def test_noise_has_no_change() -> None:
    assert [_places(_noise(seed)) for seed in range(5)] == [[]] * 5


def test_outliers_are_no_change_even_three_in_a_row() -> None:
    values = _noise()
    values[[50, 51, 52, 180, 300]] += 0.5
    assert _places(values) == []


def test_a_step_is_found_among_outliers() -> None:
    values = _noise()
    values[::20] += 0.5
    values[200:] -= 0.05
    (place,) = _places(values)
    assert abs(place - 200) <= 2


def test_slow_drift_is_no_step() -> None:
    assert _places(_noise() + np.linspace(0, 0.1, 400)) == []


def test_values_that_resemble_their_neighbours_must_step_further() -> None:
    assert [_places(_alike(0.6, seed)) for seed in range(5)] == [[]] * 5
    stepped = _alike(0.6)
    stepped[200:] += 0.05
    (place,) = _places(stepped)
    assert abs(place - 200) <= 3


def test_a_step_is_found_with_five_values_behind_it() -> None:
    for seed in range(5):
        values = _noise(seed, values=100)
        values[95:] += 0.1
        assert _places(values) == [95]


def test_fewer_than_five_values_on_a_side_are_no_level() -> None:
    for seed in range(5):
        values = _noise(seed, values=100)
        values[96:] += 0.1
        values[:4] -= 0.1
        values[50:54] += 0.1
        assert _places(values) == []


@pytest.mark.parametrize("length", [60, 80, 100])
def test_short_one_sided_noise_has_no_change(length: int) -> None:
    rng = np.random.default_rng(1)
    assert [_places(rng.exponential(_SPREAD, length)) for _ in range(50)] == [[]] * 50


def test_the_last_value_alone_is_no_change() -> None:
    values = _noise(values=100)
    values[99] += 0.5
    assert _places(values) == []


def test_equal_values_are_compared_with_the_smallest_spread() -> None:
    assert _places([0.0] * 50) == []
    (found,) = find_changes([0.0] * 50 + [0.02] * 50)
    assert (found.at, found.log) == (50, 0.02)
    assert (found.low, found.high) == pytest.approx((0.0196, 0.0204), abs=1e-4)


def test_a_step_below_one_percent_is_no_change() -> None:
    assert _places([0.0] * 50 + [0.009] * 50) == []


def test_a_series_of_fewer_than_sixty_values_has_no_change() -> None:
    assert _places([0.0] * 30 + [0.5] * 29) == []
    assert _places([0.0] * 30 + [0.5] * 30) == [30]
    assert [each.at for each in find_changes([0.0] * 30 + [0.5] * 29, fewest=0)] == [30]


def test_a_series_of_many_levels_is_read_on_coarser_ones() -> None:
    values = _noise(values=2000) + np.repeat(np.arange(100), 20) * 0.1
    assert len(_places(values)) >= 95


@pytest.mark.parametrize("values", [[], [1.0], [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0]])
def test_fewer_than_ten_values_have_no_change_at_any_length(values: list[float]) -> None:
    assert find_changes(values, fewest=0) == ()


def test_a_value_that_is_not_finite_is_an_error() -> None:
    with pytest.raises(ValueError, match="finite"):
        find_changes([0.0, 0.0, math.inf, 0.0])


@given(st.lists(st.floats(-700, 700), max_size=60))
def test_changes_are_in_order_and_inside_the_series(values: list[float]) -> None:
    places = [each.at for each in find_changes(values, fewest=0)]
    assert places == sorted(set(places))
    assert all(0 < at < len(values) for at in places)
