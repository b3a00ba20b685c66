"""When an idle pool measures a branch against itself: often while a series lacks evidence, then daily."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.domain.calibration.evidence import LEAST_SESSIONS
from service.domain.errors import BadProjectFile
from service.domain.project.project_file import ProjectFile, parse_job

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    from service.domain.project.job import Job

BETWEEN_SESSIONS: Final = 3600.0  # seconds: sessions closer together meet the same neighbours and heat
BETWEEN_REVIEWS: Final = 24 * 3600.0  # of what is known: machines change with updates, not by the hour
# One that made way measured nothing. Builds come in bursts; the next one should not have to wait for another.
AFTER_CANCELLED: Final = 600.0
ASKED_WITHIN: Final = 7 * 24 * 3600.0  # a branch without a check for a week needs no evidence now


@dataclass(frozen=True, slots=True)
class BranchKey:
    """A branch as an idle pool may measure it."""

    pool: str
    instance: str
    project: str
    branch: str


@dataclass(frozen=True, slots=True)
class IdleJob:
    """A job of a pool with nothing to do, as the last check of its branch configured it.

    ``since`` are the seconds since the branch's last calibration in the pool began, None for never; one that
    was cancelled is forgotten after :data:`AFTER_CANCELLED`.
    ``pairs`` and ``sessions`` are what the series with the least evidence has on any machine of the pool.
    """

    branch: BranchKey
    job: str
    config: Mapping[str, Any]
    since: float | None
    pairs: int
    sessions: int

    @property
    def is_due(self) -> bool:
        """Whether the job's branch is to be measured against itself now."""
        probation = _probation(self)
        if probation == 0:
            return False
        if self.since is None:
            return True
        is_lacking = self.pairs < probation or self.sessions < LEAST_SESSIONS
        return self.since >= (BETWEEN_SESSIONS if is_lacking else BETWEEN_REVIEWS)


def due_branches(jobs: Iterable[IdleJob]) -> Mapping[BranchKey, Collection[str]]:
    """The branches to measure with their jobs that ask for it, the one that has waited longest first.

    Of a pool's branches the first one that can be measured is meant.
    """
    found: dict[BranchKey, list[str]] = {}
    for job in sorted((job for job in jobs if job.is_due), key=_waited, reverse=True):
        found.setdefault(job.branch, []).append(job.job)
    return found


def is_calibrated(job: Job, pool: str) -> bool:
    """Whether a calibration in that pool measures the job."""
    return job.kind.is_measured and job.pool == pool and job.policy.probation > 0


def still_asks(project_file: ProjectFile, pool: str, due: Collection[str]) -> bool:
    """Whether one of these jobs is still one that a calibration in that pool measures."""
    return any(job.name in due and is_calibrated(job, pool) for job in project_file.jobs)


def _waited(job: IdleJob) -> float:
    return float("inf") if job.since is None else job.since


def _probation(job: IdleJob) -> int:
    try:
        return parse_job(job.job, dict(job.config)).policy.probation
    except BadProjectFile:  # written for another version of the service
        return 0
