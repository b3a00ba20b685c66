"""Measure a program with a knob: the same binary on both sides, with an effect known by its work items."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.verdicts.engine import POLICY, compare_programs, job_of
from bench.verdicts.programs import Programs, more_work
from service.domain.project.benchmark import Instructions, Suite
from service.domain.values.identity import Side
from service.domain.values.text import signed_percent
from service.domain.verdict.inference.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.verdicts.engine import Found
    from service.domain.verdict.inference.verdict import Comparison

EFFECTS: Final = (0.0, 2.0, 3.0, 5.0, 10.0)  # percent
PLANTED: Final = 5  # percent
SUITE: Final = "known_effects"
_COUNTING: Final = 1200.0  # seconds of machine time, a quarter of which goes into counting
_WRAPPER: Final = '#!/bin/sh\nexec {program} --slower={percent:g} "$@"\n'


def measure_live(work: Path, quiet: frozenset[str]) -> None:
    """Print two tables: the rule's verdicts at each setting of the knob, and of more work in the sources.

    Args:
        work: where programs are built.
        quiet: the benchmarks that count as measurable.
    """
    programs = Programs(work)
    base = programs.build(work / "base", [SUITE])[SUITE].resolve()
    _say("| effect | slower | same | undecided | faster | of measurable ones slower | interval holds it ")
    _say("| pairs | seconds |\n|---|---|---|---|---|---|---|---|---|\n")
    for percent in EFFECTS:
        _say(_row(percent, _measure(work, base, percent), quiet))
    _say(f"\n{PLANTED} % more work in the sources, built anew, with the instructions that are executed\n\n")
    planted = programs.build(work / "planted", [SUITE], edits=more_work(PLANTED))[SUITE].resolve()
    _print_planted(_measure_planted(work, base, planted), quiet)


def _measure_planted(work: Path, base: Path, planted: Path) -> Found:
    sides = {Side.BASE: {SUITE: base}, Side.PATCH: {SUITE: planted}}
    policy = replace(POLICY, machine_time=_COUNTING)
    job = job_of(Suite(SUITE, "", filter="^[^/]*$"))
    counting = replace(job.benchmark, instructions=Instructions.REPORT)
    job = replace(job, policy=policy, configuration=counting)
    return compare_programs(work / "sides", sides, job, "planted")


def _print_planted(found: Found, quiet: frozenset[str]) -> None:
    by_metric: dict[str, dict[str, Comparison]] = {}
    for each in found.comparisons:
        by_metric.setdefault(each.row.metric.name, {})[each.row.benchmark] = each
    _say("| benchmark | measurable | instructions | verdict | CPU time | interval | pairs |\n")
    _say("|---|---|---|---|---|---|---|\n")
    for name, row in by_metric["cpu_time"].items():
        counted = by_metric.get("instructions", {}).get(name)
        instructions = signed_percent(counted.ratio) if counted and counted.ratio else "not counted"
        low, high = row.interval or (0.0, float("inf"))
        cells = [
            name,
            "yes" if name in quiet else "no",
            instructions,
            str(row.verdict),
            signed_percent(row.ratio or 1.0),
            f"{100 * (low - 1):+.1f} to {100 * (high - 1):+.1f} %",
            str(row.pairs),
        ]
        _say(f"| {' | '.join(cells)} |\n")
    _say(f"\nIt took {found.seconds:.0f} s.\n")


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _measure(work: Path, program: Path, percent: float) -> Found:
    with tempfile.TemporaryDirectory(dir=work) as scratch:
        slow = Path(scratch) / "slow"
        slow.write_text(_WRAPPER.format(program=program, percent=percent))
        slow.chmod(0o755)
        fast = Path(scratch) / "fast"
        fast.write_text(_WRAPPER.format(program=program, percent=0))
        fast.chmod(0o755)
        sides = {Side.BASE: {SUITE: fast}, Side.PATCH: {SUITE: slow}}
        return compare_programs(work / "sides", sides, job_of(Suite(SUITE, "")), f"live {percent:g}")


def _row(percent: float, found: Found, quiet: frozenset[str]) -> str:
    own = [
        each for each in found.comparisons if each.row.metric.name != "real_time" or "/" in each.row.benchmark
    ]
    counts = [
        sum(each.verdict is verdict for each in own)
        for verdict in (Verdict.SLOWER, Verdict.SAME, Verdict.UNDECIDED, Verdict.FASTER)
    ]
    measurable = [each for each in own if each.row.benchmark in quiet]
    slower = sum(each.verdict is Verdict.SLOWER for each in measurable)
    cells = [
        f"{percent:g} %",
        *map(str, counts),
        f"{slower} of {len(measurable)}",
        f"{_holding(own, percent)} of {len(own)}",
        f"{found.pairs}",
        f"{found.seconds:.0f}",
    ]
    return f"| {' | '.join(cells)} |\n"


def _holding(rows: Sequence[Comparison], percent: float) -> int:
    truth = 1 + percent / 100
    return sum(each.interval is not None and each.interval[0] <= truth <= each.interval[1] for each in rows)
