from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.verdict.inference.signed_ranks import capped_rank_tail, least_pairs, rank_interval

LOGS = st.lists(st.floats(-1, 1), min_size=1, max_size=40)


def by_enumeration(values: list[float]) -> float:
    """The chance by its definition: over all signs that these sizes could have had."""
    sizes = sorted(abs(value) for value in values)
    cap = math.ceil(0.25 * len(sizes))
    scores = [min(rank, cap) for rank in range(1, len(sizes) + 1)]
    ordered = sorted(values, key=abs)
    seen = sum(score for score, value in zip(scores, ordered, strict=True) if value > 0)
    sums = [
        sum(score for score, is_up in zip(scores, signs, strict=True) if is_up)
        for signs in itertools.product([False, True], repeat=len(sizes))
    ]
    return sum(each >= seen for each in sums) / len(sums)


@pytest.mark.parametrize("seed", range(8))
def test_the_chance_is_that_of_random_signs(seed: int) -> None:
    values = [float(x) for x in np.random.default_rng(seed).normal(0.3, 1, 11)]

    assert capped_rank_tail(values) == pytest.approx(by_enumeration(values))


@pytest.mark.parametrize("n", [8, 9, 10])
def test_random_order_alone_deceives_as_seldom_as_it_says(n: int) -> None:
    """All outcomes of n random signs, for values with ties and a zero: the worst case."""
    sizes = [0.0, *([0.05] * (n - 3)), 0.01, 0.02]
    found = [
        capped_rank_tail([size if is_up else -size for size, is_up in zip(sizes, signs, strict=True)])
        for signs in itertools.product([False, True], repeat=n)
    ]

    for error in (0.001, 0.01, 0.05, 0.2):
        assert sum(each <= error for each in found) <= error * len(found)


def test_a_wild_pair_against_the_others_weighs_no_more_than_an_ordinary_one() -> None:
    calm = [0.01 + 0.0001 * k for k in range(19)]

    assert capped_rank_tail([*calm, -5.0]) == capped_rank_tail([*calm, -0.01085])


def test_pairs_that_all_agree_are_as_improbable_as_their_signs() -> None:
    assert capped_rank_tail([0.05] * 18) == pytest.approx(2**-18)
    assert least_pairs(2**-18) == 18


@pytest.mark.parametrize("pairs", [128, 130, 200, 950])
def test_long_sequences_are_judged_by_the_same_exact_distribution(pairs: int) -> None:
    """All signs alike: 2 to the power of -n; and half of all sums are at least the middle one."""
    half = [float(k % 2 or -1) * (1 + k) for k in range(pairs)]

    assert capped_rank_tail([0.05] * pairs) == pytest.approx(2.0**-pairs)
    assert capped_rank_tail(half) == pytest.approx(0.5, abs=0.06)


def below(low: float, values: list[float]) -> list[float]:
    """Centres further out than an end, between the means of two values at which the ranks change."""
    means = sorted({(x + y) / 2 for x in values for y in values})
    further = [mean for mean in means if mean < low - 1e-9]
    return [(a + b) / 2 for a, b in itertools.pairwise(further) if b - a > 1e-9]


class TestInterval:
    def test_too_few_values_have_none(self) -> None:
        assert rank_interval([0.1] * 5, 0.02) is None
        assert rank_interval([0.1] * 6, 0.02) == (0.1, 0.1)

    @given(LOGS, st.sampled_from([0.01, 0.025, 0.1]))
    def test_it_holds_exactly_what_the_ranks_do_not_rule_out(self, values: list[float], error: float) -> None:
        found = rank_interval(values, error)

        if found is not None:
            low, high = found
            assert low <= high
            assert capped_rank_tail([x - low for x in values]) > error
            assert capped_rank_tail([high - x for x in values]) > error
            assert all(capped_rank_tail([x - m for x in values]) <= error for m in below(low, values))

    def test_swapping_the_sides_mirrors_it(self) -> None:
        values = [float(x) for x in np.random.default_rng(5).normal(0.01, 0.02, 20)]
        found, turned = rank_interval(values, 0.01), rank_interval([-x for x in values], 0.01)

        assert found is not None
        assert turned == pytest.approx((-found[1], -found[0]))

    def test_the_truth_lies_within_as_often_as_promised(self) -> None:
        rng = np.random.default_rng(11)
        noise = 0.02 * rng.standard_t(2, (1500, 16))
        outside = 0
        for values in noise:
            found = rank_interval(values.tolist(), 0.025)
            assert found is not None
            outside += not found[0] <= 0 <= found[1]

        assert outside <= 0.05 * 1500 + 3 * math.sqrt(0.05 * 0.95 * 1500)
