from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.domain.measuring.metric import Better, Metric, metric_named
from service.domain.project.policy import Policy
from service.domain.verdict.inference.estimate import MIN_PAIRS, estimate
from service.domain.verdict.inference.interim_looks import looks
from service.domain.verdict.inference.missing_pairs import with_missing_pairs
from service.domain.verdict.inference.reasons import Reason, ReasonKind
from service.domain.verdict.inference.verdict import (
    ComparedRow,
    Comparison,
    Verdict,
    compare_pairs,
    first_decisive_look,
)
from tests.unit.domain.comparisons import reason

if TYPE_CHECKING:
    from collections.abc import Sequence

POLICY = Policy()
TIME = metric_named("cpu_time")
RATE = metric_named("items_per_second")
QUIET = 0.005  # a launch's spread on a machine that is left alone
VALUES = st.one_of(st.none(), st.floats(0.5, 2.0), st.just(0.0), st.just(1.0))


def row(metric: Metric = TIME) -> ComparedRow:
    return ComparedRow("suite", "BM_a", metric)


def noisy(level: float, pairs: int = 32, spread: float = QUIET, seed: int = 1) -> list[float]:
    rng = np.random.default_rng([seed, int(level * 1e9)])
    return [float(value) for value in level * np.exp(rng.normal(0, spread, pairs))]


def judged(
    base: Sequence[float | None],
    patch: Sequence[float | None],
    metric: Metric = TIME,
    policy: Policy = POLICY,
    family: int = 20,
) -> Comparison:
    return compare_pairs(row(metric), base, patch, policy, family)


class TestSizes:
    @pytest.mark.parametrize(
        ("level", "verdict"),
        [
            (1.05, Verdict.SLOWER),
            (0.95, Verdict.FASTER),
            (1.0, Verdict.SAME),
            (1.005, Verdict.SAME),
            (53.0, Verdict.SLOWER),
        ],
    )
    def test_a_clear_change_is_distinguished_from_none(self, level: float, verdict: Verdict) -> None:
        found = judged(noisy(1.0), noisy(level, seed=2))

        assert found.verdict is verdict
        assert found.ratio == pytest.approx(level, rel=0.01)
        assert found.interval is not None
        assert found.interval[0] < level < found.interval[1]

    def test_a_higher_rate_is_faster_and_a_lower_one_slower(self) -> None:
        assert judged(noisy(1e6), noisy(1.05e6), RATE).verdict is Verdict.FASTER
        assert judged(noisy(1e6), noisy(0.95e6), RATE).verdict is Verdict.SLOWER

    def test_worsening_is_positive_whichever_way_a_metric_gets_worse(self) -> None:
        assert judged(noisy(1.0), noisy(1.05)).worsening == pytest.approx(0.05, abs=0.01)
        assert judged(noisy(1.0), noisy(0.95), RATE).worsening == pytest.approx(0.05, abs=0.01)
        assert judged(noisy(1.0), noisy(0.95)).worsening == pytest.approx(-0.05, abs=0.01)

    def test_growth_is_that_of_the_time_of_rates_too(self) -> None:
        assert judged(noisy(1.0), noisy(4.0)).growth == pytest.approx(3.0, abs=0.1)
        assert judged(noisy(1.0), noisy(0.25), RATE).growth == pytest.approx(3.0, abs=0.1)

    @pytest.mark.parametrize(("interval", "nearest"), [((0.98, 1.03), 0.0), ((1.1, 1.2), math.log(1.1))])
    def test_the_nearest_change_is_zero_if_the_interval_contains_it(
        self, interval: tuple[float, float], nearest: float
    ) -> None:
        assert Comparison(row(), Verdict.SLOWER, interval=interval).nearest == nearest

    def test_nothing_is_slower_within_the_floor(self) -> None:
        floor = Policy(floor=0.06, same_within=0.08)

        assert judged(noisy(1.0), noisy(1.05), policy=floor).verdict is not Verdict.SLOWER

    def test_same_never_hides_what_lies_beyond_the_floor(self) -> None:
        found = judged(noisy(1.0, spread=1e-4), noisy(1.02, spread=1e-4))

        assert found.verdict is Verdict.SLOWER

    def test_the_interval_of_a_slower_benchmark_lies_beyond_the_floor(self) -> None:
        found = judged(noisy(1.0), noisy(1.03))

        assert found.verdict is Verdict.SLOWER
        assert found.interval is not None
        assert found.interval[0] > 1 + POLICY.floor

    def test_a_decided_benchmark_says_how_far_its_pairs_scatter(self) -> None:
        # Each side scatters by 1 %, so the ratio of a pair by the square root of two as much.
        found = judged(noisy(1.0, spread=0.01), noisy(1.2, spread=0.01, seed=2))

        assert found.verdict is Verdict.SLOWER
        assert found.spread == pytest.approx(0.014, abs=0.007)

    def test_the_standard_error_is_that_of_the_pairs_behind_the_verdict(self) -> None:
        base, patch = noisy(1.0), noisy(1.05, seed=2)
        found = judged(base, patch)

        assert found.pairs < len(base)
        assert found.error == estimate(base[: found.pairs], patch[: found.pairs]).error
        assert judged([], []).error is None


