"""Read a project's benchgate.yaml on the target branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.domain.project.project_file import FILE_NAME, ProjectFile, parse_project_file
from service.domain.values.errors import BadProjectFile

if TYPE_CHECKING:
    from service.ports.sources import Source


class NoProjectFile(BadProjectFile):
    """The branch has no benchgate.yaml: Benchgate does not test this project."""


def read_project_file(source: Source, project: str, branch: str) -> ProjectFile:
    """Read the project file of a branch that was fetched.

    Raises:
        NoProjectFile: the branch has no project file.
        BadInput: the file cannot be used.
    """
    text = source.read(project, f"refs/heads/{branch}", FILE_NAME)
    if text is None:
        raise NoProjectFile(f"there is no {FILE_NAME} on branch {branch}")
    return parse_project_file(text)
