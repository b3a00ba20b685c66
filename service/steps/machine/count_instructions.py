"""Instruction counts of every benchmark on both sides, taken within a share of the machine's time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from service.domain.errors import BadResults
from service.domain.identity import Side
from service.domain.measuring.callgrind import trials
from service.domain.measuring.instruction_counts import LAUNCHES, Counted
from service.domain.measuring.launch_order import threads_of
from service.domain.project.benchmark import Instructions
from service.domain.wording.build_causes import OUT_OF_COUNTING_TIME, SEVERAL_THREADS
from service.steps.machine.launching import SideFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.comparison.suite import Listing
    from service.domain.measuring.instruction_counts import Counts
    from service.steps.machine.launching import Launcher

_TIME_SHARE: Final = (
    0.25  # of the budget for measuring, and in addition to it: counting must not take time from the pairs
)


def count_instructions(launcher: Launcher, listings: Sequence[Listing]) -> Counts:
    """The instructions that every benchmark of both sides executes; none unless the job asks for them.

    A failure of counting becomes a reason beside a benchmark, and never fails the build.
    Benchmarks with several threads are not counted: Valgrind runs one thread at a time, so that the
    instructions they execute while they wait for each other say nothing about a machine.
    """
    counts: Counts = {}
    session = launcher.session
    job = session.spec.job
    if job.benchmark.instructions is Instructions.OFF:
        return counts
    end = session.host.clock() + _TIME_SHARE * job.policy.machine_time
    chosen = [(each.suite, name) for each in listings if not each.is_same_program for name in each.common]
    for number, (suite, name) in enumerate(chosen):
        session.progress.say(f"counting instructions: {number + 1} of {len(chosen)}", 0.0)
        for side, counted in zip(Side, _count_sides(launcher, suite, name, end), strict=True):
            counts.setdefault((suite, side), {})[name] = counted
    return counts


def _count_sides(launcher: Launcher, suite: str, name: str, end: float) -> tuple[Counted, Counted]:
    if threads_of(name) > 1:
        why = Counted(why=SEVERAL_THREADS)
        return why, why
    base = _count(launcher, suite, Side.BASE, name, end)
    # Without a count of the base there is nothing to compare with.
    patch = Counted() if base.why else _count(launcher, suite, Side.PATCH, name, end)
    return base, patch


def _count(launcher: Launcher, suite: str, side: Side, name: str, end: float) -> Counted:
    launches = []
    for _ in range(LAUNCHES):
        left = end - launcher.session.host.clock()
        if left <= 0:
            return Counted(why=OUT_OF_COUNTING_TIME)
        try:
            dumps, log = launcher.count(launcher.suites[suite], side, name, left)
            launches.append(trials(dumps, log, name))
        except SideFailed as error:
            return Counted(why=f"{error.side}: {error.end}")
        except BadResults as error:
            return Counted(why=f"{side}: {error}")
    return Counted(tuple(launches))
