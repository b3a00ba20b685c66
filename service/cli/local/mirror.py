"""Open the mirror of the person's repository, from which local builds take their sources."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from service.adapters.building.sandbox.launcher import require_cpus
from service.adapters.machines.linux import keep_off
from service.adapters.sources.git.mirror import GitSource
from service.adapters.sources.git.repository import Clone
from service.adapters.sources.repository import read_clone, top_of
from service.config.machine import MachineSettings
from service.domain.values.errors import BadInput, Unfit
from service.wiring.build_host import make_build_host
from service.wiring.permitted import Permitted

if TYPE_CHECKING:
    from collections.abc import Collection

    from service.ports.sources import Source
    from service.steps.building.session import BuildHost


@dataclass(frozen=True, slots=True)
class Mirror:
    """A mirror of the person's repository, and what builds its commits; ``project`` is its name.

    ``home`` has the files of this user's gates.
    """

    project: str
    host: BuildHost
    home: Path

    @property
    def source(self) -> Source:
        """The mirror's commits."""
        return self.host.source

    def keep_log(self, job: str, log: bytes) -> Path:
        """Keep the whole log of a job's last build, and return the path."""
        file = self.home / "logs" / self.project / f"{job}.log"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(log)
        return file


def open_mirror(repo: Path, *, is_sandboxed: bool, fetch_from: Collection[str] = ()) -> Mirror:
    """Open the mirror of a repository, and stay off the CPUs that BENCHGATE_CPUS names.

    Args:
        repo: the person's repository, or a directory in it.
        is_sandboxed: programs run in the sandbox.
        fetch_from: dependencies may come from there, besides what BENCHGATE_FETCH_FROM allows.

    Raises:
        BadInput: a setting cannot be used.
        Unfit: this host cannot isolate programs.
    """
    settings = MachineSettings()
    settings = settings.model_copy(update={"fetch_from": [*settings.fetch_from, *fetch_from]})
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "benchgate"
    cpus, permitted = tuple(settings.cpus), Permitted.read(settings, home)
    try:
        require_cpus(cpus or None)
    except Unfit as error:
        raise BadInput(str(error), "BENCHGATE_CPUS") from None
    # The user named this path, so the mirror fetches from it and from nowhere else.
    remote = str(top_of(repo).resolve())
    host = make_build_host(home, lambda _: remote, cpus, is_sandboxed=is_sandboxed, permitted=permitted)
    keep_off(cpus)
    source = GitSource(
        home.absolute() / "git", lambda _: remote, allowed=permitted.sources, clone=Clone(*read_clone(repo))
    )
    # A path is no valid project name.
    project = "local-" + hashlib.sha256(remote.encode()).hexdigest()[:16]
    return Mirror(project, replace(host, source=source), home)
