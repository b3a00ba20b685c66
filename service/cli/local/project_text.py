"""Read the project file of a command, and choose its job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from service.domain.project.project_file import FILE_NAME, MAX_BYTES
from service.domain.values.errors import BadInput
from service.domain.values.text import listed
from service.domain.wording.bisection import not_one_job
from service.steps.runs.gate import (
    choose_jobs,
    comparing_jobs,
    find_project_file,
    local_workspace,
    rename_as,
)

if TYPE_CHECKING:
    from service.cli.local.commits import Commits
    from service.domain.project.job import Job
    from service.domain.sources.workspace import Workspace


def read_project_text(file: str) -> tuple[str, str]:
    """Read a project file, or stdin for ``-``; return its text and its name in errors.

    Raises:
        BadInput: it cannot be read, or is not UTF-8.
    """
    name = "<stdin>" if file == "-" else file
    try:
        with click.open_file(file, "rb") as stream:
            # One byte more than allowed is enough to refuse it.
            content: bytes = stream.read(4 * MAX_BYTES + 1)
        return content.decode(), name
    except OSError as error:
        raise BadInput(error.strerror or str(error), name) from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInput("not UTF-8 text", f"{name}:{line}") from None


def choose_project_file(commits: Commits, named: str | None, note: str = "") -> tuple[str, str]:
    """Return the text of the project file, and its name in errors; print a note if it is not the base's.

    ``note`` is a sentence to add to it.

    Raises:
        BadInput: no file is named, and neither commit has one.
    """
    if named is not None:
        return read_project_text(named)
    revisions = {commits.base: commits.base_commit, commits.patch: commits.patch_commit}
    text, revision = find_project_file(commits.source, commits.project, revisions)
    if revision != commits.base:
        click.echo(f"note: {commits.base} has no {FILE_NAME}; using that of {revision}{note}", err=True)
    return text, f"{FILE_NAME} of {revision}"


def choose_job(commits: Commits, name: str | None, project_file: str | None) -> tuple[Job, Workspace | None]:
    """Return the job that measures both sides, and its repositories.

    Raises:
        BadInput: no job does, or several do and none is named.
    """
    text, where = choose_project_file(commits, project_file)
    jobs, misconfigured = choose_jobs(text, name, where)
    jobs, _ = comparing_jobs(jobs, where)
    if not jobs:
        raise BadInput("; ".join(f"{job.name}: {job.problem}" for job in misconfigured), where)
    if len(jobs) > 1:
        raise BadInput(not_one_job(listed([job.name for job in jobs])), where)
    if project_file is None:
        jobs = rename_as(commits.source, commits.project, commits.patch_commit, jobs)
    return jobs[0], local_workspace(commits.source, commits.project, text, jobs)
