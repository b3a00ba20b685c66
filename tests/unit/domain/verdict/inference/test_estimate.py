from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from service.domain.verdict.inference.estimate import estimate, ratio_of

POSITIVE = st.floats(1e-9, 1e9)
PAIRS = st.lists(st.tuples(POSITIVE, POSITIVE), min_size=2, max_size=40)


def of_logs(logs: list[float]) -> tuple[list[float], list[float]]:
    return [1.0] * len(logs), [math.exp(x) for x in logs]


def test_the_centre_is_the_trimmed_mean_of_the_log_ratios() -> None:
    logs = [float(x) for x in np.random.default_rng(1).normal(0.02, 0.01, 24)]

    found = estimate(*of_logs(logs))

    assert found.centre == pytest.approx(scipy.stats.trim_mean(logs, 0.2))
    assert found.ratio == pytest.approx(math.exp(found.centre))
    assert (found.pairs, found.degrees) == (24, 24 - 2 * 4 - 1)


def test_the_interval_is_yuens() -> None:
    """By hand: of ten log ratios two are cut at each end, and the winsorised spread is that of the rest."""
    logs = [-0.5, -0.2, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.3, 0.9]
    winsorised = [0.01] * 3 + [0.02, 0.03, 0.04, 0.05] + [0.06] * 3
    error = statistics.stdev(winsorised) / (0.6 * math.sqrt(10))
    found = estimate(*of_logs(logs))

    assert found.centre == pytest.approx(0.035)
    assert found.error == pytest.approx(error)
    assert found.bounds(0.025) == pytest.approx(scipy.stats.t.interval(0.95, 5, 0.035, error))


@given(PAIRS)
def test_swapping_the_sides_turns_the_sign(pairs: list[tuple[float, float]]) -> None:
    base, patch = [b for b, _ in pairs], [p for _, p in pairs]
    there, back = estimate(base, patch), estimate(patch, base)

    assert there.centre == pytest.approx(-back.centre)
    assert there.error == pytest.approx(back.error)


@given(PAIRS, st.floats(1e-3, 1e3))
def test_the_unit_of_measurement_does_not_matter(pairs: list[tuple[float, float]], unit: float) -> None:
    base, patch = [b for b, _ in pairs], [p for _, p in pairs]
    scaled = estimate([unit * b for b in base], [unit * p for p in patch])

    assert scaled.centre == pytest.approx(estimate(base, patch).centre, abs=1e-9)


def test_one_wild_pair_in_eight_moves_nothing_beyond_its_neighbours() -> None:
    calm = [0.001 * k for k in range(8)]
    found = estimate(*of_logs([*calm[:-1], 5.0]))

    assert calm[0] <= found.centre <= calm[-1]


@pytest.mark.parametrize(
    ("base", "patch", "why"),
    [
        ([1.0], [1.0], "at least two complete pairs are needed, not 1 and 1"),
        ([1.0, 2.0], [1.0], "at least two complete pairs are needed, not 2 and 1"),
        ([1.0, 0.0], [1.0, 1.0], "only positive, finite values"),
        ([1.0, 1.0], [1.0, -1.0], "only positive, finite values"),
        ([1.0, 1.0], [1.0, math.inf], "only positive, finite values"),
        ([1.0, math.nan], [1.0, 1.0], "only positive, finite values"),
    ],
)
def test_pairs_without_a_ratio_are_refused(base: list[float], patch: list[float], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        estimate(base, patch)


def test_few_pairs_are_not_trimmed() -> None:
    logs = [0.01, 0.02, 0.03, 0.05, 0.09, 0.10]
    found = estimate(*of_logs(logs))

    assert found.centre == pytest.approx(statistics.mean(logs))
    assert found.error == pytest.approx(statistics.stdev(logs) / math.sqrt(6))
    assert found.degrees == 5


def test_a_spread_may_be_taken_for_larger_than_it_looks() -> None:
    found = estimate(*of_logs([0.02] * 4))

    assert found.bounds(0.01) == (found.centre, found.centre)
    low, high = found.bounds(0.01, least_error=0.001)
    assert (low, high) == pytest.approx(scipy.stats.t.interval(0.98, 3, 0.02, 0.001))


class TestMargins:
    LOGS = tuple(0.02 + 0.0005 * k for k in range(16))

    def test_above_a_margin_takes_pairs_that_agree(self) -> None:
        found = estimate(*of_logs(list(self.LOGS)))

        assert found.is_above(0.01, 2**-15)
        assert not found.is_above(0.01, 2**-17)
        assert not found.is_above(0.03, 0.05)
        assert not found.is_below(-0.01, 0.5)

    def test_below_mirrors_above(self) -> None:
        found = estimate(*of_logs([-x for x in self.LOGS]))

        assert found.is_below(-0.01, 2**-15)
        assert not found.is_below(-0.01, 2**-17)

    @given(PAIRS, st.floats(0.0, 0.1), st.sampled_from([1e-4, 1e-2]))
    def test_the_interval_never_contradicts_the_margin(
        self, pairs: list[tuple[float, float]], margin: float, error: float
    ) -> None:
        found = estimate([b for b, _ in pairs], [p for _, p in pairs])

        if found.is_above(margin, error):
            assert found.interval(error)[0] > margin

    def test_with_too_few_pairs_for_ranks_the_interval_is_t_s(self) -> None:
        found = estimate(*of_logs([0.01, 0.02, 0.04]))

        assert found.interval(0.01) == found.bounds(0.01)


@given(st.floats(allow_nan=False))
def test_a_ratio_is_always_finite_and_positive(log: float) -> None:
    assert 0 < ratio_of(log) < math.inf
