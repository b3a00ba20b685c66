"""Repetitions of a launch: many short ones of a benchmark if that is cheap, else a few long ones.

The best of many repetitions of 2 ms spreads by a half to a tenth of what the best of three that take as long
together spreads by: what disturbs a CPU comes in bursts, and between bursts there is room for a short one.
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
    """So many repetitions of at least so many seconds."""

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

    Those whose repetitions take long anyway; all, if setting up takes long; and those of several
    threads, which take turns for milliseconds, so that a short repetition sees one thread alone.

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
