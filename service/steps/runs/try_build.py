"""Build a project once with the file that ``benchgate init`` wrote, as a gate does: in the sandbox."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from service.domain.building.spec import LOCAL, BuildSpec, Revision
from service.domain.runs.machine_report import MachineReport
from service.domain.runs.vote import Outcome
from service.domain.values.identity import RunKind, Side
from service.domain.values.text import counted
from service.steps.machines.execute import execute_build
from service.steps.measuring.launching import Launcher, SideFailed
from service.steps.measuring.prepare_sides import build_side
from service.steps.runs.gate import TRUST

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from service.domain.project.job import Job
    from service.ports.building import Progress
    from service.ports.machines import Claimed
    from service.ports.sources import Source
    from service.steps.building.session import BuildHost, BuildSession


def trial_spec(source: Source, project: str, commit: str, job: Job) -> BuildSpec:
    """Specify the build of a commit alone."""
    revision = Revision(commit, source.tree(project, commit), commit, TRUST)
    return BuildSpec(RunKind.CHECK, LOCAL, project, "", None, revision, job)


def try_build(spec: BuildSpec, build: Claimed, host: BuildHost, progress: Progress) -> tuple[str, ...]:
    """Build the programs of a job and ask each for its benchmarks; return what fails.

    Args:
        spec: of :func:`trial_spec`, which ``build`` has too.
        build: the local build.
        host: builds without network, unless it has no sandbox.
        progress: shows the phases.
    """
    report = execute_build(build, replace(host, runners={spec.job.kind: _try}), progress)
    return report.causes if report else ("the build was handed back",)


def _try(session: BuildSession) -> MachineReport:
    with ExitStack() as stack:
        built = build_side(session, stack, Side.PATCH, session.spec.patch, {})
        causes = (str(built.not_built),) if built.tree is None else tuple(_not_listed(session, built.tree))
    return MachineReport(Outcome.FAILED if causes else None, causes)


def _not_listed(session: BuildSession, tree: Path) -> Iterator[str]:
    launcher = Launcher(session, {Side.PATCH: tree})
    suites = session.spec.job.benchmark.suites
    session.progress.say(f"{session.claimed.name}: list the benchmarks of {counted(len(suites), 'program')}")
    for suite in suites:
        try:
            found = launcher.list(suite, Side.PATCH)
        except SideFailed as failed:
            yield f"{suite.program}: {failed.end}"
        else:
            if not found.names:
                yield f"{suite.program}: lists no benchmark"
