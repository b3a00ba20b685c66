"""Resolve the workspace of builds: the commits of all repositories of a project at planning."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from service.domain.project.job import Job
    from service.domain.project.manifest_key import ManifestKey
    from service.domain.sources.workspace import Workspace
    from service.ports.sources import Source


def find_workspace(
    source: Source, project: str, branch: str, manifest: ManifestKey | None, jobs: Iterable[Job]
) -> Workspace | None:
    """Resolve the manifest of a project once for all of these jobs; return None if no job needs it.

    Raises:
        BadInput: the manifest cannot be used.
    """
    if manifest is None or not any(job.builds for job in jobs):
        return None
    return source.workspace(project, branch, manifest)
