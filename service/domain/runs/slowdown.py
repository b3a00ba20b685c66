"""Store the slow-downs that vote −1, for builds and for acceptances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from service.domain.measuring.metric import Better

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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

    def to_mapping(self) -> dict[str, Any]:
        """Convert to plain values for JSON, which has no infinity."""
        return {
            "job": self.job,
            "suite": self.suite,
            "benchmark": self.benchmark,
            "metric": self.metric,
            "better": str(self.better),
            "worsening": self.worsening,
            "least": self.least,
            "most": self.most if math.isfinite(self.most) else None,
        }


def slowdowns_from(found: Iterable[Mapping[str, Any]] | None) -> tuple[Slowdown, ...] | None:
    """Read stored slow-downs; None if an earlier version stored none."""
    if found is None:
        return None
    return tuple(
        Slowdown(
            each["benchmark"],
            each["metric"],
            Better(each["better"]),
            each["worsening"],
            each["least"],
            math.inf if each["most"] is None else each["most"],
            each.get("job", ""),
            each.get("suite", ""),
        )
        for each in found
    )


def mappings_of(slowdowns: Iterable[Slowdown] | None) -> list[dict[str, Any]] | None:
    """Convert slow-downs for JSON; None stays None."""
    return None if slowdowns is None else [each.to_mapping() for each in slowdowns]
