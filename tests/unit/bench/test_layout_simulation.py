from __future__ import annotations

import random

import pytest
import scipy

from bench.simulations.layout import EFFECTS, FAMILY, POLICY, SPREADS, simulate
from service.domain.measuring.metric import metric_named
from service.domain.verdict.calibration.control import why_withheld
from service.domain.verdict.calibration.evidence import History, voting_status_of
from service.domain.verdict.inference.verdict import ComparedRow, Verdict, compare_pairs

pytestmark = pytest.mark.simulation

TRIALS = 60
ROW = ComparedRow("suite", "BM_a", metric_named("cpu_time"))


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("effect", EFFECTS)
def test_layout_alone_is_stopped_as_seldom_as_promised(effect: float, spread: float) -> None:
    cell = simulate(effect, spread, is_layout=True, trials=TRIALS)

    assert cell.now <= scipy.stats.binom.ppf(0.9999, TRIALS, 1 / 64) / TRIALS


@pytest.mark.parametrize(("effect", "spread"), [(0.05, 0.01), (0.10, 0.05), (0.20, 0.10), (0.30, 0.20)])
def test_a_true_slow_down_is_seldom_lost_once_found(effect: float, spread: float) -> None:
    cell = simulate(effect, spread, is_layout=False, trials=TRIALS)

    assert cell.now >= 0.9 * cell.found
    assert cell.now >= cell.before


@pytest.mark.parametrize("effect", [0.05, 0.10])
def test_links_that_scatter_by_half_of_a_slow_down_seldom_hide_it(effect: float) -> None:
    """The reason why not all links must agree."""
    cell = simulate(effect, 0.01, is_layout=False, trials=TRIALS, scatter=0.5)

    assert cell.now >= 0.8 * cell.found
    assert cell.before <= 0.9 * cell.found


def votes_without_history(effect: float, spread: float, trials: int = 150) -> float:
    noise = random.Random(f"{effect} {spread}")  # noqa: S311 - repeatable on purpose
    status = voting_status_of(History(), POLICY)
    found = 0
    for _ in range(trials):
        ratios = [(1 + effect) * 2.718281828 ** noise.gauss(0, spread) for _ in range(32)]
        row = compare_pairs(ROW, [1.0] * 32, ratios, POLICY, FAMILY)
        found += row.verdict is Verdict.SLOWER and why_withheld(status, row) is None
    return found / trials


@pytest.mark.parametrize("spread", [0.01, 0.05, 0.10, 0.20])
@pytest.mark.parametrize("effect", [0.02, 0.06, 0.10, 0.15, 0.20, 0.25])
def test_a_difference_of_25_percent_by_the_machine_itself_seldom_votes_without_a_history(
    effect: float, spread: float
) -> None:
    assert votes_without_history(effect, spread) <= scipy.stats.binom.ppf(0.9999, 150, 0.025) / 150


@pytest.mark.parametrize(("spread", "share"), [(0.01, 0.99), (0.05, 0.99), (0.10, 0.90)])
def test_a_slow_down_of_50_percent_votes_without_a_history(spread: float, share: float) -> None:
    assert votes_without_history(0.5, spread) >= share
