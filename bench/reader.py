"""The time to read and compare result files, beside ``json.loads`` on the same bytes.

All figures are processor time. The programs wait for nothing, so that it is the time on the wall of a machine
with nothing else to do.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from bench.timing import met
from service.cli.local.compare import command
from service.domain.measuring.formats.reader import read_run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ROUNDS: Final = 5
GOAL: Final = 3.0  # times json.loads on both files
_PLAIN: Final = "import json, sys; [json.loads(open(f, 'rb').read()) for f in sys.argv[1:]]"
_ROW: Final = """    {{
      "name": "{name}",
      "run_name": "{name}",
      "run_type": "iteration",
      "repetitions": {repetitions},
      "repetition_index": {index},
      "threads": 1,
      "iterations": {iterations},
      "real_time": {real:.16e},
      "cpu_time": {cpu:.16e},
      "time_unit": "ns",
      "items_per_second": {rate:.16e},
      "label": "vector"
    }}"""


def main() -> None:
    """Print the times; with ``once BASE PATCH`` only those of :func:`once`, as JSON."""
    if sys.argv[1:2] == ["once"]:
        sys.stdout.write(json.dumps(once(sys.argv[2], sys.argv[3])))
        return
    for rows in (3_000, 30_000, 300_000):
        data = result_file("base", rows)
        taken = [
            (seconds_of(partial(json.loads, data)), seconds_of(partial(read_run, data, source="bench")))
            for _ in range(ROUNDS if rows < 100_000 else 2)
        ]
        sys.stdout.write(f"{rows:>8} rows, {len(data) / 1e6:6.1f} MB, read alone: {beside(taken)}\n")
    compare_two(300, repetitions=90)
    compare_two(27_000, repetitions=1)


def compare_two(benchmarks: int, repetitions: int) -> None:
    """Print the times of comparing two files, in one process and as a program."""
    with tempfile.TemporaryDirectory() as place:
        files = [Path(place) / f"{side}.json" for side in ("base", "patch")]
        for file in files:
            file.write_bytes(result_file(file.stem, benchmarks, repetitions))
        base, patch = map(str, files)
        env = {
            **os.environ,
            "PYTHONPYCACHEPREFIX": place,
        }  # as installed: with compiled modules
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        python = [sys.executable, "-m"]
        within = [json.loads(run([*python, "bench.reader", "once", base, patch], env)) for _ in range(ROUNDS)]
        programs = [
            [sys.executable, "-c", _PLAIN, base, patch],
            [*python, "service.cli", "compare", "--base", base, "--patch", patch],
        ]
        for argv in programs:
            run(argv, env)  # compiles what it imports
        started = [[seconds_of(partial(run, argv, env)) for argv in programs] for _ in range(ROUNDS)]
        size = files[0].stat().st_size / 1e6
    sys.stdout.write(
        f"benchgate compare, two files of {size:.1f} MB, {benchmarks} benchmarks, median of {ROUNDS}:\n"
        f"  in one process, read, compare and print beside json.loads: {beside(within, GOAL)}\n"
        f"  from start to end, beside a program that only calls json.loads: {beside(started, GOAL)}\n"
    )


def once(base: str, patch: str) -> tuple[float, float]:
    """The seconds of json.loads on both files, and of all that ``benchgate compare`` does with them."""

    def plain() -> None:
        _ = [json.loads(Path(file).read_bytes()) for file in (base, patch)]

    def ours() -> None:
        command.main(["--base", base, "--patch", patch], standalone_mode=False)

    plain()  # fills the memory of the process, which otherwise the first of the two would pay for
    seconds = seconds_of(plain)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return seconds, seconds_of(ours)


def beside(taken: Sequence[Sequence[float]], goal: float | None = None) -> str:
    """The medians of both and their ratio, from pairs of seconds: json.loads first."""
    plain, ours = (median(side) for side in zip(*taken, strict=True))
    verdict = "" if goal is None else f", goal <= {goal:g}: {met(ours / plain <= goal)}"
    return f"{ours:.2f} s, json.loads {plain:.2f} s, ratio {ours / plain:.2f}{verdict}"


def run(argv: Sequence[str], env: Mapping[str, str]) -> bytes:
    """The output of a program."""
    return subprocess.run(argv, check=True, capture_output=True, env=env).stdout


def result_file(side: str, benchmarks: int, repetitions: int = 1) -> bytes:
    """A file as Google Benchmark writes it, without aggregates; every time is another."""
    rng = random.Random(side)  # noqa: S311 - repeatable on purpose
    rows = []
    for name in (f"BM_{number}/64" for number in range(benchmarks)):
        for index in range(repetitions):
            cpu = rng.uniform(50, 5000)
            figures = {"iterations": int(1e8 / cpu), "real": 1.01 * cpu, "cpu": cpu, "rate": 64e9 / cpu}
            rows.append(_ROW.format(name=name, index=index, repetitions=repetitions, **figures))
    context = '{\n  "context": {\n    "library_build_type": "release"\n  },\n  "benchmarks": [\n'
    return (context + ",\n".join(rows) + "\n  ]\n}\n").encode()


def seconds_of(work: Callable[[], object]) -> float:
    """The processor time that work takes, in this process and in those that it starts."""
    begun = _used()
    work()
    return _used() - begun


def _used() -> float:
    usages = (resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


if __name__ == "__main__":
    main()
