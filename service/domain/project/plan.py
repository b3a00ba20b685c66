"""Which builds a revision needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pathspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.domain.project.job import Job
    from service.domain.project.project_file import ProjectFile


@dataclass(frozen=True, slots=True)
class PlannedBuild:
    """A job of the round; not to be run when no path that concerns it was touched."""

    job: Job
    is_needed: bool


def plan_builds(project_file: ProjectFile, changed_paths: Sequence[str] | None) -> tuple[PlannedBuild, ...]:
    """One build per job, in the order of the file. ``changed_paths`` of None: all, for a root commit."""
    return tuple(PlannedBuild(job, is_needed=concerns(job, changed_paths)) for job in project_file.jobs)


def concerns(job: Job, changed_paths: Sequence[str] | None) -> bool:
    """Whether a change of these paths concerns the job; patterns are written as in ``.gitignore``."""
    if not job.paths or changed_paths is None:
        return True
    spec = pathspec.PathSpec.from_lines("gitignore", job.paths)
    return any(spec.match_file(path) for path in changed_paths)
