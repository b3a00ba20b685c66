"""Compute shares with their 95 % intervals: exact for independent trials, resampled for clustered ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from service.domain.verdict.calibration.evidence import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Sequence

_RESAMPLES: Final = 2000


@dataclass(frozen=True, slots=True)
class Share:
    """``hits`` of ``trials``, and the 95 % interval of the population's share."""

    hits: int
    trials: int
    low: float
    high: float

    @staticmethod
    def of(hits: int, trials: int) -> Share:
        """Compute the share of independent trials; one-sided at 95 % if nothing or everything hit."""
        low, high = clopper_pearson(hits, trials, 0.05 if hits in {0, trials} else 0.025)
        return Share(hits, trials, low, high)

    @property
    def value(self) -> float:
        """The share itself."""
        return self.hits / self.trials


def share_by_cluster(counts: Sequence[tuple[int, int]]) -> Share:
    """Compute the share of clustered trials (hits and number of each) by resampling whole clusters.

    If nothing or everything hit, resampling shows no spread; then each cluster counts as one trial.
    """
    table = np.asarray(counts)
    hits, trials = (int(each) for each in table.sum(axis=0))
    if hits in {0, trials}:
        bound = Share.of(len(table) if hits else 0, len(table))
        return Share(hits, trials, bound.low, bound.high)
    rng = np.random.default_rng(1)
    sums = table[rng.integers(len(table), size=(_RESAMPLES, len(table)))].sum(axis=1)
    low, high = np.quantile(sums[:, 0] / sums[:, 1], (0.025, 0.975))
    return Share(hits, trials, float(low), float(high))


def ratio_by_cluster(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float, float]:
    """Compute the ratio of two means over the same clusters, with its resampled 95 % interval."""
    table = np.asarray([ours, theirs]).T
    rng = np.random.default_rng(1)
    sums = table[rng.integers(len(table), size=(_RESAMPLES, len(table)))].sum(axis=1)
    low, high = np.quantile(sums[:, 0] / sums[:, 1], (0.025, 0.975))
    return float(table[:, 0].sum() / table[:, 1].sum()), float(low), float(high)
