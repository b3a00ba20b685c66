from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t, trim_mean, wilcoxon

from service.domain.comparison import estimate, least_pairs, ratio_of

POSITIVE = st.floats(1e-9, 1e9)
PAIRS = st.lists(st.tuples(POSITIVE, POSITIVE), min_size=2, max_size=40)


def of_logs(logs: list[float]) -> tuple[list[float], list[float]]:
    return [1.0] * len(logs), [math.exp(x) for x in logs]


def test_the_centre_is_the_trimmed_mean_of_the_log_ratios() -> None:
    logs = [float(x) for x in np.random.default_rng(1).normal(0.02, 0.01, 24)]

    found = estimate(*of_logs(logs))

    assert found.centre == pytest.approx(trim_mean(logs, 0.2))
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
    assert found.bounds(0.025) == pytest.approx(t.interval(0.95, 5, 0.035, error))


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
        ([1.0], [1.0], "at least two complete pairs are needed, found 1 and 1"),
        ([1.0, 2.0], [1.0], "at least two complete pairs are needed, found 2 and 1"),
        ([1.0, 0.0], [1.0, 1.0], "only positive, finite values"),
        ([1.0, 1.0], [1.0, -1.0], "only positive, finite values"),
        ([1.0, 1.0], [1.0, math.inf], "only positive, finite values"),
        ([1.0, math.nan], [1.0, 1.0], "only positive, finite values"),
    ],
)
def test_what_has_no_ratio_is_refused(base: list[float], patch: list[float], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        estimate(base, patch)


class TestSignedRanks:
    """``is_above`` with an error so large that t always agrees: what is left is the ranks' own word."""

    @staticmethod
    def chance(logs: list[float], margin: float = 0.0) -> float:
        """The smallest error at which the ranks agree, by bisection."""
        found = estimate(*of_logs(logs))
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if found.is_above(margin, 0.5, middle) else (middle, high)
        return high

    @pytest.mark.parametrize("seed", range(5))
    def test_they_are_wilcoxons(self, seed: int) -> None:
        logs = [float(x) for x in np.random.default_rng(seed).normal(0.02, 0.02, 16)]

        assert self.chance(logs) == pytest.approx(
            wilcoxon(logs, alternative="greater", method="exact").pvalue
        )

    @pytest.mark.parametrize("n", [8, 9, 10])
    def test_random_order_alone_deceives_them_as_seldom_as_they_say(self, n: int) -> None:
        """All outcomes of n coins, for values with ties and a zero: their worst case."""
        levels = [1.0, *([1.05] * (n - 3)), 1.01, 1.02]
        orders = itertools.product([False, True], repeat=n)
        found = []
        for order in orders:
            pairs = [
                (level, 1.0) if is_turned else (1.0, level)
                for level, is_turned in zip(levels, order, strict=True)
            ]
            found.append(estimate([b for b, _ in pairs], [p for _, p in pairs]))

        for error in (0.01, 0.05, 0.2):
            assert sum(each.is_above(0.0, 0.5, error) for each in found) <= error * len(found)
            assert sum(each.is_below(0.0, 0.5, error) for each in found) <= error * len(found)

    def test_long_sequences_are_never_judged_more_boldly_than_exactly(self) -> None:
        logs = [float(x) for x in np.random.default_rng(3).normal(0.004, 0.02, 100)]
        exact = float(wilcoxon(logs, alternative="greater", method="approx").pvalue)

        assert exact < self.chance(logs) < 50 * exact

    def test_eight_pairs_of_one_sign_have_a_chance_of_one_in_256(self) -> None:
        assert self.chance([0.05] * 8) == pytest.approx(1 / 256)
        assert least_pairs(1 / 256) == 8


@given(st.floats(allow_nan=False))
def test_a_ratio_is_always_finite_and_positive(log: float) -> None:
    assert 0 < ratio_of(log) < math.inf
