"""The builds that a revision needs."""

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
    """A job of a run; ``is_needed`` is False if no file changed that matches its paths."""

    job: Job
    is_needed: bool


def plan_builds(project_file: ProjectFile, changed_paths: Sequence[str] | None) -> tuple[PlannedBuild, ...]:
    """Plan one build per job, in the order of the file. For a root commit, ``changed_paths`` is None."""
    return tuple(PlannedBuild(job, is_needed=concerns(job, changed_paths)) for job in project_file.jobs)


def concerns(job: Job, changed_paths: Sequence[str] | None) -> bool:
    """Return whether a changed path matches one of the job's patterns (``.gitignore`` syntax)."""
    if not job.paths or changed_paths is None:
        return True
    spec = pathspec.PathSpec.from_lines("gitignore", job.paths)
    return any(spec.match_file(path) for path in changed_paths)
