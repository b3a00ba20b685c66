"""Which times a benchmark is judged by: its own clock, and real time where CPU time cannot see all of it."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Final

from service.domain.gbench.reader import is_written_since
from service.domain.inference.metric import own_clock
from service.domain.text import signed_percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REAL_JOINS_ABOVE: Final = 1.2  # real seconds per CPU second: below, rounding and preemption explain them
REAL_JOINS_AFTER: Final = 0.05  # by which that quotient moved between the sides
JOIN_SHARE: Final = 0.25  # of a benchmark's error, on top of it, for real time that may join and seldom does
_TIMES_UNDIVIDED_SINCE: Final = (1, 9, 0)


def may_join(benchmark: str) -> bool:
    """Whether real time may be judged beside the benchmark's own clock: where that is CPU time."""
    return own_clock(benchmark) == "cpu_time"


def real_per_cpu(
    benchmark: str, threads: int, real: float, cpu: float, context: Mapping[str, object]
) -> float:
    """Real seconds of a benchmark's threads for each second of CPU time that its clock counted.

    1.0 where each thread computes all the time. Google Benchmark sums both times over the threads and
    divides them by the iterations of all threads. Before version 1.9.0 it then divides real time by the
    number of threads, and with ``MeasureProcessCPUTime()`` CPU time too; since 1.9.0 neither, so that
    such a benchmark counts the CPU time of the whole process once for each thread.

    Args:
        benchmark: its name; a part ``process_time`` says that CPU time is that of the whole process.
        threads: of the benchmark.
        real: seconds, as reported.
        cpu: likewise; above 0.
        context: of the file; says which version wrote it, from 1.8.4 on.
    """
    is_undivided = is_written_since(context, _TIMES_UNDIVIDED_SINCE)
    is_scaled = is_process_clock(benchmark) or not is_undivided
    return real / cpu * (threads if is_scaled else 1)


def is_process_clock(benchmark: str) -> bool:
    """Whether its CPU time is that of all threads of the process (``MeasureProcessCPUTime()``)."""
    return "process_time" in benchmark.split("/")


def why_real_time_joins(benchmark: str, base: Sequence[float], patch: Sequence[float]) -> str:
    """The sentence that says what CPU time cannot see of the benchmark; empty where it sees enough.

    Args:
        benchmark: whose CPU time is its clock.
        base: :func:`real_per_cpu` of the launches of the first look's pairs, and of no other: so that the
            answer follows from the first pairs and stays what it is.
        patch: likewise.
    """
    if not base or not patch:
        return ""
    before, after = statistics.median(base), statistics.median(patch)
    if max(before, after) > REAL_JOINS_ABOVE:
        return f"real time is {max(before, after):.3g} times the CPU time, {_blind_to(benchmark)}"
    if abs(math.log(after / before)) > math.log1p(REAL_JOINS_AFTER):
        moved = signed_percent(after / before)
        return f"real time moved by {moved} against the CPU time, {_blind_to(benchmark)}"
    return ""


def _blind_to(benchmark: str) -> str:
    if is_process_clock(benchmark):
        return "which sees all threads of the process, but no sleeping and no waiting for locks or I/O"
    return "which sees neither other threads nor sleeping, nor waiting for locks or I/O"
