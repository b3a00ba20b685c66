"""The work on a benchmark build: build both sides, measure them, confirm small slow-downs."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from service.domain.building.compile_errors import errors_in
from service.domain.decision.machine_report import MachineReport
from service.domain.decision.vote import Outcome
from service.domain.errors import CommandFailed, ProgramMissing
from service.domain.identity import Side
from service.domain.wording.build_causes import (
    NO_PARENT,
    build_failed,
    parent_failed,
    program_missing,
    shared_cpus,
    side_failed,
    too_few_cpus,
)
from service.steps.machine.build_sides import built_tree
from service.steps.machine.confirm_layout import confirm_layout
from service.steps.machine.find_identical_binaries import find_identical_binaries
from service.steps.machine.launching import SideFailed, cpus_wanted
from service.steps.machine.measure import measure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from service.domain.building.findings import Finding
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
    with ExitStack() as stack:
        trees = _built_sides(session, stack, seconds)
        if isinstance(trees, MachineReport):
            return replace(trees, seconds=seconds, conditions=conditions)
        session.claimed.enter("measure")
        unchanged = find_identical_binaries(session, trees)
        try:
            measured = measure(session, trees, unchanged)
        except SideFailed as error:
            is_same = all(suite.name in unchanged for suite in spec.job.benchmark.suites)
            is_blamed = error.side is Side.PATCH and not is_same
            outcome = Outcome.MEASURED_NOTHING if is_blamed else Outcome.NO_PARENT
            cause = side_failed(error.side, error.failure, is_same_program=is_same)
            return MachineReport(outcome, (cause,), seconds=seconds, conditions=conditions)
    seconds["measure"] = round(measured.seconds, 3)
    confirmed = confirm_layout(session, measured)
    if confirmed.seconds:
        seconds["confirm"] = round(confirmed.seconds, 3)
    causes = (
        *confirmed.causes,
        *((parent_failed(lost.failure),) if (lost := measured.parent_failed) else ()),
        *_too_few_cpus(session, measured.listings),
    )
    return MachineReport(
        causes=causes,
        pairs=measured.pairs,
        seconds=seconds,
        conditions=conditions,
        is_parent_lost=measured.parent_failed is not None,
    )


def _built_sides(
    session: BuildSession, stack: ExitStack, seconds: dict[str, float]
) -> dict[Side, Path] | MachineReport:
    """Both sides' trees, which the stack holds; or how the work ended if one does not build."""
    spec, claimed, log = session.spec, session.claimed, session.log
    trees: dict[Side, Path] = {}
    missing: ProgramMissing | None = None  # of the patch; the parent shows whether that is its fault
    # The patch first: if it does not build, that is the result, and the parent does not matter.
    for side, revision in ((Side.PATCH, spec.patch), (Side.BASE, spec.base)):
        if revision is None:
            return MachineReport(Outcome.NO_PARENT, (NO_PARENT,))
        claimed.enter(f"build {side}")
        session.progress.say(f"{claimed.name}: build {side}")
        begun, written = time.monotonic(), log.tell()
        try:
            trees[side] = stack.enter_context(built_tree(session, revision))
        except ProgramMissing as error:
            if side is Side.PATCH and spec.base is not None:
                missing = error
                continue
            if missing:
                return MachineReport(Outcome.MISCONFIGURED, (program_missing(error.what),))
            return _build_failed(side, error)
        except CommandFailed as error:
            own = log.getvalue()[written:] if side is Side.PATCH else b""
            return _build_failed(side, error, errors_in(own, error.tree))
        seconds[f"build {side}"] = round(time.monotonic() - begun, 3)
    return trees if missing is None else _build_failed(Side.PATCH, missing)


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


def _build_failed(side: Side, error: CommandFailed, findings: tuple[Finding, ...] = ()) -> MachineReport:
    outcome = Outcome.FAILED if side is Side.PATCH else Outcome.NO_PARENT
    return MachineReport(outcome, (build_failed(side, error),), findings=findings)
