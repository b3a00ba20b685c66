"""Sum up what a suite costs, and find what is not worth its time."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from service.domain.project.policy import Policy
from service.domain.values.identity import SeriesKey
from service.domain.verdict.calibration.evidence import change_found
from service.domain.verdict.calibration.usefulness import (
    MANY_PAIRS,
    NEWEST,
    Fault,
    MeasuredSeries,
    Order,
    SuiteCost,
    benchmarks_of,
    cost_of,
    ordered,
    suggestions,
)

KEY = SeriesKey("review", "engine", "main", "perf", "engine-perf", "executor", "BM_x", "cpu_time")
QUIET = 0.002


def series(number: int, benchmark: str = "", **more: object) -> MeasuredSeries:
    key = replace(KEY, benchmark=benchmark or f"BM_{number}")
    usual = MeasuredSeries(
        id=number, key=key, policy=Policy(), is_voting=True, builds=NEWEST, undecided=0, differed=0,
        failed=0, identical=0, noise=QUIET, seconds=60.0,
    )  # fmt: skip
    return replace(usual, **more)  # type: ignore[arg-type]


def metric(of: MeasuredSeries, number: int, name: str, **more: object) -> MeasuredSeries:
    return replace(of, id=number, key=replace(of.key, metric=name), **more)  # type: ignore[arg-type]


def faults(*rows: MeasuredSeries) -> dict[Fault, str]:
    """Return the worst benchmark of each fault, beside fifty good ones."""
    good = [series(number) for number in range(100, 150)]
    return {each.fault: each.worst.key.benchmark for each in suggestions(benchmarks_of([*rows, *good]))}


def test_without_benchmarks_there_is_no_cost_and_nothing_to_do() -> None:
    assert cost_of([]) == SuiteCost(0, 0.0)
    assert suggestions([]) == []


def test_the_series_of_a_benchmark_are_one_benchmark() -> None:
    one = series(1, undecided=3, seconds=10.0)
    [found] = benchmarks_of([one, metric(one, 2, "bytes", undecided=5, seconds=30.0)])
    assert (found.seconds, found.undecided, found.builds) == (40.0, 5, NEWEST)
    elsewhere = replace(one, id=3, key=replace(one.key, branch="7.6"))
    assert len(benchmarks_of([one, elsewhere])) == 2


def test_the_few_that_take_much_of_the_time_are_counted() -> None:
    rows = [series(number, seconds=10.0) for number in range(98)]
    rows += [series(98, seconds=600.0, undecided=NEWEST), series(99, seconds=700.0, undecided=NEWEST // 2)]
    cost = cost_of(benchmarks_of(rows))
    assert (cost.benchmarks, cost.seconds, cost.few) == (100, 2280.0, 2)
    assert cost.few_share == pytest.approx(1300 / 2280)
    assert cost.few_undecided == pytest.approx(0.75)


def test_nothing_stands_out_among_equals() -> None:
    assert cost_of(benchmarks_of(series(number) for number in range(100))) == SuiteCost(100, 6000.0)


def test_a_suite_without_timed_launches_costs_nothing_that_is_known() -> None:
    assert cost_of(benchmarks_of([series(1, seconds=0.0)])) == SuiteCost(1, 0.0)


def test_good_benchmarks_are_left_alone() -> None:
    assert faults() == {}


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"failed": NEWEST // 2}, Fault.FAILING),
        ({"failed": 2, "builds": 2}, None),
        ({"failed": 3, "builds": 3}, Fault.FAILING),
        ({"identical": NEWEST}, Fault.UNCHANGED),
        ({"identical": NEWEST - 1}, None),
        ({"identical": 9, "builds": 9}, None),
        ({"undecided": 16}, Fault.UNDECIDED),
        ({"undecided": 15}, None),
        ({"undecided": 9, "builds": 9}, None),
        ({"undecided": 16, "differed": 1}, None),
        ({"noise": 0.02}, Fault.NOISY),
        ({"noise": 0.008}, None),
        ({"noise": None}, None),
        ({"noise": 0.001, "policy": Policy(vote_at=0.01)}, None),
        ({"seconds": 400.0}, Fault.COSTLY),
        ({"seconds": 300.0}, None),
        ({"undecided": NEWEST, "noise": 0.2, "seconds": 9000.0}, Fault.UNDECIDED),
    ],
)
def test_a_benchmark_has_the_first_fault_that_fits(more: dict[str, object], fault: Fault | None) -> None:
    assert faults(series(1, "BM_bad", **more)) == ({fault: "BM_bad"} if fault else {})


def test_a_metric_that_is_decided_keeps_its_benchmark() -> None:
    undecided = series(1, "BM_bad", undecided=NEWEST)
    assert faults(undecided, metric(undecided, 2, "bytes", undecided=0, differed=2)) == {}


def test_few_benchmarks_are_not_called_costly() -> None:
    assert suggestions(benchmarks_of([series(1), series(2), series(3)])) == []


def test_the_costliest_fault_comes_first_with_its_worst_benchmark() -> None:
    rows = [
        series(1, noise=0.02, seconds=50.0),
        series(2, noise=0.09, seconds=20.0),
        series(3, undecided=17, seconds=300.0),
        series(4, undecided=18, seconds=100.0),
    ]
    first, second = suggestions(benchmarks_of(rows))
    assert (first.fault, first.benchmarks, first.seconds, first.of_seconds) == (
        Fault.UNDECIDED,
        2,
        400.0,
        470.0,
    )
    assert (first.worst.id, second.fault, second.worst.id) == (3, Fault.NOISY, 2)


def test_the_pairs_for_the_limit_agree_with_what_is_called_noisy() -> None:
    policy = Policy(vote_at_of={"BM_loose": 0.05})
    reach = (math.log1p(0.02) - math.log1p(policy.floor)) / (
        change_found(1.0, MANY_PAIRS, policy) - math.log1p(policy.floor)
    )
    just, beyond = (series(1, noise=reach * factor, policy=policy) for factor in (0.999, 1.001))
    assert (just.pairs_needed, just.is_noisy, beyond.is_noisy) == (MANY_PAIRS, False, True)
    assert beyond.pairs_needed is not None
    assert beyond.pairs_needed > MANY_PAIRS
    assert not series(2, "BM_loose", noise=reach * 1.001, policy=policy).is_noisy
    assert series(3, noise=0.5).pairs_needed is None


def test_orders_put_what_needs_a_look_on_top() -> None:
    rows = [
        series(1, "BM_c", noise=None, seconds=1.0, undecided=9),
        series(2, "BM_b", noise=0.0, seconds=3.0, builds=3, undecided=3),
        series(3, "BM_a", noise=0.01, seconds=2.0),
    ]
    assert {by: [each.id for each in ordered(rows, by)] for by in Order} == {
        Order.COST: [2, 3, 1],
        Order.NOISE: [3, 2, 1],
        Order.UNDECIDED: [2, 1, 3],
        Order.NAME: [3, 2, 1],
    }
