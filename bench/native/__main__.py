"""``python -m bench.native``: compare the recorded changes' ratios with those of ``native/`` here."""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from bench.native import executor, flush_vbucket, hash_table, send_buffer
from bench.native.launching import Run, in_random_order, launch
from bench.native.machine import facts
from bench.native.measured import Measured, NotMeasured
from bench.native.trees import build, lay_out
from bench.native.variants import EXECUTOR, FLUSH_VBUCKET, HASH_TABLE, SEND_BUFFER, Program, Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bench.native.table import Table

NATIVE: Final = Path(__file__).parents[2] / "native"


@dataclass(frozen=True, slots=True)
class Bench:
    """A workload with its launches, and the function that makes its table."""

    workload: Workload
    runs: tuple[Run, ...]
    table: Callable[[Measured], Table]


BENCHES: Final = (
    Bench(EXECUTOR, executor.RUNS, executor.table),
    Bench(FLUSH_VBUCKET, flush_vbucket.RUNS, flush_vbucket.table),
    Bench(HASH_TABLE, hash_table.RUNS, hash_table.table),
    Bench(SEND_BUFFER, send_buffer.RUNS, send_buffer.table),
)


@click.command()
@click.option(
    "--only",
    multiple=True,
    type=click.Choice([each.workload.name for each in BENCHES]),
    help="Measure this workload; may be repeated.",
)
@click.option(
    "--work",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the copies and their builds here; the next time only what changed is built.",
)
@click.option("--seed", type=int, help="Of the order of launches; a random one if not given.")
@click.option(
    "--rounds", type=click.IntRange(min=1), help="Launches of each variant; by default each workload's own."
)
def main(*, only: Sequence[str], work: Path | None, seed: int | None, rounds: int | None) -> None:
    """Build every variant of the workloads, launch them in turn and print a table for each recorded change.

    Ends with 1 if a required figure is missed. Progress is on stderr, the tables are on stdout.
    """
    chosen = [each for each in BENCHES if not only or each.workload.name in only]
    drawn = secrets.randbits(32) if seed is None else seed
    load = os.getloadavg()
    contexts: list[Mapping[str, object]] = []
    missed: list[str] = []
    with ExitStack() as stack:
        directory = work.absolute() if work else Path(stack.enter_context(_throw_away()))
        for bench in chosen:
            found = Measured(len(os.sched_getaffinity(0)))
            try:
                measure(bench, found, directory, drawn, rounds)
                table = bench.table(found)
            except NotMeasured as error:
                missed.append(f"{bench.workload.name}: {error}")
                continue
            contexts += found.contexts.values()
            missed += [f"{bench.workload.name}: {what}" for what in table.missed]
            click.echo(table.markdown())
    click.echo(facts(contexts, load))
    click.echo(f"Launches interleaved in the random order of seed {drawn}; medians.")
    for what in missed:
        click.echo(f"missed: {what}", err=True)
    sys.exit(1 if missed else 0)


def measure(bench: Bench, found: Measured, work: Path, seed: int, rounds: int | None) -> None:
    """Build what the runs need, then launch; building and measuring never overlap."""
    begun = time.monotonic()
    runs = [replace(run, rounds=rounds or run.rounds) for run in bench.runs]
    programs: dict[tuple[Program, str], Path] = {}
    for run in runs:
        for arm in run.arms:
            if (run.program, arm.variant) not in programs:
                _progress(begun, f"{bench.workload.name}: building {run.program.target} of {arm.variant}")
                tree = lay_out(NATIVE, work, bench.workload, arm.variant)
                programs[run.program, arm.variant] = build(tree, run.program)
    for run in runs:
        for number, arm in enumerate(in_random_order(run.arms, run.rounds, seed), start=1):
            count = f"{number} of {len(run.arms) * run.rounds}"
            _progress(begun, f"{bench.workload.name}: {run.program.target} of {arm.name}, launch {count}")
            found.add(arm.name, launch(run, arm, programs[run.program, arm.variant]))


def _throw_away() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="benchgate-bench-")


def _progress(begun: float, text: str) -> None:
    click.echo(f"{time.monotonic() - begun:6.1f} s  {text}", err=True)


if __name__ == "__main__":
    main()
