"""Store the slow-downs that vote −1, for builds and for acceptances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from service.domain.measuring.metric import Better

if TYPE_CHECKING:
    from service.domain.verdict.inference.verdict import Comparison


@dataclass(frozen=True, slots=True)
class Slowdown:
    """Worsening of one metric of a benchmark; sizes are shares of the base (0.04: 4 %).

    Args:
        benchmark: its name on the patch's side.
        metric: the metric's name.
        better: the direction in which it improves.
        worsening: the estimate.
        least: the lower end of its interval; 0 without one.
        most: the upper end; infinite without an interval.
        job: the job that measured it; empty, like ``suite``, if an earlier version stored it.
        suite: the suite of the benchmark.
    """

    benchmark: str
    metric: str
    better: Better
    worsening: float
    least: float
    most: float
    job: str = ""
    suite: str = ""

    @staticmethod
    def of(job: str, found: Comparison) -> Slowdown:
        """Make a slow-down of a slower comparison of a job."""
        row = found.row
        return Slowdown(
            row.benchmark,
            row.metric.name,
            row.metric.better,
            found.worsening,
            found.surely_worsens_by,
            found.could_worsen_by,
            job,
            row.suite,
        )

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Job, suite, benchmark and metric; jobs and suites may share names of benchmarks."""
        return self.job, self.suite, self.benchmark, self.metric

    def ratio(self, worsening: float) -> float:
        """Convert a worsening to patch ÷ base."""
        return 1 + worsening if self.better is Better.LOWER else 1 - worsening
