"""Explain slower benchmarks: count what an iteration costs, and sample where its time goes."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final

from service.domain.measuring.launch_order import threads_of
from service.domain.measuring.metric import is_process_clock, own_clock
from service.domain.measuring.sampled_stacks import Sampled, repetitions_of
from service.domain.runs.judge_build import judge_measured
from service.domain.values.errors import BadResults, CommandFailed, OutOfTime, Permanent
from service.domain.values.identity import Side
from service.domain.verdict.comparison.instruction_counts import LAUNCHES
from service.domain.verdict.explanation.attribution import LAUNCHES as SAMPLED_LAUNCHES
from service.domain.verdict.explanation.attribution import attribute
from service.domain.verdict.explanation.causes import Kind, causes, more_allocations
from service.domain.verdict.explanation.explanation import MOST_EXPLAINED, Explanation
from service.domain.verdict.explanation.waiting import waiting, waits_for_others
from service.domain.verdict.inference.reasons import ReasonKind, has_kind
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.build_causes import OTHER_THREADS, SEVERAL_THREADS
from service.domain.wording.explanations import NOT_REACHED, NOTHING, TOLD
from service.steps.building.build_sides import built_tree
from service.steps.measuring.disassemble import disassembled, listed
from service.steps.measuring.launching import Launcher, SideFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.measuring.listing import Listing
    from service.domain.measuring.sampled_stacks import Profile
    from service.domain.verdict.inference.verdict import Comparison
    from service.steps.building.session import BuildSession

BUDGET: Final = 60.0  # seconds for all benchmarks, in addition to the machine time
_MOST_NAMES: Final = 10_000  # of functions, kept while other benchmarks are counted
_NAMING: Final = 5.0  # of these, kept to name the functions of a benchmark


def explain_slower(session: BuildSession, listings: Sequence[Listing]) -> tuple[Explanation, ...]:
    """Count events of each benchmark that is slower by its time, the worst first, and sample their stacks.

    One that is only worse by another metric comes after them: its allocations are counted, and nothing else
    says why it grew. All takes a minute at most, which those that a message tells use one by one. Functions
    are only named if there is time for enough samples.

    A benchmark that a person named is explained whatever its verdict. If it is not slower, its stacks could
    only show where it waits longer: they are not sampled if its CPU time is divided.

    The launches come after all pairs, and change no verdict. A failure becomes a reason beside a benchmark.
    Nothing is built for it.
    """
    spec = session.spec
    if spec.base is None:
        return ()
    rows = judge_measured(spec.explained, listings, session.claimed.pairs()).comparisons
    # One that a person asked for need only be compared.
    slower = [
        row for row in rows if row.verdict is Verdict.SLOWER or (spec.is_named and row.ratio is not None)
    ]
    slower.sort(key=lambda row: (not row.row.metric.is_speed, -row.growth))
    worst: dict[tuple[str, str], Comparison] = {}
    for row in slower:
        worst.setdefault((row.row.suite, row.row.benchmark), row)
    chosen = tuple(worst.values())[:MOST_EXPLAINED]
    if not chosen:
        return ()
    found = list[Explanation]()
    end = session.host.clock() + BUDGET
    try:
        with ExitStack() as stack:
            opened = (built_tree(session, each, may_build=False) for each in (spec.base, spec.patch))
            trees = dict(zip(Side, map(stack.enter_context, opened), strict=True))
            launcher = Launcher(session, trees, tuple(listings))
            for group in (*((row,) for row in chosen[:TOLD]), chosen[TOLD:]):
                _explain_group(launcher, group, found, end)
    except (CommandFailed, Permanent, OutOfTime) as error:
        found += [_explained(row, obstacle=str(error)) for row in chosen[len(found) :]]
    return tuple(found)


def _explain_group(
    launcher: Launcher, rows: Sequence[Comparison], found: list[Explanation], end: float
) -> None:
    """Add an explanation of each row to those ``found`` before: count all, then sample them."""
    say, clock, first = launcher.session.progress.say, launcher.session.host.clock, len(found)
    timed = list[frozenset[str]]()

    def share() -> float:
        return max(0.0, 1 - (end - clock()) / BUDGET)

    for number, row in enumerate(rows, first):
        say(f"counting slower benchmark {number + 1}", share())
        explained, functions = _explain(launcher, row, end)
        found.append(explained)
        timed.append(functions)
    for number, (row, functions) in enumerate(zip(rows, timed, strict=True), first):
        say(f"sampling slower benchmark {number + 1}", share())
        if row.row.metric.is_speed and (row.verdict is Verdict.SLOWER or _is_elapsed(row)):
            found[number] = _attribute(launcher, found[number], row, functions, end)


def _attribute(
    launcher: Launcher, found: Explanation, worst: Comparison, timed: frozenset[str], end: float
) -> Explanation:
    """Add waiting, and the functions that hold the slow-down, if there is time for enough launches."""
    clock, suite, is_elapsed = launcher.session.host.clock, launcher.suites[found.suite], _is_elapsed(worst)
    profiles: dict[Side, list[Profile]] = {Side.BASE: [], Side.PATCH: []}
    # Base, patch, patch, base, …: so a drift of the machine is alike on both sides.
    order = [side for pair in range(SAMPLED_LAUNCHES) for side in (list(Side)[::-1] if pair % 2 else Side)]
    name, sample = found.benchmark, partial(launcher.sample, suite)
    try:
        several = repetitions_of(name, lambda: sample(Side.BASE, name, 0, _left(launcher, end - _NAMING)))
        begun = clock()
        for number, side in enumerate(order):
            needed = (clock() - begun) / max(number, 1) * (len(order) - number)
            left = needed + _left(launcher, end - _NAMING - needed)
            profiles[side].append(sample(side, name, number // 2, left, several))
        named = [launcher.name(suite, side, profiles[side], _left(launcher, end), timed) for side in Side]
        by_clock = Sampled.by_real_time if is_elapsed else Sampled.by_cpu_time
        base, patch = ([*map(by_clock, side)] for side in named)
        waits = waiting(base, patch) if is_elapsed else None
        growth = attribute(base, patch, worst.growth if worst.verdict is Verdict.SLOWER else 0.0)
        is_by_others = _has_others(worst) and waits_for_others(*named)
    except (SideFailed, BadResults, OutOfTime) as error:  # the counts stand alone
        if found.obstacle not in {"", SEVERAL_THREADS}:
            return found
        counted = found.obstacle or ("" if found.causes else NOTHING)
        missing = "; ".join(filter(None, (counted, f"not sampled: {_words(error)}")))
        return replace(found, obstacle=missing)
    grown = found.causes
    if waits or is_by_others:
        grown = tuple(each for each in grown if each.kind is not Kind.LAYOUT)
    if is_by_others:
        why = found.obstacle or ("" if grown else OTHER_THREADS)
        return replace(found, causes=grown, sampled=growth.sampled, obstacle=why)
    return replace(found, causes=(waits, *grown) if waits else grown, **growth._asdict())


def _has_others(row: Comparison) -> bool:
    """Return whether its time has the work of threads that are not sampled; a thread's CPU time has not."""
    name = row.row.benchmark
    return threads_of(name) == 1 and (_is_elapsed(row) or is_process_clock(name))


