"""Base against patch for one metric: the estimated ratio and how far it can be trusted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import stdtrit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

TRIM: Final = 0.2  # Wilcox's recommended share of each tail: robust, and little is lost on normal data
MIN_PAIRS: Final = 8  # fewer leave no degrees of freedom for a tail of 10⁻⁴
_EXACT_PAIRS: Final = 64  # beyond, the exact distribution costs more than its last digit is worth
_LARGEST_LOG: Final = 700.0  # e⁷⁰⁰ is still a float


@dataclass(frozen=True, slots=True)
class Estimate:
    """The trimmed mean of the pairs' log ratios.

    ``centre`` and ``error`` (its standard error) are on the log scale, ``degrees`` of freedom belong
    to Student's t, ``logs`` are the log ratios themselves, sorted.
    """

    centre: float
    error: float
    degrees: int
    logs: tuple[float, ...]

    @property
    def pairs(self) -> int:
        """The number of pairs behind it."""
        return len(self.logs)

    @property
    def ratio(self) -> float:
        """Patch divided by base."""
        return ratio_of(self.centre)

    def bounds(self, one_sided: float) -> tuple[float, float]:
        """The log ratio's bounds, each exceeded with probability ``one_sided`` when the model holds."""
        if self.error == 0:
            return self.centre, self.centre
        reach = float(-stdtrit(self.degrees, one_sided)) * self.error
        return self.centre - reach, self.centre + reach

    def is_above(self, margin: float, error: float, order_error: float) -> bool:
        """Whether the log ratio exceeds ``margin``.

        Student's t must say so with probability ``error`` of being wrong, and the signed ranks of the
        pairs with ``order_error``. t alone is deceived where values jump between two levels, above all by
        whichever side is launched first; the ranks are not, because the order within a pair is random.
        """
        is_high = self.bounds(error)[0] > margin
        return is_high and _rank_tail([x - margin for x in self.logs]) <= order_error

    def is_below(self, margin: float, error: float, order_error: float) -> bool:
        """Whether the log ratio stays under ``margin``; as :meth:`is_above`."""
        is_low = self.bounds(error)[1] < margin
        return is_low and _rank_tail([margin - x for x in self.logs]) <= order_error


def ratio_of(log: float) -> float:
    """The ratio whose logarithm this is, kept finite and above zero."""
    return math.exp(min(max(log, -_LARGEST_LOG), _LARGEST_LOG))


def least_pairs(error: float) -> int:
    """How many pairs it takes at least until random order alone explains them with that probability."""
    return math.ceil(-math.log2(error))


def estimate(base: Sequence[float], patch: Sequence[float]) -> Estimate:
    """Compare paired positive values, element k of both measured next to each other.

    The 20 % trimmed mean of ``log(patch/base)`` with Yuen's standard error: the standard deviation of
    the winsorised values over (1 − 2·0.2)·√n, with n − 2⌊0.2 n⌋ − 1 degrees of freedom (Yuen, "The
    two-sample trimmed t for unequal population variances", Biometrika 61, 1974; here its one-sample
    form on differences, as in Wilcox, "Introduction to Robust Estimation", §4.3).

    Raises:
        ValueError: fewer than two pairs, unequal lengths, or a value that is not positive and finite.
    """
    if len(base) != len(patch) or len(base) < 2:  # noqa: PLR2004 - a spread needs two
        raise ValueError(f"at least two complete pairs are needed, found {len(base)} and {len(patch)}")
    values = np.asarray([base, patch], dtype=float)
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError("only positive, finite values can be compared as a ratio")
    logs = np.sort(np.log(values[1]) - np.log(values[0]))
    n = len(logs)
    cut = int(TRIM * n)
    centre = float(logs[cut : n - cut].mean())
    winsorised = np.clip(logs, logs[cut], logs[n - cut - 1])
    error = float(winsorised.std(ddof=1)) / ((1 - 2 * TRIM) * math.sqrt(n))
    return Estimate(centre, error, n - 2 * cut - 1, tuple(logs.tolist()))


def _rank_tail(differences: Sequence[float]) -> float:
    """The chance of a signed-rank sum as high as this, or higher, for values symmetric about zero or below.

    Wilcoxon, "Individual comparisons by ranking methods", Biometrics 1, 1945. Ties are ranked to our
    disadvantage and a zero counts as negative, so that the chance is never understated.
    """
    values = np.asarray(differences)
    positive = values > 0
    order = np.lexsort((~positive, np.abs(values)))
    total = int((np.flatnonzero(positive[order]) + 1).sum())
    n = len(values)
    if n <= _EXACT_PAIRS:
        return float(_rank_tails(n)[total])
    # Hoeffding's bound, which a sum of signs keeps exactly.
    excess = total - n * (n + 1) / 4
    return math.exp(-(excess**2) * 12 / (n * (n + 1) * (2 * n + 1))) if excess > 0 else 1.0


@lru_cache(maxsize=_EXACT_PAIRS)
def _rank_tails(n: int) -> NDArray[np.float64]:
    """By rank sum, the chance of that sum or a higher one when each of n signs is a fair coin."""
    chances = np.zeros(n * (n + 1) // 2 + 1)
    chances[0] = 1.0
    for rank in range(1, n + 1):
        shifted = np.zeros_like(chances)
        shifted[rank:] = chances[:-rank]
        chances = (chances + shifted) / 2
    # Summed from the rare end, where small chances would drown in large ones.
    return chances[::-1].cumsum()[::-1]
