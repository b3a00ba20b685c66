"""Run the whole engine on two revisions of a local repository, without a server."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from service.domain.building.spec import LOCAL, BuildSpec, MorePairs, Revision
from service.domain.measuring.listing import named_like
from service.domain.project.own_renames import with_own_renames
from service.domain.project.project_file import FILE_NAME, concerns, parse_job, parse_project_file
from service.domain.runs.judge_build import judge_measured
from service.domain.runs.machine_report import BuildEnd
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BadInput, BadProjectFile
from service.domain.values.identity import RunKind
from service.domain.values.text import listed
from service.domain.verdict.inference.interim_looks import look_from
from service.domain.verdict.inference.verdict import Verdict
from service.domain.wording.bisection import not_one_benchmark
from service.domain.wording.build_causes import NO_MATCHING_FILES
from service.domain.wording.measured_causes import (
    WITHOUT_HISTORY,
    measured_causes,
    measured_notes,
    unused_notes,
)
from service.domain.wording.outlook import interrupted_after, none_chosen, pairs_cut_short, pairs_too_few
from service.ports.machines import Claimed
from service.steps.machines.execute import execute_build
from service.steps.sources.find_workspace import find_workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from service.domain.building.findings import Finding
    from service.domain.measuring.listing import Listing
    from service.domain.project.job import Job
    from service.domain.runs.judge_build import Measured
    from service.domain.runs.machine_report import MachineReport
    from service.domain.sources.workspace import Workspace
    from service.domain.verdict.inference.verdict import Comparison
    from service.ports.building import Progress
    from service.ports.sources import Differences, Source
    from service.steps.building.session import BuildHost

TRUST: Final = "local"
ALL: Final = "*"


class LocalClaimed(Claimed, Protocol):
    """A build that also remembers the listings that were fixed."""

    listings: Sequence[Listing]


@dataclass(frozen=True, slots=True)
class Asked:
    """The requests of a person about measuring, beside the project file.

    Args:
        filter: chooses benchmarks as in the comment command `benchmark`; empty: all.
        pairs: an undecided benchmark gets this many, whatever they promise; None: by the policy.
        minutes: the machine time of each job; None: the policy's.
        is_name: ``filter`` names one benchmark: exactly, or by a part that no other one has.
    """

    filter: str = ""
    pairs: int | None = None
    minutes: int | None = None
    is_name: bool = False

    @property
    def is_empty(self) -> bool:
        """Return whether the project file alone says what to measure."""
        return self == Asked()


@dataclass(frozen=True, slots=True)
class LocalVerdict:
    """The result of a local gate.

    ``end`` says what the comparisons mean. ``seconds`` is the duration of each phase. ``errors`` are those
    of a compiler in the patch. ``is_chosen``: a benchmark of the job fits the filter that was asked for.
    ``why`` has the explanations that were asked for, as JSON.
    """

    job: str
    comparisons: tuple[Comparison, ...]
    end: BuildEnd
    seconds: Mapping[str, float]
    errors: tuple[Finding, ...] = ()
    is_chosen: bool = True
    why: tuple[Mapping[str, Any], ...] = ()


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


def comparing_jobs(jobs: Sequence[Job], where: str) -> tuple[tuple[Job, ...], tuple[Job, ...]]:
    """Choose the jobs that measure something, and those that do not.

    Raises:
        BadInput: none does; ``where`` is the project file's name.
    """
    comparing = tuple(job for job in jobs if job.compares)
    others = tuple(job for job in jobs if not job.compares)
    if jobs and not comparing:
        kinds = listed([f"{job.name} ({job.kind})" for job in others])
        raise BadInput(
            "`--filter`, `--pairs`, `--minutes`, `--list`, `bisect` and `why` are for jobs that measure both "
            f"sides, and there is none: {kinds}",
            where,
        )
    return comparing, others


def rename_as(source: Source, project: str, patch: str, jobs: Sequence[Job]) -> tuple[Job, ...]:
    """Let the project file of the patch say which benchmarks it renames, as the service does."""
    try:
        return with_own_renames(jobs, source.read(project, patch, FILE_NAME))
    except BadInput:  # not text, or far too large
        return tuple(jobs)


def concerned_jobs(
    source: Differences, project: str, base: str, patch: str, jobs: Sequence[Job]
) -> tuple[tuple[Job, ...], tuple[LocalVerdict, ...]]:
    """Choose the jobs with ``paths`` that match a changed file, and give verdicts of the others."""
    paths = source.changed_paths(project, base, patch)
    concerned = tuple(job for job in jobs if concerns(job, paths))
    others = tuple(job.name for job in jobs if job not in concerned)
    return concerned, tuple(map(_not_concerned, others))


def _not_concerned(job: str) -> LocalVerdict:
    cause = f"{NO_MATCHING_FILES}; `--job {job}` runs it nevertheless"
    return LocalVerdict(job, (), BuildEnd(Outcome.NOT_BUILT, (cause,)), {})


def local_workspace(source: Source, project: str, text: str, jobs: Sequence[Job]) -> Workspace | None:
    """Resolve the manifest of a project file once for all of these jobs; None if no job needs it.

    Raises:
        BadInput: the manifest cannot be used.
    """
    return find_workspace(source, project, "", parse_project_file(text).manifest, jobs)


def local_spec(source: Source, project: str, base: str, patch: str, job: Job, jobs: int = 1) -> BuildSpec:
    """Make the build of a job on two commits of a local repository; ``jobs`` jobs compare them."""
    sides = [Revision(commit, source.tree(project, commit), commit, TRUST) for commit in (base, patch)]
    return BuildSpec(RunKind.CHECK, LOCAL, project, "", sides[0], sides[1], job, jobs)


def as_asked(spec: BuildSpec, asked: Asked) -> BuildSpec:
    """Make the specification of the build that a person asks for."""
    job = spec.job
    if asked.minutes:
        # A key without a value has its default.
        policy = {**(job.source.get("policy") or {}), "machine_time": 60 * asked.minutes}
        job = parse_job(job.name, {**job.source, "policy": policy})
    longer = MorePairs(ALL, look_from(asked.pairs)) if asked.pairs else None
    spec = replace(spec, filter=asked.filter, is_named=asked.is_name)
    return replace(spec, job=job, longer=longer, is_time_asked=bool(asked.minutes))


def gate(spec: BuildSpec, build: LocalClaimed, host: BuildHost, progress: Progress) -> LocalVerdict:
    """Build, measure and judge."""
    report = execute(spec, build, host, progress)
    if isinstance(report, LocalVerdict):
        return report
    found = judge_measured(spec.judged, build.listings, build.pairs(), circumstances=report.circumstances)
    requested = tuple(_about_pairs(spec, found, report))
    if spec.longer and report.pairs >= spec.longer.pairs:
        # The machine time did not end it.
        found = replace(found, judgement=replace(found.judgement, missing_pairs=0))
    policy, is_asked = spec.judged.policy, spec.is_time_asked
    causes = (*measured_causes(found, policy, "this machine", is_time_asked=is_asked), *report.causes)
    unused = () if spec.filter else unused_notes(spec.job, found.listings)
    notes = (*requested, *measured_notes(found.notes), *unused, WITHOUT_HISTORY)
    end = BuildEnd(found.judgement.outcome, (*causes, *notes))
    return LocalVerdict(spec.job.name, found.comparisons, end, report.seconds, why=report.why)


def gate_until_explained(
    spec: BuildSpec, build: LocalClaimed, host: BuildHost, progress: Progress
) -> tuple[LocalVerdict, bool]:
    """Build, measure and judge; Ctrl-C while a slow-down is explained leaves the verdict of the pairs.

    Returns:
        The verdict, and whether Ctrl-C ended it.

    Raises:
        KeyboardInterrupt: earlier, or without a slower benchmark.
    """
    try:
        return gate(spec, build, host, progress), False
    except KeyboardInterrupt:
        so_far = verdict_so_far(spec, build) if spec.is_explained else None
        if so_far is None or all(each.verdict is not Verdict.SLOWER for each in so_far.comparisons):
            raise
        return so_far, True


def verdict_so_far(spec: BuildSpec, build: LocalClaimed) -> LocalVerdict | None:
    """Judge the pairs of an interrupted build; None if it has none."""
    if not (build.listings and build.pairs()):
        return None
    found = judge_measured(spec.judged, build.listings, build.pairs())
    pairs = len({launch.pair for launch in found.launches})
    causes = measured_causes(found, spec.judged.policy, "this machine", is_time_asked=spec.is_time_asked)
    end = BuildEnd(found.judgement.outcome, (interrupted_after(pairs), *causes))
    return LocalVerdict(spec.job.name, found.comparisons, end, {})


def execute(
    spec: BuildSpec, build: LocalClaimed, host: BuildHost, progress: Progress
) -> MachineReport | LocalVerdict:
    """Execute a build, and return its report, or the verdict if there is nothing to compare."""
    report = execute_build(build, host, progress)
    if report is None:
        raise BadInput("the build was handed back")
    if (unfitting := _without_choice(spec, build, report)) or report.outcome is None:
        return unfitting or report
    end = BuildEnd(report.outcome, report.causes)
    return LocalVerdict(spec.job.name, (), end, report.seconds, report.findings)


def _without_choice(spec: BuildSpec, build: LocalClaimed, report: MachineReport) -> LocalVerdict | None:
    """Make the verdict of a job without a benchmark that the filter chooses; None if it may choose one."""
    if not (spec.filter and build.listings) or any(each.base or each.patch for each in build.listings):
        return None
    others = [name for each in build.listings for name in each.not_chosen]
    like = named_like(build.listings, spec.filter)
    cause = not_one_benchmark(spec.filter, like) if like else none_chosen(spec.filter, others)
    end = BuildEnd(Outcome.NO_PARENT, (cause,))
    return LocalVerdict(spec.job.name, (), end, report.seconds, is_chosen=False)


def _about_pairs(spec: BuildSpec, found: Measured, report: MachineReport) -> Iterator[str]:
    """Say that the requested pairs are too few, or why fewer were measured."""
    if spec.longer is None:
        return
    asked, missing = spec.longer.pairs, found.judgement.missing_pairs
    if missing and report.pairs >= asked:
        yield pairs_too_few(asked, asked + missing)
    is_open = any(not row.verdict.is_decided for row in found.comparisons)
    if is_open and report.pairs < asked and not report.is_parent_lost:
        yield pairs_cut_short(report.pairs, asked, spec.job.policy.machine_time)
