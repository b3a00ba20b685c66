"""Prepare both sides for measuring: the parent first, before any code of the patch runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from service.domain.building.compile_errors import errors_in
from service.domain.failures.failure import FailureKind
from service.domain.project.configuration import Work
from service.domain.runs.machine_report import MachineReport
from service.domain.runs.side_end import Parent, SideEnd, Stage, gravest, outcome_of_sides
from service.domain.runs.vote import Outcome
from service.domain.values.errors import Transient
from service.domain.values.identity import Side
from service.domain.values.text import counted
from service.domain.wording.build_causes import listing_failed, side_failed, sides_failed
from service.domain.wording.failures import failure_causes
from service.steps.building.build_sides import built_tree
from service.steps.building.build_sources import NotBuilt, failures_of_build
from service.steps.building.report_not_built import end_of
from service.steps.measuring.launching import Launcher
from service.steps.measuring.rehearse import NOTHING_KNOWN, Rehearsal, rehearse, without_choice

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from contextlib import ExitStack
    from pathlib import Path

    from service.domain.building.findings import Finding
    from service.domain.building.spec import BuildSpec, Revision
    from service.domain.failures.failure import Failure
    from service.steps.building.session import BuildSession


@dataclass(frozen=True, slots=True)
class PreparedSide:
    """A side: its built tree and rehearsal, or its build's failure and the compiler's messages.

    ``is_cut``: there are more failures.
    """

    tree: Path | None = None
    rehearsal: Rehearsal = NOTHING_KNOWN
    not_built: SideEnd | None = None
    findings: tuple[Finding, ...] = ()
    failures: tuple[Failure, ...] = ()
    is_cut: bool = False

    def end_of(self, suite: str) -> SideEnd | None:
        """Return how a suite of it failed; None if it runs."""
        return self.not_built or self.rehearsal.ends.get(suite)


@dataclass(frozen=True, slots=True)
class PreparedSides:
    """Both sides; a root commit has no base."""

    spec: BuildSpec
    sides: Mapping[Side, PreparedSide]

    @property
    def trees(self) -> dict[Side, Path]:
        """The trees of the sides that were built."""
        return {side: found.tree for side, found in self.sides.items() if found.tree}

    @property
    def rehearsals(self) -> dict[Side, Rehearsal]:
        """The rehearsal of each side."""
        return {side: found.rehearsal for side, found in self.sides.items()}

    def ended(self, unchanged: Collection[str]) -> MachineReport | None:
        """Report the outcome that follows from the ends of both sides; None: measure them.

        ``unchanged`` names the suites with the same program on both sides.
        """
        suites = [each.name for each in self.spec.job.benchmark.suites if each.name not in self._left_out]
        patch, base = self.sides[Side.PATCH], self.sides.get(Side.BASE)
        ends = [(patch.end_of(name), base.end_of(name) if base else None) for name in suites]
        outcomes = [
            outcome_of_sides(*each, Parent.of(self.spec.base), is_same_program=name in unchanged)
            for name, each in zip(suites, ends, strict=True)
        ]
        if (outcome := gravest(outcomes)) is None:
            return None
        are_tests = self.spec.job.configuration.work is Work.TESTS
        cause = sides_failed(outcome, *ends[outcomes.index(outcome)], are_tests=are_tests)
        # If the parent fails alike, the compiler's messages may be about its lines.
        if outcome is not Outcome.FAILED:
            return MachineReport(outcome, (cause,))
        are_errors = any(each.kind is FailureKind.COMPILE for each in patch.failures)
        return MachineReport(
            outcome,
            failure_causes(patch.failures, is_cut=patch.is_cut) if are_errors else (cause,),
            findings=patch.findings,
            failures=patch.failures,
            is_cut=patch.is_cut,
        )

    def warnings(self) -> tuple[str, ...]:
        """Name the suites that are not compared because a program fails."""
        left_out = self._left_out
        base = self.sides.get(Side.BASE)
        ends = base.rehearsal.ends if base else {}
        return (
            *(listing_failed(side, str(end)) for side, end in left_out.values()),
            *(
                side_failed(Side.BASE, str(end))
                for suite, end in ends.items()
                if not (end.is_empty or suite in left_out)
            ),
        )

    @property
    def _left_out(self) -> Mapping[str, tuple[Side, SideEnd]]:
        """Return the suites that cannot be listed, with an end of each, if the build's filter chooses others.

        Their benchmarks are unknown, so the filter cannot choose one.
        """
        if not self.spec.filter or any(side.not_built for side in self.sides.values()):
            return {}
        suites = self.spec.job.benchmark.suites
        others = without_choice(suites, self.rehearsals.values(), self.spec.filter)
        return {
            suite: (side, end)
            for side, found in self.sides.items()
            for suite, end in found.rehearsal.ends.items()
            if suite in others and end.stage is Stage.LISTING
        }


def prepare_sides(
    session: BuildSession, stack: ExitStack, seconds: dict[str, float], *, is_new: bool
) -> PreparedSides:
    """Build and rehearse the parent, then the patch.

    Args:
        session: the build.
        stack: holds the trees.
        seconds: gets the duration of each build.
        is_new: whether nothing is measured yet. Otherwise both sides ran before, and are not rehearsed.

    Raises:
        Transient: the parent does not build although it was measured before, so code of the patch ran since.
    """
    spec = session.spec
    sides: dict[Side, PreparedSide] = {}
    for side, revision in ((Side.BASE, spec.base), (Side.PATCH, spec.patch)):
        if revision is None:
            continue
        session.claimed.enter(f"build {side}")
        session.progress.say(f"{session.claimed.name}: build {side}")
        built = build_side(session, stack, side, revision, seconds)
        if side is Side.BASE and built.not_built and not is_new:
            raise Transient(f"the parent was measured before, and does not build now: {built.not_built}")
        if built.tree is not None and is_new:
            programs = counted(len(spec.job.benchmark.suites), "program")
            session.progress.say(f"{session.claimed.name}: list and launch {programs} of {side} once")
            known = sides[Side.BASE].rehearsal if Side.BASE in sides else NOTHING_KNOWN
            found = rehearse(Launcher(session, {side: built.tree}), side, known)
            built = replace(built, rehearsal=found)
        sides[side] = built
    return PreparedSides(spec, sides)


def build_side(
    session: BuildSession, stack: ExitStack, side: Side, revision: Revision, seconds: dict[str, float]
) -> PreparedSide:
    """Build a side, without a rehearsal; ``stack`` holds the tree, ``seconds`` gets the duration."""
    log = session.log
    begun, written = session.host.clock(), log.mark()
    try:
        tree = stack.enter_context(built_tree(session, revision))
    except NotBuilt as failed:
        own = log.since(written)
        not_built = end_of(failed, own)
        if side is Side.BASE:
            return PreparedSide(not_built=not_built)
        failures, is_cut = failures_of_build(failed, own)
        findings = errors_in(own, failed.tree)
        return PreparedSide(not_built=not_built, findings=findings, failures=failures, is_cut=is_cut)
    seconds[f"build {side}"] = round(session.host.clock() - begun, 3)
    return PreparedSide(tree)
