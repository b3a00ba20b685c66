"""Schedule calibrations: hourly while a series lacks evidence, then daily."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.project.configuration import Work
from service.domain.project.project_file import ProjectFile, parse_job
from service.domain.values.errors import BadProjectFile
from service.domain.verdict.calibration.evidence import LEAST_SESSIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    from service.domain.project.job import Job

BETWEEN_SESSIONS: Final = 3600.0  # seconds: closer sessions share the same neighbours and temperature
BETWEEN_REVIEWS: Final = 24 * 3600.0  # machines change with updates, not every hour
# Builds come in bursts, so a cancelled calibration, which measured nothing, is not repeated at once.
AFTER_CANCELLED: Final = 600.0
ASKED_WITHIN: Final = 7 * 24 * 3600.0  # a branch without a check for a week needs no evidence now


@dataclass(frozen=True, slots=True)
class BranchKey:
    """A branch that an idle pool may measure."""

    pool: str
    instance: str
    project: str
    branch: str


@dataclass(frozen=True, slots=True)
class IdleJob:
    """A job of an idle pool, with the configuration of the last check on its branch.

    ``since`` is the age of the branch's last calibration in the pool, in seconds; None if there was none. A
    cancelled one counts only until :data:`AFTER_CANCELLED`. ``pairs`` and ``sessions`` belong to the series
    with the least evidence on any machine of the pool.
    """

    branch: BranchKey
    job: str
    config: Mapping[str, Any]
    since: float | None
    pairs: int
    sessions: int

    @property
    def is_due(self) -> bool:
        """Return whether the job needs a calibration now."""
        probation = _probation(self)
        if probation == 0:
            return False
        if self.since is None:
            return True
        is_lacking = self.pairs < probation or self.sessions < LEAST_SESSIONS
        return self.since >= (BETWEEN_SESSIONS if is_lacking else BETWEEN_REVIEWS)


def due_branches(jobs: Iterable[IdleJob]) -> Mapping[BranchKey, Collection[str]]:
    """List the branches to measure with their due jobs, the longest wait first.

    The caller uses only the first branch of each pool that can be measured.
    """
    due: dict[BranchKey, list[str]] = {}
    for job in sorted((job for job in jobs if job.is_due), key=_waited, reverse=True):
        due.setdefault(job.branch, []).append(job.job)
    return due


def is_calibrated(job: Job, pool: str) -> bool:
    """Return whether a calibration in that pool measures the job."""
    return job.compares and job.pool == pool and job.policy.probation > 0


def is_anchored(job: Job, pool: str) -> bool:
    """Return whether an anchor in that pool measures the job."""
    return job.compares and job.configuration.work is Work.BENCHMARKS and job.pool == pool


def still_asks(project_file: ProjectFile, pool: str, due: Collection[str]) -> bool:
    """Return whether at least one of these jobs can still be calibrated in the pool."""
    return any(job.name in due and is_calibrated(job, pool) for job in project_file.jobs)


def _waited(job: IdleJob) -> float:
    return float("inf") if job.since is None else job.since


def _probation(job: IdleJob) -> int:
    try:
        return parse_job(job.job, dict(job.config)).policy.probation
    except BadProjectFile:  # stored by another version of Benchgate
        return 0
