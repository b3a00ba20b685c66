"""Take renames of benchmarks from the patch set's own project file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.project.benchmark import BenchmarkConfiguration
from service.domain.project.project_file import parse_job, parse_project_file
from service.domain.values.errors import BadProjectFile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from service.domain.project.job import Job


def with_own_renames(jobs: Sequence[Job], text: str | None) -> tuple[Job, ...]:
    """Take ``renamed`` of each suite from the file of the patch set, and all else from the target branch.

    This is safe without a review, because the patch chooses the code of each benchmark anyway, and the
    message names the renames.

    Args:
        jobs: of the target branch.
        text: the patch set's file; None or an invalid one changes nothing.
    """
    try:
        own = {job.name: job for job in parse_project_file(text).jobs} if text is not None else {}
    except BadProjectFile:
        return tuple(jobs)
    return tuple(with_renames_of(job, own[job.name]) if job.name in own else job for job in jobs)


def with_renames_of(job: Job, own: Job) -> Job:
    """Take ``renamed`` of each suite from another version of the job, if that has the suite."""
    return _renaming(job, _renames(own))


def _renames(job: Job) -> Mapping[str, Mapping[str, str]]:
    configuration = job.configuration
    suites = configuration.suites if isinstance(configuration, BenchmarkConfiguration) else ()
    return {suite.name: suite.renamed for suite in suites}


def _renaming(job: Job, renames: Mapping[str, Mapping[str, str]]) -> Job:
    before = _renames(job)
    if job.problem or all(renames.get(name, known) == known for name, known in before.items()):
        return job
    suites = []
    for suite in job.source["suites"]:
        others = {key: value for key, value in suite.items() if key != "renamed"}
        renamed = renames.get(suite["name"], before[suite["name"]])
        suites.append({**others, "renamed": dict(renamed)} if renamed else others)
    return parse_job(job.name, {**job.source, "suites": suites})
