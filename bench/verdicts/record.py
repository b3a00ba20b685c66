"""Record A/A sessions: the same program on both sides, launched in pairs as a build measures."""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from bench.verdicts.session import RECORDED, SUFFIX, Session, save
from service.adapters.building.sandbox.unsandboxed import DirectRunner
from service.adapters.machines.linux import read_environment, read_load
from service.domain.building.sandbox_command import Command
from service.domain.machines.environment import load_between
from service.domain.measuring.formats.reader import read_run
from service.domain.measuring.launch_order import environment_pad, side_order
from service.domain.measuring.metric import own_clock
from service.domain.values.identity import Side

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from service.domain.measuring.formats.row import ResultRow

PAIRS: Final = 40  # 32 that count and eight to take the place of disturbed ones
REPETITIONS: Final = 24  # short ones: blocks of them make up any longer repetition
MIN_TIME: Final = 0.002
LONG_REPETITIONS: Final = 9  # what compare.py asks for at least
LONG_MIN_TIME: Final = 0.03
_ONE_CPU: Final = "^[^/]*$"
_ALL_CPUS: Final = "threads:"


@dataclass(frozen=True, slots=True)
class _Launch:
    """One launch: the seconds of each repetition by benchmark, and the work that disturbed it."""

    times: Mapping[str, list[float]]
    spent: Mapping[str, float]
    steal: Mapping[str, float]
    foreign: Mapping[str, float]
    elsewhere: Mapping[str, float]
    seconds: float

    def __or__(self, other: _Launch) -> _Launch:
        return _Launch(
            {**self.times, **other.times},
            {**self.spent, **other.spent},
            {**self.steal, **other.steal},
            {**self.foreign, **other.foreign},
            {**self.elsewhere, **other.elsewhere},
            self.seconds + other.seconds,
        )


def record_session(program: Path, pairs: int, seed: str) -> Session:
    """Record one session: a launch to warm up, the pairs, then one long launch a side."""
    _launch(program, 1, MIN_TIME, 0)
    began = datetime.now(UTC)
    orders = [side_order(seed, pair) for pair in range(pairs)]
    measured = [
        {side: _launch(program, REPETITIONS, MIN_TIME, environment_pad(seed, pair)) for side in order}
        for pair, order in enumerate(orders)
    ]
    long = {side: _launch(program, LONG_REPETITIONS, LONG_MIN_TIME, 0) for side in Side}
    names = tuple(long[Side.BASE].times)
    return Session(
        name=f"{began:%Y%m%d-%H%M%S}",
        facts={
            "began": began.isoformat(timespec="seconds"),
            "seed": seed,
            "first": [order[0] for order in orders],
            "min_time": MIN_TIME,
            "long_min_time": LONG_MIN_TIME,
            "machine": read_environment().to_mapping(),
        },
        benchmarks=names,
        times=_table(measured, names, "times"),
        spent=_table(measured, names, "spent"),
        steal=_table(measured, names, "steal"),
        foreign=_table(measured, names, "foreign"),
        elsewhere=_table(measured, names, "elsewhere"),
        seconds=np.asarray([[pair[side].seconds for side in Side] for pair in measured]),
        long=np.asarray([[long[side].times[name] for name in names] for side in Side]),
        long_seconds=np.asarray([long[side].seconds for side in Side]),
    )


def _table(
    measured: Sequence[Mapping[Side, _Launch]], names: Sequence[str], what: str
) -> NDArray[np.float64]:
    return np.asarray(
        [[[getattr(pair[side], what)[name] for name in names] for side in Side] for pair in measured]
    )


def _launch(program: Path, repetitions: int, min_time: float, pad: int) -> _Launch:
    """Launch one side: benchmarks of one thread on one CPU, the rest on all."""
    cpus = read_environment().online_cpus
    return _run(program, _ONE_CPU, cpus[-1:], repetitions, min_time, pad) | _run(
        program, _ALL_CPUS, cpus, repetitions, min_time, pad
    )


def _run(
    program: Path, chosen: str, cpus: Sequence[int], repetitions: int, min_time: float, pad: int
) -> _Launch:
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "result.json"
        command = Command(
            (
                str(program),
                f"--benchmark_out={out}",
                "--benchmark_out_format=json",
                f"--benchmark_filter={chosen}",
                f"--benchmark_repetitions={repetitions}",
                f"--benchmark_min_time={min_time:g}",
            ),
            cpus=tuple(cpus),
            aslr=False,
            env={"BENCHGATE_PAD": "x" * pad},
        )
        others = [cpu for cpu in read_environment().online_cpus if cpu not in cpus]
        before = read_load()
        done = DirectRunner().run(command, log=None, watch=lambda: None)
        after = read_load()
        around = load_between(before, after, cpus, done.cpu_seconds)
        elsewhere = load_between(before, after, others, 0.0)
        if not done.is_success:
            raise SystemExit(f"{program}: {done.end}")
        rows = [row for row in read_run(out.read_bytes(), source=str(out)).rows if row.is_measured]
    by_name = {row.name: [each for each in rows if each.name == row.name] for row in rows}
    return _Launch(
        times={name: [_own_time(row) for row in found] for name, found in by_name.items()},
        spent={
            name: sum(row.values["real_time"] * row.iterations for row in found)
            for name, found in by_name.items()
        },
        steal=dict.fromkeys(by_name, around.steal_share),
        foreign=dict.fromkeys(by_name, around.foreign_share or 0.0),
        elsewhere=dict.fromkeys(by_name, elsewhere.foreign_share or 0.0),
        seconds=done.seconds,
    )


def _own_time(row: ResultRow) -> float:
    return row.values[own_clock(row.name)]


def main() -> None:
    """Record sessions until there are as many as asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path, help="the known_effects_benchmark to launch")
    parser.add_argument("--sessions", type=int, default=24)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--into", type=Path, default=RECORDED)
    given = parser.parse_args()
    while (there := len(list(given.into.glob(f"*{SUFFIX}")))) < given.sessions:
        path = save(record_session(given.program.resolve(), given.pairs, secrets.token_hex(8)), given.into)
        sys.stdout.write(f"{there + 1} of {given.sessions}: {path.name}, {path.stat().st_size >> 10} KiB\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
