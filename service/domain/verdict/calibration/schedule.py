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
    """A job that an idle machine may measure, with the configuration of the last check on its branch.

    ``since`` is the age in seconds of the machine's last calibration of the job, on any branch; None if there
    was none for twice :data:`BETWEEN_REVIEWS`. A cancelled one counts only until :data:`AFTER_CANCELLED`.
    ``pairs`` and ``sessions`` belong to the series with the least evidence on the machine; they are counted
    where they decide, between :data:`BETWEEN_SESSIONS` and :data:`BETWEEN_REVIEWS`. Without a ``machine``,
    any of the pool measures it. ``is_spare``: of its pool's idle machines it was calibrated last, and the
    pool has more that may measure.
    """

    branch: BranchKey
    job: str
    config: Mapping[str, Any]
    since: float | None
    pairs: int
    sessions: int
    machine: str = ""
    is_spare: bool = False

    @property
    def is_due(self) -> bool:
        """Return whether the job needs a calibration now."""
        probation = _probation(self)
        return probation > 0 and not session_in(self.since, self.pairs, self.sessions, probation)


def session_in(since: float | None, pairs: int, sessions: int, probation: int) -> float:
    """Return after how many seconds a machine may have its next session, if it is idle then.

    ``since`` is the age of the last one in seconds, None without one; ``pairs`` and ``sessions`` are the
    evidence so far, and ``probation`` the pairs that the job asks for.
    """
    is_lacking = pairs < probation or sessions < LEAST_SESSIONS
    between = BETWEEN_SESSIONS if is_lacking else BETWEEN_REVIEWS
    return 0.0 if since is None else max(0.0, between - since)


def due_branches(jobs: Iterable[IdleJob]) -> Mapping[tuple[BranchKey, str], Collection[str]]:
    """List the branches to measure and the machine for each with its due jobs, the longest wait first.

    The caller uses only the first branch of each machine that can be measured. If every idle machine of a
    pool is due, its spare one stays free, so that the next build interrupts nobody.
    """
    jobs = list(jobs)
    due_jobs = [job for job in jobs if job.is_due]
    machines = {(job.branch.pool, job.machine) for job in due_jobs}
    resting = {job.branch.pool for job in jobs if (job.branch.pool, job.machine) not in machines}
    due: dict[tuple[BranchKey, str], list[str]] = {}
    for job in sorted(due_jobs, key=_waited, reverse=True):
        if not job.is_spare or job.branch.pool in resting:
            due.setdefault((job.branch, job.machine), []).append(job.job)
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
