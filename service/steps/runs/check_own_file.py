"""Check a patch set's own project file, and read its renames; its jobs run once it is merged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from service.domain.building.findings import MOST, Finding, finding_at
from service.domain.project.configuration import Configuration
from service.domain.project.job import Job
from service.domain.project.job_kinds import OWN_FILE, JobKind
from service.domain.project.own_renames import with_own_renames
from service.domain.project.project_file import FILE_NAME, parse_project_file, problems_of
from service.domain.runs.machine_report import BuildEnd
from service.domain.runs.vote import Outcome
from service.domain.values.errors import BadInput
from service.domain.wording.refusals import LEAVES, plan_changes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.project.project_file import ProjectFile
    from service.ports.sources import Source


@dataclass(frozen=True, slots=True)
class OwnFile:
    """Finished check of a patch set's own project file, as a job; it votes only if it failed."""

    job: Job
    end: BuildEnd
    findings: tuple[Finding, ...] = ()


def read_own_file(
    source: Source, project: str, parent: str | None, patch: str, planned: ProjectFile
) -> tuple[ProjectFile, OwnFile | None]:
    """Read and check the file of a patch set that changes it; the revisions were fetched.

    Also return the planned file with the benchmarks that the patch set's file renames.
    """
    try:
        text = source.read(project, patch, FILE_NAME)
    except BadInput as error:  # not text, or far too large
        return planned, _failed(planned, [str(error)], [(1, error.what)])
    try:
        before = source.read(project, parent, FILE_NAME) if parent else None
    except BadInput:
        before = None
    planned = replace(planned, jobs=with_own_renames(planned.jobs, text))
    return planned, check_own_file(text, before, planned)


def check_own_file(text: str | None, before: str | None, planned: ProjectFile) -> OwnFile | None:
    """Check the file of a patch set that changes it; None: no error, and no job is different.

    Args:
        text: the file of the patch set; None: it has none.
        before: the file of its parent. Errors that it already has are not this change's.
        planned: the file of the target branch; its jobs are run for the patch set.
    """
    if text is None:
        return _noted(planned, LEAVES)
    known = {problem.what for problem in problems_of(before)} if before is not None else set()
    problems = problems_of(text)
    if new := [problem for problem in problems if problem.what not in known]:
        return _failed(planned, [str(each) for each in new], [(max(each.line, 1), each.what) for each in new])
    if problems:
        return None
    changes = plan_changes(_sources(planned), _sources(parse_project_file(text)))
    return _noted(planned, changes) if changes else None


def _noted(planned: ProjectFile, cause: str) -> OwnFile:
    return OwnFile(_job(planned, is_voting=False), BuildEnd(Outcome.NOT_BUILT, (cause,)))


def _failed(planned: ProjectFile, causes: Sequence[str], places: Sequence[tuple[int, str]]) -> OwnFile:
    found = [finding_at(FILE_NAME, line, text) for line, text in places[:MOST]]
    findings = tuple(finding for finding in found if finding is not None)
    # If no job of the project votes, the check does not vote either.
    job = _job(planned, is_voting=any(job.voting for job in planned.jobs))
    return OwnFile(job, BuildEnd(Outcome.FAILED, tuple(causes[:MOST])), findings)


def _job(planned: ProjectFile, *, is_voting: bool) -> Job:
    name, taken = FILE_NAME, {job.name for job in planned.jobs}
    while name in taken:
        name += "+"
    source = {"kind": OWN_FILE, "voting": is_voting}
    return Job(name, JobKind(OWN_FILE), Configuration(), "", voting=is_voting, source=source)


def _sources(file: ProjectFile) -> dict[str, object]:
    """Return what each job is made from; the other repositories count for those that build."""
    return {job.name: (job.source, file.manifest if job.builds else None) for job in file.jobs}
