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
    """A ratio with its 95 % interval; the ends are None if a part has no standard error."""

    ratio: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, log: float, reach: float | None) -> Combined:
        """Make it of a log ratio and the half-width of its interval."""
        if reach is None or not math.isfinite(reach):
            return cls(ratio_of(log), None, None)
        return cls(ratio_of(log), ratio_of(log - reach), ratio_of(log + reach))


@dataclass(frozen=True, slots=True)
class MeanSpeed:
    """The geometric mean of the ratios in items/s of ``benchmarks``; above 1 the patch is faster.

    ``others`` are the benchmarks without a ratio of speed.
    """

    mean: Combined
    benchmarks: int
    others: int


_FIRST: Final = {name: place for place, name in enumerate(RATES)}


def goodness(better: Better, ratio: float | None) -> float | None:
    """Return a ratio of values turned round if less is better: above 1 the patch is better."""
    return 1 / ratio if ratio and better is Better.LOWER else ratio


def mean_speed(builds: Iterable[Sequence[Measured]]) -> MeanSpeed | None:
    """Average the speed of all benchmarks of builds on one pool; None without a ratio of speed.

    Each benchmark counts once: by its first rate, or by its own clock. Rows of one run share the order of
    their pairs and the machine, so their errors are not independent. The half-width is the mean of the rows'
    half-widths, because a sum's standard deviation is at most the sum of its parts' (Minkowski).
    """
    logs: list[float] = []
    reaches: list[float | None] = []
    everything = 0
    for rows in builds:
        chosen: dict[tuple[str, str], Measured] = {}
        for row in sorted(rows, key=_preference):
            if metric_named(row.metric).is_speed and row.ratio:
                chosen.setdefault((row.suite, row.benchmark), row)
        everything += len({(row.suite, row.benchmark) for row in rows})
        logs += [math.log(each) for row in chosen.values() if (each := goodness(row.better, row.ratio))]
        reaches += map(_reach, chosen.values())
    if not logs:
        return None
    known = [each for each in reaches if each is not None]
    reach = fmean(known) if len(known) == len(reaches) else None
    return MeanSpeed(Combined.of(fmean(logs), reach), len(logs), everything - len(logs))


def quotient(base: Measured, patch: Measured) -> Combined | None:
    """Divide two ratios that were measured apart against one parent; None if one is missing.

    The half-widths are combined in quadrature on the log scale, as for a difference of independent estimates
    (MOVER: Zou and Donner, "Construction of confidence limits about effect measures", Statistics in Medicine
    27, 2008).
    """
    if not base.ratio or not patch.ratio:
        return None
    reaches = _reach(base), _reach(patch)
    known = [each for each in reaches if each is not None]
    reach = math.hypot(*known) if len(known) == len(reaches) else None
    return Combined.of(math.log(patch.ratio) - math.log(base.ratio), reach)


def _reach(row: Measured) -> float | None:
    return None if row.error is None else reach_of_error(row.error, row.pairs)


def _preference(row: Measured) -> tuple[int, bool]:
    return _FIRST.get(row.metric, len(_FIRST)), row.metric != own_clock(row.benchmark)
