"""How fast result files are read: bytes a second, beside the standard library reading the same bytes."""

from __future__ import annotations

import json
import statistics
import sys
from time import perf_counter
from typing import TYPE_CHECKING

from service.domain.gbench import read_run

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 7


def main() -> None:
    """Print the medians and the ratio, the two readers in turn."""
    for rows in (3_000, 30_000, 300_000):
        data = result_file(rows)
        ours: list[float] = []
        plain: list[float] = []
        for _ in range(ROUNDS if rows < 100_000 else 2):
            ours.append(seconds_of(lambda data=data: read_run(data, source="bench")))  # type: ignore[misc]
            plain.append(seconds_of(lambda data=data: json.loads(data)))  # type: ignore[misc]
        ratio = statistics.median(a / b for a, b in zip(ours, plain, strict=True))
        size = len(data) / 1e6
        sys.stdout.write(
            f"{rows:>8} rows, {size:6.1f} MB: {statistics.median(ours):.2f} s, "
            f"{size / statistics.median(ours):.0f} MB/s, {ratio:.1f} times what json.loads takes alone\n"
        )


def result_file(rows: int) -> bytes:
    """A file as Google Benchmark writes it."""
    row = {
        "run_type": "iteration",
        "repetitions": 1,
        "repetition_index": 0,
        "threads": 1,
        "iterations": 46754,
        "real_time": 1.536e3,
        "cpu_time": 1.516e3,
        "time_unit": "ns",
        "items_per_second": 3.37e8,
        "label": "vector",
    }
    named = [{"name": f"BM_{i}/64", "run_name": f"BM_{i}/64", **row} for i in range(rows)]
    return json.dumps({"context": {"library_build_type": "release"}, "benchmarks": named}, indent=2).encode()


def seconds_of(work: Callable[[], object]) -> float:
    """How long it takes."""
    begun = perf_counter()
    work()
    return perf_counter() - begun


if __name__ == "__main__":
    main()
