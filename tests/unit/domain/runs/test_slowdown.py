"""Slow-downs that are stored: their bounds are those of the comparison's interval."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from service.domain.measuring.metric import Better, metric_named
from service.domain.runs.slowdown import Slowdown, mappings_of, slowdowns_from
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


SAMPLE = Slowdown("BM_a/64", "cpu_time", Better.LOWER, 0.1 + 0.2, 0.1, 0.5, "perf", "executor")


@pytest.mark.parametrize("slowdown", [SAMPLE, replace(SAMPLE, most=math.inf, better=Better.HIGHER)])
def test_what_is_stored_is_read_as_it_was(slowdown: Slowdown) -> None:
    assert slowdowns_from(mappings_of([slowdown])) == (slowdown,)


def test_a_slow_down_that_a_previous_version_stored_has_no_job() -> None:
    before = {key: value for key, value in SAMPLE.to_mapping().items() if key not in {"job", "suite"}}

    assert slowdowns_from([before]) == (replace(SAMPLE, job="", suite=""),)


def test_what_a_previous_version_did_not_store_stays_unknown() -> None:
    assert (mappings_of(None), slowdowns_from(None)) == (None, None)
