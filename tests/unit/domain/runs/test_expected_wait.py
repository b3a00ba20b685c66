"""Estimate how long a build waits for a machine."""

from __future__ import annotations

import pytest

from service.domain.runs.expected_wait import expected_wait


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
    running: list[tuple[float | None, float]], ahead: list[float | None], machines: int, seconds: float
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
    running: list[tuple[float | None, float]], ahead: list[float | None], machines: int
) -> None:
    assert expected_wait(running, ahead, machines) is None
