"""Estimate how long builds wait for a machine."""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def expected_waits(
    running: Sequence[tuple[float | None, float]],
    queued: Iterable[tuple[float | None, bool]],
    machines: Mapping[bool, int],
) -> list[float | None]:
    """Estimate the seconds until each queued build of a pool begins; None: it cannot be known.

    Each build takes as long as its job usually does, and a machine takes the next one when it is free. The
    machine of a build without a usual duration, or beyond it, counts as taken for good: nobody knows when it
    is free, and with other machines the estimate is at most too long.

    Args:
        running: of each build that a machine works on, the usual duration and the seconds so far.
        queued: of each build in the queue, in order, the usual duration, and whether it is exclusive.
        machines: those that take exclusive builds now, and those that take others.
    """
    busy = [math.inf if usual is None or so_far >= usual else usual - so_far for usual, so_far in running]
    free = {
        is_exclusive: [*busy, *[0.0] * (able - len(busy))] for is_exclusive, able in machines.items() if able
    }
    for each in free.values():
        heapq.heapify(each)
    waits: list[float | None] = []
    for usual, is_exclusive in queued:
        wait = free[is_exclusive][0] if is_exclusive in free else math.inf
        waits.append(None if math.isinf(wait) else wait)
        for each in free.values():
            heapq.heapreplace(each, each[0] + (math.inf if usual is None else usual))
    return waits
