"""Slow-downs that are stored: their bounds are those of the comparison's interval."""

from __future__ import annotations

import math

from service.domain.measuring.metric import Better, metric_named
from service.domain.runs.slowdown import Slowdown
from service.domain.verdict.inference.verdict import ComparedRow, Comparison, Verdict


def compared(metric: str, ratio: float, interval: tuple[float, float] | None) -> Comparison:
    row = ComparedRow("executor", "BM_a", metric_named(metric))
    return Comparison(row, Verdict.SLOWER, 24, ratio, interval)


class TestBounds:
    def test_a_time_worsens_by_what_it_grows(self) -> None:
        found = Slowdown.of("perf", compared("cpu_time", 1.25, (1.125, 1.5)))

        assert (found.worsening, found.least, found.most) == (0.25, 0.125, 0.5)
        assert (found.better, found.ratio(0.25)) == (Better.LOWER, 1.25)
        assert found.key == ("perf", "executor", "BM_a", "cpu_time")

    def test_a_rate_worsens_by_what_it_shrinks(self) -> None:
        found = Slowdown.of("perf", compared("items_per_second", 0.75, (0.5, 0.875)))

        assert (found.worsening, found.least, found.most) == (0.25, 0.125, 0.5)
        assert (found.better, found.ratio(0.25)) == (Better.HIGHER, 0.75)

    def test_without_an_interval_it_may_be_of_any_size(self) -> None:
        found = Slowdown.of("perf", compared("cpu_time", 1.25, None))

        assert (found.least, found.most) == (0.0, math.inf)
