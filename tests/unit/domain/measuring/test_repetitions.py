from __future__ import annotations

import pytest

from service.domain.gbench.reader import read_run
from service.domain.measuring.repetitions import LONG, SHORT, Repetitions, long_ones, repetitions_of
from service.domain.project.benchmark import Suite
from tests.unit.domain.gbench_files import row, whole

SUITE = Suite("s", "build/s")
EXPLICIT = Suite("s", "build/s", repetitions=5)


def rehearsed(name: str, seconds: float, iterations: int = 1) -> frozenset[str]:
    """The rehearsal of one benchmark whose iterations take so many seconds."""
    nanoseconds = seconds * 1e9
    data = whole(
        row(name, real_time=nanoseconds, cpu_time=nanoseconds, iterations=iterations, time_unit="ns")
    )
    return long_ones(read_run(data, source="r"), [name], seconds * iterations + 0.02)


def test_quick_benchmarks_are_repeated_often_and_shortly() -> None:
    assert rehearsed("BM_a", 1e-6, 2000) == frozenset()
    assert repetitions_of(SUITE, is_long=False) == SHORT


@pytest.mark.parametrize(
    ("name", "seconds", "iterations"), [("BM_a", 0.5, 1), ("BM_a", 1e-3, 11), ("BM_a/threads:2", 1e-6, 10)]
)
def test_what_takes_long_anyway_or_contends_gets_few_long_ones(
    name: str, seconds: float, iterations: int
) -> None:
    assert rehearsed(name, seconds, iterations) == {name}
    assert repetitions_of(SUITE, is_long=True) == LONG


def test_where_each_repetition_sets_up_for_long_there_are_few() -> None:
    run = read_run(whole(row("BM_a"), row("BM_b")), source="r")

    assert long_ones(run, ["BM_a", "BM_b"], 0.05) == frozenset()
    assert long_ones(run, ["BM_a", "BM_b"], 0.5) == {"BM_a", "BM_b"}


@pytest.mark.parametrize("is_long", [False, True])
def test_what_a_suite_asks_for_holds_for_all(is_long: bool) -> None:  # noqa: FBT001
    asked = Suite("s", "build/s", repetitions=5, min_time=0.1)

    assert repetitions_of(asked, is_long=is_long) == Repetitions(5, 0.1)
    assert repetitions_of(EXPLICIT, is_long=is_long) == Repetitions(5, LONG.min_time)
