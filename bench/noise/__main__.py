"""``python -m bench.noise``: compare how much each way to launch programs reduces the spread of pairs."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import subprocess
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import numpy as np

from bench.noise.neighbours import neighbours
from bench.noise.spread import ratio_of, spread
from bench.noise.treatments import TREATMENTS, USUAL
from bench.timing import CAVEAT, say, say_load
from bench.verdicts.programs import Programs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.noise.treatments import Treatment

_SUITE: Final = "known_effects"
_KINDS: Final = {
    "computing": "Arithmetic|Branches|Sort|FormatNumbers",
    "memory": "CacheWalk|MemoryWalk|MemoryCopy",
    "heap": "Allocate|HashLookup|TreeLookup",
    "system": "SystemCalls",
}
_SPIN: Final = "import time\nend = time.monotonic() + {seconds}\nwhile time.monotonic() < end: pass\n"
_MEMORY: Final = "/dev/shm"  # noqa: S108 - a new directory below it
_COUNTERS: Final = Path("/sys/bus/event_source/devices/cpu")


class Launcher:
    """Launch one program in all ways.

    Args:
        program: the benchmark program.
        copy: the same program in memory.
        work: a directory for results.
    """

    def __init__(self, program: Path, copy: Path, work: Path) -> None:
        self._program, self._copy, self._work = program, copy, work
        self._cpus = sorted(os.sched_getaffinity(0), reverse=True)
        self._filter = "^(" + "|".join(_KINDS.values()) + ")$"

    def pair(self, treatment: Treatment) -> Mapping[str, float]:
        """Return the log ratio of each benchmark: two launches of the same program."""
        if treatment.is_duet:
            first, second = self._duet(treatment, (0, 1)), self._duet(treatment, (1, 0))
            return {name: (first[name] + second[name]) / 2 for name in first}
        before, after = self._alone(treatment), self._alone(treatment)
        return {name: math.log(after[name] / before[name]) for name in before}

    def _duet(self, treatment: Treatment, cpus: tuple[int, int]) -> Mapping[str, float]:
        running = [(place, self._start(treatment, cpu, place)) for place, cpu in zip("ab", cpus, strict=True)]
        values = []
        for place, process in running:
            _succeed(process)
            values.append(self._read(place))
        return {name: math.log(values[1][name] / values[0][name]) for name in values[0]}

    def _alone(self, treatment: Treatment) -> Mapping[str, float]:
        if treatment.spin:
            _succeed(subprocess.Popen([*self._pin(0), "python3", "-c", _SPIN.format(seconds=treatment.spin)]))
        if treatment.warm_up:
            _succeed(self._start(treatment, treatment.cpu, "warm", repetitions=2))
        _succeed(self._start(treatment, treatment.cpu, "a"))
        return self._read("a")

    def _start(
        self, treatment: Treatment, cpu: int | None, place: str, repetitions: int = 20
    ) -> subprocess.Popen[bytes]:
        argv = [
            *(() if cpu is None else self._pin(cpu)),
            *treatment.prefix,
            str(self._copy if treatment.in_memory else self._program),
            f"--benchmark_filter={self._filter}",
            f"--benchmark_repetitions={repetitions}",
            "--benchmark_min_time=0.002",
            f"--benchmark_out={self._work / place}",
            "--benchmark_out_format=json",
        ]
        env = {"PATH": os.environ["PATH"], **treatment.env}
        return subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _pin(self, cpu: int) -> Sequence[str]:
        return "taskset", "--cpu-list", str(self._cpus[cpu % len(self._cpus)])

    def _read(self, place: str) -> Mapping[str, float]:
        """Return the CPU time of the fastest repetition of each benchmark, as a launch of Benchgate does."""
        best: dict[str, float] = {}
        for row in json.loads((self._work / place).read_bytes())["benchmarks"]:
            if row.get("run_type") == "iteration":
                name = row["run_name"]
                best[name] = min(row["cpu_time"], best.get(name, math.inf))
        return best


@click.command()
@click.option("--rounds", default=20, show_default=True, type=click.IntRange(5))
@click.option("--seed", default=1, show_default=True)
@click.option("--busy", is_flag=True, help="Other programs copy memory and wake up meanwhile.")
def main(rounds: int, seed: int, *, busy: bool) -> None:
    """Launch a pair in each way in every round, in random order, and print the ratios of the spreads."""
    say(CAVEAT)
    say_load("before")
    order = random.Random(seed)  # noqa: S311 - no secret
    logs: dict[str, list[Mapping[str, float]]] = {each.name: [] for each in (USUAL, *TREATMENTS)}
    work, memory = (Path(tempfile.mkdtemp(prefix="benchgate-noise-", dir=at)) for at in (None, _MEMORY))
    try:
        program = Programs(work).build(work / "built", [_SUITE])[_SUITE]
        copy = Path(shutil.copy2(program, memory))
        launcher = Launcher(program, copy, work)
        usable = [each for each in (USUAL, *TREATMENTS) if _works(launcher, each)]
        with neighbours() if busy else nullcontext(_alone) as describe:
            for number in range(rounds):
                for treatment in order.sample(usable, len(usable)):
                    logs[treatment.name].append(launcher.pair(treatment))
                say(f"round {number + 1} of {rounds}")
            around = describe()
    finally:
        for directory in (work, memory):
            shutil.rmtree(directory)
    _print_table({name: found for name, found in logs.items() if found}, seed)
    say(around)
    say(f"hardware counters: {'offered' if _COUNTERS.exists() else 'this machine offers none'}")
    say_load("after")


def _alone() -> str:
    return "beside no other programs of this command"


def _works(launcher: Launcher, treatment: Treatment) -> bool:
    """Return whether the machine allows a way to launch; print which it does not."""
    try:
        launcher.pair(treatment)
    except (OSError, subprocess.CalledProcessError) as refused:
        say(f"{treatment.name} is left out: {refused}")
        return False
    return True


def _print_table(logs: Mapping[str, Sequence[Mapping[str, float]]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = {kind: names.split("|") for kind, names in _KINDS.items()}
    say(f"| launch | against | {' | '.join(kinds)} | all |")
    say(f"|---|---|{'---|' * (len(kinds) + 1)}")
    usual = logs[USUAL.name]
    names = [name for chosen in kinds.values() for name in chosen]
    spreads = [f"{100 * spread(_logs(usual, chosen).ravel()):.2f} %" for chosen in (*kinds.values(), names)]
    say(f"| {USUAL.name} | {USUAL.about} | {' | '.join(spreads)} |")
    for treatment in TREATMENTS:
        if treatment.name in logs:
            found = logs[treatment.name]
            ratios = [
                ratio_of(_logs(found, chosen), _logs(usual, chosen), rng).text
                for chosen in (*kinds.values(), names)
            ]
            say(f"| {treatment.name} | {treatment.about} | {' | '.join(ratios)} |")


def _logs(pairs: Sequence[Mapping[str, float]], names: Sequence[str]) -> np.ndarray:
    return np.array([[pair[name] for pair in pairs] for name in names])


def _succeed(process: subprocess.Popen[bytes]) -> None:
    if process.wait():
        raise subprocess.CalledProcessError(process.returncode, process.args)


if __name__ == "__main__":
    main()
