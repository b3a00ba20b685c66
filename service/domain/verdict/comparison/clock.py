"""Times by which a benchmark is judged: its own clock, and real time if CPU time does not count all of it."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Final

from service.domain.measuring.clock import is_process_clock
from service.domain.verdict.inference.reasons import Reason, ReasonKind

if TYPE_CHECKING:
    from collections.abc import Sequence

REAL_JOINS_ABOVE: Final = 1.2  # real seconds per CPU second: below, rounding and preemption explain them
REAL_JOINS_AFTER: Final = 0.05  # by which that quotient moved between the sides
JOIN_SHARE: Final = 0.25  # of a benchmark's error, on top of it, for real time that may join and seldom does


def why_real_time_joins(benchmark: str, base: Sequence[float], patch: Sequence[float]) -> Reason | None:
    """The reason why real time joins, which names what CPU time does not count; None if it does not join.

    Args:
        benchmark: whose CPU time is its clock.
        base: :func:`real_per_cpu` of the launches of the first look's pairs, and of no other, so that more
            pairs do not change the answer.
        patch: the same of the patch.
    """
    if not base or not patch:
        return None
    before, after = statistics.median(base), statistics.median(patch)
    is_of_process = int(is_process_clock(benchmark))
    if max(before, after) > REAL_JOINS_ABOVE:
        return Reason(ReasonKind.REAL_TIME_LONGER, (max(before, after), is_of_process))
    if abs(math.log(after / before)) > math.log1p(REAL_JOINS_AFTER):
        return Reason(ReasonKind.REAL_TIME_MOVED, (after / before, is_of_process))
    return None
