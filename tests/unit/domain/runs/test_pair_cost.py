"""Compute the seconds that a pair costs, by suite and benchmark."""

from __future__ import annotations

import math

import pytest

from service.domain.measuring.launch import Launch
from service.domain.measuring.listing import Listing
from service.domain.project.benchmark import Format, Suite
from service.domain.runs.pair_cost import RelinkCost, cost_of_a_pair
from service.domain.values.identity import Side

SUITES = (Suite("bench", "build/bench"),)
A, B = ("bench", "BM_a"), ("bench", "BM_b")


def launch(side: Side, seconds: float, pair: int = 0, **timed: float) -> Launch:
    values = {name: {"cpu_time": 1e-6} for name in timed}
    return Launch(pair, side, "bench", values, {}, seconds=seconds, timed=timed)


def listing(set_up: float = 0.0) -> tuple[Listing, ...]:
    names = ("BM_a", "BM_b")
    return (Listing("bench", names, names, set_up=set_up),)


def test_the_set_up_of_a_program_is_the_cost_of_its_suite() -> None:
    """A benchmark that is left alone takes nearly as long as eight, if their program loads data for long."""
    pair = [launch(side, 24.0, BM_a=0.5, BM_b=1.5) for side in Side]
    cost = cost_of_a_pair(SUITES, listing(set_up=20.0), pair)

    assert cost.fixed == {"bench": 40.0}
    assert cost.own == {A: 3.0, B: 5.0}
    assert cost.alone(A) == 43.0


def test_a_benchmark_costs_its_timed_seconds_and_an_equal_part_of_the_rest() -> None:
    """Before, each of a suite cost the same: a quick one beside a slow one was dropped as too dear."""
    cost = cost_of_a_pair(SUITES, listing(), [launch(side, 10.0, BM_a=0.1, BM_b=9.7) for side in Side])

    assert cost.own == {A: pytest.approx(0.4), B: pytest.approx(19.6)}


@pytest.mark.parametrize("reported", [30.0, math.inf])
def test_parts_are_never_more_than_their_launch(reported: float) -> None:
    """A program reports its own times, and may report longer ones."""
    cost = cost_of_a_pair(
        SUITES, listing(set_up=5.0), [launch(side, 1.0, BM_a=reported, BM_b=0.25) for side in Side]
    )

    assert (cost.fixed, cost.own) == ({"bench": 0.0}, {A: 1.6, B: 0.4})


@pytest.mark.parametrize(("is_charged", "expected"), [(False, 4.0), (True, 2.0)])
def test_extra_time_of_the_patch_is_not_charged(*, is_charged: bool, expected: float) -> None:
    pair = [launch(Side.BASE, 1.0, BM_a=1.0), launch(Side.PATCH, 3.0, BM_a=3.0)]

    assert cost_of_a_pair(SUITES, listing(), pair, is_charged=is_charged).alone(A) == expected


def test_the_last_pair_counts() -> None:
    launches = [launch(side, 4.0 - 3 * pair, pair, BM_a=0.5) for pair in (0, 1) for side in Side]

    assert cost_of_a_pair(SUITES, listing(), launches).alone(A) == 2.0


@pytest.mark.parametrize("library", [Format.NANOBENCH, Format.CATCH2])
def test_a_program_that_cannot_choose_costs_each_of_its_benchmarks_all_of_a_launch(library: Format) -> None:
    """Before, the reason of a quick one beside a slow one named a fiftieth of the time that it takes."""
    suites = (Suite("bench", "build/bench", format=library),)
    pair = [launch(side, 10.0, BM_a=0.1, BM_b=9.7) for side in Side]
    cost = cost_of_a_pair(suites, listing(), pair)

    assert (cost.alone(A), cost.alone(B), cost.whole) == (20.0, 20.0, 20.0)


class TestTaken:
    """The seconds of all pairs so far, which are held against a machine time of a benchmark's own."""

    def test_a_benchmark_takes_its_own_seconds_and_the_set_up_of_its_program(self) -> None:
        launches = [launch(side, 12.0, pair, BM_a=0.5, BM_b=1.5) for pair in range(3) for side in Side]
        cost = cost_of_a_pair(SUITES, listing(set_up=10.0), launches)

        assert cost.taken == {A: 3 * cost.alone(A), B: 3 * cost.alone(B)}
        assert cost.taken[A] == 63.0

    def test_pairs_without_it_take_nothing_of_it(self) -> None:
        launches = [launch(side, 1.0, BM_a=0.5, BM_b=0.5) for side in Side]
        launches += [launch(side, 1.0, 1, BM_b=1.0) for side in Side]

        assert cost_of_a_pair(SUITES, listing(), launches).taken == {A: 1.0, B: 3.0}

    @pytest.mark.parametrize(
        ("patch", "expected"),
        [
            pytest.param((9.0, 9.0), 4.0, id="slower"),
            pytest.param((3.0, 1.0), 4.0, id="slower once"),
            pytest.param((0.5, 0.5), 3.0, id="faster"),
        ],
    )
    def test_extra_time_of_the_patch_is_not_taken(self, patch: tuple[float, ...], expected: float) -> None:
        """So a patch that is slow is measured as often as one that changes nothing."""
        launches = [launch(Side.BASE, 1.0, pair, BM_a=1.0) for pair in (0, 1)]
        launches += [launch(Side.PATCH, seconds, pair, BM_a=seconds) for pair, seconds in enumerate(patch)]

        assert cost_of_a_pair(SUITES, listing(), launches, is_charged=True).taken == {A: expected}


@pytest.mark.parametrize(
    ("place", "look", "seconds"),
    [(0, 7, 7 * 3 + 100), (1, 7, 6 * 3), (6, 7, 3), (7, 12, 5 * 3 + 100), (0, 12, 12 * 3 + 200), (3, 3, 0)],
)
def test_relinks_are_built_in_two_batches_before_the_first_of_each_is_measured(
    place: int, look: int, seconds: float
) -> None:
    assert RelinkCost(each=3.0, building=100.0).seconds(place, look) == seconds
