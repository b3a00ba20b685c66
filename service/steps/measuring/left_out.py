"""Measure claimed benchmarks that the job's filters leave out, after the report: they answer claims only."""

from __future__ import annotations

import math
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from service.domain.claims.answers import with_new_names
from service.domain.claims.left_out import LEAST_PAIRS, MOST_LEFT_OUT, MOST_PAIRS, MOST_ROWS, left_out_row
from service.domain.measuring.formats.suites import format_of
from service.domain.measuring.launch_order import threads_of
from service.domain.measuring.pair_record import join_groups
from service.domain.measuring.repetitions import Rehearsed, plan_repetitions
from service.domain.project.policy import Policy
from service.domain.values.errors import OutOfTime
from service.domain.values.identity import Side
from service.domain.verdict.comparison.counting_pairs import count_pairs, counting_launches
from service.domain.verdict.comparison.suite import compare_suites
from service.domain.verdict.inference.verdict import Verdict
from service.steps.building.build_sides import built_tree
from service.steps.measuring.launching import Launcher, SideFailed
from service.steps.measuring.measure import launch_pair, next_pair
from service.steps.measuring.rehearse import Rehearsal, listing_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from service.domain.claims.answers import MeasuredRow
    from service.domain.measuring.launch import Launch
    from service.domain.measuring.listing import Listing
    from service.domain.project.benchmark import Suite
    from service.steps.building.session import BuildSession

BUDGET: Final = 60.0  # seconds for all launches


def measure_left_out(session: BuildSession, listings: Sequence[Listing]) -> tuple[MeasuredRow, ...]:
    """Measure the claimed benchmarks that no listing of the build has, without a record, and compare them.

    Nothing is built for it. Benchmarks that fail alone, have more threads than the machine has CPUs, or for
    which the time is too short, are not launched in pairs. If a launch fails twice, or the time ends, the
    pairs before count.

    Raises:
        OutOfTime: the programs could not be listed.
        NotFound: they are not kept any more.
    """
    spec, job = session.spec, session.spec.job.unfiltered
    known = {name for each in listings for name in (*each.base, *each.patch)}
    claimed = [name for name in with_new_names(spec.claimed_names, [job]) if name not in known]
    suites = {each.suite for each in listings if not each.is_same_program}
    if spec.base is None or spec.kind.is_for_idle_pools or job is None or not claimed:
        return ()
    session.progress.say("measuring claimed benchmarks")
    with ExitStack() as stack:
        opened = (built_tree(session, each, may_build=False) for each in (spec.base, spec.patch))
        trees = dict(zip(Side, map(stack.enter_context, opened), strict=True))
        end = min(session.deadline, session.host.clock() + BUDGET)  # of each launch, too
        launcher = Launcher(replace(session, spec=replace(spec, job=job), deadline=end), trees)
        found = _listings(launcher, claimed, suites)
        launches, others = _launch(launcher, found, claimed)
    # A change is never called none, so intervals are by ranks, and a single look has all pairs.
    policy = replace(spec.judged.policy, same_within=0.0, false_alarms=Policy().false_alarms)
    schedule = (max(1, len({each.pair for each in launches})),)
    rows = map(left_out_row, compare_suites(job.benchmark.suites, found, launches, policy, schedule))
    return tuple(replace(row, verdict=others.get(row.benchmark, row.verdict)) for row in rows)


def _listings(launcher: Launcher, claimed: Sequence[str], suites: Collection[str]) -> tuple[Listing, ...]:
    """List the claimed benchmarks of suites, each in the first suite that has it.

    A suite that cannot be listed is left out. Beyond the most, those claimed last are left out.
    """
    found: list[Listing] = []
    listed: set[str] = set()
    for suite in (each for name, each in launcher.suites.items() if name in suites):
        with suppress(SideFailed):
            before = launcher.list(suite, Side.BASE).names
            after = launcher.list(suite, Side.PATCH, before).names
            whole = listing_of(suite, Rehearsal({suite.name: before}), Rehearsal({suite.name: after}))
            found.append(whole.only({*claimed} - listed))
            listed.update(found[-1].base, found[-1].patch)
    metrics = max((len(launcher.suites[each.suite].metrics) for each in found), default=0)
    most = min(MOST_LEFT_OUT, MOST_ROWS // max(metrics, 1))
    chosen = [name for name in claimed if name in listed][:most]
    return tuple(each.only(chosen) for each in found)


def _launch(
    launcher: Launcher, listings: Sequence[Listing], claimed: Sequence[str]
) -> tuple[Sequence[Launch], Mapping[str, Verdict]]:
    """Launch pairs of what both sides list, and return those that count, and verdicts on what has none."""
    others = dict.fromkeys((name for each in listings for name in each.common), Verdict.UNDECIDED)
    launches: list[Launch] = []
    with suppress(SideFailed, OutOfTime):
        planned, seconds = [], dict[str, float]()
        for each in listings:
            suite, (base, patch) = _rehearsed(launcher, each)
            long = plan_repetitions(suite, base).long | plan_repetitions(suite, patch).long
            planned.append(each if format_of(suite).lists_by_running else replace(each, long=long))
            for name in base.ran & patch.ran:
                seconds[name] = base.seconds_of(suite, name, long) + patch.seconds_of(suite, name, long)
        others |= dict.fromkeys(others.keys() - seconds, Verdict.FAILING)
        launcher, host = replace(launcher, listings=tuple(planned)), launcher.session.host
        # One more than the least, because times vary, and disturbed pairs do not count.
        left = (launcher.session.deadline - host.clock()) / (LEAST_PAIRS + 1)
        cpus = len(host.host_cpus or host.cpus) or math.inf
        for name in claimed:
            if seconds.get(name, math.inf) <= left and threads_of(name) <= cpus:
                left -= seconds[name]
                del others[name]
        kept = {each.suite: [name for name in each.common if name not in others] for each in listings}
        wanted = {suite: names for suite, names in kept.items() if names}
        while wanted and (count := count_pairs(launches, MOST_PAIRS)) < MOST_PAIRS:
            again = partial(launch_pair, launcher, next_pair(launches), wanted, count)
            try:
                launched = tuple(again())
            except SideFailed:
                launched = tuple(again([]))  # without a patch that fails again
            launches += join_groups(launch for _, launch in launched)
    return counting_launches(launches, MOST_PAIRS), others


def _rehearsed(launcher: Launcher, listing: Listing) -> tuple[Suite, Iterable[Rehearsed]]:
    """Launch the benchmarks of each side once, as a rehearsal does, and each alone where that fails."""
    suite, found = launcher.suites[listing.suite], []
    for side in Side:
        together, names = Rehearsed(launches=0), listing.own_names(side, listing.common)
        for group in launcher.groups(suite, names):
            try:
                together |= launcher.rehearse(suite, side, group)
            except SideFailed:
                for name in group:
                    with suppress(SideFailed):
                        together |= launcher.rehearse(suite, side, (name,))
        found.append(together.under(dict(zip(names, listing.common, strict=True))))
    return suite, found
