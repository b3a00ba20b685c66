"""Launch the variants interleaved, so that a disturbance of the machine hits all of them alike."""

from __future__ import annotations

import random
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.native.measured import Launch, NotMeasured, read_benchmarks, read_googletest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bench.native.variants import Program

_PATIENCE: Final = 900  # seconds


@dataclass(frozen=True, slots=True)
class Arm:
    """One side of a comparison: a variant and its own flags."""

    name: str
    variant: str
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """Launches that belong together: ``rounds`` of each arm of one program.

    Args:
        program: what is built for each of the arms' variants.
        arms: each is launched once in a round.
        rounds: the launches of an arm.
        flags: Google Benchmark's or GoogleTest's, the same for all arms.
    """

    program: Program
    arms: tuple[Arm, ...]
    rounds: int
    flags: tuple[str, ...]

    @property
    def is_test(self) -> bool:
        """Return whether the program uses GoogleTest."""
        return self.program.target.endswith("_test")


def in_random_order(arms: Sequence[Arm], rounds: int, seed: int) -> Iterator[Arm]:
    """Yield every arm once a round, each round in its own order that follows from the seed."""
    order = random.Random(seed)  # noqa: S311 - nobody has an interest in guessing it
    for _ in range(rounds):
        yield from order.sample(arms, len(arms))


def launch(run: Run, arm: Arm, program: Path) -> Launch:
    """Launch the program once, and discard what a suite prints: printing is part of its cost."""
    launch_it: Callable[[list[str], str], Launch] = _launch_test if run.is_test else _launch_benchmarks
    return launch_it([str(program), *run.flags, *arm.flags], f"{arm.name} of {program.name}")


def _launch_benchmarks(command: list[str], source: str) -> Launch:
    with tempfile.TemporaryDirectory(prefix="benchgate-bench-") as directory:
        result = Path(directory) / "result.json"
        out = [f"--benchmark_out={result}", "--benchmark_out_format=json"]
        done = subprocess.run(
            [*command, *out],
            cwd=directory,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
        if done.returncode != 0:
            raise NotMeasured(f"{source} ended with {done.returncode}: {done.stderr[-2000:]}")
        return read_benchmarks(result.read_bytes(), source)


def _launch_test(command: list[str], source: str) -> Launch:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    if done.returncode != 0:
        raise NotMeasured(f"{source} ended with {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
    return read_googletest(done.stdout, source)
