"""Fetch the two commits that a local gate compares into a mirror of the person's repository."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from service.adapters.building.sandbox.launcher import require_cpus
from service.adapters.machines.linux import keep_off
from service.adapters.sources.git.mirror import GitSource
from service.adapters.sources.git.repository import Clone
from service.adapters.sources.repository import (
    WORKTREE,
    changed_submodules,
    commit_working_tree,
    read_clone,
    resolve_revision,
    top_of,
)
from service.config import MachineSettings
from service.domain.values.errors import BadInput, Unfit
from service.domain.values.text import listed, plain
from service.wiring.build_host import make_build_host
from service.wiring.permitted import Permitted

if TYPE_CHECKING:
    from service.ports.sources import Source
    from service.steps.building.session import BuildHost


_PARENT: Final = "HEAD^"


@dataclass(frozen=True, slots=True)
class Commits:
    """Base and patch, by the names that the person gave them, and by their IDs in the mirror.

    ``project`` is the mirror's name; ``home`` has the files of this user's gates.
    """

    base: str
    patch: str
    base_commit: str
    patch_commit: str
    project: str
    host: BuildHost
    home: Path

    @property
    def source(self) -> Source:
        """The mirror."""
        return self.host.source

    def to_mapping(self) -> dict[str, str]:
        """Convert to plain values for JSON."""
        names = ("base", "patch", "base_commit", "patch_commit")
        return {name: getattr(self, name) for name in names}


def open_commits(repo: Path, base: str | None, patch: str, *, is_sandboxed: bool) -> Commits:
    """Fetch base and patch, and choose the CPUs that BENCHGATE_CPUS names.

    Args:
        repo: the person's repository, or a directory in it.
        base: a revision; None: the parent of HEAD, or HEAD itself below the working tree.
        patch: a revision, or the name that stands for the working tree.
        is_sandboxed: programs run in the sandbox.

    Raises:
        BadInput: there is no such revision, the working tree is as the base, or a setting cannot be used.
        Unfit: this host cannot isolate programs.
    """
    is_working_tree = patch == WORKTREE
    if base == WORKTREE:
        raise click.UsageError(f"only --patch can be {WORKTREE}: the base is a commit")
    base = base or ("HEAD" if is_working_tree else _PARENT)
    base_commit = _resolve_base(repo, base)
    patch_commit = commit_working_tree(repo) if is_working_tree else resolve_revision(repo, patch)
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "benchgate"
    remote = str(top_of(repo).resolve())
    host = _build_host(home, repo, is_sandboxed=is_sandboxed)
    # The mirror's name; a path is no valid project name.
    project = "local-" + hashlib.sha256(remote.encode()).hexdigest()[:16]
    host.source.fetch(project, base_commit, patch_commit)
    found = Commits(base, patch, base_commit, patch_commit, project, host, home)
    if is_working_tree and _are_alike(found):
        changed = listed([plain(name) for name in changed_submodules(repo)])
        remedy = (
            f"changes in a submodule ({changed}) count once they are committed there"
            if changed
            else f"without `--patch {WORKTREE}`, `gate` judges the last commit"
        )
        raise BadInput(
            f"the working tree has the files of {base}, so there is nothing to judge; {remedy}", remote
        )
    return found


def _resolve_base(repo: Path, base: str) -> str:
    try:
        return resolve_revision(repo, base)
    except BadInput:
        if base != _PARENT:
            raise
        resolve_revision(repo, "HEAD")
        what = (
            "HEAD has no parent here, so there is nothing to compare it with: `--base` names another commit"
        )
        raise BadInput(what, str(repo.resolve())) from None


def _are_alike(commits: Commits) -> bool:
    base, patch = (
        commits.source.tree(commits.project, commit) for commit in (commits.base_commit, commits.patch_commit)
    )
    return base == patch


def _build_host(home: Path, repo: Path, *, is_sandboxed: bool) -> BuildHost:
    """Build the tools of a gate, which measures on the CPUs of the setting and stays off them."""
    settings = MachineSettings()
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
    return replace(host, source=source)
