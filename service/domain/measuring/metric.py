"""Define the metrics of a benchmark: unit, better direction and label; find the clock that judges it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


RATES: Final = ("items_per_second", "bytes_per_second")  # the first that is reported defines the work
_NO_UNITS: Final[Mapping[str, str]] = MappingProxyType({})


class Better(StrEnum):
    """Direction in which a metric improves."""

    LOWER = "lower"
    HIGHER = "higher"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric with its unit and better direction.

    ``unit`` is ``s``, ``1/s``, ``B`` or ``B/s``, which are shown with prefixes, any text of the project file,
    or empty for a plain number.
    """

    name: str
    unit: str
    better: Better

    def best(self, values: Iterable[float]) -> float:
        """Choose the best of a launch's repetitions: disturbances only add time or lower a rate."""
        return min(values) if self.better is Better.LOWER else max(values)

    @property
    def is_speed(self) -> bool:
        """Return whether it is a time or a rate; others get worse, not slower."""
        return self.name in _LABELS

    @property
    def label(self) -> str:
        """Name in messages and on pages."""
        return _LABELS.get(self.name, self.name)


_KNOWN = {
    "real_time": ("s", Better.LOWER),
    "cpu_time": ("s", Better.LOWER),
    "items_per_second": ("1/s", Better.HIGHER),
    "bytes_per_second": ("B/s", Better.HIGHER),
    "allocs_per_iter": ("", Better.LOWER),
    "max_bytes_used": ("B", Better.LOWER),
    "total_allocated_bytes": ("B", Better.LOWER),
    "net_heap_growth": ("B", Better.LOWER),
}
_LABELS = {  # exactly the times and rates have one
    "real_time": "real time",
    "cpu_time": "CPU time",
    "items_per_second": "items/s",
    "bytes_per_second": "bytes/s",
}


def metric_named(
    name: str, higher_is_better: Sequence[str] = (), units: Mapping[str, str] = _NO_UNITS
) -> Metric:
    """Make the metric of that name; a user counter improves downwards unless ``higher_is_better`` has it."""
    if name in _KNOWN:
        unit, better = _KNOWN[name]
        return Metric(name, unit, better)
    return Metric(name, units.get(name, ""), Better.HIGHER if name in higher_is_better else Better.LOWER)


def own_clock(benchmark: str) -> str:
    """Find the time that a benchmark is judged by: ``real_time`` if its name has it, else ``cpu_time``.

    Google Benchmark appends ``/real_time`` for ``UseRealTime()`` and ``/manual_time`` for
    ``UseManualTime()``; a benchmark without either reports rates per CPU second.
    """
    parts = benchmark.split("/")
    return "real_time" if "real_time" in parts or "manual_time" in parts else "cpu_time"


def may_join(benchmark: str) -> bool:
    """Return whether real time may be judged too: the benchmark's own clock is CPU time."""
    return own_clock(benchmark) == "cpu_time"


def is_process_clock(benchmark: str) -> bool:
    """Return whether the benchmark measures the CPU time of all its threads (``MeasureProcessCPUTime()``)."""
    return "process_time" in benchmark.split("/")
