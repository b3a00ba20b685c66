from __future__ import annotations

import pytest

from service.domain.measuring.metric import Better, Metric, metric_named, own_clock


@pytest.mark.parametrize(
    ("name", "unit", "better", "label"),
    [
        ("real_time", "s", Better.LOWER, "real time"),
        ("cpu_time", "s", Better.LOWER, "CPU time"),
        ("items_per_second", "1/s", Better.HIGHER, "items/s"),
        ("bytes_per_second", "B/s", Better.HIGHER, "bytes/s"),
        ("max_bytes_used", "B", Better.LOWER, "max_bytes_used"),
        ("PeakBytesPerItem", "", Better.LOWER, "PeakBytesPerItem"),
    ],
)
def test_metrics_know_unit_direction_and_name(name: str, unit: str, better: Better, label: str) -> None:
    found = metric_named(name)

    assert (found.unit, found.better, found.label) == (unit, better, label)


def test_a_counter_has_the_unit_that_the_project_gives_it() -> None:
    units = {"PeakBytesPerItem": "B", "real_time": "ns"}

    assert metric_named("PeakBytesPerItem", (), units).unit == "B"
    assert metric_named("real_time", (), units).unit == "s"


def test_a_counter_improves_upwards_if_the_project_says_so() -> None:
    assert metric_named("HitRate", ["HitRate"]).better is Better.HIGHER


def test_the_project_cannot_turn_time_around() -> None:
    assert metric_named("real_time", ["real_time"]).better is Better.LOWER


def test_the_best_repetition_is_the_least_disturbed_one() -> None:
    assert Metric("t", "s", Better.LOWER).best([3.0, 1.0, 2.0]) == 1.0
    assert Metric("r", "1/s", Better.HIGHER).best([3.0, 1.0, 2.0]) == 3.0


@pytest.mark.parametrize(
    ("benchmark", "clock"),
    [
        ("BM_push/64", "cpu_time"),
        ("BM_push/64/real_time", "real_time"),
        ("BM_push/real_time/threads:4", "real_time"),
        ("BM_push/manual_time", "real_time"),
        ("BM_push/process_time", "cpu_time"),
        ("BM_push/process_time/real_time", "real_time"),
        ("BM_real_time_queue/8", "cpu_time"),
        ("", "cpu_time"),
    ],
)
def test_a_benchmark_is_judged_by_the_clock_it_asks_for(benchmark: str, clock: str) -> None:
    assert own_clock(benchmark) == clock
