"""Times by which a benchmark is judged: its own clock, and real time if CPU time does not count all of it."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Final

from service.domain.gbench.reader import is_written_since
from service.domain.inference.metric import own_clock
from service.domain.inference.reasons import Reason, ReasonKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REAL_JOINS_ABOVE: Final = 1.2  # real seconds per CPU second: below, rounding and preemption explain them
REAL_JOINS_AFTER: Final = 0.05  # by which that quotient moved between the sides
JOIN_SHARE: Final = 0.25  # of a benchmark's error, on top of it, for real time that may join and seldom does
_TIMES_UNDIVIDED_SINCE: Final = (1, 9, 0)


def may_join(benchmark: str) -> bool:
    """Return whether real time may also be judged: only if the benchmark's own clock is CPU time."""
    return own_clock(benchmark) == "cpu_time"


def real_per_cpu(benchmark: str, threads: int, real: float, cpu: float, context: Mapping[str, str]) -> float:
    """Real seconds of a benchmark's threads for each second of CPU time that its clock counted.

    1.0 if each thread computes all the time. Google Benchmark sums both times over the threads and
    divides them by the iterations of all threads. Before version 1.9.0 it then divides real time by the
    number of threads, and with ``MeasureProcessCPUTime()`` CPU time too; since 1.9.0 neither, so that
    such a benchmark counts the CPU time of the whole process once for each thread.

    Args:
        benchmark: its name; a part ``process_time`` says that CPU time is that of the whole process.
        threads: of the benchmark.
        real: seconds, as reported.
        cpu: seconds, as reported; above 0.
        context: of the file; says which version wrote it, from 1.8.4 on.
    """
    is_undivided = is_written_since(context, _TIMES_UNDIVIDED_SINCE)
    is_scaled = is_process_clock(benchmark) or not is_undivided
    return real / cpu * (threads if is_scaled else 1)


def is_process_clock(benchmark: str) -> bool:
    """Return whether the benchmark measures the CPU time of all its threads (``MeasureProcessCPUTime()``)."""
    return "process_time" in benchmark.split("/")


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
