"""Find what benchmarks show, and what keeps them from it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from service.domain.project.policy import Policy
from service.domain.values.identity import SeriesKey
from service.domain.verdict.calibration.evidence import change_found
from service.domain.verdict.calibration.usefulness import (
    LEAST_CHANGES,
    MANY_PAIRS,
    NEWEST,
    Fault,
    MeasuredSeries,
    Order,
    faults_of,
    noise_of,
    ordered,
    suggestions,
    suites_of,
)
from service.domain.verdict.inference.verdict import least_budget

if TYPE_CHECKING:
    from collections.abc import Mapping

KEY = SeriesKey("review", "engine", "main", "perf", "engine-perf", "executor", "BM_x", "cpu_time")
QUIET, LOUD = 0.002, 0.04
SHORT: Mapping[str, Any] = {"undecided": 16, "undecided_pairs": (20,) * 16, "more_pairs": (40.0,) * 16}


def series(number: int, benchmark: str = "", **more: Any) -> MeasuredSeries:  # noqa: ANN401 - any fields
    key = replace(KEY, benchmark=benchmark or f"BM_{number}")
    usual = MeasuredSeries(
        id=number, key=key, policy=Policy(), is_voting=True, family=10, builds=NEWEST, undecided=0,
        differed=0, failed=0, identical=0, noise=QUIET,
    )  # fmt: skip
    return replace(usual, **more)


def metric(of: MeasuredSeries, number: int, name: str, **more: Any) -> MeasuredSeries:  # noqa: ANN401 - any fields
    return replace(of, id=number, key=replace(of.key, metric=name), **more)


def in_suite(of: MeasuredSeries, number: int, suite: str, **more: Any) -> MeasuredSeries:  # noqa: ANN401 - any fields
    return replace(of, id=number, key=replace(of.key, suite=suite), **more)


def test_without_benchmarks_there_is_nothing_to_do() -> None:
    assert faults_of([]) == {}
    assert suggestions([], {}) == []


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({}, None),
        ({"failed": NEWEST // 2}, Fault.FAILING),
        ({"failed": NEWEST // 2 - 1}, None),
        ({"failed": LEAST_CHANGES - 1, "builds": LEAST_CHANGES - 1}, None),
        ({"failed": LEAST_CHANGES, "builds": LEAST_CHANGES}, Fault.FAILING),
        (SHORT, Fault.UNDECIDED),
        ({**SHORT, "undecided": 15}, None),
        ({**SHORT, "more_pairs": (40.0,) * 15}, None),
        ({**SHORT, "undecided_pairs": (32,) * 16}, None),
        ({**SHORT, "builds": 9, "undecided": 9}, None),
        ({**SHORT, "noise": LOUD}, Fault.UNDECIDED),
        ({"noise": LOUD, "undecided": NEWEST // 2}, Fault.NOISY),
        ({"noise": LOUD, "undecided": NEWEST // 2 - 1}, None),
        ({"noise": LOUD}, None),
        ({"noise": 0.008, "undecided": NEWEST}, None),
        ({"noise": None, "undecided": NEWEST}, None),
        ({"noise": LOUD, "undecided": NEWEST, "policy": Policy(vote_at=0.01)}, None),
    ],
)
def test_a_benchmark_has_the_first_fault_that_fits(more: Mapping[str, Any], fault: Fault | None) -> None:
    assert faults_of([series(1, **more), series(2)]) == ({1: fault} if fault else {})


def test_a_series_that_is_decided_keeps_its_benchmark_without_a_fault() -> None:
    faulty: tuple[Mapping[str, Any], ...] = (SHORT, {"noise": LOUD, "undecided": NEWEST})
    for more in faulty:
        undecided = series(1, **more)
        assert faults_of([undecided]).keys() == {1}
        assert faults_of([undecided, metric(undecided, 2, "bytes", undecided=0, noise=QUIET)]) == {}
        assert faults_of([undecided, metric(undecided, 2, "bytes")]).keys() == {1, 2}


def test_paths_are_too_wide_only_if_every_suite_of_the_job_was_the_same_in_all_builds() -> None:
    same = series(1, identical=NEWEST)
    young = in_suite(same, 2, "young", builds=3, identical=3)
    assert faults_of([same, young]) == {1: Fault.UNCHANGED}
    assert faults_of([same, in_suite(same, 2, "other", identical=NEWEST - 1)]) == {}
    assert faults_of([series(1, builds=9, identical=9)]) == {}
    elsewhere = replace(series(3), key=replace(KEY, branch="7.6"))
    assert faults_of([same, elsewhere]) == {1: Fault.UNCHANGED}


def test_each_fault_is_suggested_once_with_its_worst_benchmark() -> None:
    rows = [
        series(1, noise=LOUD, undecided=NEWEST),
        series(2, noise=2 * LOUD, undecided=NEWEST // 2),
        series(3, **SHORT),
        metric(series(3, **SHORT), 4, "bytes", undecided=18),
        series(5),
    ]
    faults = faults_of(rows)
    found = [(each.fault, each.benchmarks, each.worst.id) for each in suggestions(rows, faults)]
    assert found == [(Fault.UNDECIDED, 1, 4), (Fault.NOISY, 2, 2)]
    assert [each.benchmarks for each in suggestions(rows[:1], faults)] == [1]


def test_a_benchmark_finds_what_its_pairs_find_while_it_is_undecided() -> None:
    usual, long = series(1), series(2, undecided_pairs=(200, 14, 100))
    assert usual.finds_from == pytest.approx(math.expm1(change_found(QUIET, 32, Policy())))
    assert long.finds_from == pytest.approx(math.expm1(change_found(QUIET, 100, Policy())))
    assert series(3, noise=None).finds_from is None


def test_pairs_that_the_policy_cannot_prove_anything_with_find_nothing() -> None:
    least = least_budget(Policy(), 500)
    known = series(1, noise=0.0001, family=500)
    assert known.pairs_needed == least > 14
    assert replace(known, undecided_pairs=(least - 1,)).finds_from is None
    assert replace(known, undecided_pairs=(least,)).finds_from is not None


def test_the_time_of_a_suite_counts_once() -> None:
    quick, slow = series(1, suite_seconds=60.0), in_suite(series(2), 2, "waking", suite_seconds=90.0)
    rows = [quick, metric(quick, 3, "bytes"), slow]
    assert [(each.key.suite, each.suite_seconds) for each in suites_of(rows)] == [
        ("waking", 90.0),
        ("executor", 60.0),
    ]


def test_noise_is_the_median_of_builds_and_few_pairs_have_none() -> None:
    assert noise_of([(4, 9.0), (5, None)]) is None
    assert noise_of([(4, 9.0), (5, 0.04 / math.sqrt(5))]) == pytest.approx(0.04)
    assert noise_of([(16, 0.0107), (25, 0.0107), (16, 0.0107)]) == pytest.approx(0.04)


def test_the_pairs_for_the_limit_agree_with_what_is_called_noisy() -> None:
    policy = Policy(vote_at_of={"BM_loose": 0.05})
    reach = (math.log1p(0.02) - math.log1p(policy.floor)) / (
        change_found(1.0, MANY_PAIRS, policy) - math.log1p(policy.floor)
    )
    more: dict[str, Any] = {"policy": policy, "undecided": NEWEST}
    just, beyond = (series(1, noise=reach * factor, **more) for factor in (0.999, 1.001))
    assert (just.pairs_needed, just.is_noisy, beyond.is_noisy) == (MANY_PAIRS, False, True)
    assert beyond.pairs_needed is not None
    assert beyond.pairs_needed > MANY_PAIRS
    assert not series(2, "BM_loose", noise=reach * 1.001, **more).is_noisy
    assert series(3, noise=0.5).pairs_needed is None


def test_orders_put_what_needs_a_look_on_top() -> None:
    rows = [
        series(1, "BM_c", noise=None, undecided=9),
        series(2, "BM_b", noise=0.0, builds=3, undecided=3),
        series(3, "BM_a", noise=0.01),
    ]
    assert {by: [each.id for each in ordered(rows, by)] for by in Order} == {
        Order.UNDECIDED: [2, 1, 3],
        Order.NOISE: [3, 2, 1],
        Order.NAME: [3, 2, 1],
    }
