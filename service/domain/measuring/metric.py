"""Metrics of a benchmark: unit, better direction, and its own clock."""

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
    """The direction in which a metric improves."""

    LOWER = "lower"
    HIGHER = "higher"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric with its unit and better direction.

    ``unit``: ``s``, ``1/s``, ``B`` or ``B/s``, which are shown with prefixes, any other text of the project
    file, or empty for a plain number.
    """

    name: str
    unit: str
    better: Better

    def best(self, values: Iterable[float]) -> float:
        """The most robust of a launch's repetitions: disturbance only adds time or lowers a rate."""
        return min(values) if self.better is Better.LOWER else max(values)

    @property
    def is_speed(self) -> bool:
        """Return whether it is a time or a rate. Only these get slower; bytes and counts get worse."""
        return self.name in _LABELS

    @property
    def label(self) -> str:
        """The name in messages and on pages."""
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
_LABELS = {  # of all metrics of speed
    "real_time": "real time",
    "cpu_time": "CPU time",
    "items_per_second": "items/s",
    "bytes_per_second": "bytes/s",
}


def metric_named(
    name: str, higher_is_better: Sequence[str] = (), units: Mapping[str, str] = _NO_UNITS
) -> Metric:
    """The metric of that name.

    A user counter improves downwards unless ``higher_is_better`` names it, and has the unit that ``units``
    gives.
    """
    if name in _KNOWN:
        unit, better = _KNOWN[name]
        return Metric(name, unit, better)
    return Metric(name, units.get(name, ""), Better.HIGHER if name in higher_is_better else Better.LOWER)


def own_clock(benchmark: str) -> str:
    """The time by which a benchmark is judged: ``real_time`` if its name says so, else ``cpu_time``.

    Google Benchmark appends ``/real_time`` for ``UseRealTime()`` and ``/manual_time`` for
    ``UseManualTime()``; a benchmark without either reports rates per CPU second.
    """
    parts = benchmark.split("/")
    return "real_time" if "real_time" in parts or "manual_time" in parts else "cpu_time"
