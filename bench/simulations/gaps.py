"""``python -m bench.simulations.gaps DIR``: measure the time between the launches of a pair.

A simulated program reports benchmarks without running any, and when it began and ended. Benchgate measures it
on both sides in the sandbox, with the service's own steps.
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from bench.verdicts.engine import POLICY, job_of
from service.domain.measuring.pair_record import MeasuredPairs, decode
from service.domain.project.benchmark import Suite
from service.domain.values.identity import Side
from service.steps.measuring.course import Course
from service.steps.measuring.launching import Launcher
from service.steps.measuring.measure import measure
from service.steps.measuring.rehearse import fix_listings, rehearse
from service.wiring.build_host import make_build_host
from tests.support.building.build_host import MemoryClaimed, session_of

if TYPE_CHECKING:
    from collections.abc import Sequence

BENCHMARKS: Final = (10, 100, 1000)
PAIRS: Final = 16
_PROGRAM: Final = """#!/usr/bin/python3 -SE
import time
began = time.monotonic()
import json, random, re, sys
given = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
names = [f"BM_{number:04}" for number in range(%d)]
if "--benchmark_list_tests" in given:
    print("\\n".join(names))
    raise SystemExit
chosen = re.compile(given["--benchmark_filter"])
rows = []
for name in filter(chosen.search, names):
    for index in range(int(given["--benchmark_repetitions"])):
        value = 1000.0 * random.lognormvariate(0.0, 0.3)
        rows.append({"name": name, "run_name": name, "run_type": "iteration", "repetition_index": index,
            "threads": 1, "iterations": 2000, "real_time": value, "cpu_time": value, "time_unit": "ns"})
text = json.dumps({"benchmarks": rows})[:-1] + ', "context": {"began": %%r, "ended": %%r}}'
with open(given["--benchmark_out"], "w") as out:
    out.write(text %% (began, time.monotonic()))
"""


def main(work: Path) -> None:
    """Print a table: the milliseconds from the end of a launch to the beginning of the next one."""
    sys.stdout.write(f"| benchmarks | in a pair | between pairs |\n|{'---|' * 3}\n")
    for count in BENCHMARKS:
        within, between = _gaps(work / str(count), count)
        cells = (f"{1000 * median(gaps):.0f} ms" for gaps in (within, between))
        sys.stdout.write(f"| {count} | {' | '.join(cells)} |\n")
        sys.stdout.flush()


def _gaps(work: Path, count: int) -> tuple[Sequence[float], Sequence[float]]:
    """Measure the seconds between the launches of a pair, and those between pairs."""
    shutil.rmtree(work, ignore_errors=True)
    trees = {side: work / f"tree-{side:_>5}" for side in Side}
    for tree in trees.values():
        (tree / "build").mkdir(parents=True)
        program = tree / "build" / "program"
        program.write_text(_PROGRAM % count)
        program.chmod(0o755)
    job = job_of(Suite("program", "build/program"))
    job = replace(job, policy=replace(POLICY, max_pairs=PAIRS))
    build = MemoryClaimed(seed="gaps")
    host = make_build_host(work / "home", lambda project: project, (), is_sandboxed=True)
    launcher = Launcher(session_of(host, job, build), trees)
    base = rehearse(launcher, Side.BASE)
    rehearsals = {Side.BASE: base, Side.PATCH: rehearse(launcher, Side.PATCH, base)}
    listings = fix_listings(launcher.session, rehearsals)
    course = Course.of(launcher.session.spec, listings)
    measure(replace(launcher, listings=listings), course, MeasuredPairs())
    pairs = [
        sorted(_times(raw.output) for raw in decode(record.raw)) for record in build.pairs() if record.pair
    ]
    within = [one[0] - other[1] for pair in pairs for other, one in pairwise(pair)]
    between = [one[0][0] - other[-1][1] for other, one in pairwise(pairs)]
    return within, between


def _times(output: bytes) -> tuple[float, float]:
    context = json.loads(output)["context"]
    return context["began"], context["ended"]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