class TestPower:
    def test_five_percent_are_found_within_sixteen_quiet_pairs(self) -> None:
        found = [judged(noisy(1.0, seed=s), noisy(1.05, seed=s)) for s in range(100)]

        assert {each.verdict for each in found} == {Verdict.SLOWER}
        assert max(each.pairs for each in found) <= 16

    def test_unchanged_benchmarks_are_the_same_after_the_first_looks(self) -> None:
        found = [judged(noisy(1.0, seed=s), noisy(1.0, seed=s + 1000)) for s in range(100)]

        assert sum(each.verdict is Verdict.SAME for each in found) >= 98
        assert sum(each.pairs <= 2 * MIN_PAIRS for each in found) >= 98

    def test_a_few_wild_launches_hide_no_regression(self) -> None:
        patch = noisy(1.05)
        patch[3] = patch[11] = 0.4

        assert judged(noisy(1.0), patch).verdict is Verdict.SLOWER


class TestExactValues:
    def test_without_any_spread_a_change_is_still_seen(self) -> None:
        assert judged([1.0] * 16, [1.02] * 16).verdict is Verdict.SLOWER
        assert judged([1.0] * 8, [1.0] * 8).verdict is Verdict.SAME

    def test_equal_zeros_are_the_same(self) -> None:
        found = judged([0.0] * 8, [0.0] * 8, metric_named("allocs_per_iter"))

        assert (found.verdict, found.ratio, found.base) == (Verdict.SAME, 1.0, 0.0)

    @pytest.mark.parametrize(("base", "patch"), [(0.0, 3.0), (3.0, 0.0), (-8.0, -16.0), (-1.0, 1.0)])
    def test_zero_and_negative_values_are_undecided_for_that_reason(self, base: float, patch: float) -> None:
        found = judged([base] * 32, [patch] * 32)

        assert found.verdict is Verdict.UNDECIDED
        assert found.ratio is None
        assert found.reasons == (Reason(ReasonKind.NO_RATIO),)

    @pytest.mark.parametrize("pairs", [1, 7, 8, 32])
    def test_the_largest_and_smallest_numbers_overflow_nothing(self, pairs: int) -> None:
        found = judged([5e-324, 1.7e308] * 16, [1.7e308, 5e-324] * 16)
        few = judged([5e-324] * pairs, [1.7e308] * pairs)

        assert found.verdict is Verdict.UNDECIDED
        assert few.ratio is not None
        assert math.isfinite(few.ratio)
        assert all(math.isfinite(bound) and bound > 0 for bound in found.interval or ())


class TestPairs:
    def test_a_pair_with_a_missing_side_is_left_out(self) -> None:
        base: list[float | None] = [1.0, None, 1.0] + [1.0] * 8
        patch: list[float | None] = [1.0, 1.0, None] + [1.0] * 8

        assert judged(base, patch).pairs == MIN_PAIRS
        assert judged(base[:6], patch[:6]).pairs == 4

    def test_sides_of_different_length_are_a_programming_error(self) -> None:
        with pytest.raises(ValueError, match="shorter"):
            judged([1.0] * 9, [1.0] * 8)

    def test_a_larger_budget_changes_no_reached_verdict(self) -> None:
        base, patch = noisy(1.0, 64), noisy(1.02, 64)
        few, many = (judged(base, patch, policy=Policy(max_pairs=n)) for n in (32, 64))

        assert few.verdict is Verdict.SLOWER
        assert many == few

    @pytest.mark.parametrize(("family", "pairs"), [(1, 12), (20, 16), (100, 18), (10_000, 24)])
    def test_a_larger_family_needs_more_pairs_before_anything_can_be_proved(
        self, family: int, pairs: int
    ) -> None:
        found = compare_pairs(row(), [1.0] * 32, [1.5] * 32, POLICY, family)

        assert (found.verdict, found.pairs) == (Verdict.SLOWER, pairs)
        assert first_decisive_look(POLICY, family) == pairs

    @settings(max_examples=200)
    @given(st.lists(st.tuples(VALUES, VALUES), max_size=40), st.integers(0, 40), st.sampled_from(Better))
    def test_a_verdict_is_final_and_depends_on_the_first_pairs_only(
        self, pairs: list[tuple[float | None, float | None]], seen: int, better: Better
    ) -> None:
        metric = Metric("m", "", better)
        early = judged([b for b, _ in pairs[:seen]], [p for _, p in pairs[:seen]], metric)
        late = judged([b for b, _ in pairs], [p for _, p in pairs], metric)

        if early.verdict.is_decided:
            assert late == early

    @settings(max_examples=100)
    @given(st.integers(0, 1000), st.sampled_from([0.9, 0.97, 1.0, 1.02, 1.1]), st.integers(8, 32))
    def test_noisy_verdicts_are_final_too(self, seed: int, level: float, seen: int) -> None:
        base, patch = noisy(1.0, seed=seed), noisy(level, seed=seed)
        early, late = judged(base[:seen], patch[:seen]), judged(base, patch)

        assert late == early or not early.verdict.is_decided

    def test_swapping_the_sides_swaps_the_verdict(self) -> None:
        base, patch = noisy(1.0), noisy(1.05)

        assert judged(patch, base).verdict is Verdict.FASTER
        assert judged(patch, base).pairs == judged(base, patch).pairs


