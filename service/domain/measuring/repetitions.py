"""Repetitions of a launch: many short ones of a benchmark if that is cheap, else a few long ones.

The fastest of many repetitions of 2 ms spreads by a tenth to a half as much as the fastest of three that take
the same time together: disturbances of a CPU come in bursts, and a short repetition fits between two bursts.
``docs/measurements.md`` has the measured spreads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.measuring.launch_order import threads_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from service.domain.gbench.reader import GBenchRun
    from service.domain.project.benchmark import Suite


@dataclass(frozen=True, slots=True)
class Repetitions:
    """The number of repetitions of a benchmark, each of at least ``min_time`` seconds."""

    count: int
    min_time: float


SHORT: Final = Repetitions(20, 0.002)
LONG: Final = Repetitions(3, 0.05)
_CHEAP: Final = 0.01  # seconds of a repetition, up to which twenty cost little more than three long ones
_SETUP: Final = 0.05  # untimed seconds per benchmark, beyond which each repetition sets up for too long


def repetitions_of(suite: Suite, *, is_long: bool) -> Repetitions:
    """The repetitions that the suite asks for, else those that fit the benchmark."""
    fitting = LONG if is_long or suite.repetitions is not None else SHORT
    return Repetitions(suite.repetitions or fitting.count, suite.min_time or fitting.min_time)


def long_ones(run: GBenchRun, asked: Iterable[str], seconds: float) -> frozenset[str]:
    """The benchmarks that get long repetitions, by a rehearsal that repeated each of them once.

    These are the benchmarks whose repetitions take long anyway, and those of several threads: threads take
    turns of milliseconds, so a short repetition may time one of them alone. If setting up takes long, all
    benchmarks get long repetitions.

    Args:
        run: the output of the rehearsal.
        asked: the benchmarks that were to run.
        seconds: how long the rehearsal took.
    """
    names = frozenset(asked)
    taken = {row.name: row.values["real_time"] * row.iterations for row in run.rows if row.is_measured}
    if seconds - sum(taken.values()) > _SETUP * len(names):
        return names
    return frozenset(name for name in names if threads_of(name) > 1 or taken.get(name, 0.0) > _CHEAP)
