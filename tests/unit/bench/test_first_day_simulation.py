"""A control on a machine without a history loses hardly a true −1, and stops those that the machine makes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from bench.simulations.first_day import COPIES, HALF, TRUE, Machine, simulate
from bench.simulations.power import ALARMING, by_mode, heavy, normal

if TYPE_CHECKING:
    from bench.simulations.power import Noise

pytestmark = pytest.mark.simulation

FEW = 10  # patch sets of 12 benchmarks


@pytest.mark.parametrize(("own", "noise"), [(0.02, normal(0.005)), (0.05, heavy)], ids=["quiet", "heavy"])
def test_a_machine_that_favours_the_parent_stops_hardly_any_patch_set(own: float, noise: Noise) -> None:
    found = simulate(f"own {own}", Machine(noise, math.log1p(own)), FEW)

    assert found["confirmed"] >= 0.8  # relinks show it, too
    assert found["control"] <= 0.1 * found["confirmed"]


@pytest.mark.parametrize("noise", [normal(0.005), normal(0.02), heavy], ids=["quiet", "usual", "heavy"])
def test_a_true_slow_down_votes_on_the_first_patch_set(noise: Noise) -> None:
    found = simulate("true", Machine(noise), FEW, TRUE)

    assert found["confirmed"] >= 0.9
    assert found["control"] >= 0.9 * found["confirmed"]


@pytest.mark.parametrize("seconds", [math.inf, HALF], ids=["all", "half of the machine time"])
def test_many_slow_benchmarks_vote_no_less(seconds: float) -> None:
    found = simulate("many", Machine(normal(0.02)), FEW, TRUE, are_all=True, seconds=seconds)

    assert found["control"] >= 0.9 * found["confirmed"] > 0.8


@pytest.mark.parametrize("noise", [normal(0.05), by_mode], ids=["loud", "opposed modes"])
def test_noise_alone_stops_no_more_than_relinks_let_through(noise: Noise) -> None:
    """At false alarms of 20 %, so that the programs as built stop some of these few."""
    found = simulate("noise", Machine(noise), FEW, policy=ALARMING)

    assert found["control"] <= found["confirmed"] <= 0.05


def test_copies_that_differ_for_good_are_left_to_relinks() -> None:
    found = simulate("copies", Machine(normal(0.005), copies=COPIES), FEW)

    assert found["as built"] >= 0.8
    assert found["control"] <= found["confirmed"] <= 0.4
