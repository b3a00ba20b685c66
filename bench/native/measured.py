"""Collect the results of the launches of one workload: the values of each arm, launch by launch."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Final

from bench.native.table import Change, Unit
from service.domain.measuring.formats.reader import read_run

if TYPE_CHECKING:
    from collections.abc import Mapping

REAL: Final = "real_time"
CPU: Final = "cpu_time"
RATE: Final = "items_per_second"
_GOOGLETEST_LINE: Final = re.compile(
    r"^\[\s*(OK|FAILED|SKIPPED)\s*\] (\S+?)(?:, where .*)? \((\d+) ms\)$", re.MULTILINE
)


class NotMeasured(Exception):
    """A figure that a table needs is missing, or is an error."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One run of a program: values by benchmark and metric, times in seconds, and its own context."""

    values: Mapping[tuple[str, str], float]
    context: Mapping[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class Measured:
    """All launches of a workload so far."""

    cpus: int
    _values: dict[tuple[str, str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    contexts: dict[str, Mapping[str, object]] = field(default_factory=dict)

    def add(self, arm: str, launch: Launch) -> None:
        """Add one launch of the arm."""
        for (benchmark, metric), value in launch.values.items():
            self._values[arm, benchmark, metric].append(value)
        if launch.context:
            self.contexts[arm] = launch.context

    def values(self, arm: str, benchmark: str, metric: str = REAL) -> tuple[float, ...]:
        """Return the launches' values in their order.

        Raises:
            NotMeasured: there is none.
        """
        found = self._values.get((arm, benchmark, metric))
        if not found:
            raise NotMeasured(f"{arm} did not measure {metric} of {benchmark}")
        return tuple(found)

    def median(self, arm: str, benchmark: str, metric: str = REAL) -> float:
        """Return the median over the launches."""
        return median(self.values(arm, benchmark, metric))

    def change(self, before: str, after: str, benchmark: str, unit: Unit, metric: str = REAL) -> Change:
        """Compare the medians of two arms; times, which are in seconds, are converted to ``unit``."""
        first, second = (self.median(arm, benchmark, metric) for arm in (before, after))
        if metric in {REAL, CPU}:
            first, second = unit.of_seconds(first), unit.of_seconds(second)
        return Change(first, second, unit)

    def benchmarks(self, arm: str, pattern: str) -> tuple[str, ...]:
        """Return the names that match the whole pattern, in their order."""
        names = dict.fromkeys(name for (whose, name, _) in self._values if whose == arm)
        return tuple(name for name in names if re.fullmatch(pattern, name))


def read_benchmarks(data: bytes, source: str) -> Launch:
    """Read a launch from the file of ``--benchmark_out``.

    Raises:
        NotMeasured: a row is an error, or there is none.
    """
    run = read_run(data, source=source)
    values: dict[tuple[str, str], float] = {}
    for row in run.rows:
        if row.error is not None:
            raise NotMeasured(f"{source}: {row.name}: {row.error}")
        if row.is_measured:
            values |= {(row.name, metric): value for metric, value in row.values.items()}
    if not values:
        raise NotMeasured(f"{source}: it measured nothing")
    return Launch(values, json.loads(data)["context"])


def read_googletest(text: str, source: str) -> Launch:
    """Read a launch from a GoogleTest program's output: the time of each test, by its whole name.

    Raises:
        NotMeasured: a test did not pass, or there is none.
    """
    values: dict[tuple[str, str], float] = {}
    for state, name, milliseconds in _GOOGLETEST_LINE.findall(text):
        if state != "OK":
            raise NotMeasured(f"{source}: {name} {state.lower()}")
        values[name, REAL] = int(milliseconds) / 1e3
    if not values:
        raise NotMeasured(f"{source}: it ran no test")
    return Launch(values)
