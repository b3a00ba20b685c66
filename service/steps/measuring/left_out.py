"""Measure claimed benchmarks that the job's filters leave out, after the report: they answer claims only."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from service.domain.claims.answers import with_new_names
from service.domain.claims.left_out import MOST_LEFT_OUT, left_out_row
from service.domain.measuring.formats.suites import format_of
from service.domain.measuring.pair_record import join_groups
from service.domain.measuring.repetitions import Rehearsed, plan_repetitions
from service.domain.values.errors import OutOfTime
from service.domain.values.identity import Side
from service.domain.verdict.comparison.counting_pairs import count_pairs, counting_launches
from service.domain.verdict.comparison.suite import compare_suites
from service.steps.building.build_sides import built_tree
from service.steps.measuring.launching import Launcher, SideFailed
from service.steps.measuring.measure import launch_pair
from service.steps.measuring.rehearse import Rehearsal, listing_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from service.domain.claims.answers import Measured
    from service.domain.measuring.launch import Launch
    from service.domain.measuring.listing import Listing
    from service.steps.building.session import BuildSession

BUDGET: Final = 60.0  # seconds for all launches
MOST_PAIRS: Final = 20  # twice as many would narrow the intervals by less than a third


def measure_left_out(session: BuildSession, listings: Sequence[Listing]) -> tuple[Measured, ...]:
    """Measure the claimed benchmarks that no listing of the build has, without a record, and compare them.

    Nothing is built for it. If a launch fails, or the time ends, the pairs before count.

    Raises:
        SideFailed, OutOfTime: the programs could not be listed.
        NotFound: they are not kept any more.
    """
    spec, job = session.spec, session.spec.job.unfiltered
    known = {name for each in listings for name in (*each.base, *each.patch)}
    claimed = [name for name in with_new_names(spec.claimed, [job]) if name not in known]
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
        launches = _launch(launcher, found)
    # A change is never called none, so intervals are by ranks, and a single look has all pairs.
    policy, pairs = replace(spec.judged.policy, same_within=0.0), len({each.pair for each in launches})
    rows = compare_suites(job.benchmark.suites, found, launches, policy, (max(1, pairs),))
    return tuple(map(left_out_row, rows))


def _listings(launcher: Launcher, claimed: Sequence[str], suites: Collection[str]) -> tuple[Listing, ...]:
    """List the claimed benchmarks of suites; beyond the most, those claimed last are left out."""
    found = []
    for suite in (each for name, each in launcher.suites.items() if name in suites):
        before = launcher.list(suite, Side.BASE).names
        after = launcher.list(suite, Side.PATCH, before).names
        found.append(listing_of(suite, Rehearsal({suite.name: before}), Rehearsal({suite.name: after})))
    listed = {name for each in found for name in (*each.base, *each.patch)}
    chosen = [name for name in claimed if name in listed][:MOST_LEFT_OUT]
    return tuple(each.only(chosen) for each in found)


def _launch(launcher: Launcher, listings: Sequence[Listing]) -> Sequence[Launch]:
    """Launch pairs of what both sides list, and return those that count."""
    wanted = {each.suite: each.common for each in listings if each.common}
    pair = 0
    launches: list[Launch] = []
    with suppress(SideFailed, OutOfTime):
        planned = [_planned(replace(launcher, listings=(each,)), each) for each in listings]
        launcher = replace(launcher, listings=tuple(planned))
        while wanted and (count := count_pairs(launches, MOST_PAIRS)) < MOST_PAIRS:
            launched = tuple(launch_pair(launcher, pair, wanted, count))
            launches += join_groups(launch for _, launch in launched)
            pair += 1
    return counting_launches(launches, MOST_PAIRS)


def _planned(launcher: Launcher, listing: Listing) -> Listing:
    """Launch each benchmark once, which shows whether it needs long repetitions, as a rehearsal does."""
    suite, long = launcher.suites[listing.suite], frozenset[str]()
    if format_of(suite).lists_by_running:
        return listing
    for side in Side:
        together = Rehearsed(launches=0)
        for group in launcher.groups(suite, listing.common):
            together |= launcher.rehearse(suite, side, group)
        long |= plan_repetitions(suite, together).long
    return replace(listing, long=long)
