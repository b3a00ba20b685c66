"""Slow-downs that vote −1, as a build stores them and as an acceptance remembers them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from service.domain.measuring.metric import Better

if TYPE_CHECKING:
    from service.domain.verdict.inference.verdict import Comparison


@dataclass(frozen=True, slots=True)
class Slowdown:
    """One metric of a benchmark that is worse by so much; each size is a share of the base (0.04: 4 %).

    Args:
        benchmark: its name on the patch's side.
        metric: the metric's name.
        better: the direction in which it improves.
        worsening: the estimate.
        least: the least that the interval leaves open.
        most: the most that it leaves open; infinite without an interval.
        job: the job that measured it; empty: a previous version stored it without, as the suite.
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
        """Describe a comparison of a job that is slower."""
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
        """The job, suite, benchmark and metric; two jobs or suites may have a benchmark of the same name."""
        return self.job, self.suite, self.benchmark, self.metric

    def ratio(self, worsening: float) -> float:
        """Return patch ÷ base if the metric worsens by that share."""
        return 1 + worsening if self.better is Better.LOWER else 1 - worsening
