"""Report why a patch was not built, and blame it only if its parent gets further."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from service.domain.building.compile_errors import errors_in, first_error
from service.domain.building.missing_packages import missing_package
from service.domain.runs.machine_report import MachineReport
from service.domain.runs.side_end import Parent, Stage, outcome_of_sides
from service.domain.runs.vote import Outcome
from service.domain.wording.build_causes import PARENT_TRIED, not_downloaded, not_installed, sides_failed
from service.domain.wording.failures import failure_causes
from service.steps.building.build_sources import (
    STAGES,
    NotBuilt,
    built_sources,
    download_missed,
    failures_of_build,
)

if TYPE_CHECKING:
    from service.domain.building.spec import Revision
    from service.domain.runs.side_end import SideEnd
    from service.steps.building.session import BuildSession

_PHASE: Final = "build base"


def report_not_built(
    session: BuildSession, failed: NotBuilt, log: bytes, seconds: dict[str, float]
) -> MachineReport:
    """Report a build of the patch alone that failed; the duration and the conditions are missing.

    The parent is built in fresh sources, up to the stage at which the patch failed. Code of the patch ran
    before: if it makes the parent fail, nothing is voted, as without it. Comparing builds build the parent
    first.

    Args:
        session: the build.
        failed: the end of the patch.
        log: its output.
        seconds: gets the duration of the parent's build, if it succeeds.
    """
    base, patch = session.spec.base, end_of(failed, log)
    is_open = base is not None and not patch.is_foreign  # whether the parent decides
    parent = _end_of_parent(session, base, patch.stage, seconds) if base and is_open else None
    outcome = outcome_of_sides(patch, parent, Parent.of(base))
    if outcome and outcome is not Outcome.FAILED:
        return MachineReport(outcome, (sides_failed(outcome, patch, parent),))
    failures, is_cut = failures_of_build(failed, log)
    causes = (str(patch),) if patch.misses_input else failure_causes(failures, is_cut=is_cut)
    findings = errors_in(log, failed.tree)
    return MachineReport(Outcome.FAILED, causes, findings=findings, failures=failures, is_cut=is_cut)


def end_of(failed: NotBuilt, log: bytes) -> SideEnd:
    """Return how a side's build failed, with its first error.

    Args:
        failed: the end of its build commands.
        log: their output.
    """
    if missing := download_missed(failed, log):
        return replace(failed.ended, end=not_downloaded(missing), misses_input=True)
    if failed.ended.stage is Stage.CONFIGURE and not failed.limit and (package := missing_package(log)):
        return replace(failed.ended, end=not_installed(package), misses_input=True)
    if failed.ended.stage in STAGES.values():
        return replace(failed.ended, end=first_error(log, failed.tree) or failed.end)
    return failed.ended


def _end_of_parent(
    session: BuildSession, base: Revision, last: Stage, seconds: dict[str, float]
) -> SideEnd | None:
    session.claimed.enter(_PHASE)
    session.progress.say(f"{session.claimed.name}: {_PHASE}")
    session.note(PARENT_TRIED)
    clock, mark = session.host.clock, session.log.mark()
    begun = clock()
    try:
        with built_sources(session, base, last=last):
            seconds[_PHASE] = round(clock() - begun, 3)
            return None
    except NotBuilt as failed:
        return end_of(failed, session.log.since(mark))
