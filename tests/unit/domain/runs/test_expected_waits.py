"""Estimate how long builds wait for a machine."""

from __future__ import annotations

import pytest

from service.domain.runs.expected_waits import expected_waits

Running = list[tuple[float | None, float]]


def expected_wait(running: Running, ahead: list[float | None], machines: int) -> float | None:
    """The wait of the build after those ahead of it."""
    queued = [(usual, True) for usual in (*ahead, None)]
    return expected_waits(running, queued, {True: machines, False: 0})[-1]


@pytest.mark.parametrize(
    ("running", "ahead", "machines", "seconds"),
    [
        ([(600.0, 120.0)], [], 1, 480.0),
        ([(600.0, 120.0)], [300.0], 1, 780.0),
        ([(600.0, 120.0), (600.0, 500.0)], [300.0], 2, 400.0),
        ([(600.0, 120.0)], [], 2, 0.0),
        ([], [60.0, 90.0], 1, 150.0),
        ([(600.0, 700.0), (600.0, 120.0)], [300.0], 2, 780.0),  # one is late
        ([(None, 1.0), (600.0, 120.0)], [], 2, 480.0),
        ([], [None, 60.0], 2, 60.0),
    ],
)
def test_a_build_waits_for_the_first_free_machine(
    running: Running, ahead: list[float | None], machines: int, seconds: float
) -> None:
    assert expected_wait(running, ahead, machines) == seconds


@pytest.mark.parametrize(
    ("running", "ahead", "machines"),
    [
        ([], [], 0),
        ([(600.0, 600.0)], [], 1),
        ([(None, 1.0)], [], 1),
        ([], [None], 1),
        ([(600.0, 600.0), (600.0, 0.0)], [None], 2),
    ],
)
def test_what_nobody_knows_is_not_estimated(
    running: Running, ahead: list[float | None], machines: int
) -> None:
    assert expected_wait(running, ahead, machines) is None


def test_builds_of_both_classes_wait_for_each_other_on_the_machines_that_take_theirs() -> None:
    queued = [(60.0, True), (30.0, False), (60.0, True), (60.0, False)]
    assert expected_waits([], queued, {True: 1, False: 2}) == [0.0, 0.0, 90.0, 60.0]
    assert expected_waits([], queued, {True: 0, False: 2}) == [None, 0.0, None, 60.0]


def test_a_long_queue_is_gone_through_once() -> None:
    added: list[float] = []

    class Usual(float):
        def __radd__(self, other: float) -> float:
            added.append(other)
            return other + float(self)

    assert len(expected_waits([], [(Usual(60.0), True)] * 50, {True: 2, False: 2})) == 50
    assert len(added) == 100, "one for each build and class"
