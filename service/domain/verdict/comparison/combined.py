"""Combine stored ratios: the mean change in speed of one run, and the quotient of two ratios.

Both intervals cover measuring noise only: other benchmarks, machines and days are not in them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Final, Protocol

from service.domain.measuring.metric import RATES, Better, metric_named, own_clock
from service.domain.verdict.inference.estimate import ratio_of, reach_of_error
from service.domain.verdict.inference.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Measured(Protocol):
    """A comparison of one metric of one benchmark."""

    @property
    def suite(self) -> str:
        """Suite of the benchmark."""

    @property
    def benchmark(self) -> str:
        """Name of the benchmark."""

    @property
    def metric(self) -> str:
        """Name of the metric."""

    @property
    def better(self) -> Better:
        """Direction in which the metric improves."""

    @property
    def verdict(self) -> Verdict:
        """Verdict on the metric."""

    @property
    def pairs(self) -> int:
        """Number of pairs."""

    @property
    def ratio(self) -> float | None:
        """Patch divided by base."""

    @property
    def error(self) -> float | None:
        """Standard error of the ratio's logarithm."""


@dataclass(frozen=True, slots=True)
class Combined:
    """A ratio with its 95 % interval."""

    ratio: float
    low: float
    high: float

    @classmethod
    def of(cls, log: float, reach: float) -> Combined:
        """Make it of a log ratio and the half-width of its interval."""
        return cls(ratio_of(log), ratio_of(log - reach), ratio_of(log + reach))


@dataclass(frozen=True, slots=True)
class MeanSpeed:
    """The geometric mean of the ratios in items/s of ``benchmarks``; above 1 the patch is faster.

    ``others`` are the benchmarks without an estimate of speed.
    """

    mean: Combined
    benchmarks: int
    others: int


_FIRST: Final = {name: place for place, name in enumerate(RATES)}


def goodness(better: Better, ratio: float | None) -> float | None:
    """Return a ratio of values turned round if less is better: above 1 the patch is better."""
    return 1 / ratio if ratio and better is Better.LOWER else ratio


def mean_speed(builds: Iterable[Sequence[Measured]]) -> MeanSpeed | None:
    """Average the speed of all benchmarks of builds on one pool; None without an estimate of speed.

    Each benchmark counts once: by its first rate, or by its own clock. Rows of one run share the order of
    their pairs and the machine, so their errors are not independent. The half-width is the mean of the rows'
    half-widths, because a sum's standard deviation is at most the sum of its parts' (Minkowski).
    """
    estimates: list[tuple[float, float]] = []
    everything = 0
    for rows in builds:
        chosen: dict[tuple[str, str], tuple[float, float]] = {}
        for row in sorted(rows, key=_preference):
            if metric_named(row.metric).is_speed and (found := _log_and_reach(row)):
                faster = -found[0] if row.better is Better.LOWER else found[0]
                chosen.setdefault((row.suite, row.benchmark), (faster, found[1]))
        estimates += chosen.values()
        everything += len({(row.suite, row.benchmark) for row in rows})
    if not estimates:
        return None
    mean = Combined.of(*map(fmean, zip(*estimates, strict=True)))
    return MeanSpeed(mean, len(estimates), everything - len(estimates))


def quotient(base: Measured, patch: Measured) -> Combined | None:
    """Divide two ratios that were measured apart against one parent; None if one has no estimate.

    The half-widths are combined in quadrature on the log scale, as for a difference of independent estimates
    (MOVER: Zou and Donner, "Construction of confidence limits about effect measures", Statistics in Medicine
    27, 2008).
    """
    first, second = _log_and_reach(base), _log_and_reach(patch)
    if first is None or second is None:
        return None
    return Combined.of(second[0] - first[0], math.hypot(first[1], second[1]))


def _log_and_reach(row: Measured) -> tuple[float, float] | None:
    """Return a row's log ratio and the half-width of its interval; None without an estimate.

    An identical program is ``same`` without pairs. Failures choose the pairs of a ``broken`` row.
    """
    if row.verdict is Verdict.SAME and row.ratio is None:
        return 0.0, 0.0
    if row.verdict is Verdict.BROKEN or not row.ratio or row.error is None:
        return None
    return math.log(row.ratio), reach_of_error(row.error, row.pairs)


def _preference(row: Measured) -> tuple[int, bool]:
    return _FIRST.get(row.metric, len(_FIRST)), row.metric != own_clock(row.benchmark)
