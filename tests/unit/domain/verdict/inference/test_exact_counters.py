from __future__ import annotations

import numpy as np
import pytest

from service.domain.measuring.metric import metric_named
from service.domain.project.policy import Policy
from service.domain.verdict.inference.exact_counters import compare_exactly, exact_looks
from service.domain.verdict.inference.verdict import ComparedRow, Comparison, Verdict

POLICY = Policy()
BYTES = ComparedRow("s", "BM_a", metric_named("max_bytes_used"))
HITS = ComparedRow("s", "BM_a", metric_named("hits", ["hits"]))
FAMILY = 20.0


def judged(pairs: list[tuple[float, float]], row: ComparedRow = BYTES) -> Comparison | None:
    return compare_exactly(row, pairs, exact_looks(POLICY, FAMILY), POLICY, FAMILY)


class TestLooks:
    def test_equality_takes_two_pairs_and_a_difference_what_chance_cannot_explain(self) -> None:
        first, last = exact_looks(POLICY, FAMILY)

        assert first == 2
        assert 2 * 4.0**-last <= 0.05 * 0.005 / FAMILY

    def test_counters_that_follow_the_launch_order_all_follow_the_same_order(self) -> None:
        """A file that the first launch of a pair creates exists for the second: worse by the order alone."""
        last = exact_looks(POLICY, FAMILY)[-1]

        assert 2.0**-last <= 0.05 * 0.005 < 2.0 ** (1 - last)

    def test_a_much_larger_family_needs_more_pairs(self) -> None:
        assert exact_looks(POLICY, 20)[-1] < exact_looks(POLICY, 100_000)[-1]


class TestVerdicts:
    def test_two_equal_pairs_are_the_same(self) -> None:
        found = judged([(64.0, 64.0)] * 2)

        assert found == Comparison(BYTES, Verdict.SAME, 2, 1.0, (1.0, 1.0), 64.0, 64.0)

    def test_no_pair_decides_nothing(self) -> None:
        assert compare_exactly(BYTES, [], (0,), POLICY, FAMILY) is None

    def test_one_pair_decides_nothing(self) -> None:
        assert judged([(64.0, 64.0)]) is None

    def test_a_difference_within_the_floor_is_the_same_with_its_ratio(self) -> None:
        found = judged([(1000.0, 1005.0)] * 2)

        assert found is not None
        assert (found.verdict, found.ratio, found.interval) == (Verdict.SAME, 1.005, (1.005, 1.005))

    @pytest.mark.parametrize(
        ("row", "patch", "verdict"),
        [
            (BYTES, 110.0, Verdict.SLOWER),
            (BYTES, 90.0, Verdict.FASTER),
            (HITS, 110.0, Verdict.FASTER),
            (HITS, 90.0, Verdict.SLOWER),
        ],
    )
    def test_a_difference_is_found_at_the_last_look_with_its_direction(
        self, row: ComparedRow, patch: float, verdict: Verdict
    ) -> None:
        last = exact_looks(POLICY, FAMILY)[-1]
        found = judged([(100.0, patch)] * 40, row)

        assert judged([(100.0, patch)] * (last - 1), row) is None
        assert found is not None
        assert (found.verdict, found.pairs) == (verdict, last)

    def test_an_inexact_counter_is_judged_by_the_spread_of_its_pairs(self) -> None:
        assert judged([(100.0, 110.0), (101.0, 110.0)] * 20) is None

    def test_later_pairs_change_nothing(self) -> None:
        pairs = [(64.0, 64.0)] * 2

        assert judged([*pairs, (64.0, 128.0)]) == judged(pairs)

    @pytest.mark.parametrize("values", [(0.0, 3.0), (3.0, 0.0), (-8.0, -16.0)])
    def test_zero_and_negative_values_have_no_ratio_to_judge(self, values: tuple[float, float]) -> None:
        assert judged([values] * 40) is None

    def test_zeros_that_stay_zero_are_the_same(self) -> None:
        found = judged([(0.0, 0.0)] * 2)

        assert found is not None
        assert (found.verdict, found.ratio) == (Verdict.SAME, 1.0)


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1), (0.4, 0.3, 0.3), (0.2,) * 5])
def test_a_counter_that_jumps_between_values_is_not_taken_for_a_change(shares: tuple[float, ...]) -> None:
    """At an error so large that few pairs are asked for, chance stays below what is promised."""
    policy = Policy(false_alarms=0.2)
    rng = np.random.default_rng(7)
    pairs = exact_looks(policy, 1)[-1]
    values = rng.choice(np.arange(1, len(shares) + 1) * 100.0, (200_000, pairs, 2), p=shares)
    base, patch = values[:, :, 0], values[:, :, 1]
    fixed = (base == base[:, :1]).all(axis=1) & (patch == patch[:, :1]).all(axis=1)
    alarms = fixed & (patch[:, 0] > base[:, 0])

    assert alarms.mean() <= 0.05 * 0.1
