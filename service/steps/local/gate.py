"""The whole engine on a local repository: two of its revisions, judged without a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from service.domain.building.spec import BuildSpec, Revision
from service.domain.decision.judge_build import judge_measured
from service.domain.decision.machine_report import BuildEnd
from service.domain.errors import BadInput, BadProjectFile
from service.domain.identity import RunKind
from service.domain.project.project_file import parse_project_file
from service.domain.wording.measured_causes import WITHOUT_HISTORY, measured_causes
from service.ports.machine import Claimed
from service.steps.machine.execute import execute_build

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from service.domain.inference.verdict import Comparison
    from service.domain.project.job import Job
    from service.ports.building import Progress, Source
    from service.steps.machine.session import BuildHost

TRUST: Final = "local"


class LocalClaimed(Claimed, Protocol):
    """A build that also remembers the listing that was fixed."""

    listing: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class LocalVerdict:
    """The result of a local gate: the comparisons, what they mean, and the seconds of each phase."""

    job: str
    comparisons: tuple[Comparison, ...]
    end: BuildEnd
    seconds: Mapping[str, float]


def choose_jobs(text: str | None, name: str | None, revision: str) -> tuple[tuple[Job, ...], tuple[Job, ...]]:
    """Choose the benchmark jobs and the misconfigured jobs of the base's project file, or the one named.

    Raises:
        BadInput: no project file, or no such job.
    """
    if text is None:
        raise BadInput(
            "there is no regular file benchgate.yaml at the top; Benchgate's README shows one", revision
        )
    project_file = parse_project_file(text, where=f"benchgate.yaml of {revision}")
    chosen = project_file.jobs if name is None else (project_file.job(name),)
    jobs = tuple(job for job in chosen if job.kind.is_measured)
    misconfigured = tuple(job for job in chosen if job.problem)
    if jobs or misconfigured:
        return jobs, misconfigured
    if name is not None:
        raise BadProjectFile(
            f"job {name} is of kind {chosen[0].kind}; gate runs benchmark jobs", "benchgate.yaml"
        )
    raise BadProjectFile("there is no job of kind benchmark", f"benchgate.yaml of {revision}")


def local_spec(source: Source, project: str, base: str, patch: str, job: Job, jobs: int = 1) -> BuildSpec:
    """The build of one of ``jobs`` jobs that compare two commits of a local repository."""
    sides = [Revision(commit, source.tree(project, commit), commit, TRUST) for commit in (base, patch)]
    return BuildSpec(RunKind.CHECK, "local", project, "", sides[0], sides[1], job, jobs)


def gate(spec: BuildSpec, build: LocalClaimed, host: BuildHost, progress: Progress) -> LocalVerdict:
    """Build, measure and judge."""
    report = execute_build(build, host, progress)
    if report is None:
        raise BadInput("the build was handed back")
    if report.outcome is not None:
        end = BuildEnd(report.outcome, report.causes)
        return LocalVerdict(spec.job.name, (), end, report.seconds)
    found = judge_measured(spec.judged, build.listing, build.pairs())
    causes = measured_causes(found, spec.judged.policy, "this machine")
    end = BuildEnd(report.beside(found.judgement.outcome), (*causes, *report.causes, WITHOUT_HISTORY))
    return LocalVerdict(spec.job.name, found.comparisons, end, report.seconds)
