"""``make bench-trunk``: merge sixty commits with planted slow-downs, and compare them with what is reported.

The commits are those of the demo's history; about half of them change the measured program, but none of the
measured benchmarks. Six also add work to one. Meanwhile the machine itself becomes slower twice: other
programs start and end at four commits.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import text

from bench.timing import say, say_load
from service.adapters.machines.linux import read_environment
from service.adapters.postgres.engine import make_engine
from service.adapters.postgres.machines.worklist import MachineIdentity, MachineWorklist
from service.cli.operating.status_lines import StatusLines
from service.cli.services.preconditions import make_home
from service.domain.trunk.anchors import BETWEEN
from service.domain.trunk.regression import Weight
from service.domain.values.search import parse_words
from service.steps.machines.execute import execute_build
from service.steps.trunk.use_idle_pools import use_idle_pools
from service.wiring.build_host import make_build_host
from service.wiring.machine import LoggedProgress
from tools.demo.events import change_merged, patchset_created
from tools.demo.history.commits import HISTORY, Edit, HistoryCommit, Variation
from tools.demo.history.record import control_plane
from tools.demo.history.through_service import run_tasks, submit
from tools.demo.repository import DemoRepository
from tools.demo.scenario import KIM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.ports.machines import Claimed
    from service.ports.trunk import RegressionDetail
    from service.wiring.control import Control
    from tools.demo.repository import Commit

_NATIVE: Final = Path(__file__).resolve().parents[1] / "native"
_POOL: Final = "perf"
# The commits of the history change other benchmarks of the suite, and where all code of the program lies.
_PROJECT_FILE: Final = """\
version: 1
label: Verified
jobs:
  known-effects-perf:
    kind: benchmark
    pool: perf
    paths: ["known_effects/**", "harness/**", "cmake/**", "CMake*", "benchgate.yaml"]
    build:
      configure: cmake --preset measure -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0
      compile: cmake --build --preset measure --target known_effects_benchmark
    suites:
      - name: known_effects
        program: build/measure/known_effects_benchmark
        filter: '^(Arithmetic|FloatingPoint|Branches|MemoryCopy)$'
        metrics: [items_per_second]
    policy: {probation: off, machine_time: 2m, on_undecided: pass}
"""
_NOTHING: Final = Variation("", "benchgate.yaml", ())
_COMPUTING: Final = "known_effects/computing_benchmark.cpp"
_MEMORY: Final = "known_effects/memory_benchmark.cpp"
_LOOP: Final = "        for (std::int64_t item = 0; item < items; ++item) {\n"
# The first line of each benchmark's loop, and a statement that does an item more.
_ITEMS: Final = MappingProxyType(
    {
        "Arithmetic": (
            _COMPUTING,
            "            state_ = state_ * factor",
            "std::uint64_t more = state_;",
            "more = more * factor + increment; benchmark::DoNotOptimize(more);",
        ),
        "FloatingPoint": (
            _COMPUTING,
            "            value_ = value_ * factor",
            "double more = value_;",
            "more = more * factor + 1.0; benchmark::DoNotOptimize(more);",
        ),
        "Branches": (
            _COMPUTING,
            "            std::uint32_t byte = bytes_[turn_.next()];",
            "static Turn more{byteCount};",
            "std::uint32_t byte = bytes_[more.next()]; if (byte < half) { benchmark::DoNotOptimize(byte); }",
        ),
        "MemoryCopy": (
            _MEMORY,
            "            const std::size_t from = turn_.next() * blockWords;",
            "static Turn more{blocks};",
            (
                "const std::size_t at = more.next() * blockWords; "
                "std::memcpy(&words_[at + halfWords], &words_[at], blockWords * sizeof(std::uint64_t)); "
                "benchmark::DoNotOptimize(words_[at + halfWords]);"
            ),
        ),
    }
)


class Planted(NamedTuple):
    """A slow-down: its commit, counted from 1, and how much more work the benchmark does."""

    place: int
    benchmark: str
    percent: int

    @property
    def variation(self) -> Variation:
        """The commit that adds the work."""
        file, line, before, statement = _ITEMS[self.benchmark]
        more = (
            f"        {{\n            {before}\n"
            f"            for (std::int64_t item = 0; item < items * {self.percent} / 100; ++item) {{\n"
            f"                {statement}\n            }}\n        }}\n"
        )
        subject = f"known_effects: Let {self.benchmark} do {self.percent} % more"
        return Variation(subject, file, (Edit(f"{_LOOP}{line}", f"{more}{_LOOP}{line}"),))


STEPS: Final = (
    Planted(6, "Arithmetic", 3),
    Planted(15, "FloatingPoint", 10),
    Planted(22, "MemoryCopy", 5),
    Planted(31, "Branches", 7),
    Planted(40, "FloatingPoint", 4),
    Planted(51, "Arithmetic", 2),
)
MACHINE_STEPS: Final = (10, 26, 36, 46)  # the second and the fourth end what the others begin
_AGE_ANCHORS: Final = text(
    "UPDATE run SET created_at = created_at - make_interval(secs => :seconds) WHERE kind = 'anchor'"
)
_NEWEST: Final = text("SELECT subject FROM run ORDER BY id DESC LIMIT 1")
_COPYING: Final = "block = bytearray(1 << 26)\nwhile True: block[:] = bytes(block)"
_APART: Final = timedelta(hours=12)  # commits of several weeks: their ends are measured together
_LATER: Final = 30  # runs of the idle pool at the end


def main() -> int:
    """Print what was planted and what was reported; return 1 if an innocent commit was reported."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=60, help="the first ones")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the other programs must end, too
    with tempfile.TemporaryDirectory(dir="/var/tmp") as scratch:
        home = Path(scratch)
        make_home(home)
        with StatusLines() as lines, control_plane(home, lines) as (plane, machine_database_url):
            trial = Trial(plane, home, machine_database_url)
            try:
                return trial.run(given.commits)
            finally:
                trial.close()


