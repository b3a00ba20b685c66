"""Compare the spread of pairs under a treatment with that of the usual launches, with an interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DRAWS: Final = 2000
_TAIL: Final = 2.5  # percent beyond each end of the interval


@dataclass(frozen=True, slots=True)
class Ratio:
    """A spread divided by the usual one, and its 95 % interval; below 1 is less noise."""

    value: float
    low: float
    high: float

    @property
    def text(self) -> str:
        """The ratio for a table, bold if the interval excludes 1."""
        shown = f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"
        return f"**{shown}**" if not self.low <= 1.0 <= self.high else shown


def spread(logs: NDArray[np.float64]) -> float:
    """Compute 1.4826 MAD of log ratios around 0, their known centre: both sides are the same program."""
    return float(1.4826 * np.median(np.abs(logs)))


def ratio_of(treated: NDArray[np.float64], usual: NDArray[np.float64], rng: np.random.Generator) -> Ratio:
    """Compare the spreads of pairs that were launched in the same rounds.

    Args:
        treated: log ratios under the treatment: a row for each benchmark, a column for each round.
        usual: those of the usual launches, of the same shape.
        rng: draws rounds with replacement, the same for both and for all benchmarks (bootstrap).

    The value is the geometric mean over the benchmarks.
    """
    rounds = treated.shape[1]
    drawn = rng.integers(0, rounds, (_DRAWS, rounds))
    draws = [_mean_ratio(treated, usual, chosen) for chosen in drawn]
    low, high = np.percentile(draws, (_TAIL, 100 - _TAIL))
    return Ratio(_mean_ratio(treated, usual, np.arange(rounds)), float(low), float(high))


def _mean_ratio(treated: NDArray[np.float64], usual: NDArray[np.float64], chosen: NDArray[np.int64]) -> float:
    ours = np.median(np.abs(treated[:, chosen]), axis=1)
    theirs = np.median(np.abs(usual[:, chosen]), axis=1)
    return float(np.exp(np.mean(np.log(ours / theirs))))
