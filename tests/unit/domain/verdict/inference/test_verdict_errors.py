"""Rates of wrong verdicts, by simulation: the policy's promise holds with several kinds of noise."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
import scipy

from service.domain.measuring.metric import metric_named
from service.domain.project.policy import Policy
from service.domain.verdict.inference.verdict import (
    SAME_ERROR,
    ComparedRow,
    Comparison,
    Verdict,
    compare_pairs,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Logs = NDArray[np.floating]
    Noise = Callable[[np.random.Generator, int], Logs]

pytestmark = pytest.mark.simulation

FEW = 400
SIZES = [600, pytest.param(2_000, marks=pytest.mark.nightly)]
PAIRS = 32
FAMILY = 20
POLICY = Policy()
# A tenth of the promise would take a million benchmarks to see broken; ten times as much is seen in these.
BOLD = Policy(false_alarms=0.1)
ROW = ComparedRow("suite", "BM_a", metric_named("cpu_time"))


def _independent(draw: Noise) -> Noise:
    """Both sides of every pair are drawn alike and independently."""
    return lambda rng, n: draw(rng, n) - draw(rng, n)


def _levels(rng: np.random.Generator, n: int) -> Logs:
    return 0.1 * (rng.random((n, PAIRS)) < 0.5) + rng.normal(0, 0.002, (n, PAIRS))


def _by_order(rng: np.random.Generator, n: int) -> Logs:
    """The side that is launched first is 5 % slower, for all benchmarks of a family at once."""
    first = np.where(rng.random((n // FAMILY, 1, PAIRS)) < 0.5, 0.05, -0.05)
    return (first + rng.normal(0, 0.005, (n // FAMILY, FAMILY, PAIRS))).reshape(n, PAIRS)


def _opposed(rng: np.random.Generator, n: int) -> Logs:
    """One side is always in the slow mode when the other is in the fast one, benchmark by benchmark."""
    return np.where(rng.random((n, PAIRS)) < 0.5, 0.05, -0.05)


def _drifting(rng: np.random.Generator, n: int) -> Logs:
    """The machine slows down by 3 % a launch; the random order decides which side that hits."""
    return np.where(rng.random((n, PAIRS)) < 0.5, 0.03, -0.03) + rng.normal(0, 0.01, (n, PAIRS))


NOISES: dict[str, Noise] = {
    "quiet": _independent(lambda rng, n: rng.normal(0, 0.005, (n, PAIRS))),
    "loud": _independent(lambda rng, n: rng.normal(0, 0.05, (n, PAIRS))),
    "heavy tails": _independent(lambda rng, n: 0.03 * rng.standard_t(3, (n, PAIRS))),
    "two levels": _independent(_levels),
    "two levels, exact": _independent(lambda rng, n: 0.1 * (rng.random((n, PAIRS)) < 0.5)),
    "launch order": _by_order,
    "opposed modes": _opposed,
    "drift": _drifting,
}


@lru_cache
def logs_of(noise: str, benchmarks: int = FEW) -> Logs:
    return NOISES[noise](np.random.default_rng(20260302), benchmarks)


def judged(logs: Logs, policy: Policy = POLICY) -> list[Comparison]:
    return [compare_pairs(ROW, [1.0] * PAIRS, np.exp(row).tolist(), policy, FAMILY) for row in logs]


def families_with(verdict: Verdict, found: list[Comparison]) -> int:
    """Families with that verdict on any benchmark: launch order can deceive many of one at once."""
    return len({i // FAMILY for i, each in enumerate(found) if each.verdict is verdict})


@pytest.mark.parametrize("benchmarks", SIZES)
@pytest.mark.parametrize("noise", NOISES)
def test_unchanged_benchmarks_are_called_slower_as_seldom_as_promised(noise: str, benchmarks: int) -> None:
    found = judged(logs_of(noise, benchmarks), BOLD)

    allowed = scipy.stats.binom.ppf(0.999, benchmarks // FAMILY, BOLD.false_alarms / 2)
    assert families_with(Verdict.SLOWER, found) <= allowed
    assert families_with(Verdict.FASTER, found) <= allowed


@pytest.mark.parametrize("benchmarks", SIZES)
@pytest.mark.parametrize("noise", NOISES)
def test_a_change_of_just_the_floor_is_called_slower_as_seldom(noise: str, benchmarks: int) -> None:
    """The worst case: a change that is exactly as large as the floor."""
    found = judged(logs_of(noise, benchmarks) + math.log1p(BOLD.floor), BOLD)

    allowed = scipy.stats.binom.ppf(0.999, benchmarks // FAMILY, BOLD.false_alarms / 2)
    assert families_with(Verdict.SLOWER, found) <= allowed


@pytest.mark.parametrize("noise", NOISES)
def test_a_change_of_the_whole_margin_is_seldom_called_the_same(noise: str) -> None:
    logs = logs_of(noise) + math.log1p(POLICY.same_within)
    same = sum(each.verdict is Verdict.SAME for each in judged(logs))

    # An effect of being first that is as large as the change hides it if one side is first in most pairs.
    error = 2 * SAME_ERROR if noise == "drift" else SAME_ERROR
    assert same <= scipy.stats.binom.ppf(0.999, len(logs), error)


@pytest.mark.parametrize("effect", [0.0, 0.02, 0.05])
@pytest.mark.parametrize("noise", ["quiet", "loud", "heavy tails", "two levels", "drift"])
def test_the_interval_shown_holds_the_truth_wherever_the_pairs_end(noise: str, effect: float) -> None:
    logs = logs_of(noise) + math.log1p(effect)
    found = judged(logs)
    missed = sum(
        not each.interval[0] <= 1 + effect <= each.interval[1] for each in found if each.interval is not None
    )

    assert missed <= scipy.stats.binom.ppf(0.999, len(found), 0.05)


class TestPower:
    """On the noise of a machine that is left alone: pairs that spread by 0.7 %."""

    @pytest.mark.parametrize(("effect", "share"), [(0.03, 0.99), (0.05, 1.0), (0.10, 1.0)])
    def test_true_changes_are_found(self, effect: float, share: float) -> None:
        found = judged(logs_of("quiet")[:300] + math.log1p(effect))

        assert sum(each.verdict is Verdict.SLOWER for each in found) >= share * len(found)

    def test_unchanged_benchmarks_end_after_few_pairs(self) -> None:
        found = judged(logs_of("quiet")[:300])

        assert all(each.verdict is Verdict.SAME for each in found)
        assert sum(each.pairs for each in found) / len(found) < 5.5