class Trial:
    """A control plane with one machine of this process, and the repository with the commits."""

    def __init__(self, plane: Control, home: Path, machine_database_url: str) -> None:
        self._plane = plane
        self._engine = make_engine(machine_database_url)
        self._commits = _commits(home)
        remote = str(home / "repository")
        host = make_build_host(home / "machine", lambda _: remote, (), is_sandboxed=True)
        self._host = replace(host, artifacts=plane.artifacts)
        environment, in_force = read_environment(), host.sandbox.in_force()
        identity = MachineIdentity("trial", _POOL, _POOL)
        self._worklist = MachineWorklist(self._engine, identity, plane.artifacts)
        facts = {**environment.to_mapping(), "in_force": dict(in_force)}
        self._worklist.register(environment.fingerprint(in_force), facts)
        self._seconds = 0.0

    def close(self) -> None:
        self._engine.dispose()

    def run(self, count: int) -> int:
        say_load("at the start")
        measured = 1 + [each.upload.text.startswith("known_effects:") for each in self._commits].index(True)
        with ExitStack() as others:
            for place, commit in enumerate(self._commits[:count], 1):
                if place in MACHINE_STEPS:
                    others.close()
                    if MACHINE_STEPS.index(place) % 2 == 0:
                        others.enter_context(_two_busy_programs())
                begun = time.monotonic()
                if place == measured:  # pools that check nothing do not measure merged commits longer
                    submit(
                        self._plane, self._worklist, patchset_created(commit, int(time.time())), self._work
                    )
                submit(self._plane, self._worklist, change_merged(commit, int(time.time())), self._work)
                say(f"{place}: {commit.upload.text.splitlines()[0]}, {time.monotonic() - begun:.0f} s")
        merged, self._seconds = self._seconds, 0.0
        for _ in range(_LATER):
            if not self._use_idle_pool():
                break
            run_tasks(self._plane, self._worklist, self._work)
        say_load("at the end")
        say(f"machine time: {merged / 60:.0f} min after the merges, {self._seconds / 60:.0f} min when idle")
        return self._report(count)

    def _use_idle_pool(self) -> bool:
        with self._plane.engine.begin() as connection:  # as if the hours between two anchors were over
            connection.execute(_AGE_ANCHORS, {"seconds": BETWEEN})
        now = datetime.now(UTC)
        started = use_idle_pools(self._plane.store, self._plane.upkeep, self._plane.source_of, now)
        if started:
            with self._plane.engine.connect() as connection:
                say(f"idle: {connection.execute(_NEWEST).scalar_one()}")
        return bool(started)

    def _work(self, claimed: Claimed) -> None:
        begun = time.monotonic()
        execute_build(claimed, self._host, LoggedProgress())
        self._seconds += time.monotonic() - begun

    def _report(self, count: int) -> int:
        places = {commit.revision: place for place, commit in enumerate(self._commits, 1)}
        reading = self._plane.regressions
        found = [reading.regression(each.id) for each in reading.regressions(None, parse_words(""), 100)]
        rows = {places[each.regression.revision]: each for each in found}
        say("| commit | planted | reported | interval |")
        say("|---|---|---|---|")
        planted = {step.place: step for step in STEPS if step.place <= count}
        for place in sorted({*planted, *rows}):
            step, row = planted.get(place), rows.get(place)
            say(f"| {place} | {_planted(step)} | {_reported(row)} |")
        right = [place for place, step in planted.items() if place in rows and _blames(rows[place], step)]
        false = [place for place, row in rows.items() if place not in planted and _counts(row)]
        say(f"reported {len(right)} of {len(planted)} planted slow-downs; {len(false)} other commits blamed")
        return 1 if false else 0


def _commits(home: Path) -> Sequence[Commit]:
    native = home / "native"
    shutil.copytree(_NATIVE, native, ignore=shutil.ignore_patterns("build"))
    (native / "benchgate.yaml").write_text(_PROJECT_FILE, encoding="utf-8")
    variations = [each.variation for each in HISTORY if each.variation.folder != "hash_table"]
    for step in STEPS:
        step.variation.apply(native)
        variations.insert(step.place - 1, step.variation)
    last = next(each.variation for each in reversed(HISTORY) if each.variation.folder == "hash_table")
    commits = [HistoryCommit(place, variation, KIM) for place, variation in enumerate((*variations, last), 1)]
    start = datetime.now(UTC) - _APART * len(commits)
    dated = [(commit, start + _APART * place) for place, commit in enumerate(commits)]
    return DemoRepository(home / "repository").create(native, history=dated, ending=_NOTHING)


def _two_busy_programs() -> ExitStack:
    running = ExitStack()
    for _ in range(2):
        process = running.enter_context(subprocess.Popen([sys.executable, "-c", _COPYING]))
        running.callback(process.kill)
    return running


def _planted(step: Planted | None) -> str:
    return "nothing" if step is None else f"{step.benchmark} +{step.percent} % work"


def _reported(row: RegressionDetail | None) -> str:
    if row is None:
        return "nothing | "
    texts = [f"{each.benchmark} {each.change_text} ({each.weight})" for each in row.results]
    return f"{', '.join(texts)} | {row.results[0].interval_text}"


def _blames(row: RegressionDetail, step: Planted) -> bool:
    return step.benchmark in {each.benchmark for each in row.results}


def _counts(row: RegressionDetail) -> bool:
    return any(each.weight is Weight.COUNTS for each in row.results)


if __name__ == "__main__":
    sys.exit(main())
