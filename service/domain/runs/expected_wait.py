"""Estimate how long a build waits for a machine."""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def expected_wait(
    running: Sequence[tuple[float | None, float]], ahead: Sequence[float | None], machines: int
) -> float | None:
    """Estimate the seconds until a build begins; None: it cannot be known.

    Each build takes as long as its job usually does, and a machine takes the next one when it is free. The
    machine of a build without a usual duration, or beyond it, counts as taken for good: nobody knows when it
    is free, and with other machines the estimate is at most too long.

    Args:
        running: of each build that a machine works on, the usual duration and the seconds so far.
        ahead: the usual durations of the builds before it in the queue, in order.
        machines: those that take builds now.
    """
    if not machines:
        return None
    free = [math.inf if usual is None or so_far >= usual else usual - so_far for usual, so_far in running]
    free += [0.0] * (machines - len(free))
    heapq.heapify(free)
    for usual in ahead:
        heapq.heapreplace(free, free[0] + (math.inf if usual is None else usual))
    return None if math.isinf(free[0]) else free[0]