class TestRecordedData:
    def test_one_look_is_taken_at_all_pairs(self) -> None:
        base, patch = noisy(1.0, 13), noisy(1.05, 13)

        assert compare_pairs(row(), base, patch, POLICY, 20, schedule=(13,)).verdict is Verdict.SLOWER

    def test_incomplete_pairs_do_not_make_the_look_impossible(self) -> None:
        base: list[float | None] = [None, *noisy(1.0, 12)]
        patch: list[float | None] = [1.0, *noisy(1.05, 12)]

        found = compare_pairs(row(), base, patch, POLICY, 1, schedule=(13,))

        assert (found.verdict, found.pairs) == (Verdict.SLOWER, 12)

    def test_too_few_files_are_undecided(self) -> None:
        assert (
            compare_pairs(row(), [1.0] * 5, [2.0] * 5, POLICY, 1, schedule=(5,)).verdict is Verdict.UNDECIDED
        )
        assert (
            compare_pairs(row(), [1.0] * 4, [1.0] * 4, POLICY, 1, schedule=(4,)).verdict is Verdict.UNDECIDED
        )


class TestReasons:
    def test_no_pair(self) -> None:
        assert judged([], []).reasons == (Reason(ReasonKind.NO_PAIR),)
        assert judged([None], [1.0]).reasons == (Reason(ReasonKind.NO_PAIR),)

    @pytest.mark.parametrize("pairs", [1, 4])
    def test_too_few_pairs(self, pairs: int) -> None:
        found = judged([1.0] * pairs, [1.5] * pairs)

        assert found.verdict is Verdict.UNDECIDED
        assert found.reasons == (Reason(ReasonKind.TOO_FEW_PAIRS, (pairs, 5)),)
        assert found.ratio == pytest.approx(1.5)
        assert found.interval is None

    def test_the_needed_pairs_follow_from_the_spread(self) -> None:
        found = judged(noisy(1.0, spread=0.04), noisy(1.0, spread=0.04, seed=2))

        assert found.verdict is Verdict.UNDECIDED
        wide, more = with_missing_pairs(found, 10.0).reasons
        assert wide == reason(ReasonKind.WIDE_INTERVAL, found.spread, pytest.approx(1.035, abs=5e-4))
        assert more == reason(ReasonKind.MORE_PAIRS, 48, 480.0, 0.0, pytest.approx(0.036, abs=5e-4))

    def test_pairs_that_take_longer_than_the_machine_time_are_named_with_both(self) -> None:
        found = judged(noisy(1.0, spread=0.04), noisy(1.0, spread=0.04, seed=2))
        _, more = with_missing_pairs(found, 20.0, POLICY).reasons

        assert more.facts[:3] == (48, 960.0, POLICY.machine_time)

    @pytest.mark.parametrize(("taken", "is_named"), [(119.0, False), (121.0, True), (700.0, True)])
    def test_a_benchmarks_own_machine_time_is_named_if_too_short(
        self, taken: float, *, is_named: bool
    ) -> None:
        """48 more pairs of 10 s take 480 s."""
        found = judged(noisy(1.0, spread=0.04), noisy(1.0, spread=0.04, seed=2))
        policy = replace(POLICY, machine_time_of={found.row.benchmark: 600.0})
        reasons = with_missing_pairs(found, 10.0, policy, taken).reasons

        assert (reason(ReasonKind.OWN_TIME, taken, 600.0) in reasons) is is_named

    def test_an_improbable_slow_down_is_named_as_the_end(self) -> None:
        faster = judged(noisy(1.0, spread=0.04), noisy(0.99, spread=0.04, seed=2))
        slower = judged(noisy(1.0, spread=0.04), noisy(1.05, spread=0.04, seed=2))
        kinds = [
            [each.kind for each in with_missing_pairs(one, 1.0, POLICY).reasons] for one in (faster, slower)
        ]

        assert (ReasonKind.HARDLY_SLOWER in kinds[0], ReasonKind.HARDLY_SLOWER in kinds[1]) == (True, False)

    def test_the_missing_pairs_are_the_pairs_it_takes(self) -> None:
        base, patch = noisy(1.0, 400, 0.06), noisy(1.0, 400, 0.06, seed=7)
        found = judged(base[:32], patch[:32])
        asked = 32 + int(found.more_pairs or 0)

        enough = compare_pairs(row(), base, patch, POLICY, 20, schedule=looks(2 * asked))

        assert enough.verdict is Verdict.SAME

    @pytest.mark.parametrize(("level", "verdict"), [(1.0, Verdict.SAME), (1.03, Verdict.SLOWER)])
    def test_enough_pairs_decide_however_far_they_scatter(self, level: float, verdict: Verdict) -> None:
        """The error of later looks shrinks more slowly than the interval of more pairs."""
        base, patch = noisy(1.0, 1000, 0.042), noisy(level, 1000, 0.042, seed=7)

        assert judged(base[:32], patch[:32]).verdict is Verdict.UNDECIDED
        assert compare_pairs(row(), base, patch, POLICY, 20, schedule=looks(1000)).verdict is verdict

    def test_a_hopeless_spread_promises_nothing(self) -> None:
        found = judged(noisy(1.0, spread=3), noisy(1.0, spread=3, seed=2))

        assert with_missing_pairs(found).reasons[-1].kind is ReasonKind.NO_NUMBER_OF_PAIRS

    def test_a_row_that_may_only_become_slower_says_how_long_that_would_take(self) -> None:
        """Measuring drops such a row only for want of time, so it must not be called hopeless."""
        found = judged(noisy(1.0, spread=0.04), noisy(1.0, spread=0.04, seed=2))
        found = found._replace(more_pairs=math.inf, pairs_to_slower=88.0)

        found = with_missing_pairs(found, 10.0, POLICY)
        (more,) = found.reasons[1:]
        assert (more.kind, more.facts[:3]) == (ReasonKind.MORE_PAIRS, (88.0, 880.0, POLICY.machine_time))
        # The command line counts the pairs of many rows, by this number.
        assert found.more_pairs == 88.0

    @pytest.mark.parametrize("spread", [0.04, 0.1, 3.0])
    @pytest.mark.parametrize("level", [1.0, 1.06])
    def test_pairs_of_the_spread_that_would_do_are_decided(self, spread: float, level: float) -> None:
        """The same pairs about their true ratio, as a quieter machine would measure them."""
        found = judged(noisy(1.0, spread=spread), noisy(level, spread=spread, seed=2))
        if found.verdict is not Verdict.UNDECIDED or found.quiet_spread is None or found.spread is None:
            pytest.fail("it is decided already")
        scale = found.quiet_spread / found.spread * 0.9
        base, patch = noisy(1.0, spread=spread * scale), noisy(level, spread=spread * scale, seed=2)

        assert found.quiet_spread < found.spread
        assert judged(base, patch).verdict is (Verdict.SAME if level == 1.0 else Verdict.SLOWER)

    def test_a_benchmark_that_does_not_change_is_decided_in_half_of_the_cases_there(self) -> None:
        """Before, in a third: an estimate that is not exactly no change had to leave one of the margins."""
        found = judged(noisy(1.0, spread=0.1), noisy(1.0, spread=0.1, seed=2))
        assert found.quiet_spread is not None
        there = found.quiet_spread / math.sqrt(2)  # of one side

        again = [
            judged(noisy(1.0, spread=there, seed=s), noisy(1.0, spread=there, seed=s + 1000))
            for s in range(100)
        ]
        assert sum(each.verdict is Verdict.SAME for each in again) >= 50

    def test_a_difference_too_early_to_call_says_how_many_pairs_are_missing(self) -> None:
        found = judged([1.0] * 8, [1.5] * 8)

        assert with_missing_pairs(found).reasons == (
            reason(ReasonKind.WIDE_INTERVAL, 0.0, pytest.approx(1.0)),
            Reason(ReasonKind.MORE_PAIRS, (8,)),
        )


def test_the_interval_beside_same_is_that_of_the_rule_whatever_one_pair_does() -> None:
    """Ten pairs, one of them disturbed: an interval up to +68 % would not be believed beside "same"."""
    patch = [0.991, 0.994, 0.99, 0.995, 0.992, 0.996, 0.99, 1.7, 0.993, 0.995]
    found = compare_pairs(row(), [1.0] * 10, patch, POLICY, 1, (10,))

    assert found.verdict is Verdict.SAME
    assert found.interval is not None
    assert 1 / 1.03 < found.interval[0] < found.interval[1] < 1.03
