"""Measure time and memory of the verdicts of 500 benchmarks with 32 pairs each."""

from __future__ import annotations

import resource
from collections import Counter
from statistics import median
from time import perf_counter
from typing import Final

import numpy as np

from bench.timing import CAVEAT, met, say, say_load
from service.domain.measuring.launch import Launch
from service.domain.measuring.listing import Listing
from service.domain.project.benchmark import Suite
from service.domain.project.policy import Policy
from service.domain.runs.build_outcome import judge
from service.domain.values.identity import Side
from service.domain.verdict.comparison.suite import compare_suites

BENCHMARKS: Final = 500
PAIRS: Final = 32
ROUNDS: Final = 7
SECONDS_GOAL: Final = 1.0
MEGABYTES_GOAL: Final = 300
SLOWER: Final = 50  # one benchmark of this number, by 5 %
SPREAD: Final = 0.01  # of the log ratio of two launches


def main() -> None:
    """Print the median of some analyses, and the most memory that this process ever held."""
    say(CAVEAT)
    say_load("before")
    suite = Suite(name="suite", program="")
    names = tuple(f"BM_{number}/64" for number in range(BENCHMARKS))
    listing = Listing("suite", names, names)
    launches = [launch for pair in range(PAIRS) for launch in measured_pair(pair, names)]
    empty = memory()
    taken: list[float] = []
    for _ in range(ROUNDS):
        begun = perf_counter()
        found = compare_suites([suite], [listing], launches, Policy())
        judgement = judge(found, Policy())
        taken.append(perf_counter() - begun)
    seconds, most = median(taken), memory()
    verdicts = ", ".join(
        f"{count} {verdict}" for verdict, count in Counter(row.verdict for row in found).items()
    )
    say(f"{BENCHMARKS} benchmarks, {PAIRS} pairs: {verdicts}; {judgement.outcome}")
    say(f"{seconds:.2f} s; goal < {SECONDS_GOAL:.0f} s: {met(seconds < SECONDS_GOAL)}")
    goal = f"goal < {MEGABYTES_GOAL} MB: {met(most < MEGABYTES_GOAL)}"
    say(f"{most:.0f} MB at most, {empty:.0f} of it before the first analysis; {goal}")


def measured_pair(pair: int, names: tuple[str, ...]) -> tuple[Launch, Launch]:
    """Make two launches as they are read: both times and a rate of each benchmark."""
    rng = np.random.default_rng(pair)
    found = []
    for side in Side:
        times = 100.0 * np.exp(rng.normal(0.0, SPREAD / 2**0.5, len(names)))
        if side is Side.PATCH:
            times[::SLOWER] *= 1.05
        values = {
            name: {"cpu_time": time, "real_time": time * 1.01, "items_per_second": 1e9 / time}
            for name, time in zip(names, times.tolist(), strict=True)
        }
        found.append(Launch(pair, side, "suite", values, {}, real_per_cpu=dict.fromkeys(names, 1.01)))
    return found[0], found[1]


def memory() -> float:
    """Return the peak resident memory of this process in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


if __name__ == "__main__":
    main()
