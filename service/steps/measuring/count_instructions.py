"""Count the instructions of every benchmark on both sides, within a share of the machine time."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from service.domain.measuring.callgrind import Counted
from service.domain.measuring.launch_order import threads_of
from service.domain.project.benchmark import Instructions
from service.domain.values.errors import BadResults
from service.domain.values.identity import Side
from service.domain.verdict.comparison.instruction_counts import LAUNCHES
from service.domain.wording.build_causes import OUT_OF_COUNTING_TIME, SEVERAL_THREADS
from service.steps.measuring.launching import SideFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.measuring.callgrind import Counts
    from service.domain.measuring.listing import Listing
    from service.steps.measuring.launching import Launcher

# Of the budget for measuring, and in addition to it: counting must not take time from the pairs. The patch
# has twice the parent's time, so that it is out of time first only if it takes more than twice as long.
_TIME_SHARES: Final = MappingProxyType({Side.BASE: 1 / 12, Side.PATCH: 1 / 6})


def count_instructions(launcher: Launcher, listings: Sequence[Listing]) -> Counts:
    """Count each benchmark's instructions on both sides, if the job asks for that.

    A failure of counting becomes a reason beside a benchmark, and never fails the build. Benchmarks with
    several threads are not counted: Valgrind runs one thread at a time, so the instructions that they
    execute while they wait for each other say nothing about a machine.
    """
    counts: Counts = {}
    session = launcher.session
    job = session.spec.job
    if job.benchmark.instructions is Instructions.OFF:
        return counts
    left = {side: share * job.policy.machine_time for side, share in _TIME_SHARES.items()}
    chosen = [(each.suite, name) for each in listings if not each.is_same_program for name in each.common]
    for number, (suite, name) in enumerate(chosen):
        session.progress.say(f"counting instructions: {number + 1} of {len(chosen)}", 0.0)
        for side, counted in zip(Side, _count_sides(launcher, suite, name, left), strict=True):
            counts.setdefault((suite, side), {})[name] = counted
    return counts


def _count_sides(
    launcher: Launcher, suite: str, name: str, left: dict[Side, float]
) -> tuple[Counted, Counted]:
    if threads_of(name) > 1:
        why = Counted(why=SEVERAL_THREADS)
        return why, why
    base = _count(launcher, suite, Side.BASE, name, left)
    # Without a count of the base there is nothing to compare with.
    patch = Counted() if base.why else _count(launcher, suite, Side.PATCH, name, left)
    return base, patch


def _count(launcher: Launcher, suite: str, side: Side, name: str, left: dict[Side, float]) -> Counted:
    found, clock = Counted(), launcher.session.host.clock
    for _ in range(LAUNCHES):
        if left[side] <= 0:
            return Counted(why=OUT_OF_COUNTING_TIME)
        begun = clock()
        try:
            loops, functions = launcher.count(launcher.suites[suite], side, name, left[side])
            found = Counted((*found.launches, loops), functions=functions)
        except SideFailed as error:
            return Counted(why=f"{error.side}: {error.end}")
        except BadResults as error:
            return Counted(why=f"{side}: {error}")
        finally:
            left[side] -= clock() - begun
    return found
