"""How fast result files are read and compared, beside the standard library reading the same bytes."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from bench.timing import met
from service.domain.gbench.reader import read_run

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 7
GOAL = 1.5  # seconds for two files of 10 MB, from the start of the program to its end


def main() -> None:
    """Print the medians and the ratio, the two readers in turn; then of comparing two files."""
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

    compare_two(300, repetitions=90)
    compare_two(27_000, repetitions=1)


def compare_two(benchmarks: int, repetitions: int) -> None:
    """Run ``benchgate compare`` on two files, and Python only reading them, in turn."""
    with tempfile.TemporaryDirectory() as place:
        files = [Path(place) / f"{side}.json" for side in ("base", "patch")]
        for file in files:
            file.write_bytes(result_file(benchmarks, repetitions))
        base, patch = map(str, files)
        ours = [sys.executable, "-m", "service.cli", "compare", "--base", base, "--patch", patch]
        plain = [
            sys.executable,
            "-c",
            "import json, sys; [json.load(open(f)) for f in sys.argv[1:]]",
            base,
            patch,
        ]
        taken = [(run(ours), run(plain)) for _ in range(ROUNDS)]
        seconds = statistics.median(a for a, _ in taken)
        ratio = statistics.median(a / b for a, b in taken)
        size = files[0].stat().st_size / 1e6
    sys.stdout.write(
        f"benchgate compare, two files of {size:.1f} MB, {benchmarks} benchmarks: {seconds:.2f} s, start to "
        f"end, {ratio:.1f} times what Python takes to read them; goal < {GOAL} s: {met(seconds < GOAL)}\n"
    )


def run(argv: list[str]) -> float:
    """How long a program takes, from its start to its end."""
    return seconds_of(lambda: subprocess.run(argv, check=True, capture_output=True))


def result_file(benchmarks: int, repetitions: int = 1) -> bytes:
    """A file as Google Benchmark writes it, without aggregates."""
    row = {
        "run_type": "iteration",
        "repetitions": repetitions,
        "threads": 1,
        "iterations": 46754,
        "real_time": 1.536e3,
        "cpu_time": 1.516e3,
        "time_unit": "ns",
        "items_per_second": 3.37e8,
        "label": "vector",
    }
    named = [
        {"name": f"BM_{i}/64", "run_name": f"BM_{i}/64", **row, "repetition_index": index}
        for i in range(benchmarks)
        for index in range(repetitions)
    ]
    return json.dumps({"context": {"library_build_type": "release"}, "benchmarks": named}, indent=2).encode()


def seconds_of(work: Callable[[], object]) -> float:
    """How long it takes."""
    begun = perf_counter()
    work()
    return perf_counter() - begun


if __name__ == "__main__":
    main()
