"""Repeat calls and report their times: median and spread, beside the goal."""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROUNDS: Final = 10
CALLS: Final = 8  # in a round
WARM_UP: Final = 12  # beyond the tenth call the driver and the server no longer plan each query anew


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of each call, in their order; the median should stay below ``goal``."""

    name: str
    seconds: tuple[float, ...]
    goal: float | None = None

    @property
    def median(self) -> float:
        """Median of the seconds."""
        return median(self.seconds)

    def share(self, of_calls: float) -> float:
        """Return the quantile of the seconds for that share of the calls."""
        return quantile(self.seconds, of_calls)

    def line(self) -> str:
        """Format one line for a person."""
        figures = (
            f"{self.median * 1e3:8.1f} ms  p95 {self.share(0.95) * 1e3:7.1f}  "
            f"min {min(self.seconds) * 1e3:7.1f}  n {len(self.seconds):3d}"
        )
        goal = (
            "" if self.goal is None else f"  goal < {self.goal * 1e3:.0f} ms: {met(self.median < self.goal)}"
        )
        return f"  {self.name:<46} {figures}{goal}"


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def met(is_met: bool) -> str:  # noqa: FBT001 - reads as a sentence where it is called
    """Name a goal's state."""
    return "met" if is_met else "MISSED"


@dataclass(frozen=True, slots=True)
class Probe:
    """A call to time: ``call(k)`` is the k-th one."""

    name: str
    call: Callable[[int], object]
    goal: float | None = None


def time_in_rounds(probes: Sequence[Probe]) -> list[Timing]:
    """Time every probe some calls at a time, round after round, after a warm-up.

    So a disturbance of a second hits all of them a little instead of one of them wholly.
    """
    seconds: list[list[float]] = [[] for _ in probes]
    for probe in probes:
        for k in range(WARM_UP):
            probe.call(k)
    for round_ in range(ROUNDS):
        for probe, found in zip(probes, seconds, strict=True):
            for k in range(CALLS):
                begun = time.perf_counter()
                probe.call(round_ * CALLS + k)
                found.append(time.perf_counter() - begun)
    return [
        Timing(probe.name, tuple(found), probe.goal) for probe, found in zip(probes, seconds, strict=True)
    ]


def say(text: str = "") -> None:
    """Print a line of the report."""
    click.echo(text)


def say_load(when: str) -> None:
    """Print how busy the machine is with other work, which a reader of the figures must know."""
    one, five, _ = os.getloadavg()
    say(f"load {when}: {one:.1f} over one minute, {five:.1f} over five, on {os.cpu_count()} CPUs")


CAVEAT: Final = (
    "Absolute times swing by a factor of two or three between minutes on a shared machine:\n"
    "read medians together with their spread, and ratios rather than times."
)
