"""Rates of wrong answers about accepted levels, by simulation: noise alone does not bring a −1 back."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
import pytest

from service.domain.measuring.metric import metric_named
from service.domain.project.policy import Policy
from service.domain.runs.slowdown import Slowdown
from service.domain.verdict.inference.verdict import ComparedRow, Verdict, compare_pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Noise = Callable[[np.random.Generator], NDArray[np.floating]]

pytestmark = pytest.mark.simulation

SIZES: Final = [400, pytest.param(1_000, marks=pytest.mark.nightly)]
PAIRS: Final = 32
ROW: Final = ComparedRow("suite", "BM_a", metric_named("cpu_time"))
# Of a row, if nothing changed since it was accepted and it is measured anew: two 95 % intervals that do not
# meet, in the wrong order.
WRONG: Final = 0.003
NOISE: Final[dict[str, Noise]] = {
    "quiet": lambda rng: rng.normal(0, 0.005, PAIRS),
    "loud": lambda rng: rng.normal(0, 0.03, PAIRS),
    "heavy tails": lambda rng: 0.01 * rng.standard_t(3, PAIRS),
    "two levels": lambda rng: 0.05 * (rng.integers(0, 2, PAIRS) - rng.integers(0, 2, PAIRS)),
}


@lru_cache
def slowdowns(noise: str, size: float, seed: int, benchmarks: int) -> tuple[Slowdown, ...]:
    """Measure each benchmark, and keep those that are called slower."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(benchmarks):
        patch = np.exp(math.log1p(size) + NOISE[noise](rng))
        judged = compare_pairs(ROW, [1.0] * PAIRS, list(patch), Policy(), 20)
        if judged.verdict is Verdict.SLOWER:
            found.append(Slowdown.of("perf", judged))
    return tuple(found)


@pytest.mark.parametrize("benchmarks", SIZES)
@pytest.mark.parametrize("noise", NOISE)
def test_the_same_slow_down_measured_anew_hardly_ever_exceeds_its_level(noise: str, benchmarks: int) -> None:
    accepted, again = slowdowns(noise, 0.10, 1, benchmarks), slowdowns(noise, 0.10, 2, benchmarks)
    pairs = min(len(accepted), len(again))
    wrong = sum(second.least > first.most for first, second in zip(accepted, again, strict=False))

    assert pairs > benchmarks / 2
    assert wrong <= WRONG * pairs


@pytest.mark.parametrize("benchmarks", SIZES)
@pytest.mark.parametrize("noise", NOISE)
def test_a_slow_down_that_grew_from_ten_to_twenty_five_per_cent_exceeds_its_level(
    noise: str, benchmarks: int
) -> None:
    accepted, again = slowdowns(noise, 0.10, 1, benchmarks), slowdowns(noise, 0.25, 3, benchmarks)
    found = [second.least > first.most for first, second in zip(accepted, again, strict=False)]

    assert len(found) > benchmarks / 2
    assert sum(found) >= 0.9 * len(found)
