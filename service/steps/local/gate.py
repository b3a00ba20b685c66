"""The whole engine on a local repository: two of its revisions, judged without a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from service.domain.building.spec import LOCAL, BuildSpec, Revision
from service.domain.decision.judge_build import judge_measured
from service.domain.decision.machine_report import BuildEnd
from service.domain.errors import BadInput, BadProjectFile
from service.domain.identity import RunKind
from service.domain.project.own_renames import with_own_renames
from service.domain.project.project_file import FILE_NAME, parse_project_file
from service.domain.wording.measured_causes import (
    WITHOUT_HISTORY,
    measured_causes,
    measured_notes,
    renaming_notes,
)
from service.ports.machine import Claimed
from service.steps.machine.execute import execute_build

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from service.domain.building.findings import Finding
    from service.domain.inference.verdict import Comparison
    from service.domain.project.job import Job
    from service.ports.building import Progress, Source
    from service.steps.building.session import BuildHost

TRUST: Final = "local"


class LocalClaimed(Claimed, Protocol):
    """A build that also remembers the listing that was fixed."""

    listing: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class LocalVerdict:
    """The result of a local gate.

    ``end`` says what the comparisons mean. ``seconds`` is the duration of each phase. ``errors`` are those
    of a compiler in the patch.
    """

    job: str
    comparisons: tuple[Comparison, ...]
    end: BuildEnd
    seconds: Mapping[str, float]
    errors: tuple[Finding, ...] = ()


def find_project_file(source: Source, project: str, revisions: Mapping[str, str]) -> tuple[str, str]:
    """Return the text of the first revision's project file that exists, and the revision's name.

    Args:
        source: the mirror.
        project: the project's name there.
        revisions: commit IDs, by the names that the person gave them.

    Raises:
        BadInput: no revision has a project file.
    """
    for name, commit in revisions.items():
        text = source.read(project, commit, FILE_NAME)
        if text is not None:
            return text, name
    raise BadInput(
        f"there is no regular file {FILE_NAME} at the top: `benchgate init` writes one; to try a file "
        f"before you commit it, add `--project-file {FILE_NAME}`",
        " and ".join(revisions),
    )


def choose_jobs(text: str, name: str | None, where: str) -> tuple[tuple[Job, ...], tuple[Job, ...]]:
    """Choose the jobs to run and the misconfigured jobs of a project file, or the one named.

    Raises:
        BadInput: an error in the file, or no such job; ``where`` is the file's name.
    """
    project_file = parse_project_file(text, where=where)
    chosen = project_file.jobs if name is None else (project_file.job(name),)
    jobs = tuple(job for job in chosen if not (job.problem or job.kind.is_external))
    misconfigured = tuple(job for job in chosen if job.problem)
    if jobs or misconfigured:
        return jobs, misconfigured
    if name is not None:
        raise BadProjectFile(f"job {name} is of kind {chosen[0].kind}; only another CI runs it", where)
    raise BadProjectFile("there is no job to run; another CI runs the jobs of kind external", where)


def rename_as(source: Source, project: str, patch: str, jobs: Sequence[Job]) -> tuple[Job, ...]:
    """Let the project file of the patch say which benchmarks it renames, as the service does."""
    try:
        return with_own_renames(jobs, source.read(project, patch, FILE_NAME))
    except BadInput:  # not text, or far too large
        return tuple(jobs)


def local_spec(source: Source, project: str, base: str, patch: str, job: Job, jobs: int = 1) -> BuildSpec:
    """The build of a job on two commits of a local repository; ``jobs`` jobs compare them."""
    sides = [Revision(commit, source.tree(project, commit), commit, TRUST) for commit in (base, patch)]
    return BuildSpec(RunKind.CHECK, LOCAL, project, "", sides[0], sides[1], job, jobs)


def gate(spec: BuildSpec, build: LocalClaimed, host: BuildHost, progress: Progress) -> LocalVerdict:
    """Build, measure and judge."""
    report = execute_build(build, host, progress)
    if report is None:
        raise BadInput("the build was handed back")
    if report.outcome is not None:
        end = BuildEnd(report.outcome, report.causes)
        return LocalVerdict(spec.job.name, (), end, report.seconds, report.findings)
    found = judge_measured(spec.judged, build.listing, build.pairs(), circumstances=report.circumstances)
    causes = (*measured_causes(found, spec.judged.policy, "this machine"), *report.causes)
    unused = renaming_notes(spec.job.benchmark.suites, found.listings)
    notes = (*measured_notes(found.notes), *unused, WITHOUT_HISTORY)
    end = BuildEnd(found.judgement.outcome, (*causes, *notes))
    return LocalVerdict(spec.job.name, found.comparisons, end, report.seconds)
