"""Estimate how long a build waits for a machine."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def expected_wait(
    running: Sequence[tuple[float | None, float]], ahead: Sequence[float | None], machines: int
) -> float | None:
    """Estimate the seconds until a build begins; None: it cannot be known.

    Each build takes as long as its job usually does, and a machine takes the next one when it is free.

    Args:
        running: of each build that a machine works on, the usual duration and the seconds so far.
        ahead: the usual durations of the builds before it in the queue, in order.
        machines: those that take builds now.
    """
    if not machines:
        return None
    free: list[float] = []
    for usual, so_far in running:
        if usual is None or so_far >= usual:  # it is not usual, so nobody knows when it ends
            return None
        free.append(usual - so_far)
    free += [0.0] * (machines - len(free))
    heapq.heapify(free)
    for usual in ahead:
        if usual is None:
            return None
        heapq.heapreplace(free, free[0] + usual)
    return free[0]