def _is_elapsed(row: Comparison) -> bool:
    """Return whether elapsed time is divided; of several threads, CPU time shows less."""
    name = row.row.benchmark
    return row.row.metric.name == "real_time" or own_clock(name) == "real_time" or threads_of(name) > 1


def _explain(launcher: Launcher, row: Comparison, end: float) -> tuple[Explanation, frozenset[str]]:
    """Count a benchmark's events; also return the functions of its loop on either side, if all are known."""
    unknown = frozenset[str]()
    clock, name, suite = launcher.session.host.clock, row.row.benchmark, launcher.suites[row.row.suite]
    if threads_of(name) > 1:
        return _explained(row, obstacle=SEVERAL_THREADS), unknown
    try:
        sides = [
            [launcher.count_events(suite, side, name, _left(launcher, end)) for _ in range(LAUNCHES)]
            for side in Side
        ]
    except (SideFailed, BadResults, OutOfTime) as error:
        return _explained(row, obstacle=NOT_REACHED if clock() >= end else _words(error)), unknown
    found = _explained(row)
    if row.row.metric.is_speed:
        for side, launches in zip(Side, sides, strict=True):
            launches[-1] = listed(launcher, suite, side, launches[-1], end - clock())
        slowdown = row.growth if row.verdict is Verdict.SLOWER else None
        may_be_layout = not has_kind(row.reasons, {ReasonKind.LAYOUT_CONFIRMED})
        found = replace(found, causes=causes(sides[0], sides[1], slowdown, may_be_layout=may_be_layout))
    else:
        found = replace(found, causes=more_allocations(sides[0], sides[1]))
    found = disassembled(launcher, suite, found, sides, end - clock())
    names = unknown.union(*(each.loop.names.values() for each in chain(*sides)))
    return found, names if len(names) <= _MOST_NAMES else unknown


def _words(error: SideFailed | BadResults | OutOfTime) -> str:
    return f"{error.side}: {error.end}" if isinstance(error, SideFailed) else str(error)


def _left(launcher: Launcher, end: float) -> float:
    """Return the seconds of the minute that are left; raise OutOfTime if there are none."""
    if (left := end - launcher.session.host.clock()) <= 0:
        raise OutOfTime(NOT_REACHED)
    return left


def _explained(row: Comparison, *, obstacle: str = "") -> Explanation:
    slowdown = row.growth if row.row.metric.is_speed else 0.0
    return Explanation(row.row.suite, row.row.benchmark, slowdown, obstacle=obstacle)
