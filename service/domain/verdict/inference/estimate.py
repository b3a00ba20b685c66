"""Estimate the ratio of patch to base for one metric, with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import median
from typing import TYPE_CHECKING, Final

from service.domain.values.text import change, interval
from service.domain.verdict.inference.signed_ranks import capped_rank_tail, rank_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

TRIM: Final = 0.2  # Wilcox's recommended share of each tail: robust, and loses little power on normal data
MIN_PAIRS: Final = 5  # in one of 16 sequences of five the same side is always first
TRIMMED_FROM: Final = 8  # pairs; with fewer, trimming leaves hardly any degrees of freedom
MAD_TO_SIGMA: Final = 1.4826  # of the normal distribution
_ONE_SIDED: Final = 0.025
_ROUNDING: Final = 1e-12  # of logarithms: a value on the margin must not count as beyond it
_LARGEST_LOG: Final = 700.0  # e⁷⁰⁰ is still a float


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRatio:
    """A ratio of patch to base with its interval, and both as people read them."""

    ratio: float | None = field(metadata={"description": "patch divided by base"})
    low: float | None = field(metadata={"description": "lower end of the ratio's interval"})
    high: float | None = field(metadata={"description": "upper end of the ratio's interval"})

    @property
    def change_text(self) -> str:
        """Write the ratio as a change, such as ``−12.3 %``, or nothing without one."""
        return "" if self.ratio is None else change(self.ratio)

    @property
    def interval_text(self) -> str:
        """Write the ratio's interval, such as ``[−13.1, −11.4]``, or nothing without one."""
        return "" if self.low is None or self.high is None else interval(self.low, self.high, self.ratio)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Trimmed mean of the pairs' log ratios.

    ``centre`` and ``error``, its standard error, are on the log scale. ``degrees`` are the degrees of freedom
    of Student's t. ``logs`` are the log ratios, sorted.
    """

    centre: float
    error: float
    degrees: int
    logs: tuple[float, ...]

    @property
    def pairs(self) -> int:
        """Number of pairs."""
        return len(self.logs)

    @property
    def ratio(self) -> float:
        """Patch divided by base."""
        return ratio_of(self.centre)

    @property
    def spread(self) -> float:
        """Scatter of single pairs, by :func:`spread_of`."""
        return spread_of(self.logs)

    def bounds(self, one_sided: float, least_error: float = 0.0) -> tuple[float, float]:
        """Compute the interval by Student's t (log scale); each end misses with probability ``one_sided``.

        The standard error is taken to be at least ``least_error``.
        """
        error = max(self.error, least_error)
        if error == 0:
            return self.centre, self.centre
        reach = -_t(self.degrees, one_sided) * error
        return self.centre - reach, self.centre + reach

    def reach_of(self, pairs: int, one_sided: float) -> float:
        """Approximate half-width of :meth:`bounds` for ``pairs`` equally scattered pairs."""
        degrees = pairs - 2 * _cut(pairs) - 1
        return -_t(degrees, one_sided) * self.error_of(pairs)

    def error_of(self, pairs: int) -> float:
        """Approximate standard error for ``pairs`` equally scattered pairs."""
        return self.error * math.sqrt(self.pairs / pairs)

    def is_above(self, margin: float, error: float) -> bool:
        """Return whether the log ratio exceeds ``margin``; wrong with a probability of at most ``error``.

        The probability is exact for any noise, as long as the launch order within each pair is random: the
        signed ranks of the distances from the margin decide, see ``signed_ranks``.
        """
        beyond = margin + _ROUNDING
        return self.centre > beyond and capped_rank_tail([x - beyond for x in self.logs]) <= error

    def is_below(self, margin: float, error: float) -> bool:
        """Return whether the log ratio is below ``margin``, as in :meth:`is_above`."""
        beyond = margin - _ROUNDING
        return self.centre < beyond and capped_rank_tail([beyond - x for x in self.logs]) <= error

    def interval(self, one_sided: float) -> tuple[float, float]:
        """Compute the interval of the log ratio; each end misses with probability ``one_sided`` at most.

        With enough pairs it inverts the signed-rank test, so that it never contradicts :meth:`is_above`; with
        fewer it is that of Student's t.
        """
        return rank_interval(self.logs, one_sided) or self.bounds(one_sided)


def ratio_of(log: float) -> float:
    """Turn a log ratio into a ratio, kept finite and above zero."""
    if -_LARGEST_LOG < log < _LARGEST_LOG:  # fast path
        return math.exp(log)
    return math.exp(min(max(log, -_LARGEST_LOG), _LARGEST_LOG))


def reach_of_error(error: float, pairs: int, one_sided: float = _ONE_SIDED) -> float:
    """Half-width of the interval of a log ratio by Student's t, from its stored standard error.

    Each end misses with probability ``one_sided``; by default, it is the 95 % interval.

    The degrees of freedom are those of :func:`estimate`; with fewer than two pairs there are none, and the
    half-width is infinite unless the error is 0.
    """
    degrees = pairs - 2 * _cut(pairs) - 1
    if error == 0:
        return 0.0
    return -_t(degrees, one_sided) * error if degrees > 0 else math.inf


def spread_of(logs: Sequence[float]) -> float:
    """Estimate the standard deviation by 1.4826 · MAD (median absolute deviation)."""
    middle = median(logs)
    return MAD_TO_SIGMA * median(abs(log - middle) for log in logs)


def estimate(base: Sequence[float], patch: Sequence[float]) -> Estimate:
    """Estimate the ratio of positive values; element k of both sides belongs to pair k.

    The 20 % trimmed mean of ``log(patch/base)`` with Yuen's standard error: the standard deviation of
    the winsorised values over (1 − 2·0.2)·√n, with n − 2⌊0.2 n⌋ − 1 degrees of freedom (Yuen, "The
    two-sample trimmed t for unequal population variances", Biometrika 61, 1974; here its one-sample
    form on differences, as in Wilcox, "Introduction to Robust Estimation", §4.3). Fewer than eight pairs are
    not trimmed: the mean with its standard error.

    Raises:
        ValueError: fewer than two pairs, unequal lengths, or a value that is not positive and finite.
    """
    if len(base) != len(patch) or len(base) < 2:  # noqa: PLR2004 - a spread needs two
        raise ValueError(f"at least two complete pairs are needed, not {len(base)} and {len(patch)}")
    return estimate_of(log_ratios(base, patch))


def log_ratios(base: Sequence[float], patch: Sequence[float]) -> list[float]:
    """Compute the log of patch ÷ base for each pair.

    Raises:
        ValueError: unequal lengths, or a value that is not positive and finite.
    """
    if not all(0 < value < math.inf for side in (base, patch) for value in side):
        raise ValueError("only positive, finite values can be compared as a ratio")
    return [math.log(p) - math.log(b) for b, p in zip(base, patch, strict=True)]


def estimate_of(log_ratios: Sequence[float]) -> Estimate:
    """Estimate as :func:`estimate` does, from at least two log ratios."""
    logs = sorted(log_ratios)
    n = len(logs)
    cut = _cut(n)
    inner = logs[cut : n - cut]
    winsorised = [inner[0]] * cut + inner + [inner[-1]] * cut
    mean = sum(winsorised) / n
    spread = math.sqrt(sum((x - mean) ** 2 for x in winsorised) / (n - 1))
    share = 1 - 2 * TRIM if cut else 1.0
    return Estimate(sum(inner) / len(inner), spread / (share * math.sqrt(n)), n - 2 * cut - 1, tuple(logs))


def _cut(pairs: int) -> int:
    """Count the values to trim at each end."""
    return int(TRIM * pairs) if pairs >= TRIMMED_FROM else 0


@lru_cache(maxsize=1024)
def _t(degrees: int, probability: float) -> float:
    from scipy.special import stdtrit  # noqa: PLC0415 - takes longer than reading two small files

    return float(stdtrit(degrees, probability))
