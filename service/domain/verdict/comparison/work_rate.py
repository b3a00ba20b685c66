"""Relate times and rates that test the same hypothesis, and find changes of the work per iteration."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.measuring.metric import RATES, own_clock
from service.domain.verdict.inference.estimate import ratio_of
from service.domain.verdict.inference.reasons import Reason, ReasonKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from service.domain.verdict.inference.verdict import ComparedRow, Comparison


_TIMES: Final = frozenset({"cpu_time", "real_time"})
_SAME_WORK: Final = 0.001  # far below any floor, far above rounding errors
_SURELY_SAME: Final = _SAME_WORK / 2  # checked without logarithms, which are slower


def canonical_metrics(benchmark: str, metrics: Sequence[str]) -> Mapping[str, str]:
    """Map each metric to the one that it shares a verdict with, mostly itself.

    Google Benchmark divides items and bytes by the benchmark's own clock. As long as an iteration does
    the same work, the rates are that time's reciprocals: one hypothesis, which counts once.
    """
    alike = [metric for metric in (own_clock(benchmark), *RATES) if metric in metrics]
    return {metric: alike[0] if metric in alike else metric for metric in metrics}


@dataclass(frozen=True, slots=True)
class WorkChange:
    """An iteration of the patch does ``factor`` times the work of the base, as ``rate`` counts it."""

    rate: str
    factor: float

    @property
    def reason(self) -> Reason:
        """Reason for judging a time per unit of work."""
        return Reason(ReasonKind.WORK_CHANGED, (self.rate, self.factor))


def value_per_unit(rate: str, benchmark: str, metric: str, values: Mapping[str, float]) -> float | None:
    """Get the value of a metric; times are divided by the work that ``rate`` counts, unless it is empty.

    Judging the benchmark's own clock like this is judging the rate. None if the launch does not report it.
    """
    value = values.get(metric)
    if value is None or not rate or metric not in _TIMES:
        return value
    per_second, clock = values.get(rate), values.get(own_clock(benchmark))
    if not per_second or not clock:
        return None
    return value / clock / per_second


def work_change(
    benchmark: str,
    pairs: Iterable[tuple[Mapping[str, float], Mapping[str, float]]],
    rates: Sequence[str] = RATES,
) -> WorkChange | None:
    """Compute the change of the work of an iteration; None if it did not change, or no rate shows it.

    Work per iteration is rate times own clock, whatever the library's version divides both by.

    Args:
        benchmark: its name.
        pairs: the values of base and patch by metric, of the first look's pairs only, so that later pairs do
            not change the answer.
        rates: those that may show it; the first that is reported is used.
    """
    complete = list(pairs)
    for rate in rates:
        keys = (rate, own_clock(benchmark))
        logs = [
            _log_product(patch, keys) - _log_product(base, keys)
            for base, patch in complete
            if all(values.get(key, 0.0) > 0 for values in (base, patch) for key in keys)
        ]
        if logs:
            # By absolute values: the choice of the test must not depend on the signs that it counts.
            is_changed = statistics.median(map(abs, logs)) > math.log1p(_SAME_WORK)
            return WorkChange(rate, ratio_of(statistics.median(logs))) if is_changed else None
    return None


def is_same_work(base: float, patch: float) -> bool:
    """Return whether rate × own clock is surely unchanged; else :func:`work_change` decides."""
    return abs(patch - base) < _SURELY_SAME * base


def _log_product(values: Mapping[str, float], keys: Iterable[str]) -> float:
    return sum(math.log(values[key]) for key in keys)


def derive_from(canonical: Comparison, row: ComparedRow, values: Sequence[tuple[float, float]]) -> Comparison:
    """Derive a rate's row from the time row that tests the same hypothesis: its ratio is the reciprocal.

    ``values`` are the rate's own in the pairs behind the verdict; their medians are shown.
    """
    is_alike = row.metric.better is canonical.row.metric.better
    low, high = canonical.interval or (None, None)
    bounds = None if low is None or high is None else (low, high) if is_alike else (1 / high, 1 / low)
    return canonical._replace(
        row=row,
        ratio=canonical.ratio if is_alike or canonical.ratio is None else 1 / canonical.ratio,
        interval=bounds,
        base=statistics.median(base for base, _ in values),
        patch=statistics.median(patch for _, patch in values),
    )
