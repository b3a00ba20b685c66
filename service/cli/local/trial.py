"""Try the file that `benchgate init` wrote, as `benchgate gate` would, before it counts as right."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from service.adapters.machines.local_build import LocalBuild
from service.adapters.sources.repository import commit_sources
from service.cli.local.mirror import open_mirror
from service.domain.values.errors import BenchgateError
from service.domain.values.text import plain
from service.steps.runs.try_build import trial_spec, try_build

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from service.domain.project.job import Job
    from service.ports.building import Progress

_LONGEST: Final = 500  # characters
_NO_REPOSITORY: Final = "not a git repository"


@dataclass(frozen=True, slots=True)
class Trial:
    """The end of a trial: what fails, and the whole log of the build if there was one."""

    causes: tuple[str, ...] = ()
    log: Path | None = None


def try_job(repo: Path, job: Job, fetch_from: Collection[str], progress: Progress) -> Trial:
    """Build the working tree of a repository in the sandbox, without network, as a job says.

    Dependencies may come from ``fetch_from``, besides what BENCHGATE_FETCH_FROM allows.
    """
    progress.say("try the file in the sandbox, without network")
    try:
        commit = commit_sources(repo)
        mirror = open_mirror(repo, is_sandboxed=True, fetch_from=fetch_from)
        mirror.source.fetch(mirror.project, commit)
        spec = trial_spec(mirror.source, mirror.project, commit, job)
        build = LocalBuild(spec, secrets.token_hex(8), mirror.home / "binaries")
        causes = try_build(spec, build, mirror.host, progress)
    except BenchgateError as error:
        remedy = "; run `git init` first" if _NO_REPOSITORY in str(error) else ""
        return Trial((f"it could not be tried: {plain(str(error), _LONGEST)}{remedy}",))
    return Trial(causes, mirror.keep_log(job.name, build.log) if causes else None)
