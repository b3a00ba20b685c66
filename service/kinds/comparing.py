"""Run a comparing build: build both sides, measure them, confirm small slow-downs."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from service.domain.claims.left_out import pack_left_out
from service.domain.measuring.pair_record import MeasuredPairs, read_pairs
from service.domain.runs.judge_build import slow_downs
from service.domain.runs.machine_report import MachineReport
from service.domain.runs.side_end import outcome_after_rehearsal
from service.domain.runs.vote import Outcome
from service.domain.values.identity import RunKind, Side
from service.domain.wording.build_causes import (
    USED_UP_BY_PATCH,
    lost_after_rehearsal,
    parent_failed,
    patch_failed,
    shared_cpus,
    side_failed,
    too_few_cpus,
)
from service.domain.wording.explanations import explanations
from service.domain.wording.failures import tests_too_short
from service.steps.building.build_sides import built_tree
from service.steps.measuring.confirm_layout import confirm_layout
from service.steps.measuring.control import measure_control
from service.steps.measuring.course import Course
from service.steps.measuring.explain_slower import explain_slower
from service.steps.measuring.find_identical_programs import find_identical_programs
from service.steps.measuring.launching import Launcher, SideFailed, cpus_wanted
from service.steps.measuring.left_out import measure_left_out
from service.steps.measuring.measure import measure
from service.steps.measuring.prepare_sides import prepare_sides
from service.steps.measuring.rehearse import fix_listings
from service.steps.measuring.run_tests import report_of
from service.steps.measuring.second_opinion import ask_again
from service.steps.sources.fetch_sides import fetch_sides

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from service.domain.measuring.listing import Listing
    from service.domain.runs.tested import Tested
    from service.domain.verdict.explanation.explanation import Explanation
    from service.steps.building.session import BuildSession
    from service.steps.measuring.confirm_layout import Confirmation
    from service.steps.measuring.measure import Measurement
    from service.steps.measuring.second_opinion import SecondOpinion

_UNTESTED: Final = MachineReport()


def compare_sides(
    session: BuildSession, test: Callable[[Path], Sequence[Tested]] | None = None
) -> MachineReport:
    """Build, measure and confirm; the analysis decides unless a side cannot be built or measured.

    Args:
        session: the build.
        test: tries the tests of the patch in a directory with its built sources, after the parent was built
            and rehearsed; durations are measured only if they pass. None: there are no tests.
    """
    conditions, seconds = session.host.conditions, dict[str, float]()
    return replace(_compare(session, test, seconds), seconds=seconds, conditions=conditions)


def _compare(
    session: BuildSession, test: Callable[[Path], Sequence[Tested]] | None, seconds: dict[str, float]
) -> MachineReport:
    spec, tested = session.spec, _UNTESTED
    fetch_sides(session.host.source, spec)
    stored = read_pairs(session.claimed.pairs(), spec.job.benchmark.suites)
    with ExitStack() as stack:
        sides = prepare_sides(session, stack, seconds, is_new=not stored.as_built)
        if test and Side.PATCH in sides.trees and not spec.kind.is_for_idle_pools:
            tested = _try_tests(session, test, seconds)
        if tested.outcome is Outcome.FAILED:
            return tested
        unchanged = find_identical_programs(session, sides)
        if ended := sides.ended(unchanged):
            return _beside(tested, ended)
        session.claimed.enter("measure")
        session.progress.say(f"{session.claimed.name}: measure")
        listings = fix_listings(session, sides.rehearsals, unchanged)
        if tested.outcome and not any(listing.base or listing.patch for listing in listings):
            note = tests_too_short(sum(listing.too_short for listing in listings))
            return replace(tested, causes=(*tested.causes, note))
        stored = stored.under_new_names(listings)
        launcher = Launcher(session, sides.trees, listings)
        try:
            measured = measure(launcher, Course.of(session.spec, listings, _building(seconds)), stored)
            second = ask_again(launcher, measured)
        except SideFailed as error:
            is_same = any(each.is_same_program for each in listings if each.suite == error.suite)
            outcome = outcome_after_rehearsal(error.side, is_same_program=is_same)
            words = side_failed if outcome is Outcome.MEASURED_NOTHING else lost_after_rehearsal
            return _beside(tested, MachineReport(outcome, (words(error.side, error.failure),)))
    report = _confirm(session, measured, second, seconds)
    return _beside(tested, replace(report, causes=(*sides.warnings(), *report.causes)))


def _confirm(
    session: BuildSession, measured: Measurement, second: SecondOpinion, seconds: dict[str, float]
) -> MachineReport:
    """Confirm small slow-downs and gains, measure the control, and report what was measured."""
    seconds["measure"] = round(measured.seconds, 3)
    if second.seconds:
        seconds["second opinion"] = round(second.seconds, 3)
    confirmed = confirm_layout(session, measured, _building(seconds))
    if confirmed.seconds:
        seconds["confirm"] = round(confirmed.seconds, 3)
    begun = session.host.clock()
    incomplete = measure_control(session, measured, confirmed)
    if spent := round(session.host.clock() - begun, 3):
        seconds["control"] = spent
    begun = session.host.clock()
    # The service explains after the report, so that the vote does not wait for it.
    is_asked = session.spec.is_local and session.spec.is_explained
    why = explain_slower(session, measured.listings) if is_asked else ()
    if why:
        seconds["why"] = round(session.host.clock() - begun, 3)
    causes = (
        *explanations(why),
        *confirmed.causes,
        *incomplete,
        *second.causes,
        *((parent_failed(lost.failure),) if (lost := measured.parent_failed) else ()),
        *((patch_failed(lost.failure),) if (lost := measured.patch_failed) else ()),
        *((USED_UP_BY_PATCH,) if measured.is_used_up_by_patch else ()),
        *_too_few_cpus(session, measured.listings),
    )
    return MachineReport(
        causes=causes,
        pairs=measured.pairs,
        is_parent_lost=measured.parent_failed is not None,
        is_used_up_by_patch=measured.is_used_up_by_patch,
        why=tuple(each.to_mapping() for each in why),
        is_explained_later=_is_explained_later(session, measured, confirmed),
    )


def _is_explained_later(session: BuildSession, measured: Measurement, confirmed: Confirmation) -> bool:
    """Return whether a change or a range of commits is slower; of calibrations, nobody asks why."""
    spec, record = session.spec, MeasuredPairs(relinked=confirmed.launches, counts=measured.counts)
    if spec.is_local or spec.kind is RunKind.CALIBRATION:
        return False
    return bool(slow_downs(spec.explained, measured.listings, measured.launches, record))


def explain_reported(session: BuildSession) -> tuple[Explanation, ...]:
    """Explain the slower benchmarks of a build whose report said that it has some."""
    return explain_slower(session, session.claimed.fix_listings(()))


def measure_claimed(session: BuildSession) -> bytes:
    """Measure what the commit message claims and the filters of the reported build leave out."""
    return pack_left_out(measure_left_out(session, session.claimed.fix_listings(())))


def _building(seconds: Mapping[str, float]) -> float:
    """Estimate the seconds of building relinks of both sides by those of the patch's build.

    Relinking compiles again, mostly from the compiler cache, which the parent's build has filled.
    """
    return len(Side) * seconds.get(f"build {Side.PATCH}", 0.0)


def _beside(tested: MachineReport, report: MachineReport) -> MachineReport:
    """Add the test cases and the notes about them to a report."""
    causes = (*report.causes, *tested.causes)
    return replace(report, causes=causes, tests=tested.tests, retried=tested.retried, cleared=tested.cleared)


def _try_tests(
    session: BuildSession, test: Callable[[Path], Sequence[Tested]], seconds: dict[str, float]
) -> MachineReport:
    """Try the tests in a tree of their own, because they may write to it."""
    session.claimed.enter("test")
    session.progress.say(f"{session.claimed.name}: test")
    begun = session.host.clock()
    with built_tree(session, session.spec.patch) as tree:
        report = report_of(session, test(tree))
    seconds["test"] = round(session.host.clock() - begun, 3)
    return report


def _too_few_cpus(session: BuildSession, listings: Sequence[Listing]) -> Iterator[str]:
    """Warnings about suites that ask for more CPUs than are kept for measuring."""
    names = {listing.suite: listing.common for listing in listings}
    measured, everywhere = len(session.host.cpus), len(session.host.host_cpus)
    for suite in session.spec.job.benchmark.suites:
        wanted = cpus_wanted(suite, names.get(suite.name, ()))
        if wanted > measured and everywhere > measured:
            # Not kept for measuring alone, but better than threads that take turns.
            yield shared_cpus(suite.name, wanted, measured, everywhere)
        elif suite.cpus > measured:
            yield too_few_cpus(suite.name, suite.cpus, measured)
