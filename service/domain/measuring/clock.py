"""Relate a benchmark's real time to the CPU time that it is judged by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.measuring.formats.reader import is_written_since
from service.domain.measuring.metric import own_clock

if TYPE_CHECKING:
    from collections.abc import Mapping


_TIMES_UNDIVIDED_SINCE: Final = (1, 9, 0)


def may_join(benchmark: str) -> bool:
    """Return whether real time may be judged too: the benchmark's own clock is CPU time."""
    return own_clock(benchmark) == "cpu_time"


def is_process_clock(benchmark: str) -> bool:
    """Return whether the benchmark measures the CPU time of all its threads (``MeasureProcessCPUTime()``)."""
    return "process_time" in benchmark.split("/")


def real_per_cpu(benchmark: str, threads: int, real: float, cpu: float, context: Mapping[str, str]) -> float:
    """Compute the real seconds of a benchmark's threads per second of CPU time that its clock counted.

    1.0 if each thread computes all the time. Google Benchmark sums both times over the threads and
    divides them by the iterations of all threads. Before version 1.9.0 it then divides real time by the
    number of threads, and with ``MeasureProcessCPUTime()`` CPU time too; since 1.9.0 neither, so that
    such a benchmark counts the CPU time of the whole process once for each thread.

    Args:
        benchmark: its name; with a part ``process_time``, CPU time is that of the whole process.
        threads: their number.
        real: seconds, as reported.
        cpu: seconds, as reported; above 0.
        context: of the file; it names the library's version from 1.8.4 on.
    """
    is_undivided = is_written_since(context, _TIMES_UNDIVIDED_SINCE)
    is_scaled = is_process_clock(benchmark) or not is_undivided
    return real / cpu * (threads if is_scaled else 1)
