"""Combine stored ratios with intervals that promise no more than they hold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from statistics import fmean

import pytest

from service.domain.measuring.metric import Better, metric_named
from service.domain.verdict.comparison.combined import goodness, mean_speed, quotient
from service.domain.verdict.inference.estimate import estimate_of, reach_of_error
from service.domain.verdict.inference.verdict import Verdict


@dataclass(frozen=True)
class Row:
    """A stored ratio; the metric's direction is the usual one."""

    benchmark: str
    ratio: float | None
    metric: str = "cpu_time"
    error: float | None = 0.01
    pairs: int = 20
    suite: str = "executor"
    verdict: Verdict = Verdict.UNDECIDED

    @property
    def better(self) -> Better:
        return metric_named(self.metric).better


def test_a_time_that_falls_and_a_rate_that_rises_are_both_faster() -> None:
    found = mean_speed([[Row("BM_time", 0.5), Row("BM_rate", 2.0, "items_per_second")]])
    assert found is not None
    assert found.mean.ratio == pytest.approx(2.0)


def test_the_mean_is_geometric_so_twice_and_half_the_speed_cancel() -> None:
    found = mean_speed([[Row("BM_a", 0.5), Row("BM_b", 2.0)]])
    assert found is not None
    assert found.mean.ratio == pytest.approx(1.0)


def test_a_benchmark_counts_once_by_its_rate_else_by_its_own_clock() -> None:
    rows = [Row("BM_a", 3.0, "real_time"), Row("BM_a", 0.8), Row("BM_a", 1.25, "items_per_second")]
    by_rate, by_clock = mean_speed([rows]), mean_speed([rows[:2]])
    waiting = mean_speed([[Row("BM_a/real_time", 0.9), Row("BM_a/real_time", 0.5, "real_time")]])
    assert by_rate is not None
    assert by_clock is not None
    assert waiting is not None
    assert by_rate.benchmarks == 1
    assert by_rate.mean.ratio == pytest.approx(1.25)
    assert by_clock.mean.ratio == pytest.approx(1.25)
    assert waiting.mean.ratio == pytest.approx(2.0)


def test_bytes_instructions_and_counters_are_no_speed() -> None:
    others = [Row("BM_a", 5.0, metric) for metric in ("instructions", "max_bytes_used", "hits")]
    found = mean_speed([[Row("BM_a", 0.8), *others], [Row("BM_new", None)]])
    assert found is not None
    assert (found.benchmarks, found.others) == (1, 1)
    assert found.mean.ratio == pytest.approx(1.25)
    assert mean_speed([others]) is None


def test_the_same_benchmark_of_two_jobs_counts_for_each() -> None:
    found = mean_speed([[Row("BM_a", 0.8)], [Row("BM_a", 0.8)]])
    assert found is not None
    assert found.benchmarks == 2


def test_many_rows_do_not_narrow_the_interval_because_they_share_the_machine() -> None:
    one, many = (mean_speed([[Row(f"BM_{k}", 1.0) for k in range(n)]]) for n in (1, 100))
    assert one is not None
    assert many is not None
    assert many.mean.high == pytest.approx(one.mean.high)


def test_a_ratio_without_an_error_is_of_too_few_pairs_to_count() -> None:
    found = mean_speed([[Row("BM_a", 0.5), Row("BM_b", 1.7, error=None, pairs=4)]])
    assert found is not None
    assert (found.benchmarks, found.others) == (1, 1)
    assert found.mean.ratio == pytest.approx(2.0)
    assert mean_speed([[Row("BM_a", 1.0, error=None, pairs=4)]]) is None


def test_benchmarks_of_identical_programs_count_as_unchanged() -> None:
    unchanged = [Row(f"BM_{k}", None, verdict=Verdict.SAME, error=None, pairs=0) for k in range(9)]
    found, slower = mean_speed([[Row("BM_a", 1.05), *unchanged]]), mean_speed([[Row("BM_a", 1.05)]])
    assert found is not None
    assert slower is not None
    assert (found.benchmarks, found.others) == (10, 0)
    assert math.log(found.mean.ratio) == pytest.approx(-math.log(1.05) / 10)
    assert math.log(found.mean.high / found.mean.low) * 10 == pytest.approx(
        math.log(slower.mean.high / slower.mean.low)
    )


def test_a_broken_benchmark_has_no_speed_because_failures_chose_its_pairs() -> None:
    broken = Row("BM_b", 0.5, verdict=Verdict.BROKEN)
    found = mean_speed([[Row("BM_a", 1.0), broken]])
    assert found is not None
    assert (found.mean.ratio, found.others) == (1.0, 1)
    assert quotient(broken, Row("BM_b", 1.0)) is None


def test_the_interval_holds_for_rows_whose_noise_is_one_and_the_same() -> None:
    """Of 400 runs in which all rows share their noise, about 5 % of the intervals may miss."""
    random, missed = Random(7), 0  # noqa: S311 - noise of a simulation
    for _ in range(400):
        estimated = estimate_of([random.gauss(0.0, 0.02) for _ in range(20)])
        rows = [Row(f"BM_{k}", estimated.ratio, "items_per_second", estimated.error, 20) for k in range(30)]
        found = mean_speed([rows])
        assert found is not None
        missed += not found.mean.low <= 1 <= found.mean.high
    assert 6 <= missed <= 34  # 20 are expected, with a standard deviation of 4.4


def test_a_quotient_adds_the_noise_of_both_in_quadrature() -> None:
    found = quotient(Row("BM_a", 1.1, error=0.03), Row("BM_a", 1.21, error=0.04))
    assert found is not None
    assert found.ratio == pytest.approx(1.1)
    reach = reach_of_error(0.05, 20)
    assert (math.log(found.high / found.low) / 2) == pytest.approx(reach)
    assert fmean([math.log(found.low), math.log(found.high)]) == pytest.approx(math.log(1.1))


def test_a_quotient_needs_both_ratios_with_their_errors() -> None:
    assert quotient(Row("BM_a", None), Row("BM_a", 1.0)) is None
    assert quotient(Row("BM_a", 1.0, error=None), Row("BM_a", 1.2)) is None


def test_a_quotient_to_an_identical_program_is_the_other_ratio() -> None:
    identical = Row("BM_a", None, verdict=Verdict.SAME, error=None, pairs=0)
    found = quotient(identical, Row("BM_a", 1.2))
    assert found is not None
    assert found.ratio == pytest.approx(1.2)
    assert math.log(found.high / 1.2) == pytest.approx(reach_of_error(0.01, 20))


def test_goodness_is_above_one_where_the_patch_is_better() -> None:
    assert goodness(Better.LOWER, 0.5) == goodness(Better.HIGHER, 2.0) == 2.0
    assert goodness(Better.LOWER, None) is None


def test_the_half_width_of_a_stored_error_is_that_of_the_estimate() -> None:
    estimated = estimate_of([0.01 * (k % 7) for k in range(20)])
    low, high = estimated.bounds(0.025)
    assert reach_of_error(estimated.error, 20) == pytest.approx((high - low) / 2)
    assert reach_of_error(0.0, 0) == 0.0
