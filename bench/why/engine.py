"""Time two programs of the library, and explain the growth of a benchmark with the service's own steps."""

from __future__ import annotations

import json
import shutil
import subprocess
from statistics import median
from typing import TYPE_CHECKING, Final

from bench.verdicts.engine import job_of
from bench.why.scoring import Said
from service.domain.project.benchmark import Suite
from service.domain.values.identity import Side
from service.domain.verdict.comparison.instruction_counts import LAUNCHES
from service.domain.verdict.explanation.causes import causes
from service.steps.measuring.disassemble import listed
from service.steps.measuring.launching import Launcher
from service.wiring.build_host import make_build_host
from tests.support.building.build_host import MemoryClaimed, session_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from service.domain.measuring.callgrind_events import LoopEvents

_SUITE: Final = "why"
_PAIRS: Final = 9
_LIMIT: Final = 60.0  # seconds of a launch


def slow_down(programs: Mapping[Side, Path], benchmark: str) -> float:
    """Return the median relative slow-down of pairs of short launches."""
    return (
        median(
            _seconds(programs[Side.PATCH], benchmark) / _seconds(programs[Side.BASE], benchmark)
            for _ in range(_PAIRS)
        )
        - 1
    )


def explain(work: Path, programs: Mapping[Side, Path], benchmark: str, slower: float) -> Said:
    """Explain one benchmark that is ``slower`` by a share: the function and kind that are named first."""
    base, patch = count(work, programs, benchmark)
    found = causes(base, patch, slower)
    return Said(found[0].function, found[0].kind) if found else Said()


def count(work: Path, programs: Mapping[Side, Path], benchmark: str) -> tuple[list[LoopEvents], ...]:
    """Count the events of one benchmark, for each launch of both sides."""
    job = job_of(Suite(_SUITE, "build/why"))
    trees = {}
    for side, program in programs.items():
        trees[side] = work / f"tree-{side:_>5}"
        (trees[side] / "build").mkdir(parents=True, exist_ok=True)
        shutil.copy2(program, trees[side] / "build" / "why")
    host = make_build_host(work / "home", lambda project: project, (), is_sandboxed=False)
    launcher = Launcher(session_of(host, job, MemoryClaimed(seed="why")), trees)
    suite = launcher.suites[_SUITE]
    sides = []
    for side in Side:
        launches = [launcher.count_events(suite, side, benchmark, _LIMIT) for _ in range(LAUNCHES)]
        sides.append([*launches[:-1], listed(launcher, suite, side, launches[-1], _LIMIT)])
    return tuple(sides)


def _seconds(program: Path, benchmark: str) -> float:
    argv = [str(program), f"--benchmark_filter=^{benchmark}$", "--benchmark_format=json"]
    argv += ["--benchmark_min_time=0.05"]
    done = subprocess.run(argv, check=True, capture_output=True)
    return float(json.loads(done.stdout)["benchmarks"][0]["cpu_time"])
