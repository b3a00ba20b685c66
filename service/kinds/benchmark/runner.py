"""The work on a benchmark build: build both sides, measure them, confirm small slow-downs."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from service.domain.decision.machine_report import MachineReport
from service.domain.decision.side_end import outcome_after_rehearsal
from service.domain.decision.vote import Outcome
from service.domain.measuring.pair_record import read_pairs
from service.domain.wording.build_causes import (
    USED_UP_BY_PATCH,
    lost_after_rehearsal,
    parent_failed,
    patch_failed,
    shared_cpus,
    side_failed,
    too_few_cpus,
)
from service.steps.machine.confirm_layout import confirm_layout
from service.steps.machine.find_identical_binaries import find_identical_binaries
from service.steps.machine.launching import Launcher, SideFailed, cpus_wanted
from service.steps.machine.measure import measure
from service.steps.machine.prepare_sides import prepare_sides
from service.steps.machine.rehearse import fix_listings, long_by_suite, renamed_by_suite
from service.steps.machine.second_opinion import ask_again

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from service.domain.comparison.suite import Listing
    from service.steps.machine.session import BuildSession


def run(session: BuildSession) -> MachineReport:
    """Build, measure and confirm; the analysis decides unless a side cannot be built or measured."""
    host, spec = session.host, session.spec
    seconds: dict[str, float] = {}
    conditions = {
        "sandbox": dict(host.sandbox.in_force()),
        "toolchain": host.toolchain,
        "tools": dict(host.tools),
    }
    host.source.fetch(spec.project, *(r.ref for r in (spec.patch, spec.base) if r is not None))
    stored = read_pairs(session.claimed.pairs(), spec.job.benchmark.suites)
    with ExitStack() as stack:
        sides = prepare_sides(session, stack, seconds, is_new=not stored.as_built)
        unchanged = find_identical_binaries(session, sides.trees)
        if ended := sides.ended(unchanged):
            return replace(ended, seconds=seconds, conditions=conditions)
        session.claimed.enter("measure")
        listings = fix_listings(session, sides.rehearsals, unchanged)
        stored = stored.under_new_names(listings)
        launcher = Launcher(session, sides.trees, long_by_suite(listings), renamed_by_suite(listings))
        try:
            measured = measure(launcher, listings, stored)
            second = ask_again(launcher, measured)
        except SideFailed as error:
            outcome = outcome_after_rehearsal(error.side, is_same_program=error.suite in unchanged)
            words = side_failed if outcome is Outcome.MEASURED_NOTHING else lost_after_rehearsal
            cause = words(error.side, error.failure)
            return MachineReport(outcome, (cause,), seconds=seconds, conditions=conditions)
    seconds["measure"] = round(measured.seconds, 3)
    if second.seconds:
        seconds["second opinion"] = round(second.seconds, 3)
    confirmed = confirm_layout(session, measured)
    if confirmed.seconds:
        seconds["confirm"] = round(confirmed.seconds, 3)
    causes = (
        *sides.warnings(),
        *confirmed.causes,
        *second.causes,
        *((parent_failed(lost.failure),) if (lost := measured.parent_failed) else ()),
        *((patch_failed(lost.failure),) if (lost := measured.patch_failed) else ()),
        *((USED_UP_BY_PATCH,) if measured.is_used_up_by_patch else ()),
        *_too_few_cpus(session, measured.listings),
    )
    return MachineReport(
        causes=causes,
        pairs=measured.pairs,
        seconds=seconds,
        conditions=conditions,
        is_parent_lost=measured.parent_failed is not None,
        is_used_up_by_patch=measured.is_used_up_by_patch,
    )


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
